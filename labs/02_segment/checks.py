"""Checks of lab 2: names, places, when to roll, and what is on the disk after a restart."""

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.course.comparing import Comparer
from kminilog.errors import CorruptLogError
from kminilog.format import names as library_names
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.index_entry import IndexEntry, encode_entry
from kminilog.format.message import Message, encode, scan
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition import log as library_log
from kminilog.storage.partition import retention as library_retention
from kminilog.storage.segment import scan as library_scan
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic
from kminilog.text import table

NAMED = (368769, 0, 7, 10, 2**31, 2**63 - 1)
PARTITION = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=200, index_interval_bytes=60)


def first_win(name: str) -> list[str]:
    """Return the files of a segment, whose topic has the student's name."""
    topic = Topic(re.sub(r"[^A-Za-z0-9_-]", "_", name)[:40] or "_", 1, KAFKA, SETTINGS)
    with tempfile.TemporaryDirectory() as temporary:
        with LogDirWriter.open(Path(temporary), create=True) as writer:
            writer.create_topic(topic)
            writer.log(TopicPartition(topic.name, 0)).append([(None, b"hello")] * 6)
        files = sorted(Path(temporary).glob("*/*"))
        rows = [(str(path.relative_to(temporary)), path.stat().st_size) for path in files]
    return table(("file", "bytes"), rows)


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write a partition of three or more segments, documented; the keys are the student's name."""
    with tempfile.TemporaryDirectory() as temporary:
        log_dir = Path(temporary) / "log"
        key = name.encode()[:40]
        with LogDirWriter.open(log_dir, create=True) as writer:
            writer.create_topic(Topic(PARTITION.topic, 1, DOCUMENTED, SETTINGS))
            count = 12 + seed % 5
            writer.log(PARTITION).append([(key, b"event %d" % n) for n in range(count)])
        target = folder / str(PARTITION)
        target.mkdir(exist_ok=True)
        for path in (log_dir / str(PARTITION)).iterdir():
            (target / path.name).write_bytes(path.read_bytes())


# ---- 2.1


def exercise_1(compare: Comparer, segment_name: Callable[..., Any]) -> None:
    for number in NAMED:
        compare.equal(
            f"segment_name({number})",
            lambda number=number: segment_name(number),
            library_names.segment_name(number),
            {
                "no-zero-pad": str(number),
                "nineteen-digits": str(number).rjust(19, "0"),
                "name-in-hex": f"{number:020x}",
                "as-float": f"{float(number):020.0f}",
                "suffix-in-name": str(number).rjust(20, "0") + ".log",
            },
        )
    texts = sorted(segment_name(number) for number in NAMED)
    right = [library_names.segment_name(number) for number in sorted(NAMED)]
    compare.equal("sorted(the names)", lambda: texts, right)


# ---- 2.2


class Added(NamedTuple):
    """A message that `add` gets, and the state of the segment before.

    Of the segment's bytes so many were written, and so many were there when it was opened.
    """

    offset: int
    position: int
    length: int
    written_bytes: int
    opened_bytes: int


IsDue = Callable[[Added, int], bool]  # by the message, and the position of the last entry

# What happens to the segment first, and the lengths of the messages that are added then. With these
# lengths each misconception gives other entries than all others.
STEPS = (("open", (1, 30, 60)), ("write", (20, 30, 90, 20)), ("open", (40, 10)))


def exercise_2(compare: Comparer, add: Callable[..., Any]) -> None:
    for dialect, base in ((KAFKA, 368769), (DOCUMENTED, 368769), (KAFKA, 0), (DOCUMENTED, 0)):
        for interval in (60, 0):
            with tempfile.TemporaryDirectory() as directory:
                folders = [Path(directory, name) for name in ("yours", "library")]
                for folder in folders:
                    folder.mkdir()
                pair = [Segment(folder, base, dialect, interval) for folder in folders]
                _compare_adding(compare, add, pair)
    with tempfile.TemporaryDirectory() as directory:
        segment = Segment(Path(directory), 0, KAFKA, 60)
        segment.open()
        segment.added = growing = Growing([])
        for offset in range(3):
            add(segment, offset, bytes(50))
        what = "a new list, or the old one read"
        is_cheap = segment.added is growing and not growing.passes
        compare.holds(is_cheap, "added after add(…)", what, "one more", "added-read-again")


