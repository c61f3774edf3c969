import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns.windows import index_hints
from kminilog.errors import CorruptBytesError
from kminilog.explain.recorded_search import Trace
from kminilog.format.index_entry import (
    ENTRY_SIZE_BYTES,
    IndexEntry,
    decode_entries,
    encode_entry,
)
from kminilog.storage.segment.offset_index import OffsetIndex
from tests.support.invariants import check_index

ascending = st.lists(st.integers(0, 1000), unique=True, max_size=30).map(sorted)


@pytest.fixture
def index(tmp_path) -> OffsetIndex:
    index = OffsetIndex(tmp_path, 368_769)
    index.rewrite([IndexEntry(3, 497), IndexEntry(7, 900), IndexEntry(20, 1500)])
    return index


@given(ascending, st.integers(368_700, 370_000))
def test_lookup_gives_the_greatest_entry_not_above(tmp_path_factory, relative_offsets, offset):
    index = OffsetIndex(tmp_path_factory.mktemp("index"), 368_769)
    index.rewrite(IndexEntry(relative, 10 + relative) for relative in relative_offsets)
    below = [relative for relative in relative_offsets if 368_769 + relative <= offset]
    above = [10 + relative for relative in relative_offsets if 368_769 + relative > offset]
    entry = IndexEntry(below[-1], 10 + below[-1]) if below else None
    expected = (entry, above[0] if above else None)
    trace = Trace()
    assert index.nearest_entry(offset, trace) == index.nearest_entry(offset) == expected
    assert len(trace.probes("index")) <= len(relative_offsets).bit_length()


def test_add_is_in_the_file_after_write_only(index):
    before = index.path.read_bytes()
    index.add(IndexEntry(30, 2000))
    assert index.path.read_bytes() == before
    index.write()
    assert index.path.read_bytes() == before + encode_entry(IndexEntry(30, 2000))
    index.write()
    check_index(index)


def test_load_sees_what_another_object_has_written(index):
    other = OffsetIndex(index.path.parent, index.base_offset)
    other.load()
    assert other.entries() == index.entries()
    index.add(IndexEntry(30, 2000))
    index.write()
    other.load()
    assert other.entries() == index.entries()


@pytest.mark.parametrize(
    "tail",
    [
        b"\0\0\0",
        bytes(8),
        bytes(80),
        encode_entry(IndexEntry(5, 2000)),
        encode_entry(IndexEntry(21, 9)),
    ],
    ids=["torn", "one zero entry", "zeros", "offset goes back", "position goes back"],
)
def test_load_of_an_unsound_file_takes_the_sound_entries_in_front(index, tail):
    sound = index.path.read_bytes()
    index.path.write_bytes(sound + tail)
    loaded = OffsetIndex(index.path.parent, index.base_offset)
    loaded.load()
    assert loaded.entries() == [IndexEntry(3, 497), IndexEntry(7, 900), IndexEntry(20, 1500)]
    assert not loaded.is_intact()
    with pytest.raises(AssertionError):
        check_index(loaded)


@given(st.lists(st.tuples(st.integers(-2, 3), st.integers(-2, 3)), max_size=4))
def test_load_takes_the_entries_in_front_of_the_first_that_decode_entries_refuses(
    tmp_path_factory, pairs
):
    index = OffsetIndex(tmp_path_factory.mktemp("index"), 0)
    entries = [IndexEntry(*pair) for pair in pairs]
    index.path.write_bytes(b"".join(map(encode_entry, entries)))
    index.load()
    assert index.entries() == entries[: len(index)]
    if len(index) < len(entries):
        with pytest.raises(CorruptBytesError) as caught:
            decode_entries(index.path.read_bytes())
        assert caught.value.position == len(index) * ENTRY_SIZE_BYTES
    else:
        assert decode_entries(index.path.read_bytes()) == entries
    assert index_hints(index.path).tolist() == [entry.position for entry in index.entries()]


def test_load_of_a_missing_file_has_no_entries(index):
    os.remove(index.path)
    index.load()
    assert len(index) == 0
    assert index.last_entry is None
    assert index.nearest_entry(10**6) == (None, None)
    assert not index.holds_exactly([])


def test_truncate_to_cuts_file_and_memory(index):
    index.truncate_to(1)
    check_index(index)
    assert index.entries() == [IndexEntry(3, 497)]
    assert index.last_position == 497
    index.truncate_to(0)
    assert index.last_position == 0
