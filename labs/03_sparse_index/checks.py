"""Checks of lab 3: what stands in an entry, who gets one, the search in them, and the walk."""

import struct
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from struct import pack
from typing import Any, NamedTuple
from zlib import crc32

from kminilog.course.comparing import Comparer
from kminilog.course.counting import CountedBytes, CountedSlots
from kminilog.format import index_entry as library_entry
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.index_entry import IndexEntry, encode_entry
from kminilog.format.message import Message, encode, scan
from kminilog.storage.segment import lookup as library
from kminilog.text import table

BASE_OFFSET = 368769  # the documents' own example, with its entry (3, 497)
TARGET = 368780  # the offset that the student looks for in the files
NAME = "00000000000000368769"
BOTH = (KAFKA, DOCUMENTED)
MANY = 2000  # messages: more than Python allows calls inside each other


def first_win(name: str) -> list[str]:
    """Return the entry of the message that comes after one with the student's name."""
    offset = BASE_OFFSET + 2
    position = len(
        encode(KAFKA, BASE_OFFSET, None, b"hello") + encode(KAFKA, 0, None, name.encode())
    )
    data = encode_entry(library_entry.entry_for(offset, position, BASE_OFFSET))
    rows = [
        (0, "relative offset", data[:4].hex(" "), f"{offset} - {BASE_OFFSET}"),
        (4, "position", data[4:].hex(" "), f"{NAME}.log, byte {position}"),
    ]
    return table(("byte", "field", "bytes", "meaning"), rows)


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write a documented segment and its index; sizes by seed, the keys are the student's name."""
    for attempt in count(seed):
        messages = _segment(name.encode()[:40], Random(attempt))
        entries = _entries(messages)
        around = [entry.relative_offset for entry in entries]
        slot = library.entry_slot(around, TARGET - BASE_OFFSET)
        if 1 <= slot < len(around) - 1 and around[slot] < TARGET - BASE_OFFSET:
            break
    (folder / f"{NAME}.log").write_bytes(b"".join(messages))
    (folder / f"{NAME}.index").write_bytes(b"".join(map(encode_entry, entries)))


def _segment(key: bytes, chance: Random) -> list[bytes]:
    first = DOCUMENTED.first_offset(BASE_OFFSET)
    return [encode(DOCUMENTED, first + n, key, b"." * chance.randrange(5, 60)) for n in range(24)]


def _entries(messages: list[bytes]) -> list[IndexEntry]:
    places = [
        (message.offset, position)
        for position, message in scan(DOCUMENTED, b"".join(messages))
        if isinstance(message, Message)
    ]
    return list(library_entry.due_entries(places, BASE_OFFSET, 150))


# ---- 3.1


def precondition_1(offset: int, position: int, base_offset: int) -> bool:
    """Return whether these can be offsets; any position may come, for it is what is refused."""
    return offset >= 0 and base_offset >= 0


def exercise_1(compare: Comparer, entry_for: Callable[..., Any]) -> None:
    _compare_entry(compare, entry_for, 368772, 497, BASE_OFFSET)
    for dialect in BOTH:
        base = dialect.base_offset_for(368770)
        for offset, position in ((368776, 1407), (368772, 497), (368771, 61)):
            _compare_entry(compare, entry_for, offset, position, base)
    _compare_entry(compare, entry_for, 7, 4100, 0)
    for numbers, code in (
        ((20, 61, 20), "refuses-zero"),
        ((27, 0, 20), "refuses-zero"),
        ((2**40 + 5, 7, 2**40), "limits-whole-offset"),
        ((2**62 + 5, 7, 2**62), "limits-whole-offset"),
    ):
        _compare_entry(compare, entry_for, *numbers, code)
    got = entry_for(7, 4100, 0)
    code = "plain-tuple" if type(got) is tuple else None
    is_entry = isinstance(got, IndexEntry)
    compare.holds(is_entry, "type(entry_for(…))", type(got).__name__, "IndexEntry", code)
    for numbers in (
        (2**32, 5, 0),
        (5, 2**32, 0),
        (2**40 + 2**32, 5, 2**40),
        (2**31, 5, 0),
        (2**31 + 6, 5, 6),
        (5, 2**31, 0),
        (4, 5, 5),
        (5, -1, 0),
    ):
        _compare_refusal(compare, entry_for, *numbers)
    for numbers in ((2**31 - 1, 5, 0), (2**40 + 2**31 - 1, 2**31 - 1, 2**40)):
        _compare_entry(compare, entry_for, *numbers, "refuses-greatest")