class Growing(list[bytes]):
    """A list that knows how often somebody went through it: to add may cost no more than to add."""

    passes = 0

    def __iter__(self) -> Iterator[bytes]:
        self.passes += 1
        return super().__iter__()


def _compare_adding(compare: Comparer, add: Callable[..., Any], pair: list[Segment]) -> None:
    history: list[Added] = []
    opened_bytes = 0
    for action, lengths in STEPS:
        for segment in pair:
            segment.write()
        if action == "open":
            pair = [_opened(segment) for segment in pair]
            opened_bytes = pair[1].size_bytes
        written_bytes = pair[1].size_bytes
        for length in lengths:
            offset = pair[1].first_offset + len(history)
            added = Added(offset, pair[1].size_bytes, length, written_bytes, opened_bytes)
            history.append(added)
            _compare_one(compare, add, *pair, added)
        got, right = ([tuple(each) for each in segment.index.entries()] for segment in pair)
        begins = ", ".join(str(added.position) for added in history)
        mistakes = _wrong_entries(history, pair[1].base_offset, pair[1].index_interval_bytes)
        compare.equal(f"entries of messages at byte {begins}", lambda: got, right, mistakes)


def _opened(segment: Segment) -> Segment:
    """Return another object for the same files, as after a restart."""
    found = Segment(
        segment.log_path.parent,
        segment.base_offset,
        segment.dialect,
        segment.index_interval_bytes,
    )
    found.open()
    return found


def _compare_one(
    compare: Comparer, add: Callable[..., Any], segment: Segment, twin: Segment, added: Added
) -> None:
    call = f"add({added.offset}, {added.length} bytes)"
    data, before = bytes([added.offset & 0xFF]) * added.length, [*twin.added]
    add(segment, added.offset, data)
    for mine, other in ((segment.log_path, twin.log_path), (segment.index.path, twin.index.path)):
        grown = mine.stat().st_size - other.stat().st_size
        what = f"{grown} bytes in the {mine.suffix}"
        compare.holds(not grown, call, what, "none before write()", "writes-at-once")
    twin.add(added.offset, data)
    compare.equal(
        f"size_bytes after {call}",
        lambda: segment.size_bytes,
        twin.size_bytes,
        {
            "size-not-advanced": added.position,
            "size-counts-messages": added.position + 1,
            **(
                {"size-forgets-written": twin.size_bytes - added.written_bytes}
                if added.written_bytes
                else {"size-is-last-message": added.length}
            ),
        },
    )
    mistakes = {"not-added": before}
    compare.equal(f"added after {call}", lambda: list(segment.added), twin.added, mistakes)


def _wrong_entries(
    history: list[Added], base: int, interval: int
) -> dict[str, list[tuple[int, int]]]:
    """Return the entries of a segment with such messages, as each misconception has them."""

    def is_due(each: Added, last: int) -> bool:
        return each.position - last > interval

    def is_due_at_end(each: Added, last: int) -> bool:
        return each.position + each.length - last > interval

    rules: dict[str, IsDue] = {
        "no-entries": lambda each, last: False,
        "index-every-message": lambda each, last: True,
        "indexes-first-message": lambda each, last: each.position == 0 or is_due(each, last),
        "due-when-equal": lambda each, last: each.position - last >= interval,
        "forgets-last-entry": lambda each, last: each.position > interval,
        "own-bytes-counted": is_due_at_end,
        "due-in-each-block": lambda each, last: (
            bool(interval) and each.position // interval > last // interval
        ),
        "last-entry-not-asked": lambda each, last: is_due(
            each, last if last >= each.opened_bytes else 0
        ),
    }
    found = {
        **{code: _entries(history, base, rule) for code, rule in rules.items()},
        "absolute-offsets": _entries(history, 0, is_due),
        "counts-from-first-message": _entries(history, history[0].offset, is_due),
        "counts-from-one": _entries(history, base - 1, is_due),
        "size-forgets-written": _entries(
            history, base, is_due, lambda each: each.position - each.written_bytes
        ),
    }
    if history[0].offset == base:  # else it is the value of counts-from-first-message
        found["position-behind"] = _entries(
            history, base, is_due_at_end, lambda each: each.position + each.length
        )
    return found


def _entries(
    history: list[Added],
    base: int,
    is_due: IsDue,
    position_of: Callable[[Added], int] = lambda each: each.position,
) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    last = 0
    for each in history:
        if is_due(each, last):
            last = position_of(each)
            found.append((each.offset - base, last))
    return found


