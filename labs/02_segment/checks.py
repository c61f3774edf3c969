"""Checks of lab 2: names, places, when to roll, and what is on the disk after a restart."""

import tempfile
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from kminilog.course.comparing import Comparer
from kminilog.errors import CorruptLogError
from kminilog.format import names as library_names
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.message import Message, encode, scan
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage import rolling as library_rolling
from kminilog.storage import segment_scan as library_scan
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.segment import Segment
from kminilog.storage.topics import Topic

NAMED = (368769, 0, 7, 10, 2**31, 2**63 - 1)
PARTITION = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=200, index_interval_bytes=60)


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
                "suffix-in-name": str(number).rjust(20, "0") + ".log",
            },
        )
    texts = sorted(segment_name(number) for number in NAMED)
    right = [library_names.segment_name(number) for number in sorted(NAMED)]
    compare.equal("sorted(the names)", lambda: texts, right)


# ---- 2.2


def exercise_2(compare: Comparer, add: Callable[..., Any]) -> None:
    lengths = (60, 1, 30, 1, 61, 200, 30, 30, 1, 5)
    for dialect, base in ((KAFKA, 368769), (DOCUMENTED, 368769), (KAFKA, 0), (DOCUMENTED, 0)):
        first = dialect.first_offset(base)
        for interval in (60, 0):
            with tempfile.TemporaryDirectory() as temporary:
                segment = Segment(Path(temporary), base, dialect, interval)
                _compare_adding(compare, add, segment, first, lengths)


def _compare_adding(
    compare: Comparer,
    add: Callable[..., Any],
    segment: Segment,
    first: int,
    lengths: tuple[int, ...],
) -> None:
    interval = segment.index_interval_bytes
    twin = Segment(segment.log_path.parent, segment.base_offset, segment.dialect, interval)
    for count, length in enumerate(lengths, start=1):
        offset, data = first + count - 1, bytes([count]) * length
        before = segment.size_bytes
        add(segment, offset, data)
        twin.add(offset, data)
        call = f"add({offset}, {length} bytes)"
        compare.holds(
            not segment.log_path.exists(),
            call,
            "a file",
            "no file before write()",
            "writes-at-once",
        )
        compare.equal(
            f"size_bytes after {call}",
            lambda: segment.size_bytes,
            twin.size_bytes,
            {
                "size-not-advanced": before,
                "size-counts-messages": before + 1,
                "size-is-last-message": length,
            },
        )
        compare.equal(
            f"the last of `added` after {call}",
            lambda: segment.added[-1:],
            [data],
            {"not-added": []},
        )
        compare.equal(f"`added` after {call}", lambda: len(segment.added), count)
        compare.equal(
            f"entries after {call}",
            lambda: [tuple(entry) for entry in segment.index.entries()],
            [tuple(entry) for entry in twin.index.entries()],
            _wrong_entries(segment.base_offset, first, lengths[:count], interval),
        )


def _wrong_entries(
    base: int, first: int, lengths: tuple[int, ...], interval: int
) -> dict[str, list[tuple[int, int]]]:
    """Return the entries of a segment of such messages, as each misconception has them."""
    starts = [0, *accumulate(lengths)][:-1]
    places = list(enumerate(starts, start=first))
    ends = [
        (offset, start + length) for (offset, start), length in zip(places, lengths, strict=True)
    ]
    due = _due(places, lambda distance: distance > interval)
    return {
        "absolute-offsets": due,
        "position-behind": _relative(base, _due(ends, lambda distance: distance > interval)),
        "index-every-message": _relative(base, places),
        "due-when-equal": _relative(base, _due(places, lambda distance: distance >= interval)),
        "forgets-last-entry": _relative(base, [pair for pair in places if pair[1] > interval]),
        "no-entries": [],
    }


def _due(places: list[tuple[int, int]], is_due: Callable[[int], bool]) -> list[tuple[int, int]]:
    entries: list[tuple[int, int]] = []
    last = 0
    for offset, position in places:
        if is_due(position - last):
            entries.append((offset, position))
            last = position
    return entries


def _relative(base: int, entries: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(offset - base, position) for offset, position in entries]


# ---- 2.3


