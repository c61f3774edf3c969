import random
import re
import struct
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.course.steps import edges
from kminilog.errors import OffsetOutOfRangeError
from kminilog.explain import find_offset
from kminilog.explain.document import Document
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.topics import Topic
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import made, words_of

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
            located = reader.find(offset)
        except OffsetOutOfRangeError:
            assert final["segment"] is None
            assert (final["log start"], final["log end"]) == (0, len(values))
            return
        assert (final["segment"], final["position"]) == (located.segment.name, located.position)
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


# ---- what is said, beside an oracle

NAMED = {"documented": DOCUMENTED, "kafka": KAFKA}


class Laid(NamedTuple):
    """A partition that the oracle wrote: its logs by their names, and the entries of each index."""

    dialect: str
    logs: dict[int, bytes]
    entries: dict[int, list[tuple[int, int]]]
    reader: PartitionReader

    def held(self, name: int) -> list[oracle.Place]:
        return oracle.places(self.dialect, self.logs[name])

    @property
    def offsets(self) -> range:
        first = oracle.first_offset(self.dialect, min(self.logs))
        last = self.held(max(self.logs))
        end = last[-1].offset + 1 if last else oracle.first_offset(self.dialect, max(self.logs))
        return range(first, end)


def laid(chance: random.Random, dialect: str, path: Path) -> Laid:
    """Write a partition as a producer, retention, a crash or a hand may have left it."""
    values = oracle.values(chance, chance.choice((0, 1, 3, 12, 30)), 40)
    parts = [oracle.encoded(dialect, n, None, value) for n, value in enumerate(values)]
    limit = chance.choice((60, 200, 4000))
    made = oracle.segments(dialect, list(map(len, parts)), limit)
    logs = {name: b"".join(parts[offset] for offset, *_ in messages) for name, messages in made}
    for name in sorted(logs)[: chance.randrange(len(logs)) * chance.randrange(2)]:
        del logs[name]  # as retention does
    last, cut = max(logs), chance.choice((0, 0, 5, 20))
    logs[last] = logs[last][: max(len(logs[last]) - cut, 0)]
    reader = written(path, NAMED[dialect], [], interval=50)
    for file in reader.directory.iterdir():
        file.unlink()
    entries = {}
    for name, data in logs.items():
        entries[name] = oracle.due(name, oracle.places(dialect, data), 50)
        if entries[name] and chance.randrange(2):
            slot = chance.randrange(len(entries[name]))
            relative, position = entries[name][slot]
            entries[name][slot] = (relative, position + chance.choice((1, 8, 11, 30, 9999)))
        index = b"".join(struct.pack(">ii", *one) for one in entries[name])
        (reader.directory / f"{name:020}.log").write_bytes(data)
        (reader.directory / f"{name:020}.index").write_bytes(index)
    return Laid(dialect, logs, entries, LogDir(path).reader(ORDERS))


def believed(one: Laid, name: int, offset: int) -> tuple[tuple[int, int] | None, int]:
    """Return the entry that a search takes, and the byte where its walk begins."""
    taken = None
    last = (-1, 0)
    for entry in one.entries[name]:
        if entry[0] <= last[0] or entry[1] <= last[1]:
            break
        last = entry
        if entry[0] <= offset - name:
            taken = entry
    true = taken and (name + taken[0], taken[1]) in [(p.offset, p.start) for p in one.held(name)]
    return taken, taken[1] if true else 0