# ---- 2.3


class Case(NamedTuple):
    """One fact has several values n; `mistakes` maps codes to those n with which they roll."""

    what: str
    changed: str
    values: tuple[int, ...]
    facts: dict[str, int]
    mistakes: dict[str, list[int]]


YOUNG = {"size_bytes": 1, "incoming_bytes": 1, "entry_count": 0, "age_ms": 0}
AGES = (0, 59_999, 60_000, 60_001, 60_000_001, 7 * 24 * 3_600_000 + 1)
COUNTS = (8, 9, 10, 11, 79, 80, 81)
CASES = (
    Case(
        "n of 1000 bytes, 50 more",
        "size_bytes",
        (949, 950, 951, 1000, 1001),
        {"incoming_bytes": 50},
        {
            "roll-after": [1000, 1001],
            "roll-when-over": [1001],
            "rolls-when-equal": [950, 951, 1000, 1001],
        },
    ),
    Case(
        "900 of 1000 bytes, n more",
        "incoming_bytes",
        (99, 100, 101),
        {"size_bytes": 900},
        {"rolls-when-equal": [100, 101]},
    ),
    Case(
        "n of 1000 bytes, 1001 more",
        "size_bytes",
        (0, 1),
        {"incoming_bytes": 1001},
        {"rolls-empty": [0, 1]},
    ),
    Case(
        "age n of 60000 ms",
        "age_ms",
        AGES,
        {"entry_count": 3},
        {"ignores-age": [], "rolls-at-age": [60_000, *AGES[3:]]},
    ),
    Case("age n of 60000 ms, no entries", "age_ms", AGES, {}, {}),
    Case(
        "n index entries, room for 10",
        "entry_count",
        COUNTS,
        {"incoming_bytes": 50},
        {
            "ignores-index-size": [],
            "index-full-late": [*COUNTS[3:]],
            "index-full-early": [*COUNTS[1:]],
        },
    ),
    Case("n index entries, 1 byte more", "entry_count", COUNTS, {}, {}),
    Case(
        "n bytes, too old",
        "size_bytes",
        (0, 1),
        {"entry_count": 11, "age_ms": 60_001},
        {"rolls-empty": [0, 1]},
    ),
)
SETTINGS_OF_CASES = TopicSettings(
    segment_bytes=1000, segment_ms=60_000, segment_index_bytes=80, index_interval_bytes=20
)
OTHER_SETTINGS = TopicSettings(
    segment_bytes=500, segment_ms=1000, segment_index_bytes=84, max_message_bytes=100
)


def precondition_3(
    settings: TopicSettings, size_bytes: int, incoming_bytes: int, entry_count: int, age_ms: int
) -> bool:
    """Return whether there is a message, and nothing of the segment is negative."""
    return incoming_bytes > 0 and min(size_bytes, entry_count, age_ms) >= 0


def exercise_3(compare: Comparer, must_roll: Callable[..., Any]) -> None:
    settings = SETTINGS_OF_CASES
    compare.equal("must_roll(1 of 1000 bytes, 1 more)", lambda: must_roll(settings, **YOUNG), False)
    for what, changed, values, facts, mistakes in CASES:
        compare.equal(
            f"[n if must_roll({what})]",
            lambda c=changed, v=values, f=facts: _that_roll(must_roll, settings, c, v, YOUNG | f),
            _that_roll(library_log.must_roll, settings, changed, values, YOUNG | facts),
            mistakes,
        )
    for what, changed, values in (
        ("n of 500 bytes", "size_bytes", (498, 499, 500, 999, 1000)),
        ("n more of 500, messages of 100", "incoming_bytes", (100, 101, 499, 500)),
        ("age n of 1000 ms", "age_ms", (999, 1000, 1001, 60_001)),
        ("n index entries, room for 10.5", "entry_count", (8, 9, 10, 11)),
    ):
        fixed = _that_roll(library_log.must_roll, settings, changed, values, YOUNG)
        compare.equal(
            f"[n if must_roll({what})]",
            lambda c=changed, v=values: _that_roll(must_roll, OTHER_SETTINGS, c, v, YOUNG),
            _that_roll(library_log.must_roll, OTHER_SETTINGS, changed, values, YOUNG),
            {"ignores-settings": fixed, "index-entry-in-part": [11]},
        )
    greatest = TopicSettings(segment_bytes=2**31 - 1)
    facts = YOUNG | {"incoming_bytes": 1000}
    values = (2**31 - 1001, 2**31 - 1000, 2**31 - 1)
    compare.equal(
        "[n if must_roll(n of 2147483647 bytes, 1000 more)]",
        lambda: _that_roll(must_roll, greatest, "size_bytes", values, facts),
        [*values[1:]],
        {"sum-in-int32": []},
    )


