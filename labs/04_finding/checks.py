"""Checks of lab 4: which segment, where it begins and ends, and what follows a message."""

import shutil
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import ceil, log2
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

from kminilog.course.comparing import Comparer, WrongKindError
from kminilog.course.counting import CountedSlots
from kminilog.explain.recorded_search import Trace
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import Message, encode
from kminilog.format.names import TopicPartition, segment_name
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.segment import lookup as library
from kminilog.storage.segment.lookup import ENTRIES, NAMES
from kminilog.storage.segment.search import find_in_segment
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic
from kminilog.text import table

NAMES_OF_THE_DOCUMENTS = [0, 368769, 737337]
BOTH = (KAFKA, DOCUMENTED)
NO_INDEX = 1 << 20  # an interval that no segment here reaches

PARTITION = TopicPartition("ev", 0)
OFFSET = 200


def first_win(name: str) -> list[str]:
    """Return the names that a search reads among those of a thousand segments."""
    offset, trace = crc32(name.encode()) % 1_000_000, Trace()
    found = library.segment_slot(KAFKA, range(0, 1_000_000, 1_000), offset, trace)
    rows = [
        (number, probe.value, "too great" if probe.value > offset else "not too great")
        for number, probe in enumerate(trace.probes(NAMES), 1)
    ]
    segment = segment_name(found * 1_000)
    return [*table(("probe", "name", f"for {offset}"), rows), f"so it is in {segment}.log"]


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write a log dir whose one partition has a few dozen segments; the seed gives the sizes.

    The message with `OFFSET` has no index entry of its own: the walk to it has a step at least.
    Else its position would be where the walk begins, and who confuses the two would be right.
    """
    chance, has_step = Random(seed), False
    while not has_step:
        _write_log(folder / "log", name, chance)
        found = LogDir(folder / "log").reader(PARTITION).find(OFFSET)
        has_step = found.index_entry is not None and found.position > found.index_entry.position


def _write_log(folder: Path, name: str, chance: Random) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    settings = TopicSettings(segment_bytes=600, index_interval_bytes=60)
    with LogDirWriter.open(folder, create=True) as writer:
        writer.create_topic(Topic(PARTITION.topic, 1, KAFKA, settings))
        log = writer.log(PARTITION)
        for number in range(300):
            value = b"event %d of %s" % (number, name.encode()[:40])
            log.append([(None, value + b"." * chance.randrange(20))])


# ---- 4.1 the segment


NAMES_OF_LOGS = (
    (0, 12, 13, 40, 41, 42, 90, 200, 201),
    (7, 13, 14, 41, 42, 43, 91, 201, 202),  # retention has deleted the first segments
    (0, 1, 5, 6),  # the first segment has two messages: the last one has offset 1
    (0, 2**53, 2**53 + 1, 2**62, 2**63 - 2),  # as floats, some of these are equal
)


def precondition_1(
    dialect: Dialect, base_offsets: Sequence[int], offset: int, tracer: Any = None
) -> bool:
    """Tell if there is a name at least, and the names ascend from 0 or more, as in a log."""
    if not base_offsets or offset < 0 or isinstance(base_offsets, CountedSlots):
        return isinstance(base_offsets, CountedSlots)  # to read its names would count as probes
    if isinstance(base_offsets, range):
        return base_offsets.step > 0 and base_offsets.start >= 0
    return base_offsets[0] >= 0 and all(one < two for one, two in pairwise(base_offsets))


def exercise_1(compare: Comparer, segment_slot: Callable[..., Any]) -> None:
    for dialect, offset in (
        (KAFKA, 500000),
        (DOCUMENTED, 500000),
        (DOCUMENTED, 5),
        (KAFKA, 368769),
        (DOCUMENTED, 368769),
        (DOCUMENTED, 0),
        (DOCUMENTED, 368770),
        (KAFKA, 368768),
        (KAFKA, 0),
        (KAFKA, 2**40),
    ):
        _compare_slot(compare, segment_slot, dialect, NAMES_OF_THE_DOCUMENTS, offset)
    for every in NAMES_OF_LOGS:
        for count in range(1, len(every) + 1):
            names = list(every[:count])
            around = {max(name + step, 0) for name in names for step in (-1, 0, 1)}
            offsets = sorted(around, key=lambda offset: (offset in names, offset))
            for dialect in BOTH:
                for offset in offsets:
                    _compare_slot(compare, segment_slot, dialect, names, offset)
    _compare_probes(compare, segment_slot)
    for dialect in BOTH:
        for offset in (0, 368769, 500000, 737338):
            _compare_watched(compare, segment_slot, dialect, offset)


def _compare_probes(compare: Comparer, segment_slot: Callable[..., Any]) -> None:
    chance = Random(4)
    for count in (1000, 300, 64, 37, 5):
        names = [0, *sorted(chance.sample(range(2, 10**6), count - 1))]
        limit = ceil(log2(count)) + 1
        for dialect in BOTH:
            for offset in (10**6, 0, chance.randrange(10**6), names[-1], names[1]):
                counted = CountedSlots(names)
                right = library.segment_slot(dialect, names, offset)
                call = f"segment_slot({dialect.name}, {count} names, {offset})"
                compare.equal(call, lambda d=dialect, o=offset: segment_slot(d, counted, o), right)
                what = f"probes of {count} names for offset {offset}"
                probes = len(counted.slots)
                code = "linear-scan" if 2 * probes > count > 100 else None
                code = "copies-slices" if counted.is_sliced else code
                compare.at_most(what, probes, limit, code)


def _compare_watched(
    compare: Comparer, segment_slot: Callable[..., Any], dialect: Dialect, offset: int
) -> None:
    trace, counted = Trace(), CountedSlots(NAMES_OF_THE_DOCUMENTS)
    segment_slot(dialect, counted, offset, trace)
    slots = range(len(counted))
    seen = {slots[each.slot] for each in trace.probes(NAMES) if isinstance(each.slot, int)}
    what = f"names read past the tracer ({dialect.name}, offset {offset})"
    compare.at_most(what, len(counted.slots - seen), 0, "unwatched-search")


def _compare_slot(
    compare: Comparer, segment_slot: Callable[..., Any], dialect: Dialect, names: Any, offset: int
) -> None:
    below = sum(name < offset for name in names)  # bisect_left, in words
    not_above = sum(name <= offset for name in names)  # bisect_right
    floor = (below if dialect is DOCUMENTED else not_above) - 1
    code = "as-float" if offset >= 2**53 else "own-name-in-documented"
    edge = (
        {code: max(not_above - 1, 0)}
        if dialect is DOCUMENTED
        else {"drops-boundary-message": max(below - 1, 0)}
    )
    if below == not_above and floor:  # a ceiling fails first at 500000
        edge["ceiling-segment"] = min(floor + 1, len(names) - 1)
    right = max(floor, 0)
    compare.equal(
        f"segment_slot({dialect.name}, {names}, {offset})",
        lambda: segment_slot(dialect, names, offset),
        right,
        {
            **edge,
            "slot-below-zero": floor,
            "name-not-slot": names[right],
        },
    )


# ---- 4.2 where a segment begins


def exercise_2(compare: Comparer, first_offset: Callable[..., Any]) -> None:
    for dialect in (DOCUMENTED, KAFKA):
        for name in (368769, 0, 1, 2, 737337, 2**40, 2**62 + 3):
            mistakes = {"adds-one-in-kafka": name + 1}
            if dialect is DOCUMENTED:
                mistakes = {"name-is-first": name} if name else {"segment-0-from-1": 1}
            if name > 2**53:
                mistakes["as-float"] = int(float(name)) + (dialect is DOCUMENTED)
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
        call = "end_offset(400 messages), messages of self.scan"
        compare.holds(count > 0, call, "none", "those after the last entry")
    with TemporaryDirectory() as temporary:
        _compare_growth(compare, end_offset, Path(temporary))


def _compare_growth(compare: Comparer, end_offset: Callable[..., Any], folder: Path) -> None:
    segment = write_segment(folder, KAFKA, 40, range(40, 46))
    compare.equal("end_offset(6 messages)", lambda: end_offset(segment), 46)
    writer = Segment(folder, 40, KAFKA, 60)
    writer.open()
    for offset in range(46, 50):
        writer.add(offset, message(KAFKA, offset))
    writer.write()
    call = "end_offset(the same segment with 10 messages)"
    compare.equal(call, lambda: end_offset(segment), 50, {"remembers-end": 46})
    writer.truncate_to(2 * len(message(KAFKA, 40)), 0)
    call = "end_offset(the same segment, cut to 2 messages)"
    compare.equal(call, lambda: end_offset(segment), 42, {"remembers-end": 50})


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

    name = {"name-is-first": base_offset} if dialect is DOCUMENTED else {}
    compare_end("no index entries", write(NO_INDEX), end, {"last-not-next": end - 1, **name})
    compare_end("6 messages", write(), end, name)
    compare_end("empty", write(offsets=()), first, name)
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
    segment = write()
    with segment.log_path.open("ab") as log:
        log.write(bytes(40))
    compare_end("6 messages and 40 zeros", segment, end, {"trusts-offset": 0})
    for what, offsets, allows_gaps, right, mistakes in (
        ("a gap", (0, 1, 10, 11), False, 2, {"trusts-offset": 12}),
        ("a gap that is allowed", (0, 1, 10, 11), True, 12, {"gap-is-fault": 2}),
        ("a gap that is allowed, at the end", (0, 1, 10), True, 11, {}),
        ("a lower offset at the end", (0, 1, 2, 1), False, 3, {"repeat-is-fine": 2}),
        ("an offset twice", (0, 1, 1, 2), False, 2, {}),
        ("the first offset wrong", (5, 6, 7), False, 0, {"trusts-offset": 8}),
        ("gaps allowed, an offset wrong", (0, 1, 90, 3), True, 2, {"trusts-offset": 4}),
    ):
        segment = write(NO_INDEX, [first + each for each in offsets])
        segment.allows_gaps = allows_gaps
        codes = {code: first + wrong for code, wrong in mistakes.items()}
        compare_end(what, segment, first + right, codes)
    segment = write(NO_INDEX, [first])
    packed = encode(dialect, first + 4, None, b"packed", attributes=1)
    segment.log_path.write_bytes(message(dialect, first) + packed + message(dialect, first + 5))
    call = "a compressed message in the middle"
    compare_end(call, segment, first + 6, {"wrapper-is-fault": first + 1})


# ---- 4.4 fetch


ENDS = (5, 9, 14)  # one past the last offset of each segment
LENGTHS = (9, 9, 40, 9, 25, 9, 9, 60, 9, 9, 14, 33, 9, 9)  # of the values, by offset
MOST = 1 << 20
CODEC = {1: "gzip", 2: "snappy"}


def exercise_4(compare: Comparer, messages_from: Callable[..., Any]) -> None:
    for dialect in BOTH:
        with TemporaryDirectory() as temporary:
            partition = Partition(Path(temporary), dialect, messages_from)
            _compare_limits(compare, partition)
            _compare_stops(compare, partition)
            _compare_beginnings(compare, partition)
            _compare_refused(compare, partition)
            _compare_deleted(compare, partition)
    with TemporaryDirectory() as temporary:
        segment = write_segment(Path(temporary), KAFKA, 0, range(3000), NO_INDEX)
        located = find_in_segment(segment, 0)
        compare.equal(
            "len(messages_from(kafka, offset 0, 3000 messages))",
            lambda: len(messages_from(segment, located, MOST, lambda _: None)),
            3000,
            raises={RecursionError: "recursion-for-each"},
        )


class Refused(Segment):
    """A segment whose file exists, but must not be read."""

    def scan(self, *arguments: Any, **named: Any) -> Any:
        raise PermissionError(self.name)


class Partition:
    """Three segments whose messages have different lengths, and the student's fetch from them."""

    def __init__(self, folder: Path, dialect: Dialect, messages_from: Callable[..., Any]) -> None:
        self.dialect = dialect
        self._messages_from = messages_from
        self.encoded = [self.message(offset) for offset in range(ENDS[-1])]
        self.sizes = [len(data) for data in self.encoded]
        self.segments = []
        for start, end in zip((0, *ENDS), ENDS, strict=False):
            segment = Segment(folder, dialect.base_offset_for(start), dialect, 60)
            segment.open()
            for offset in range(start, end):
                segment.add(offset, self.encoded[offset])
            segment.write()
            self.segments.append(segment)

    def message(self, offset: int, attributes: int = 0) -> bytes:
        """Return a message with a value of its own length."""
        value = b"v" * LENGTHS[offset]
        return encode(self.dialect, offset, b"k", value, attributes=attributes)

    def write(self, slot: int, *parts: bytes) -> None:
        """Give a segment another content; its index stays."""
        self.segments[slot].log_path.write_bytes(b"".join(parts))

    def restore(self) -> None:
        """Give all segments the content that they had."""
        for slot, (start, end) in enumerate(zip((0, *ENDS), ENDS, strict=False)):
            self.write(slot, *self.encoded[start:end])

    def fetch(self, offset: int, max_bytes: int, *, after: Callable[[], Any] | None = None) -> Any:
        """Return the offsets of the student's messages; `after` runs once the first is located."""
        slot = sum(end <= offset for end in ENDS)
        following = dict(zip(self.segments, [*self.segments[1:], None], strict=False))
        located = find_in_segment(self.segments[slot], offset)
        if after:
            after()
        got = self._messages_from(self.segments[slot], located, max_bytes, following.get)
        if not isinstance(got, list):
            return got
        for each in got:
            if not isinstance(each, Message):
                raise WrongKindError("messages_from", f"{type(each).__name__} in list", "Message")
        return [each.offset for each in got]

    def within(
        self,
        offsets: Sequence[int],
        max_bytes: int,
        *,
        least: int = 1,
        jumps: bool = False,
        is_late: bool = False,
    ) -> list[int]:
        """Return the first of these offsets, as many as have room, but at least `least`.

        With `jumps` it goes on after one that has no room; with `is_late` it stops one too late.
        """
        found: list[int] = []
        room = max_bytes
        for offset in offsets:
            needed = 0 if is_late else self.sizes[offset]
            if len(found) >= least and needed > room:
                if jumps:
                    continue
                break
            room -= self.sizes[offset]
            found.append(offset)
        return found


