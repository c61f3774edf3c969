"""The pictures of files: bars cover the bytes that are shown, in order, whatever these are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.course.steps.temporary_partition import log_fields
from kminilog.explain.document import ByteRange, File
from kminilog.explain.field_layout import index_fields
from kminilog.explain.file_pictures import files_picture
from kminilog.format.dialect import DIALECTS, KAFKA
from kminilog.format.message import encode
from tests.support.course.steps.scenes import made

LOG, INDEX = "00000000000000000007.log", "00000000000000000007.index damaged"
MESSAGES = st.lists(st.binary(max_size=9), max_size=5).map(
    lambda values: b"".join(encode(KAFKA, n, None, value) for n, value in enumerate(values))
)
BYTES = st.builds(bytes.__add__, MESSAGES, st.binary(max_size=60))


def picture_of(name, data, fields, end, **more):
    return files_picture([File(name, data, 0, len(data))], fields, {name: end}, (), **more)


def assert_covered(lane, end):
    places = [(bar.start, bar.end) for bar in lane.bars]
    assert [0, *(stop for _, stop in places)] == [*(start for start, _ in places), end]
    assert all(start < stop for start, stop in places)


@given(BYTES, st.sampled_from(list(DIALECTS.values())), st.data())
def test_picture_of_any_log_covers_its_bytes_in_order(data, dialect, draw):
    end = draw.draw(st.integers(0, len(data)))
    (lane,) = picture_of(LOG, data, log_fields(LOG, dialect, data), end).lanes
    assert_covered(lane, end)


@given(st.binary(max_size=100), st.data())
def test_picture_of_any_index_covers_its_bytes_in_order(data, draw):
    end = draw.draw(st.integers(0, len(data)))
    (lane,) = picture_of(INDEX, data, index_fields(INDEX, data), end).lanes
    assert_covered(lane, end)


def test_picture_of_many_messages_says_how_many_more():
    data = b"".join(encode(KAFKA, n, None, b"") for n in range(100))
    (lane,) = picture_of(LOG, data, log_fields(LOG, KAFKA, data), len(data)).lanes
    assert_covered(lane, len(data))
    assert lane.bars[-1].label == "40 more"


@pytest.mark.parametrize(("length", "note"), [(0, "1 message"), (5, "1 message and a part")])
def test_picture_of_a_torn_tail_has_it_in_red_and_does_not_count_it(length, note):
    data = encode(KAFKA, 7, None, b"value") + encode(KAFKA, 8, None, b"value")[:length]
    fields = log_fields(LOG, KAFKA, data)
    files = [File(LOG, data, 0, len(data)), File(INDEX, b"", 0, 0)]
    lane = files_picture(files, fields, {LOG: len(data), INDEX: 0}, ()).lanes[-1]
    assert lane.note == f"{note}, {len(data)} bytes"
    assert [bar.style for bar in lane.bars] == ["", "lost"][: 1 + bool(length)]


def test_picture_of_a_segment_leads_from_each_entry_to_its_message():
    log = b"".join(encode(KAFKA, n, None, b"value") for n in range(7, 10))
    starts = [0, len(log) // 3, len(log) // 3 * 2]
    index = b"".join(n.to_bytes(4) + starts[n].to_bytes(4) for n in (1, 2))
    files = [File(LOG, log, 0, len(log)), File(INDEX, index, 0, len(index))]
    fields = [*log_fields(LOG, KAFKA, log), *index_fields(INDEX, index)]
    picture = files_picture(files, fields, {LOG: len(log), INDEX: len(index)}, ())
    assert [lane.name for lane in picture.lanes] == [INDEX, LOG]
    assert [(one.from_at, one.to_at) for one in picture.arrows] == [(4, starts[1]), (12, starts[2])]


def test_picture_of_a_damaged_place_has_one_red_bar():
    data = b"".join(encode(KAFKA, n, None, b"value") for n in range(3))
    damaged = [ByteRange(LOG, len(data) // 3 + 8, len(data) // 3 + 9)]
    (lane,) = picture_of(LOG, data, log_fields(LOG, KAFKA, data), len(data), damaged=damaged).lanes
    assert [bar.style for bar in lane.bars] == ["", "lost", ""]


def test_picture_of_an_index_that_ends_inside_an_entry_has_the_rest_in_red():
    data = bytes(19)
    (lane,) = picture_of(INDEX, data, index_fields(INDEX, data), len(data)).lanes
    assert [(bar.start, bar.style) for bar in lane.bars] == [
        (0, "entry"),
        (8, "entry"),
        (16, "lost"),
    ]


@pytest.mark.parametrize(
    ("name", "label"), [("flip", "attributes"), ("torn-tail", "1"), ("rebuild-index", "7,198")]
)
def test_step_about_damage_has_it_in_red(name, label):
    red = {
        bar.label
        for step in made(name).steps
        for lane in step.state.picture.lanes
        for bar in lane.bars
        if "lost" in bar.style
    }
    assert label in red