def _compare_entry(
    compare: Comparer,
    entry_for: Callable[..., Any],
    offset: int,
    position: int,
    base: int,
    code_of_refusal: str | None = None,
) -> None:
    right = library_entry.entry_for(offset, position, base)

    def give() -> Any:
        got = entry_for(offset, position, base)
        return IndexEntry(*got) if type(got) is tuple and len(got) == 2 else got

    compare.equal(
        f"entry_for({offset}, {position}, {base})",
        give,
        right,
        {
            "absolute-offsets": IndexEntry(offset, position),
            "as-float": IndexEntry(int(float(offset) - base), position),
            **(
                {"counts-from-first-message": IndexEntry(right.relative_offset - 1, position)}
                if base
                else {}
            ),
            "counts-from-one": IndexEntry(right.relative_offset + 1, position),
            "swapped-fields": IndexEntry(position, right.relative_offset),
        },
        raises={ValueError: code_of_refusal},
    )


def _compare_refusal(
    compare: Comparer, entry_for: Callable[..., Any], offset: int, position: int, base: int
) -> None:
    relative = offset - base
    highest = max(relative, position)
    plain = "accepts-overflow" if highest >= 2**32 else "accepts-unsigned"
    if min(relative, position) < 0:
        plain = "accepts-negative"
    compare.refuses(
        f"entry_for({offset}, {position}, {base})",
        lambda: entry_for(offset, position, base),
        ValueError,
        {
            "wraps-overflow": (relative & 0x7FFFFFFF, position & 0x7FFFFFFF),
            plain: (relative, position),
        },
    )


# ---- 3.2


def precondition_2(position: int, last_indexed_position: int, interval_bytes: int) -> bool:
    """Return whether the last entry is not behind the message."""
    return 0 <= last_indexed_position <= position and interval_bytes >= 0


def exercise_2(compare: Comparer, is_due: Callable[..., Any]) -> None:
    compare.equal("is_due(4097, 0, 4096)", lambda: is_due(4097, 0, 4096), True)
    cases: list[tuple[tuple[int, ...], int, int, dict[str, list[int]]]] = [
        (
            (0, 4095, 4097),
            0,
            4096,
            {
                "index-every-message": [0, 4095, 4097],
                "indexes-first-message": [0, 4097],
            },
        ),
        ((41, 50), 40, 60, {}),
        (
            (4101, 8192, 8193, 8196, 8197),
            4100,
            4096,
            {
                "forgets-last-entry": [4101, 8192, 8193, 8196, 8197],
                "due-in-each-block": [8192, 8193, 8196, 8197],
                "due-when-equal": [8196, 8197],
            },
        ),
        ((4095, 4096, 4097), 0, 4096, {"due-when-equal": [4096, 4097]}),
        ((0, 1, 2), 0, 0, {"due-when-equal": [0, 1, 2]}),
        ((61, 62, 121, 122), 61, 60, {"due-when-equal": [121, 122]}),
        ((2**31 - 2, 2**31 - 1), 0, 2**31 - 2, {"due-when-equal": [2**31 - 2, 2**31 - 1]}),
    ]
    for positions, last, interval, mistakes in cases:
        compare.equal(
            f"positions with is_due(position, {last}, {interval})",
            lambda p=positions, a=last, i=interval: [n for n in p if is_due(n, a, i)],
            [n for n in positions if library_entry.is_due(n, last, interval)],
            mistakes,
        )


# ---- 3.3