def _that_roll(
    function: Callable[..., Any],
    settings: TopicSettings,
    changed: str,
    values: tuple[int, ...],
    facts: dict[str, int],
) -> list[int]:
    return [n for n in values if function(settings, **{**facts, changed: n})]


# ---- 2.4


def exercise_4(compare: Comparer, next_offset: Callable[..., Any]) -> None:
    for dialect, base, count in _segments_to_reopen():
        with _written(dialect, base, count) as segment:
            end = dialect.first_offset(base) + count
            entry = segment.index.last_entry
            mistakes = {
                "restart-at-zero": 0,
                **({"name-is-count": base + count} if count else {}),
                "restart-at-name": dialect.first_offset(base),
                "offset-in-segment": count,
            }
            if dialect is KAFKA:  # where it fails first; else it is the value of name-is-count
                mistakes["last-not-next"] = end - 1
            if entry:
                mistakes["stops-at-index"] = base + entry.relative_offset + 1
            call = f"next_offset({dialect.name} segment {base} of {count})"
            _compare_next(compare, call, next_offset, segment, mistakes)
    for dialect in (KAFKA, DOCUMENTED):
        for what, damaged in _damages(dialect):
            with _written(dialect, 20, 9, log=damaged) as segment:
                call = f"next_offset({dialect.name}, {what})"
                _compare_refusal(compare, call, next_offset, segment)
        for what, index in _wrong_indexes(dialect):
            with _written(dialect, 20, 9, index=index) as segment:
                entries = segment.index.entries()
                believed = {"trust-index": 20 + entries[-1].relative_offset} if entries else {}
                call = f"next_offset({dialect.name}, {what})"
                _compare_next(compare, call, next_offset, segment, believed, "trust-index")
        _compare_start(compare, next_offset, dialect)


def _compare_start(compare: Comparer, next_offset: Callable[..., Any], dialect: Dialect) -> None:
    """Compare where an answer begins to read: nobody looks at what is before the last entry."""
    sound = _messages(dialect, 20, 9)
    with _written(dialect, 20, 9, log=bytes(len(sound[0])) + b"".join(sound[1:])) as segment:
        call = f"next_offset({dialect.name}, zeros before the last index entry)"
        _compare_next(compare, call, next_offset, segment, {}, "reads-whole-segment")
    with _written(dialect, 20, 9, log=bytes(len(sound[0])) + b"".join(sound[1:])[:-1]) as segment:
        call = f"next_offset({dialect.name}, zeros there, and the last byte missing)"
        _compare_refusal(compare, call, next_offset, segment)


def _compare_next(
    compare: Comparer,
    call: str,
    next_offset: Callable[..., Any],
    segment: Segment,
    mistakes: dict[str, int],
    code_of_refusal: str | None = None,
) -> None:
    before = _files_of(segment)
    right = library_scan.next_offset(segment)
    refusal = {CorruptLogError: code_of_refusal} if code_of_refusal else {}
    compare.equal(call, lambda: next_offset(segment), right, mistakes, refusal)
    _compare_files(compare, call, segment, before)


def _compare_refusal(
    compare: Comparer, call: str, next_offset: Callable[..., Any], segment: Segment
) -> None:
    """Compare what an answer does with a damaged segment: no number is right."""
    before = _files_of(segment)
    position = library_scan.scan_segment(segment, segment.last_true_entry()).valid_bytes
    try:
        got = next_offset(segment)
    except CorruptLogError as error:
        at = str(error.position)
        is_place = error.position == position
        what = f"the position in the error of {call}"
        compare.holds(is_place, what, at, str(position), "error-elsewhere")
        return _compare_files(compare, call, segment, before)
    code = "accepts-damage" if isinstance(got, int) else None
    what = str(got) if code else f"{type(got).__name__} as its result"
    return compare.holds(False, call, what, "CorruptLogError", code)