def exercise_3(compare: Comparer, must_roll: Callable[..., Any]) -> None:
    settings = TopicSettings(segment_bytes=1000, segment_ms=60_000, segment_index_bytes=80)
    young = {"size_bytes": 1, "incoming_bytes": 1, "entry_count": 0, "age_ms": 0}
    old_and_full = {"incoming_bytes": 1, "entry_count": 11, "age_ms": 60_001}
    compare.equal("must_roll(1 of 1000 bytes, 1 more)", lambda: must_roll(settings, **young), False)
    cases: list[tuple[str, str, tuple[int, ...], dict[str, int], dict[str, list[int]]]] = [
        (
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
        (
            "900 of 1000 bytes, n more",
            "incoming_bytes",
            (99, 100, 101),
            {"size_bytes": 900},
            {"rolls-when-equal": [100, 101]},
        ),
        (
            "n of 1000 bytes, 1001 more",
            "size_bytes",
            (0, 1),
            {"incoming_bytes": 1001},
            {"rolls-empty": [0, 1]},
        ),
        (
            "age n of 60000 ms",
            "age_ms",
            (0, 59_999, 60_000, 60_001),
            {},
            {"ignores-age": [], "rolls-at-age": [60_000, 60_001]},
        ),
        (
            "n index entries, room for 10",
            "entry_count",
            (8, 9, 10, 11),
            {},
            {"ignores-index-size": [], "index-full-late": [11], "index-full-early": [9, 10, 11]},
        ),
        ("n bytes, too old", "size_bytes", (0, 1), old_and_full, {"rolls-empty": [0, 1]}),
    ]
    for what, changed, values, facts, mistakes in cases:
        compare.equal(
            f"[n if must_roll({what})]",
            lambda c=changed, v=values, f=facts: _that_roll(must_roll, settings, c, v, young | f),
            _that_roll(library_rolling.must_roll, settings, changed, values, young | facts),
            mistakes,
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
        with tempfile.TemporaryDirectory() as temporary:
            segment = _written(Path(temporary), dialect, base, count)
            end = dialect.first_offset(base) + count
            entry = segment.index.lookup(2**62)
            mistakes = {
                "restart-at-zero": 0,
                "name-is-count": base + count,  # the last offset, too, in the documented dialect
                "last-not-next": end - 1,
                "restart-at-name": dialect.first_offset(base),
                "offset-in-segment": count,
            }
            if entry:
                mistakes["stops-at-index"] = base + entry.relative_offset + 1
            compare.equal(
                f"next_offset({dialect.name} segment {base} of {count})",
                lambda segment=segment: next_offset(segment),
                library_scan.next_offset(segment),
                mistakes,
            )
    for dialect in (KAFKA, DOCUMENTED):
        for what, damaged in _damages(dialect):
            with tempfile.TemporaryDirectory() as temporary:
                segment = _written(Path(temporary), dialect, 20, 9)
                segment.log_path.write_bytes(damaged)
                compare.refuses(
                    f"next_offset({dialect.name}, {what})",
                    lambda segment=segment: next_offset(segment),
                    CorruptLogError,
                    {"accepts-damage": _sound_end(dialect, damaged)},
                )


def _segments_to_reopen() -> Iterator[tuple[Dialect, int, int]]:
    yield KAFKA, 20, 9
    yield DOCUMENTED, 20, 11
    for dialect in (KAFKA, DOCUMENTED):
        for base, count in ((0, 9), (0, 1), (0, 0), (20, 0), (368769, 7), (2**40, 3)):
            yield dialect, base, count


def _written(directory: Path, dialect: Dialect, base: int, count: int) -> Segment:
    segment = Segment(directory, base, dialect, 100)
    segment.open()
    for data in _messages(dialect, base, count):
        segment.add(int.from_bytes(data[:8], "big"), data)
    segment.write()
    return segment


def _messages(dialect: Dialect, base: int, count: int) -> list[bytes]:
    first = dialect.first_offset(base)
    return [encode(dialect, first + n, b"k", b"value %d" % n) for n in range(count)]


def _damages(dialect: Dialect) -> Iterator[tuple[str, bytes]]:
    """Yield segments, named 20, with a fault behind the last index entry."""
    sound = _messages(dialect, 20, 9)
    data = b"".join(sound)
    yield "5 bytes of a message", data + sound[0][:5]
    yield "last byte missing", data[:-1]
    yield "last byte changed", data[:-1] + bytes([data[-1] ^ 1])
    yield "a gap at the end", data + _messages(dialect, 20, 12)[-1]
    yield "the last one twice", data + sound[-1]


def _sound_end(dialect: Dialect, data: bytes) -> int:
    expected = dialect.first_offset(20)
    for _, outcome in scan(dialect, data):
        if not isinstance(outcome, Message) or outcome.offset != expected:
            break
        expected += 1
    return expected


# ---- 2.5


def exercise_5(compare: Comparer, base_offset_for: Callable[..., Any]) -> None:
    for dialect in (DOCUMENTED, KAFKA):
        for next_offset in (368770, 737338, 2, 1, 0, 2**62):
            compare.equal(
                f"base_offset_for({dialect.name}, {next_offset})",
                lambda dialect=dialect, number=next_offset: base_offset_for(dialect, number),
                dialect.base_offset_for(next_offset),
                _wrong_bases(dialect, next_offset),
            )


def _wrong_bases(dialect: Dialect, next_offset: int) -> dict[str, int]:
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