@pytest.mark.usefixtures("without_writers")
@pytest.mark.parametrize("seed", range(80))
def test_find_offset_says_what_a_search_by_hand_does(seed, tmp_path):
    chance = random.Random(seed)
    one = laid(chance, oracle.BOTH[seed % 2], tmp_path)
    held = one.offsets
    offset = chance.choice((held.stop, held.stop + 9, max(held.start - 1, 0), *held[:40]))
    document = find_offset.document(one.reader, offset)
    said = [step.say for step in document.steps]
    name = oracle.chosen(one.dialect, sorted(one.logs), offset)
    places = {place.start: place for place in one.held(name)}
    assert f"chooses segment {name:020}:" in " ".join(said)
    taken, start = believed(one, name, offset)
    ((begins, values),) = [
        (step.say, step.state.values)
        for step in document.steps
        if "walk begins at byte" in step.state.values
    ]
    if len(one.logs[name]) >= 16:
        assert values["walk begins at byte"] == start
    else:
        assert values["walk begins at byte"] is None
    assert begins.startswith("No entry" if taken is None else "The search takes entry ")
    assert taken is None or oracle.numbers(begins)[:2] == [*taken]
    assert ("the walk begins there" in begins) == (start > 0)
    assert ("would begin" in begins) == (len(one.logs[name]) < 16)
    assert ("wants the greatest entry" in " ".join(said)) == (one.entries[name][:1] > [(-1, 0)])
    assert (" begin at byte 0 " in begins.replace("begins", "begin")) == (start == 0)
    for step in document.steps:
        check_stand(step.say, places, offset, len(one.logs[name]))
    if offset in held:
        where = next(place for place in places.values() if place.offset == offset)
        walked = [place for place in places.values() if start <= place.start <= where.start]
        numbers = [offset, where.start, len(walked), where.end - start]
        assert oracle.numbers(said[-1])[:4] == numbers
        assert document.steps[-1].cost.bytes == where.end - start
    elif held:
        assert "is not in the log, which holds offset" in said[-1]
        assert oracle.numbers(said[-1]) == [offset, *sorted({held[0], held[-1]})]
    else:
        assert "is not in the log, which holds no offset." in said[-1]
    for step in document.steps:
        for choice in step.ask.choices if step.ask else ():
            assert "It finds the message" not in choice.why
            assert choice.why != "That is the position in the entry." or start > 0
    oracle.assert_one_thing_is_one(words_of(document))


def check_stand(said: str, places: dict[int, oracle.Place], offset: int, log_bytes: int) -> None:
    """Compare what is said of a message that is passed with the bytes of the log."""
    if said.startswith("The message at byte "):
        start, there, wanted, *rest = oracle.numbers(said)
        assert (places[start].offset, wanted) == (there, offset)
        assert there != offset
        length = places[start].end - start
        assert rest == ([length - 12, length] if there < offset else [])
    elif said.startswith("At byte "):
        start, _, length, present = oracle.numbers(said)
        assert start not in places
        assert (start, present) == (
            max((p.end for p in places.values()), default=0),
            log_bytes - start,
        )
        assert length > present


@pytest.mark.usefixtures("without_writers")
@pytest.mark.parametrize("seed", range(60))
def test_edges_draw_each_segment_by_the_offsets_that_it_holds(seed, tmp_path):
    chance = random.Random(seed)
    one = laid(chance, oracle.BOTH[seed % 2], tmp_path)
    document = edges.document(one.reader)
    names = sorted(one.logs)
    firsts = [oracle.first_offset(one.dialect, name) for name in names]
    bars = dict(zip(names, zip(firsts, [*firsts[1:], one.offsets.stop], strict=True), strict=True))
    for step in document.steps:
        (lane,) = step.state.picture.lanes
        drawn = {bar.label: (bar.start, bar.end) for bar in lane.bars if len(bar.label) == 20}
        assert drawn == {f"{name:020}": span for name, span in bars.items()}
        for bar in lane.bars:
            assert bar.label in drawn or bar.start == bar.end == int(bar.label)
    for step in document.steps[1:]:
        offset = oracle.numbers(step.say)[0]
        name = oracle.chosen(one.dialect, names, offset)
        where = f"Segment {name:020} holds it." if offset in one.offsets else "does not hold it."
        assert step.say.endswith(where)
        for choice in step.ask.choices if step.ask else ():
            assert "0 to -1" not in choice.why
    held = sorted({*one.offsets[:1], *one.offsets[-1:]})
    said = oracle.numbers(document.steps[0].say.split(". In the")[0].split("holds")[1])
    assert said == held
    oracle.assert_one_thing_is_one(words_of(document))