def _compare_files(
    compare: Comparer, call: str, segment: Segment, before: list[tuple[bytes, int]]
) -> None:
    is_same = _files_of(segment) == before
    compare.holds(is_same, f"the files after {call}", "others", "as before", "changes-files")


def _files_of(segment: Segment) -> list[tuple[bytes, int]]:
    """Return what both files hold, and when they were written: retention asks for that."""
    paths = segment.log_path, segment.index.path
    return [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths]


def _segments_to_reopen() -> Iterator[tuple[Dialect, int, int]]:
    yield KAFKA, 20, 9
    yield DOCUMENTED, 20, 11
    for dialect in (KAFKA, DOCUMENTED):
        for base, count in ((0, 9), (0, 1), (0, 0), (20, 0), (368769, 7), (2**40, 3)):
            yield dialect, base, count


@contextmanager
def _written(
    dialect: Dialect, base: int, count: int, log: bytes | None = None, index: bytes | None = None
) -> Iterator[Segment]:
    """Give a segment as a broker opens it; `log` and `index` are other contents of its files."""
    with tempfile.TemporaryDirectory() as directory:
        writer = Segment(Path(directory), base, dialect, 100)
        writer.open()
        for data in _messages(dialect, base, count):
            writer.add(int.from_bytes(data[:8], "big"), data)
        writer.write()
        if log is not None:
            writer.log_path.write_bytes(log)
        if index is not None:
            writer.index.path.write_bytes(index)
        for path in (writer.log_path, writer.index.path):
            os.utime(path, (0, 0))
        yield _opened(writer)


def _wrong_indexes(dialect: Dialect) -> Iterator[tuple[str, bytes]]:
    """Yield indexes of the segment 20 with 9 messages that lead elsewhere, or nowhere."""
    lengths = [len(data) for data in _messages(dialect, 20, 9)]
    first = dialect.first_offset(20) - 20
    fifth = sum(lengths[:4])
    yield "an entry after the end", encode_entry(IndexEntry(first + 14, sum(lengths)))
    yield "an entry with a wrong offset", encode_entry(IndexEntry(first + 5, fifth))
    yield "an entry with a wrong byte", encode_entry(IndexEntry(first + 4, fifth + 3))
    yield "no entries", b""


def _messages(dialect: Dialect, base: int, count: int) -> list[bytes]:
    first = dialect.first_offset(base)
    return [encode(dialect, first + n, b"k", b"value %d" % n) for n in range(count)]


def _damages(dialect: Dialect) -> Iterator[tuple[str, bytes]]:
    """Yield segments, named 20, with a fault after the last index entry."""
    sound = _messages(dialect, 20, 9)
    data = b"".join(sound)
    yield "5 bytes of a message", data + sound[0][:5]
    yield "last byte missing", data[:-1]
    yield "last byte changed", data[:-1] + bytes([data[-1] ^ 1])
    yield "a gap at the end", data + _messages(dialect, 20, 12)[-1]
    yield "the last one twice", data + sound[-1]


# ---- 2.5


def exercise_5(compare: Comparer, base_offset_for: Callable[..., Any]) -> None:
    for dialect in (DOCUMENTED, KAFKA):
        for next_offset in (368770, 737338, 2, 1, 0, 2**40, 2**62 + 3):
            compare.equal(
                f"base_offset_for({dialect.name}, {next_offset})",
                lambda dialect=dialect, number=next_offset: base_offset_for(dialect, number),
                dialect.base_offset_for(next_offset),
                _wrong_bases(dialect, next_offset),
            )


def _wrong_bases(dialect: Dialect, next_offset: int) -> dict[str, int]:
    if next_offset > 2**53:
        return {"as-float": int(next_offset - 1.0)}
    if dialect is KAFKA:
        return {"previous-in-both": next_offset - 1}
    # At offset 1 the name of the first segment is wanted once more: that is the collision.
    plain = "dodges-collision" if next_offset == 1 else "name-is-own-offset"
    return {plain: next_offset, "negative-name": next_offset - 1}


# ---- 2.6


