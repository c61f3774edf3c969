"""Checks of lab 4: which segment, where it begins and ends, and what follows a message."""

import shutil
from collections.abc import Callable, Sequence
from math import ceil, log2
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from kminilog.course.comparing import Comparer
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.recorded_search import Trace
from kminilog.settings import TopicSettings
from kminilog.storage import lookup as library
from kminilog.storage.log_dir import LogDir
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.lookup import ENTRIES, NAMES
from kminilog.storage.segment import Segment
from kminilog.storage.segment_search import locate
from kminilog.storage.topics import Topic

NAMES_OF_THE_DOCUMENTS = [0, 368769, 737337]
BOTH = (KAFKA, DOCUMENTED)
NO_INDEX = 1 << 20  # an interval that no segment here reaches

PARTITION = TopicPartition("ev", 0)
OFFSET = 200


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write a log dir whose one partition has a few dozen segments; the seed gives the sizes."""
    shutil.rmtree(folder / "log", ignore_errors=True)
    chance = Random(seed)
    settings = TopicSettings(segment_bytes=600, index_interval_bytes=60)
    with LogDirWriter.open(folder / "log", create=True) as writer:
        writer.create_topic(Topic(PARTITION.topic, 1, KAFKA, settings))
        log = writer.log(PARTITION)
        for number in range(300):
            value = b"event %d of %s" % (number, name.encode()[:40])
            log.append([(None, value + b"." * chance.randrange(20))])


# ---- 4.1 the segment


class Counted(Sequence[int]):
    """A sequence that counts how often one of its elements is read."""

    def __init__(self, names: list[int]) -> None:
        self._names = names
        self.probes = 0

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, slot: Any) -> Any:
        found = self._names[slot]
        self.probes += len(found) if isinstance(slot, slice) else 1
        return found


def exercise_1(compare: Comparer, segment_slot: Callable[..., Any]) -> None:
    for dialect, offset in (
        (KAFKA, 500000),
        (DOCUMENTED, 500000),
        (KAFKA, 368769),
        (DOCUMENTED, 368769),
        (DOCUMENTED, 0),
        (DOCUMENTED, 368770),
        (KAFKA, 368768),
        (KAFKA, 0),
        (KAFKA, 2**40),
    ):
        _compare_slot(compare, segment_slot, dialect, NAMES_OF_THE_DOCUMENTS, offset)
    for dialect in BOTH:
        for names in ([0], [7], [7, 12, 13, 40]):  # retention has deleted the first segments
            for offset in (0, 6, 7, 8, 12, 13, 14, 41):
                _compare_slot(compare, segment_slot, dialect, names, offset)
    chance = Random(4)
    for count in (5, 37, 300, 1000):
        names = [0, *sorted(chance.sample(range(2, 10**6), count - 1))]
        limit = ceil(log2(count)) + 1
        for dialect in BOTH:
            for offset in (chance.randrange(10**6), names[-1], names[1], 10**6, 0):
                counted = Counted(names)
                right = library.segment_slot(dialect, names, offset)
                call = f"segment_slot({dialect.name}, {count} names, {offset})"
                compare.equal(call, lambda d=dialect, o=offset: segment_slot(d, counted, o), right)
                what = f"probes of {count} names for offset {offset}"
                compare.at_most(what, counted.probes, limit, "linear-scan")
    trace = Trace()
    segment_slot(KAFKA, [0, 10, 20], 15, trace)
    seen = len(trace.probes(NAMES))
    call = "segment_slot(…, tracer)"
    compare.holds(seen > 0, call, f"{seen} probes to its tracer", "some", "unwatched-search")


def _compare_slot(
    compare: Comparer, segment_slot: Callable[..., Any], dialect: Dialect, names: Any, offset: int
) -> None:
    below = sum(name < offset for name in names)  # bisect_left, in words
    not_above = sum(name <= offset for name in names)  # bisect_right
    floor = (below if dialect is DOCUMENTED else not_above) - 1
    edge = (
        {"own-name-in-documented": max(not_above - 1, 0)}
        if dialect is DOCUMENTED
        else {"drops-boundary-message": max(below - 1, 0)}
    )
    right = max(floor, 0)
    compare.equal(
        f"segment_slot({dialect.name}, {names}, {offset})",
        lambda: segment_slot(dialect, names, offset),
        right,
        {
            **edge,
            "slot-below-zero": floor,
            "name-not-slot": names[right],
            "ceiling-segment": min(floor + 1, len(names) - 1),
        },
    )


# ---- 4.2 where a segment begins


def exercise_2(compare: Comparer, first_offset: Callable[..., Any]) -> None:
    for dialect in (DOCUMENTED, KAFKA):
        for name in (368769, 0, 1, 2, 737337, 2**40):
            mistakes = {"adds-one-in-kafka": name + 1}
            if dialect is DOCUMENTED:
                mistakes = {"name-is-first": name} if name else {"segment-0-from-1": 1}
            compare.equal(
                f"first_offset({dialect.name}, {name})",
                lambda dialect=dialect, name=name: first_offset(dialect, name),
                name + 1 if dialect is DOCUMENTED and name else name,
                mistakes,
            )


# ---- 4.3 where a segment ends


class Counting(Segment):
    """A segment that counts how many messages are read of it."""

    count = 0

    def scan(self, *arguments: Any, **named: Any) -> Any:
        for pair in super().scan(*arguments, **named):
            self.count += 1
            yield pair


def message(dialect: Dialect, offset: int) -> bytes:
    """Return a message of always the same length."""
    return encode(dialect, offset, b"k%d" % (offset % 7), b"value %04d" % (offset % 10_000))


def write_segment(
    folder: Path, dialect: Dialect, base_offset: int, offsets: Sequence[int], interval: int = 60
) -> Segment:
    """Write a segment of messages with these offsets; return an object that has not read it yet."""
    segment = Segment(folder, base_offset, dialect, interval)
    segment.open()
    for offset in offsets:
        segment.add(offset, message(dialect, offset))
    segment.write()
    return Counting(folder, base_offset, dialect, interval)


def change(path: Path, position: int, data: bytes) -> None:
    """Replace bytes of a file."""
    content = path.read_bytes()
    path.write_bytes(content[:position] + data + content[position + len(data) :])


def exercise_3(compare: Comparer, end_offset: Callable[..., Any]) -> None:
    for dialect in BOTH:
        for base_offset in (40, 0):
            with TemporaryDirectory() as temporary:
                _compare_ends(compare, end_offset, Path(temporary), dialect, base_offset)
    with TemporaryDirectory() as temporary:
        offsets = range(400)
        segment = write_segment(Path(temporary), KAFKA, 0, offsets)
        compare.equal("end_offset(400 messages)", lambda: end_offset(segment), 400)
        count = segment.count if isinstance(segment, Counting) else 0
        compare.at_most("messages read of 400", count, 20, "ignores-index")


def _compare_ends(
    compare: Comparer,
    end_offset: Callable[..., Any],
    folder: Path,
    dialect: Dialect,
    base_offset: int,
) -> None:
    first = dialect.first_offset(base_offset)
    end = first + 6
    size = len(message(dialect, first))
    where = f"{dialect.name}, segment {base_offset}"

    def write(interval: int = 60, offsets: Sequence[int] = range(first, end)) -> Segment:
        shutil.rmtree(folder)
        folder.mkdir()
        return write_segment(folder, dialect, base_offset, offsets, interval)

    def compare_end(
        what: str, segment: Segment, expected: int, mistakes: dict[str, int] | None = None
    ) -> None:
        call = f"end_offset({where}, {what})"
        compare.equal(call, lambda: end_offset(segment), expected, mistakes)

    compare_end(
        "6 messages", write(), end, {"last-not-next": end - 1, "name-is-first": base_offset}
    )
    no_index = write(NO_INDEX)
    compare_end("no index entries", no_index, end, {"name-is-first": base_offset})
    compare_end("empty", write(offsets=()), first, {"name-is-first": base_offset})
    for left in (1, 11, 12, 22, size - 1):
        segment = write()
        content = segment.log_path.read_bytes()
        segment.log_path.write_bytes(content[: 5 * size + left])
        torn = f"5 messages and {left} bytes"
        compare_end(torn, segment, end - 1, {"counts-torn-message": end})
    segment = write()
    change(segment.log_path, 6 * size - 1, b"?")
    compare_end("the last message damaged", segment, end - 1)
    segment = write(NO_INDEX)
    change(segment.log_path, 4 * size - 1, b"?")
    damaged = "the fourth message damaged"
    compare_end(damaged, segment, first + 3, {"skip-bad-message": end})
    segment = write()
    change(segment.log_path, 5 * size, (end + 99).to_bytes(8, "big"))
    wrong = "the last offset wrong"
    compare_end(wrong, segment, end - 1, {"trusts-offset": end + 100})
    for position in (100 * size, 4 * size + 3, size):
        segment = write()
        segment.index.load()
        segment.index.rewrite([IndexEntry(1, position - 1), IndexEntry(4, position)])
        false = f"a false entry to byte {position}"
        compare_end(false, segment, end, {"trust-index": base_offset + 4})
    gap = [first, first + 1, first + 10, first + 11]
    segment = write(NO_INDEX, gap)
    compare_end("a gap", segment, first + 2, {"trusts-offset": first + 12})
    segment.allows_gaps = True
    compare_end("a gap that is allowed", segment, first + 12, {"gap-is-fault": first + 2})


# ---- 4.4 fetch


def exercise_4(compare: Comparer, messages_from: Callable[..., Any]) -> None:
    for dialect in BOTH:
        with TemporaryDirectory() as temporary:
            segments = _write_partition(Path(temporary), dialect)
            _compare_fetches(compare, messages_from, segments, dialect)


ENDS = (5, 9, 14)  # one past the last offset of each segment


def _write_partition(folder: Path, dialect: Dialect) -> list[Segment]:
    return [
        write_segment(folder, dialect, dialect.base_offset_for(start), range(start, end))
        for start, end in zip((0, *ENDS), ENDS, strict=False)
    ]


def _compare_fetches(
    compare: Comparer, messages_from: Callable[..., Any], segments: list[Segment], dialect: Dialect
) -> None:
    size = len(message(dialect, 0))

    def fetch(offset: int, max_bytes: int, those: list[Segment]) -> Any:
        slot = sum(end <= offset for end in ENDS)
        following = dict(zip(those, [*those[1:], None], strict=True))
        located = locate(those[slot], offset)
        got = messages_from(those[slot], located, max_bytes, following.get)
        return [each.offset for each in got] if isinstance(got, list) else got

    def compare_fetch(what: str, offset: int, max_bytes: int, *ends: Any, **those: Any) -> None:
        expected, mistakes = ends
        call = f"messages_from({dialect.name}, offset {offset}, {max_bytes} bytes{what})"
        chosen = those.get("segments", segments)
        compare.equal(call, lambda: fetch(offset, max_bytes, chosen), expected, mistakes)

    for offset, max_bytes in (
        (1, 3 * size),
        (1, 3 * size - 1),
        (1, size - 1),
        (1, 1),
        (3, 5 * size),
        (4, 2 * size),
        (4, size),
        (8, 4 * size - 1),
        (3, 1 << 20),
        (13, 1 << 20),
        (0, 14 * size),
    ):
        fitting = max_bytes // size
        count = max(fitting, 1)
        every = list(range(offset, ENDS[-1]))
        end_here = min(end for end in ENDS if end > offset)
        passing = [each for each in every if each == offset or each not in ENDS]
        compare_fetch(
            "",
            offset,
            max_bytes,
            every[:count],
            {
                "no-progress": every[:fitting],
                "skips-located": every[1 : count + 1],
                "stops-at-segment": [each for each in every[:count] if each < end_here],
                "overshoots-max-bytes": every[: count + 1],
                "drops-boundary-message": passing[:count],
            },
        )
    most = 1 << 20
    content = segments[1].log_path.read_bytes()
    change(segments[1].log_path, 2 * size - 1, b"?")
    skipping = {"skip-bad-message": [3, 4, 5, *range(9, 14)]}
    compare_fetch(", 6 damaged", 3, most, [3, 4, 5], skipping)
    without = [segments[0], segments[2]]
    jumped = [3, 4, *range(9, 14)]
    compare_fetch(", a gap", 3, most, [3, 4], {"jumps-gap": jumped}, segments=without)
    packed = encode(dialect, 6, b"k6", b"value 0006", attributes=1)
    segments[1].log_path.write_bytes(content[:size] + packed + content[2 * size :])
    compressed = {"hands-out-compressed": list(range(3, 14))}
    compare_fetch(", 6 compressed", 3, most, [3, 4, 5], compressed)
    segments[1].log_path.unlink()
    call = f"messages_from({dialect.name}, offset 3, the next file deleted)"
    try:
        got = fetch(3, most, segments)
    except FileNotFoundError:
        compare.holds(False, call, "FileNotFoundError", "[3, 4]", "deleted-file-raises")
    else:
        compare.equal(call, lambda: got, [3, 4], {"jumps-gap": jumped})


# ---- 4.5 probes


def solve_5(folder: Path) -> dict[str, Any]:
    """Return the right constants of exercise 5: a search by the library, watched."""
    trace = Trace()
    reader = LogDir(folder / "files" / "log").reader(PARTITION)
    found = reader.find(OFFSET, trace)
    found.segment.index.load()
    counts = len(reader.segments()), len(found.segment.index)
    return {
        "SEGMENT": found.segment.name,
        "NAME_PROBES": len(trace.probes(NAMES)),
        "ENTRY_PROBES": len(trace.probes(ENTRIES)),
        "MOST_PROBES": sum(ceil(log2(count)) for count in counts) + 2,
        "WALK_START": found.located.index_entry.position if found.located.index_entry else 0,
        "POSITION": found.located.position,
    }


def exercise_5(compare: Comparer, answers: dict[str, Any], folder: Path) -> None:
    right = solve_5(folder)
    reader = LogDir(folder / "files" / "log").reader(PARTITION)
    segments = reader.segments()
    (slot,) = [slot for slot, each in enumerate(segments) if each.name == right["SEGMENT"]]
    relative = OFFSET - segments[slot].base_offset
    mistakes = {
        "SEGMENT": {"ceiling-segment": segments[min(slot + 1, len(segments) - 1)].name},
        "ENTRY_PROBES": {"probes-together": right["NAME_PROBES"] + right["ENTRY_PROBES"]},
        "WALK_START": {"position-is-offset": relative},
        "POSITION": {"position-is-offset": OFFSET},
    }
    for name, value in right.items():
        compare.equal(name, lambda name=name: answers[name], value, mistakes.get(name))