def _compare_limits(compare: Comparer, partition: Partition) -> None:
    sizes = partition.sizes
    limits = (
        (2, sum(sizes[2:6])),
        (1, sum(sizes[1:4])),
        (1, sum(sizes[1:4]) - 1),
        (1, sizes[1] - 1),
        (7, sum(sizes[0:2])),
        (1, 1),
        (1, 0),
        (3, sum(sizes[3:8])),
        (4, sum(sizes[4:6])),
        (4, sizes[4]),
        (8, sum(sizes[8:12]) - 1),
        (3, MOST),
        (13, MOST),
        (0, sum(sizes)),
    )
    cases, mistakes = [], []
    for offset, max_bytes in limits:
        every = list(range(offset, ENDS[-1]))
        right = partition.within(every, max_bytes)
        call = f"messages_from({partition.dialect.name}, offset {offset}, {max_bytes} bytes)"
        give = lambda offset=offset, max_bytes=max_bytes: partition.fetch(offset, max_bytes)  # noqa: E731
        cases.append((call, give, right))
        end_here = min(end for end in ENDS if end > offset)
        passing = [each for each in every if each == offset or each not in ENDS]
        mistakes.append(
            {
                "no-progress": partition.within(every, max_bytes, least=0),
                "skips-located": partition.within(every[1:], max_bytes),
                "stops-at-segment": [each for each in right if each < end_here],
                "overshoots-max-bytes": partition.within(every, max_bytes, is_late=True),
                "refuses-exact-fit": partition.within(every, max_bytes - 1),
                "jumps-large-message": partition.within(every, max_bytes, jumps=True),
                "sizes-are-equal": every[: max(max_bytes // sizes[offset], 1)],
                "drops-boundary-message": partition.within(passing, max_bytes),
                "zero-is-falsy": partition.within(every, max_bytes or MOST),
            }
        )
    compare.all_equal(cases, [(code, [each[code] for each in mistakes]) for code in mistakes[0]])


def _compare_stops(compare: Comparer, partition: Partition) -> None:
    """Compare where a fetch from offset 3 on ends; the second segment holds 5 to 8."""
    five, six, seven, eight = partition.encoded[5:9]
    damaged = six[:-1] + b"?"
    rest = list(range(9, 14))
    for what, content, right, mistakes in (
        ("6 damaged", [five, damaged, seven, eight], [3, 4, 5], {"skip-bad-message": []}),
        ("6 missing", [five, seven, eight], [3, 4, 5], {"jumps-gap": [7, 8]}),
        ("6 twice", [five, six, six, seven, eight], [3, 4, 5, 6], {"repeat-is-fine": [6, 7, 8]}),
        ("5 missing", [six, seven, eight], [3, 4], {"jumps-gap": [6, 7, 8]}),
        ("8 torn", [five, six, seven, eight[:-1]], [3, 4, 5, 6, 7], {"jumps-gap": []}),
        (
            "zeros after 8",
            [five, six, seven, eight, bytes(40)],
            [3, 4, 5, 6, 7, 8],
            {"skip-bad-message": []},
        ),
    ):
        partition.write(1, *content)
        wrong = {code: [*right, *more, *rest] for code, more in mistakes.items()}
        _compare_fetch(compare, partition, what, right, wrong)
    for attributes, codec in CODEC.items():
        packed = partition.message(6, attributes)
        partition.write(1, five, packed, seven, eight)
        wrong = {"hands-out-compressed": list(range(3, 14))}
        _compare_fetch(compare, partition, f"6 {codec}", [3, 4, 5], wrong)
    partition.restore()
    partition.write(2)
    _compare_fetch(compare, partition, "the last segment empty", [3, 4, 5, 6, 7, 8])
    partition.restore()
    segments = partition.segments
    partition.segments = [segments[0], segments[2]]
    _compare_fetch(compare, partition, "a segment missing", [3, 4], {"jumps-gap": [3, 4, *rest]})
    partition.segments = segments


def _compare_fetch(
    compare: Comparer,
    partition: Partition,
    what: str,
    right: list[int],
    mistakes: dict[str, Any] | None = None,
) -> None:
    call = f"messages_from({partition.dialect.name}, offset 3, {what})"
    compare.equal(call, lambda: partition.fetch(3, MOST), right, mistakes)


def _compare_beginnings(compare: Comparer, partition: Partition) -> None:
    """Compare what becomes of the located message itself."""
    where = f"messages_from({partition.dialect.name}, offset"
    partition.write(1, partition.encoded[5], partition.message(6, 1), *partition.encoded[7:9])
    compare.equal(
        f"{where} 6, which is compressed, 1 byte)",
        lambda: partition.fetch(6, 1),
        [6],
        {"no-progress": []},
    )
    compare.equal(
        f"{where} 6, which is compressed)",
        lambda: partition.fetch(6, MOST),
        list(range(6, 14)),
        {"stops-after-compressed": [6]},
    )
    partition.restore()
    zero, *others = partition.encoded[:5]

    def damage() -> None:
        partition.write(0, zero[:-1] + b"?", *others)

    compare.equal(
        f"{where} 3, 0 damaged)",
        lambda: partition.fetch(3, MOST, after=damage),
        list(range(3, 14)),
        {"begins-at-segment": []},
    )
    partition.restore()


def _compare_refused(compare: Comparer, partition: Partition) -> None:
    """Compare what becomes of an error that no deleted file has caused."""
    segments = partition.segments
    first, second, third = segments
    refused = Refused(second.directory, second.base_offset, second.dialect, 60)
    partition.segments = [first, refused, third]
    call = f"messages_from({partition.dialect.name}, offset 3, the next file is not readable)"
    mistakes = {"hides-errors": [3, 4]}
    compare.refuses(call, lambda: partition.fetch(3, MOST), PermissionError, mistakes)
    partition.segments = segments


def _compare_deleted(compare: Comparer, partition: Partition) -> None:
    where = f"messages_from({partition.dialect.name}, offset 3,"
    partition.segments[1].log_path.unlink()
    compare.equal(
        f"{where} the next file deleted)",
        lambda: partition.fetch(3, MOST),
        [3, 4],
        {"jumps-gap": [3, 4, *range(9, 14)]},
        raises={FileNotFoundError: "deleted-file-raises"},
    )
    call = f"{where} its own file deleted)"
    try:
        got = partition.fetch(3, MOST, after=partition.segments[0].log_path.unlink)
    except FileNotFoundError:
        compare.holds(False, call, "FileNotFoundError", "[] or [3]", "deleted-file-raises")
    else:
        compare.holds(got in ([], [3]), call, repr(got), "[] or [3]")


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
        "WALK_START": found.index_entry.position if found.index_entry else 0,
        "POSITION": found.position,
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