def solve_6(folder: Path) -> dict[str, Any]:
    """Return the right constants of exercise 6, as the library reads the files."""
    paths = sorted((folder / "files" / str(PARTITION)).glob("*.log"))
    segments = [
        [pair for pair in scan(DOCUMENTED, path.read_bytes()) if isinstance(pair[1], Message)]
        for path in paths
    ]
    last = segments[-1][-1][1]
    assert isinstance(last, Message)
    return {
        "FIRST_OFFSET": getattr(segments[1][0][1], "offset", None),
        "LAST_POSITION": segments[0][-1][0],
        "NEXT_OFFSET": last.offset + 1,
        "NEXT_SEGMENT": library_names.segment_name(DOCUMENTED.base_offset_for(last.offset + 1)),
    }


def exercise_6(compare: Comparer, answers: dict[str, Any], folder: Path) -> None:
    right = solve_6(folder)
    last = right["NEXT_OFFSET"] - 1
    first_log = min((folder / "files" / str(PARTITION)).glob("*.log"))
    mistakes: dict[str, dict[str, Any]] = {
        "FIRST_OFFSET": {"name-is-own-offset": right["FIRST_OFFSET"] - 1},
        "LAST_POSITION": {
            "position-behind": first_log.stat().st_size,
            "position-is-offset": right["FIRST_OFFSET"] - 1,
        },
        "NEXT_OFFSET": {"last-not-next": last},
        "NEXT_SEGMENT": {
            "name-is-own-offset": library_names.segment_name(last + 1),
            "no-zero-pad": str(last),
        },
    }
    for name, value in right.items():
        compare.equal(name, lambda name=name: answers[name], value, mistakes[name])


# ---- 2.10 what retention deletes

NOW_MS = 1_000_000_400  # no whole second


def _segments(directory: Path, ages_ms: tuple[int, ...], sizes: tuple[int, ...]) -> list[Segment]:
    """Return segments whose names count 0, 1, 2, with these ages and sizes of their `.log`."""
    segments = []
    for number, (age_ms, size) in enumerate(zip(ages_ms, sizes, strict=True)):
        segment = Segment(directory, number, KAFKA, 4096)
        segment.log_path.write_bytes(bytes(size))
        written_ns = (NOW_MS - age_ms) * 1_000_000
        os.utime(segment.log_path, ns=(written_ns, written_ns))
        segments.append(segment)
    return segments


class Limits(NamedTuple):
    """What the segments of a case are, and the two settings."""

    ages_ms: tuple[int, ...]
    sizes: tuple[int, ...]
    retention_ms: int
    retention_bytes: int


def _numbers_expired(
    case: Limits, compare: Comparer, expired_segments: Callable[..., Any]
) -> list[int]:
    """Return the names of what expires; the list that was given must stay."""
    ages_ms, sizes, retention_ms, retention_bytes = case
    settings = TopicSettings(retention_ms=retention_ms, retention_bytes=retention_bytes)
    with tempfile.TemporaryDirectory() as temporary:
        segments = _segments(Path(temporary), ages_ms, sizes)
        given = [*segments]
        found = [segment.base_offset for segment in expired_segments(given, settings, NOW_MS)]
        what = f"segments after expired_segments({len(segments)} segments)"
        got = f"{len(given)} segments"
        is_same = given == segments
        compare.holds(is_same, what, got, "the list unchanged", "retain-changes-list")
        return found