DOCUMENTS = [1, 3, 6]  # the relative offsets of the example in README.md, and one more


def exercise_3(compare: Comparer, entry_slot: Callable[..., Any]) -> None:
    for offset in (3, 4, 5, 0, 7, 1, 6, 2, 10**6, -1):
        _compare_slot(compare, entry_slot, DOCUMENTS, offset)
    chance = Random(3)
    sizes = [sorted(chance.sample(range(200), count)) for count in range(1, 9)]
    for entries in ([], [4], [2, 9], [0, 4], *sizes, sorted(chance.sample(range(10_000), 700))):
        near = {each + step for each in entries[:9] for step in (-1, 0, 1)}
        for offset in sorted({-1, 0, 1, 5, 9_999, *near}):
            _compare_slot(compare, entry_slot, entries, offset)
    for size in (100, 5000):
        even = list(range(3, 3 * size + 3, 3))
        skewed = [*even[:-1], 2**31 - 1]  # a guess by the distance is wrong here
        limit = 2 * size.bit_length() + 2  # twice what a bisection looks at
        for offset in (0, 3 * size // 2, 3 * size - 4, 3 * size + 9):
            for entries in (even, skewed):
                counted = CountedSlots(entries)
                compare.equal(
                    f"entry_slot({size} entries, {offset})",
                    lambda counted=counted, offset=offset: entry_slot(counted, offset),
                    library.entry_slot(entries, offset),
                )
                what = f"entries looked at, of {size}"
                compare.at_most(what, len(counted.slots), limit, "linear-scan")


def _compare_slot(
    compare: Comparer, entry_slot: Callable[..., Any], entries: list[int], offset: int
) -> None:
    right = library.entry_slot(entries, offset)
    text = str(entries) if len(entries) < 4 else f"{len(entries)} entries"
    call = f"entry_slot({text}, {offset})"
    if entries == DOCUMENTS:  # each misconception is seen here, so elsewhere none is the reason
        mistakes = _wrong_slots(entries, right, offset)
    else:
        mistakes = {"zero-is-none": -1} if offset == 0 and offset in entries else {}
    given = array("i", entries)  # what the index itself has
    got = entry_slot(given, offset)
    is_same = given.tolist() == entries
    compare.holds(is_same, call, "other entries", "them unchanged", "changes-entries")
    compare.equal(call, lambda: got, right, mistakes)


def _wrong_slots(entries: list[int], right: int, offset: int) -> dict[str, int]:
    mistakes = {"slot-for-none": max(right, 0)}
    if offset in entries:
        mistakes |= {"off-by-one-upper": right + 1, "strictly-below": right - 1}
    else:
        mistakes |= {"exact-match-only": -1}
    if right >= 0:
        # One past the slot of an entry that is there is off by one; of another one, the ceiling, or
        # the nearest one.
        mistakes |= {"entry-not-slot": entries[right]}
        if entries[right] < offset < (entries[right] + [*entries, 10**9][right + 1]) / 2:
            mistakes |= {"ceiling-entry": right + 1}
    return mistakes


# ---- 3.4


class InTheWay(NamedTuple):
    """What a walk to offset 9 meets that it must not pass, and the code of who walks on."""

    what: str
    data: bytes
    code: str
    next_offset: int = 5


def exercise_4(compare: Comparer, walk: Callable[..., Any]) -> None:
    for dialect in BOTH:
        data = [encode(dialect, offset, None, b"value %d" % offset) for offset in range(5, 10)]
        for offset in (7, 5, 6, 9, 10, 99):
            _compare_walk(compare, walk, dialect, data, offset)
        _compare_hostile(compare, walk, dialect, data)
        sound = b"".join(data)
        for offset in (4, 0, -1):
            compare.equal(
                f"walk({dialect.name}, 0, 5, {offset})",
                lambda offset=offset, sound=sound: walk(sound, 0, 5, offset),
                (0, 5),
                {"passes-lower-offset": (len(sound), 10)},
            )
        chance = Random(5)
        many = [encode(dialect, n, b"k", b"." * chance.randrange(90)) for n in range(5, 60)]
        for offset in (5, 6, 30, 59, 60):
            _compare_walk(compare, walk, dialect, many, offset)
        far = 2**40 + 5
        late = [encode(dialect, far + n, b"", b"v" * 3000) for n in range(4)]
        _compare_walk(compare, walk, dialect, late, far + 2, far)
        for value, attributes in ((b"", 0), (b"packed", 1), (bytes(2**21), 0)):
            few = [encode(dialect, n, None, value, attributes=attributes) for n in range(5, 8)]
            _compare_walk(compare, walk, dialect, few, 7)
    _compare_cost(compare, walk)


def _compare_walk(
    compare: Comparer,
    walk: Callable[..., Any],
    dialect: Dialect,
    data: list[bytes],
    offset: int,
    first: int = 5,
) -> None:
    """Compare walks to one offset: over all messages, from the second one, and after `start`."""
    sound = b"".join(data)
    at = len(data[0])
    right = library.walk(sound, 0, first, offset)
    mistakes: dict[str, Any] = {
        "returns-position-only": right[0],
        "steps-by-size": (at - 12, first + 1),
    }
    if offset - first < len(data):
        behind = right[0] + len(data[offset - first])
        mistakes["stops-at-offset-above"] = (behind, offset + 1)
    if at == 22:  # no key, no value, no value length
        mistakes["refuses-smallest"] = (0, first)
    if first > 2**32:
        mistakes["upper-bytes-lost"] = (0, first)
    call = f"walk({dialect.name}, 0, {first}, {offset})"
    compare.equal(call, lambda: walk(sound, 0, first, offset), right, mistakes)
    if offset == first:
        return
    from_second = library.walk(sound, at, first + 1, offset)
    compare.equal(
        f"walk({dialect.name}, {at}, {first + 1}, {offset})",
        lambda: walk(sound, at, first + 1, offset),
        from_second,
        {"ignores-start": (0, first + 1)},
    )
    compare.equal(
        f"walk({dialect.name}, {at}, {first + 1}, {offset}, start=1000)",
        lambda: walk(sound, at, first + 1, offset, start=1000),
        from_second,
        {"adds-start": (from_second[0] + 1000, from_second[1])},
    )


def _compare_cost(compare: Comparer, walk: Callable[..., Any]) -> None:
    data = CountedBytes(b"".join(encode(KAFKA, n, b"k", b"v") for n in range(MANY)))
    call = f"walk(kafka, 0, 0, {MANY})"
    raises: dict[type[Exception], str] = {RecursionError: "recursion-per-message"}
    compare.equal(call, lambda: walk(data, 0, 0, MANY), (len(data), MANY), raises=raises)
    what = f"bytes copied of {len(data)}"
    compare.at_most(what, sum(data.copied), 4 * len(data), "copies-the-rest")


def _compare_hostile(
    compare: Comparer, walk: Callable[..., Any], dialect: Dialect, data: list[bytes]
) -> None:
    for met in _hostile(data):
        right = library.walk(met.data, 0, met.next_offset, 9)
        call = f"walk({dialect.name}, {met.what})"
        is_by_length = met.code in ("raises-at-end", "trust-length")
        raises = dict.fromkeys((struct.error, IndexError), met.code if is_by_length else None)
        mistakes = {} if met.code == "raises-at-end" else {met.code: _believing(met)}
        give = partial(walk, met.data, 0, met.next_offset, 9)
        compare.equal(call, give, right, mistakes, raises)


def _hostile(data: list[bytes]) -> Iterator[InTheWay]:
    joined = b"".join(data)
    at = len(data[0]) + len(data[1])
    last = at + len(data[2]) - 1
    flipped = joined[:last] + bytes([joined[last] ^ 1]) + joined[last + 1 :]
    yield InTheWay("a changed byte", flipped, "ignores-checksum")
    missing = data[0] + data[1] + data[3] + data[4]
    yield InTheWay("offset 7 missing", missing, "passes-gap")
    yield InTheWay("offset 5, expected 4", joined, "passes-gap", 4)
    wanted = data[0] + data[1] + data[4]
    yield InTheWay("offsets 7 and 8 missing", wanted, "wanted-behind-gap")
    twice = b"".join([data[0], data[1], *data[1:]])
    yield InTheWay("offset 6 twice", twice, "passes-repeated")
    yield InTheWay("offset 5, expected 6", joined, "passes-repeated", 6)
    for size in (4, 9, 0, -1, -12, 2**31 - 1):
        covered = bytes(max(size - 4, 0) if size < 10 else 0)
        small = pack(">qiI", 7, size, crc32(covered)) + covered
        behind = data[3] + data[4]
        yield InTheWay(f"a size of {size}", joined[:at] + small + behind, "trust-length")
    torn = pack(">qiI", 7, len(data[2]), crc32(data[2][16:])) + data[2][16:]
    yield InTheWay("a right checksum, but 12 bytes missing", joined[:at] + torn, "passes-torn")
    no_crc = joined[: at + 12] + bytes(4) + joined[at + 16 :]
    yield InTheWay("a crc of 0", no_crc, "zero-is-no-crc")
    for end in (1, 11, 15, len(data[2]) - 1):
        yield InTheWay(f"{end} bytes of a message", joined[: at + end], "raises-at-end")
    yield InTheWay("no bytes", b"", "raises-at-end")


def _believing(met: InTheWay) -> tuple[int, int]:
    """Return where a walk to 9 ends that leaves out the test of which the code tells."""
    position, next_offset = 0, met.next_offset
    while 0 <= position <= len(met.data) - 16:
        offset, size, crc = struct.unpack_from(">qiI", met.data, position)
        end = position + 12 + size
        is_in_turn = {
            "passes-gap": offset >= next_offset,
            "passes-repeated": offset <= next_offset,
        }.get(met.code, offset == next_offset)
        is_right = crc32(met.data[position + 16 : max(end, 0)]) == crc
        is_passed = met.code == "ignores-checksum" or (met.code == "zero-is-no-crc" and not crc)
        if offset >= 9 or not is_in_turn or not (is_right or is_passed):
            break
        position, next_offset = end, offset + 1
    return position, 9 if met.code == "wanted-behind-gap" else next_offset


# ---- 3.5


def _search(folder: Path) -> tuple[list[IndexEntry], int]:
    data = (folder / "files" / f"{NAME}.index").read_bytes()
    entries = library_entry.decode_entries(data)
    return entries, library.entry_slot(
        [each.relative_offset for each in entries], TARGET - BASE_OFFSET
    )


def solve_5(folder: Path) -> dict[str, Any]:
    """Return the right constants of exercise 5, as the library reads the files."""
    entries, slot = _search(folder)
    return {
        "ENTRY_RELATIVE": entries[1].relative_offset,
        "ENTRY_OFFSET": BASE_OFFSET + entries[1].relative_offset,
        "WALK_START": entries[slot].position,
        "PASSED_MESSAGES": TARGET - BASE_OFFSET - entries[slot].relative_offset,
    }


def exercise_5(compare: Comparer, answers: dict[str, Any], folder: Path) -> None:
    right = solve_5(folder)
    entries, slot = _search(folder)
    mistakes: dict[str, dict[str, Any]] = {
        "ENTRY_RELATIVE": {
            "absolute-offsets": right["ENTRY_OFFSET"],
            "swapped-fields": entries[1].position,
        },
        "ENTRY_OFFSET": {
            "counts-from-one": right["ENTRY_OFFSET"] + 1,
            "counts-from-first-message": right["ENTRY_OFFSET"] - 1,
        },
        "WALK_START": {"ceiling-entry": entries[slot + 1].position, "reads-from-0": 0},
        "PASSED_MESSAGES": {"counts-the-target": right["PASSED_MESSAGES"] + 1},
    }
    for name, value in right.items():
        compare.equal(name, lambda name=name: answers[name], value, mistakes[name])
