import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.course.steps import edges, find_offset
from kminilog.course.steps.document import Document
from kminilog.errors import OffsetOutOfRangeError
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir import LogDir
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.partition_reader import PartitionReader
from kminilog.storage.topics import Topic
from tests.support.course.steps.scenes import made

ORDERS = TopicPartition("orders", 0)
payloads = st.lists(st.binary(max_size=60), min_size=1, max_size=40)


def written(path: Path, dialect, values, *, segment_bytes=300, interval=60) -> PartitionReader:
    config = TopicSettings(segment_bytes=segment_bytes, index_interval_bytes=interval)
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(Topic("orders", dialect=dialect, settings=config))
        writer.log(ORDERS).append([(None, value) for value in values])
    return LogDir(path).reader(ORDERS)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([DOCUMENTED, KAFKA]), payloads, st.integers(0, 45))
def test_find_offset_final_state_is_what_find_returns(dialect, values, offset):
    with tempfile.TemporaryDirectory() as path:
        reader = written(Path(path), dialect, values)
        document = find_offset.document(reader, offset)
        final = document.final.values
        try:
            segment, located = reader.find(offset)
        except OffsetOutOfRangeError:
            assert final["segment"] is None
            assert (final["log start"], final["log end"]) == (0, len(values))
            return
        assert (final["segment"], final["position"]) == (segment.name, located.position)
        assert final["scanned messages"] == located.scanned_messages
        assert final["scanned bytes"] == located.scanned_bytes == document.steps[-1].cost.bytes


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([DOCUMENTED, KAFKA]), payloads)
def test_edges_are_where_find_has_them(dialect, values):
    with tempfile.TemporaryDirectory() as path:
        reader = written(Path(path), dialect, values)
        for offset, _, answer in edges.document(reader).final.tables[0].rows:
            try:
                assert reader.find(offset).segment.name == answer
            except OffsetOutOfRangeError:
                assert answer == "out of range"


@pytest.mark.parametrize(
    "values, places",
    [
        ([], {0: "the number in a name", 1: "one more than a name"}),
        (
            [b"only"],
            {
                0: "the number in a name and the first message and the last message",
                1: "one more than a name and one after the last message",
            },
        ),
    ],
)
def test_edges_say_all_that_an_offset_is(tmp_path, values, places):
    document = edges.document(written(tmp_path, DOCUMENTED, values))
    assert {offset: where for offset, where, _ in document.final.tables[0].rows} == places


def test_find_offset_is_the_search_of_the_documents():
    final = made("find-offset").final.values
    assert final["segment"] == "00000000000000368769"
    taken = made("find-offset").steps[-3].say
    assert taken.startswith("The search takes entry 6, 1407. The message with offset 368775 ")
    index = next(file for file in made("find-offset").files if file.name.endswith(".index"))
    assert index.data.startswith(bytes.fromhex("00000003 000001f1"))  # the documents' 3,497


def focused_numbers(document: Document, said: str) -> list[tuple[list[int], list[int]]]:
    """What the steps of one kind say, and the first numbers of the bytes that they focus on.

    These bytes must be shown, and no others of their kind of file.
    """
    found = []
    for step in document.steps:
        match = re.match(said, step.say)
        if match:
            (focus,) = step.focus
            suffix = next(s for s in (".index", ".log") if s in focus.file)
            assert [name for name in step.state.ends if suffix in name] == [focus.file]
            file = next(file for file in document.files if file.name == focus.file)
            data = file.data[focus.start - file.start : focus.end - file.start]
            width = 4 if suffix == ".index" else 8
            number = int.from_bytes(data[:width])
            found.append(([focus.start, number], [*map(int, match.groups())]))
    return found


def test_find_offset_shows_the_bytes_of_every_probe():
    probed = focused_numbers(made("find-offset"), r"Entry (\d+) is for (\d+): ")
    assert len(probed) == 16
    assert [shown for shown, _ in probed] == [[8 * entry, value] for _, (entry, value) in probed]


@pytest.mark.parametrize("dialect", [DOCUMENTED, KAFKA])
def test_find_offset_shows_the_bytes_of_each_stop_of_a_long_walk(tmp_path, dialect):
    reader = written(tmp_path, dialect, [b"x"] * 200, segment_bytes=100_000, interval=50_000)
    stops = focused_numbers(
        find_offset.document(reader, 199), r"The message at byte (\d+) has offset (\d+), "
    )
    assert len(stops) == 6
    assert all(shown == said for shown, said in stops)


@pytest.mark.parametrize("dialect", [DOCUMENTED, KAFKA])
def test_find_offset_bytes_are_those_of_the_files(tmp_path, dialect):
    reader = written(tmp_path, dialect, [b"value %d" % n for n in range(30)])
    document = find_offset.document(reader, 17)
    for file in document.files:
        real = (reader.directory / file.name).read_bytes()
        assert real[file.start : file.end] == file.data
        assert len(real) == file.size_bytes


@pytest.mark.parametrize("offset", [0, 5, 29])
@pytest.mark.parametrize("entry", [0, 1, -1])
def test_find_offset_shows_an_index_that_points_beyond_the_log(tmp_path, entry, offset):
    reader = written(tmp_path, KAFKA, [b"value %d" % n for n in range(30)], segment_bytes=4000)
    index = reader.segments()[0].index.path
    entries = [index.read_bytes()[at : at + 8] for at in range(0, index.stat().st_size, 8)]
    entries[entry] = entries[entry][:4] + b"\x7f" * 4
    index.write_bytes(b"".join(entries))
    assert find_offset.document(reader, offset).steps


def test_find_offset_says_that_a_false_entry_is_not_trusted(tmp_path):
    reader = written(tmp_path, KAFKA, [b"value %d" % n for n in range(30)], segment_bytes=4000)
    index = reader.segments()[0].index.path
    data = bytearray(index.read_bytes())
    data[15] ^= 1
    index.write_bytes(data)
    said = [step.say for step in find_offset.document(reader, 5).steps]
    assert any("never trusts an index, so the walk begins at byte 0" in say for say in said)


def test_find_offset_of_a_long_walk_leaves_out_its_middle(tmp_path):
    reader = written(tmp_path, KAFKA, [b"x"] * 200, segment_bytes=100_000, interval=50_000)
    document = find_offset.document(reader, 199)
    assert len(document.steps) < 20
    assert any("193 more messages" in step.say for step in document.steps)
    assert document.final.values["scanned messages"] == 200