def _expired(
    *,
    holes: str = "",
    counts: bool = False,
    at_age: bool = False,
    seconds: bool = False,
    below: bool = False,
    above: bool = False,
    zero_is_none: str = "",
    minus_one: bool = False,
    both: bool = False,
    rules: tuple[str, ...] = ("age", "size"),
    spares_last: bool = False,
) -> Callable[..., Any]:
    """Return expired_segments with one thing done otherwise."""

    def wrong(segments: list[Segment], settings: TopicSettings, now_ms: int) -> list[Segment]:
        limit_ms, limit_bytes = settings.retention_ms, settings.retention_bytes
        limit_ms = -1 if "age" in zero_is_none and not limit_ms else limit_ms
        limit_bytes = -1 if "size" in zero_is_none and not limit_bytes else limit_bytes
        by_age, by_size = [], []
        for segment in segments:
            written_ms = segment.log_path.stat().st_mtime_ns // 1_000_000
            age_ms = now_ms - (written_ms // 1000 * 1000 if seconds else written_ms)
            if age_ms > limit_ms - at_age and (limit_ms >= 0 or minus_one):
                by_age.append(segment)
            elif "age" not in holes:
                break
        rest = sum(segment.file_bytes for segment in segments)
        for segment in segments:
            after = rest - segment.file_bytes
            is_over = rest > limit_bytes if below else after - above >= limit_bytes
            if is_over and (limit_bytes >= 0 or minus_one):
                by_size.append(segment)
                rest = after
            elif "size" not in holes:
                break
        if counts:
            by_age, by_size = segments[: len(by_age)], segments[: len(by_size)]
        found = {"age": by_age, "size": by_size}
        expired = (min if both else max)((found[rule] for rule in rules), key=len)
        return expired[: len(segments) - 1] if spares_last else expired

    return wrong


def precondition_10(segments: list[Segment], settings: TopicSettings, now_ms: int) -> bool:
    """Return whether these are segments in order, and each limit is one, or -1."""
    names = [segment.base_offset for segment in segments]
    limits = settings.retention_ms, settings.retention_bytes
    return names == sorted(set(names)) and min(limits) >= -1


def exercise_10(compare: Comparer, expired_segments: Callable[..., Any]) -> None:
    old, young, equal = (50_000, 40_000, 30_000, 20_000), (9, 8, 7, 6), (100, 100, 100, 100)
    cases = {
        "ages 50, 40, 30, 20 s, retention 25": Limits(old, equal, 25_000, -1),
        "ages 50, 10, 40, 5 s, retention 25": Limits(
            (50_000, 10_000, 40_000, 5), equal, 25_000, -1
        ),
        "ages 50, 40, 30, 20 s, retention 10": Limits(old, equal, 10_000, -1),
        "ages 50, 40, 30, 20 s, retention 40": Limits(old, equal, 40_000, -1),
        "4 of 100 bytes, retention 250": Limits(young, equal, -1, 250),
        "4 of 100 bytes, retention 200": Limits(young, equal, -1, 200),
        "300, 100, 50, 10 bytes, retention 100": Limits(young, (300, 100, 50, 10), -1, 100),
        "4 of 100 bytes, retention 0": Limits(young, equal, -1, 0),
        "ages 50, 40, 30, 20 s, retention 0": Limits(old, equal, 0, -1),
        "no limit": Limits(old, equal, -1, -1),
        "1 too old, 2 too many": Limits((50_000, 3, 2, 1), equal, 25_000, 200),
        "3 too old, 1 too many": Limits(old, equal, 25_000, 300),
        "ages 25.2, 20, 3, 2 s, retention 25": Limits((25_200, 20_000, 3, 2), equal, 25_000, -1),
        "ages 24.6, 20, 3, 2 s, retention 25": Limits((24_600, 20_000, 3, 2), equal, 25_000, -1),
        "ages -30, 3, 2, 1 s, retention 25": Limits((-30_000, 3, 2, 1), equal, 25_000, -1),
        "0, 100, 0, 100 bytes, too old": Limits(old, (0, 100, 0, 100), 10_000, -1),
        "0, 100, 0, 100 bytes, retention 100": Limits(young, (0, 100, 0, 100), -1, 100),
    }
    readings = (
        ("retain-leaves-holes", _expired(holes="age")),
        ("retain-leaves-holes", _expired(holes="size")),
        ("retain-leaves-holes", _expired(holes="age size")),
        ("retain-counts", _expired(holes="age", counts=True)),
        ("retain-counts", _expired(holes="size", counts=True)),
        ("retain-counts", _expired(holes="age size", counts=True)),
        ("retain-below-bytes", _expired(below=True)),
        ("retain-above-bytes", _expired(above=True)),
        ("retain-zero-is-none", _expired(zero_is_none="age")),
        ("retain-zero-is-none", _expired(zero_is_none="size")),
        ("retain-zero-is-none", _expired(zero_is_none="age size")),
        ("retain-in-seconds", _expired(seconds=True)),
        ("retain-minus-one", _expired(minus_one=True)),
        ("retain-at-age", _expired(at_age=True)),
        ("retain-needs-both", _expired(both=True)),
        ("retain-one-rule", _expired(rules=("age",))),
        ("retain-one-rule", _expired(rules=("size",))),
        ("retain-spares-last", _expired(spares_last=True)),
    )
    runs = {
        f"expired_segments({what})": partial(_numbers_expired, case, compare)
        for what, case in cases.items()
    }
    compare.runs(runs, expired_segments, library_retention.expired_segments, readings)


# ---- 2.12: what counts of a result

view_12 = bool
