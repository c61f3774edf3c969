"""Checks of lab 5: what a crash leaves behind, and what recovery may do to it."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from struct import iter_unpack, pack
from tempfile import TemporaryDirectory
from typing import Any

from kminilog.course.comparing import Comparer, short
from kminilog.course.counting import CountedBytes
from kminilog.errors import CorruptBytesError
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.index_entry import IndexEntry, encode_entry
from kminilog.format.message import (
    MAX_INSIDE,
    CorruptMessage,
    Message,
    NeedMoreBytes,
    decode,
    encode,
    scan,
)
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.recovery import Decision
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic
from kminilog.text import table

BOTH = (KAFKA, DOCUMENTED)
FILE = "00000000000000000000.log"
WHOLE = 5  # messages in front of the torn tail of exercise 6


def first_win(name: str) -> list[str]:
    """Return what becomes of a log whose last message, the student's name, a crash tore off."""
    partition = TopicPartition("names", 0)
    with TemporaryDirectory() as temporary:
        with LogDirWriter.open(temporary, create=True) as writer:
            writer.create_topic(Topic("names", 1, KAFKA))
            writer.log(partition).append([(None, b"hello"), (None, name.encode())])
        (log,) = Path(temporary).glob("*/*.log")
        rows = [("before the crash", log.stat().st_size, 2)]
        log.write_bytes(log.read_bytes()[:-1])
        (Path(temporary) / ".clean-shutdown").unlink()
        rows.append(("after the crash", log.stat().st_size, 1))
        LogDirWriter.open(temporary).close()
        rows.append(("after recovery", log.stat().st_size, 1))
        (kept,) = log.parent.glob("*.cut")
        rows.append((kept.name, kept.stat().st_size, 0))
    return table(("what", "bytes", "whole messages"), rows)


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write a segment of five messages and the beginning of a sixth; the seed says how much."""
    chance = Random(seed)
    data = b""
    for offset in range(WHOLE):
        data += encode(KAFKA, offset, None, b"event" + b"." * chance.randrange(30))
    torn = encode(KAFKA, WHOLE, b"key", b"written by " + name.encode()[:40])
    (folder / FILE).write_bytes(data + torn[: 13 + chance.randrange(len(torn) - 14)])


# ---- 5.1 what is a fault


def precondition_1(outcome: Any, next_offset: int) -> bool:
    """Tell if the outcome is one of decoding, and a log can expect this offset."""
    return isinstance(outcome, Message | NeedMoreBytes | CorruptMessage) and next_offset >= 0


def exercise_1(compare: Comparer, fault: Callable[..., Any]) -> None:
    for dialect in BOTH:
        data = encode(dialect, 7, b"key", b"value")
        for end in range(len(data)):
            what = f"{end} of {len(data)} bytes"
            outcome = decode(dialect, data[:end])
            assert isinstance(outcome, NeedMoreBytes)
            _is_fault(compare, what, fault(outcome, 7), "torn-is-fine")
        _is_none(compare, "the message 7", fault(decode(dialect, data), 7))
        for place, byte, what in ((-1, 0, "value"), (16, 3, "magic"), (8, 0xFF, "size")):
            damaged = bytearray(data)
            damaged[place] = byte
            outcome = decode(dialect, bytes(damaged))
            assert isinstance(outcome, CorruptMessage)
            _is_fault(compare, f"a changed {what}", fault(outcome, 7), "skip-bad-message")
        message = decode(dialect, data)
        lower, higher = fault(message, 9), fault(message, 6)
        is_blind = lower is None and higher is None
        code = "trusts-offset" if is_blind else "repeat-is-fine"
        _is_fault(compare, "the message 7, again", lower, code, 9)
        code = "trusts-offset" if is_blind else "gap-is-fine"
        _is_fault(compare, "the message 7", higher, code, 6)
        for attributes, codec in enumerate(("gzip", "snappy", "lz4", "zstd"), 1):
            wrapper = decode(dialect, encode(dialect, 7, None, b"packed", attributes=attributes))
            what = f"a {codec} message 7"
            _is_none(compare, what, fault(wrapper, 7))
            _is_none(compare, what, fault(wrapper, 4), 4, "wrapper-is-fault")
            _is_fault(compare, what, fault(wrapper, 8), "trusts-wrapper", 8)
        plain = decode(dialect, encode(dialect, 7, None, b"plain", attributes=8))
        _is_fault(compare, "the message 7 of codec none", fault(plain, 4), None, 4)
        for distance in (MAX_INSIDE - 1, MAX_INSIDE, 2**40):
            packed = encode(dialect, 7 + distance, None, b"packed", attributes=1)
            what, got = f"a gzip message {7 + distance}", fault(decode(dialect, packed), 7)
            if distance < MAX_INSIDE:
                _is_none(compare, what, got, code="wrapper-is-fault")
            else:
                _is_fault(compare, what, got, "wrapper-from-afar")
        _is_fault(compare, "the message 7", fault(message, 0), "zero-is-falsy", 0)
        if dialect is KAFKA:
            deletion = fault(decode(dialect, encode(dialect, 7, b"key", None)), 7)
            _is_none(compare, "the message 7 of a null value", deletion, 7, "null-is-fault")
        for offset in (0, 2**40):
            message = decode(dialect, encode(dialect, offset, None, b""))
            _is_none(compare, f"the message {offset}", fault(message, offset), offset)
            after = fault(message, offset + 1)
            _is_fault(compare, f"the message {offset}", after, "repeat-is-fine", offset + 1)


def _is_fault(compare: Comparer, what: str, got: Any, code: str | None, following: int = 7) -> None:
    call = f"fault({what}, {following})"
    compare.holds(got is not None, call, "None", "a reason", code)
    compare.equal(f"{call}, its type", lambda: got if not isinstance(got, str) else "", "")
    compare.holds(bool(got), call, "''", "a reason")


def _is_none(
    compare: Comparer, what: str, got: Any, following: int = 7, code: str | None = None
) -> None:
    compare.holds(got is None, f"fault({what}, {following})", short(got), "None", code)


# ---- 5.2 keep, cut or refuse

KEEP, CUT, REFUSE = Decision.KEEP, Decision.CUT, Decision.REFUSE
UNFINISHED, DAMAGED = "unfinished message", "bad-crc, crc is 0d6e97ee"
OTHER = "a whole message with offset 7, expected 6"
CASES = (
    (None, False),
    (UNFINISHED, False),
    (UNFINISHED, True),
    (DAMAGED, False),
    (DAMAGED, True),
    (OTHER, True),
)
RIGHT = (KEEP, CUT, REFUSE, CUT, REFUSE, REFUSE)
TABLES = {
    (KEEP, CUT, CUT, CUT, REFUSE, REFUSE): "truncate-at-damaged-size",
    (KEEP, CUT, CUT, REFUSE, REFUSE, REFUSE): "truncate-at-damaged-size",
    (KEEP, CUT, CUT, CUT, CUT, CUT): "cuts-damage",
    (KEEP, REFUSE, REFUSE, REFUSE, REFUSE, REFUSE): "refuses-torn-tail",
    (KEEP, REFUSE, CUT, REFUSE, CUT, CUT): "decision-reversed",
    (KEEP, CUT, REFUSE, REFUSE, REFUSE, REFUSE): "refuses-torn-page",
    (KEEP, KEEP, REFUSE, CUT, REFUSE, REFUSE): "torn-is-fine",
    (KEEP, KEEP, KEEP, CUT, REFUSE, REFUSE): "torn-is-fine",
}


OTHER_WORDS = (
    OTHER,
    "a gap",
    "size 3 is too small",
    "crc",
    "unfinished",
    "message 7 is there twice",
    " ",
)


class Asked:
    """Answers if a whole message stands after the fault, and counts how often it is asked."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.count = 0
        self.is_taken_for_answer = False

    def __call__(self) -> bool:
        self.count += 1
        return self.answer

    def __bool__(self) -> bool:
        self.is_taken_for_answer = True
        return True


def exercise_2(compare: Comparer, decide: Callable[..., Any]) -> None:
    questions = [Asked(answer) for _, answer in CASES]
    got = [decide(fault, ask) for (fault, _), ask in zip(CASES, questions, strict=True)]
    code = TABLES.get(tuple(got)) if all(isinstance(each, Decision) for each in got) else None
    if code == "refuses-torn-tail" and questions[1].is_taken_for_answer:
        code = "never-asks"
    if code == "cuts-damage" and len({ask.count for ask in questions[1:]}) > 1:
        code = None  # it asks of some faults only
    for (fault, answer), given, right in zip(CASES, got, RIGHT, strict=True):
        _compare_decision(compare, fault, answer, given, right, {code: given} if code else {})
    compare.at_most("searches at the end of a valid log", questions[0].count, 0, "asks-when-sound")
    most = max(ask.count for ask in questions)
    compare.at_most("searches after one fault", most, 1, "asks-twice")
    for words in OTHER_WORDS:
        for answer, right, wrong in ((False, CUT, REFUSE), (True, REFUSE, CUT)):
            given = decide(words, Asked(answer))
            mistakes = {"judges-by-words": wrong if words.strip() else KEEP}
            _compare_decision(compare, words, answer, given, right, mistakes)
    call, mistakes = (
        "decide('crc', a search that fails)",
        {
            "failure-means-cut": CUT,
            "failure-means-refuse": REFUSE,
        },
    )
    compare.refuses(call, lambda: decide("crc", _search_that_fails), OSError, mistakes)


def _search_that_fails() -> bool:
    raise OSError("the next segment cannot be read")


def _compare_decision(
    compare: Comparer,
    fault: str | None,
    answer: bool,
    given: Any,
    right: Decision,
    mistakes: dict[str, Any],
) -> None:
    call = f"decide({fault!r}, {'a message' if answer else 'nothing'} after)"
    compare.equal(call, lambda: given, right, mistakes)
    kind = type(given).__name__
    compare.holds(isinstance(given, Decision), call, f"{kind} {given!r}", "a Decision")


# ---- 5.3 rebuild an index


def exercise_3(compare: Comparer, due_entries: Callable[..., Any]) -> None:
    cases, mistakes = [], []
    for messages, base_offset, interval_bytes, last in (
        ([(7, 0), (8, 40), (9, 80)], 7, 50, 0),
        ([(offset, 40 * offset) for offset in range(12)], 0, 50, 0),
        ([(offset, 50 * (offset - 3)) for offset in range(3, 9)], 2, 50, 0),
        ([(20, 200), (21, 240), (22, 280), (23, 320)], 7, 50, 190),
        ([(20, 200), (21, 240), (22, 280), (25, 900), (26, 940)], 7, 50, 0),
        ([(5, 0)], 5, 0, 0),
        ([(5, 0), (6, 40), (7, 80)], 5, 0, 0),
        ([], 5, 50, 0),
    ):
        given = f"{len(messages)} messages from byte {messages[0][1]}" if messages else "none"
        call = f"list(due_entries({given}, {base_offset}, {interval_bytes}, {last}))"
        every = [IndexEntry(offset - base_offset, position) for offset, position in messages]
        right = _due(every, interval_bytes, last)
        first = [each for each in every[:1] if each.position == 0]
        rest = (base_offset, interval_bytes, last)
        give = lambda m=messages, rest=rest: _pairs(list(due_entries(iter(m), *rest)))  # noqa: E731
        cases.append((call, give, _pairs(right)))
        mistakes.append(
            {
                "absolute-offsets": [(offset + base_offset, at) for offset, at in right],
                "index-every-message": every,
                "first-is-indexed": first + right,
                "forgets-last-entry": [e for e in every if e.position - last > interval_bytes],
                "due-at-interval": _due(every, interval_bytes - 1, last),
                "ignores-last-indexed": _due(every, interval_bytes, 0),
            }
        )
    readings = [(code, [_pairs(each[code]) for each in mistakes]) for code in mistakes[0]]
    compare.all_equal(cases, readings)
    compare.equal(
        "list(due_entries([(5, 60), (2147483652, 2147483647)], 5, 50))",
        lambda: _pairs(list(due_entries([(5, 60), (2**31 + 4, 2**31 - 1)], 5, 50))),
        [(0, 60), (2**31 - 1, 2**31 - 1)],
    )
    for position, right in ((50, []), (51, [(1, 51)])):
        compare.equal(
            f"list(due_entries([(7, 0), (8, {position})], 7, 50))",
            lambda at=position: _pairs(list(due_entries([(7, 0), (8, at)], 7, 50))),
            right,
        )
    for offset in (4, 2**31 + 5):  # which has no entry, so that nothing is refused
        compare.equal(
            f"list(due_entries([({offset}, 50)], 5, 50))",
            lambda offset=offset: list(due_entries([(offset, 50)], 5, 50)),
            [],
            raises={ValueError: None},
        )
    kinds = {type(each).__name__ for each in due_entries([(7, 0), (8, 60)], 7, 50)}
    call, code = "due_entries(2 messages, 7, 50)", "plain-tuple" if kinds == {"tuple"} else None
    compare.holds(kinds == {"IndexEntry"}, call, ", ".join(kinds), "IndexEntry", code)
    for dialect in BOTH:
        for base_offset in (0, 368769):
            with TemporaryDirectory() as temporary:
                _compare_index(compare, due_entries, Path(temporary), dialect, base_offset)
    for offset, position, code in (
        (2**31 + 5, 100, "overflow-unnoticed"),
        (6, 2**31, "overflow-unnoticed"),
        (3, 100, "accepts-negative"),
        (4, 100, "accepts-negative"),
    ):
        compare.refuses(
            f"list(due_entries([({offset}, {position})], 5, 50))",
            lambda pair=(offset, position): list(due_entries([pair], 5, 50)),
            ValueError,
            {code: [IndexEntry(offset - 5, position)]},
        )
    read: list[int] = []

    def source() -> Iterator[tuple[int, int]]:
        for offset in range(1000):
            read.append(offset)
            yield offset, 40 * offset

    next(iter(due_entries(source(), 0, 50)))
    what, code = "messages read before the first entry", "reads-all-first"
    compare.at_most(what, len(read), 4, code if len(read) == 1000 else None)


def _pairs(entries: Any) -> Any:
    """Return entries as plain pairs, for which a sentence has room; anything else as it is."""
    is_right = isinstance(entries, list) and all(isinstance(each, IndexEntry) for each in entries)
    return [tuple(each) for each in entries] if is_right else entries


def _due(entries: list[IndexEntry], interval_bytes: int, last: int) -> list[IndexEntry]:
    found = []
    for entry in entries:
        if entry.position - last > interval_bytes:
            found.append(entry)
            last = entry.position
    return found


def _compare_index(
    compare: Comparer, due_entries: Callable[..., Any], folder: Path, dialect: Any, base_offset: int
) -> None:
    """Compare a rebuilt index with the file that the library's writer has left."""
    chance = Random(base_offset)
    segment = Segment(folder, base_offset, dialect, 100)
    segment.open()
    for offset in range(segment.first_offset, segment.first_offset + 60):
        segment.add(offset, encode(dialect, offset, b"k", b"v" * chance.randrange(80)))
    segment.write()
    data = segment.log_path.read_bytes()
    messages = [
        (message.offset, position)
        for position, message in scan(dialect, data)
        if isinstance(message, Message)
    ]
    call = f"the index of segment {base_offset}, {dialect.name}, rebuilt"
    give = lambda: b"".join(map(encode_entry, due_entries(messages, base_offset, 100)))  # noqa: E731
    compare.equal(call, give, segment.index.path.read_bytes())


# ---- 5.4 index sanity


DESCENDING_AND_TORN = "3 entries that descend and 7 bytes"
POSITION_THEN_OFFSET = "a position descends, then an offset"
OFFSET_THEN_POSITION = "an offset descends, then a position"
WRONG_PLACES = {  # of several faults, which one is named that is not the first
    DESCENDING_AND_TORN: {"torn-not-first": 8},
    POSITION_THEN_OFFSET: {"names-later-fault": 16},
    OFFSET_THEN_POSITION: {"names-later-fault": 16},
}


def exercise_4(compare: Comparer, decode_entries: Callable[..., Any]) -> None:
    for entries in (
        [(3, 100)],
        [(3, 497)],
        [],
        [(1, 62), (3, 497), (6, 1407)],
        [(0, 62)],
        [(0, 1), (2**31 - 1, 2**31 - 1)],
    ):
        right = [IndexEntry(*entry) for entry in entries]
        data = b"".join(pack(">ii", *entry) for entry in entries)
        little = [_swapped(entry) for entry in right]
        call = f"decode_entries({len(data)} bytes, {len(entries)} entries)"
        mistakes = {"little-endian": little}
        try:
            got = decode_entries(data)
        except CorruptBytesError:
            code = "refuses-offset-0" if entries == [(0, 62)] else None
            return compare.holds(False, call, "CorruptBytesError", str(entries), code)
        compare.equal(call, lambda got=got: _pairs(got), _pairs(right), mistakes)
        kinds = {type(each) for each in got}
        got = ", ".join(sorted(kind.__name__ for kind in kinds))
        compare.holds(kinds <= {IndexEntry}, call, f"a list of {got}", "IndexEntry")
    for what, entries, torn_bytes in TORN:
        wrong = {"torn-entry-dropped": entries} | ({"truncate-to-zero": []} if entries else {})
        content = entries, torn_bytes
        _compare_refusal(compare, decode_entries, what, content, 8 * len(entries), wrong)
    accepted = tuple(_accepts(decode_entries, entries) for _, entries, _ in OUT_OF_ORDER)
    blind = next((code for code, rule in BLIND.items() if accepted == _accepted_by(rule)), None)
    for what, entries, slot in OUT_OF_ORDER:
        wrong = {"truncate-to-zero": [], "cuts-index": entries[:slot]}
        wrong |= {blind: entries} if blind else {}
        _compare_refusal(compare, decode_entries, what, (entries, 0), 8 * slot, wrong)
    for first in FIRST:
        wrong = {"first-entry-unchecked": [first]}
        _compare_refusal(compare, decode_entries, f"only {first}", ([first], 0), 0, wrong)
    data = CountedBytes(_packed([(n, 40 * n) for n in range(1, 1001)]))
    call = "decode_entries(8000 bytes, 1000 entries)"
    compare.equal(f"len({call})", lambda: len(decode_entries(data)), 1000)
    compare.at_most(f"bytes that {call} copies", sum(data.copied), 32_000, "copies-the-rest")


FIRST = ((-1, 5), (3, 0), (3, -7), (0, 0))  # entries that no index begins with
TORN = (  # what is wrong, the whole entries, and how many bytes follow them
    ("9 bytes", [(0, 62)], 1),
    ("3 bytes", [], 3),
    ("2 entries and 7 bytes", [(1, 62), (3, 497)], 7),
    ("300 entries and 4 bytes", [(n, 40 * n) for n in range(1, 301)], 4),
    (DESCENDING_AND_TORN, [(3, 497), (1, 62), (4, 900)], 7),
)
OUT_OF_ORDER = (  # what is wrong, the entries, and the slot of the first that does not ascend
    ("both descend", [(1, 62), (6, 1407), (3, 497)], 2),
    ("positions descend", [(1, 62), (3, 497), (6, 100), (8, 2000)], 2),
    ("offsets descend", [(5, 62), (3, 497)], 1),
    ("offsets descend later", [(1, 62), (6, 497), (3, 1407)], 2),
    ("a number below 0 later", [(1, 1), (-1, 5)], 1),
    ("the same entry twice", [(3, 497), (3, 497)], 1),
    ("the same offset twice", [(3, 497), (3, 1407)], 1),
    ("the same position twice", [(3, 497), (6, 497)], 1),
    ("zeros at the end", [(3, 497), (0, 0), (0, 0)], 1),
    (POSITION_THEN_OFFSET, [(1, 62), (3, 50), (2, 70)], 1),
    (OFFSET_THEN_POSITION, [(1, 62), (0, 70), (2, 60)], 1),
    ("the last of 300 descends", [(n, 40 * n) for n in range(1, 300)] + [(7, 280)], 299),
)
Entry = tuple[int, int]
BLIND: dict[str, Callable[[Entry, Entry], bool]] = {  # which neighbours a misconception accepts
    "trust-index": lambda one, two: True,
    "positions-not-checked": lambda one, two: one[0] < two[0],
    "offsets-not-checked": lambda one, two: one[1] < two[1],
    "equal-ascends": lambda one, two: one[0] <= two[0] and one[1] <= two[1],
    "compares-as-pairs": lambda one, two: one < two,
    "one-ascends-is-enough": lambda one, two: one[0] < two[0] or one[1] < two[1],
}


def _accepted_by(rule: Callable[[Entry, Entry], bool]) -> tuple[bool, ...]:
    return tuple(
        all(rule(one, two) for one, two in pairwise(entries)) for _, entries, _ in OUT_OF_ORDER
    )


def _accepts(decode_entries: Callable[..., Any], entries: list[Entry]) -> bool:
    try:
        return bool(decode_entries(_packed(entries)) == entries)
    except CorruptBytesError:
        return False


def _packed(entries: list[Entry]) -> bytes:
    return b"".join(pack(">ii", *entry) for entry in entries)


def _compare_refusal(
    compare: Comparer,
    decode_entries: Callable[..., Any],
    what: str,
    content: tuple[list[Entry], int],
    position: int,
    mistakes: dict[str, Any],
) -> None:
    entries, torn_bytes = content
    data = _packed(entries) + bytes(torn_bytes)
    call = f"decode_entries({what})"
    unsigned = list(iter_unpack(">II", _packed(entries)))
    if unsigned != entries:
        mistakes = {**mistakes, "accepts-unsigned": unsigned}
    compare.refuses(call, lambda: _pairs(decode_entries(data)), CorruptBytesError, mistakes)
    try:
        decode_entries(data)
    except CorruptBytesError as error:
        mistakes = WRONG_PLACES.get(what, {}) | {"entry-number-as-position": position // 8}
        if torn_bytes:
            mistakes["torn-at-end-of-data"] = len(data)
        what = f"the position in the error of {call}"
        compare.equal(what, lambda at=error.position: at, position, mistakes)


def _swapped(entry: IndexEntry) -> IndexEntry:
    return IndexEntry(*(int.from_bytes(pack("<i", n), "big", signed=True) for n in entry))


# ---- 5.5 leftovers and strays

SEVEN, NINE = f"{7:020d}", f"{9:020d}"
PAIR = [f"{SEVEN}.index", f"{SEVEN}.log"]
CUTS = [f"{SEVEN}.log.497-1.cut", f"{SEVEN}.log.497.cut"]
DELETED = [f"{SEVEN}.index.deleted", f"{SEVEN}.log.deleted"]
ZERO = [f"{0:020d}.index", f"{0:020d}.log"]
LETTERS = "abcdefghij0123456789.log"
INSIDE = [f"{SEVEN}.log.497.cut.txt", f"{SEVEN}.log.deleted.bak", "notes.cut.old"]
HIDDEN, CAPITALS = [".DS_Store"], ["NOTES.DELETED"]
OTHER_DIGITS = "٠" * 19 + "٧.log"  # the Arabic digits of 7: str.isdigit() is true of them
NO_DOT = ["shortcut", "undeleted"]
UNKNOWN = sorted(["7.log", "NOTES", f"{SEVEN}.log.bak", f"{SEVEN}0.log", "notes.txt"])


def exercise_5(compare: Comparer, leftovers_and_strays: Callable[..., Any]) -> None:
    orphan = PAIR[:1]
    for what, names, is_after_crash, right, mistakes in (
        ("a pair", PAIR, True, ([], []), {}),
        ("no file", [], True, ([], []), {}),
        ("a pair of segment 0", ZERO, True, ([], []), {"zero-is-falsy": ([], ZERO)}),
        (
            "index and bak",
            [*orphan, f"{SEVEN}.bak"],
            True,
            (orphan, [f"{SEVEN}.bak"]),
            {
                "keeps-orphans": ([], [f"{SEVEN}.bak"]),
                "orphan-is-stray": ([], [f"{SEVEN}.bak", *orphan]),
                "deletes-strays": ([f"{SEVEN}.bak", *orphan], []),
            },
        ),
        (
            "index alone",
            orphan,
            True,
            (orphan, []),
            {"keeps-orphans": ([], []), "orphan-is-stray": ([], orphan)},
        ),
        (
            "7.index, 9.log",
            [*orphan, f"{NINE}.log"],
            False,
            (orphan, []),
            {"keeps-orphans": ([], []), "deletes-logs": ([*orphan, f"{NINE}.log"], [])},
        ),
        ("log alone", PAIR[1:], True, ([], []), {"deletes-logs": (PAIR[1:], [])}),
        (
            "pair and .cut",
            [*PAIR, *CUTS],
            True,
            ([], []),
            {"deletes-cut-files": (CUTS, []), "cut-is-stray": ([], CUTS)},
        ),
        (
            ".deleted, crash",
            DELETED,
            True,
            (DELETED, []),
            {"keeps-deleted": ([], []), "deleted-is-stray": ([], DELETED)},
        ),
        (
            ".deleted",
            DELETED,
            False,
            ([], []),
            {"deletes-too-early": (DELETED, []), "deleted-is-stray": ([], DELETED)},
        ),
        (
            "index and cut log",
            [*orphan, *CUTS],
            False,
            (orphan, []),
            {"keeps-orphans": ([], []), "cut-is-stray": (orphan, CUTS)},
        ),
        (
            "index and deleted log",
            [*orphan, DELETED[1]],
            False,
            (orphan, []),
            {"keeps-orphans": ([], []), "deletes-too-early": ([*orphan, DELETED[1]], [])},
        ),
        (
            "unknown files",
            [*PAIR, *UNKNOWN],
            True,
            ([], UNKNOWN),
            {
                "deletes-strays": (UNKNOWN, []),
                "strays-unseen": ([], []),
                "short-name-is-segment": ([], [x for x in UNKNOWN if not x.endswith(".log")]),
            },
        ),
        (
            "unknown, no crash",
            [*PAIR, *UNKNOWN],
            False,
            ([], UNKNOWN),
            {"deletes-strays": (UNKNOWN, []), "strays-unseen": ([], [])},
        ),
        ("index of segment 0 alone", ZERO[:1], True, (ZERO[:1], []), {"zero-is-falsy": ([], [])}),
        (
            "notes.deleted, crash",
            ["notes.deleted"],
            True,
            (["notes.deleted"], []),
            {"deleted-is-stray": ([], ["notes.deleted"]), "keeps-deleted": ([], [])},
        ),
        ("notes.cut", ["notes.cut"], True, ([], []), {"cut-is-stray": ([], ["notes.cut"])}),
        (
            "words without a dot",
            NO_DOT,
            True,
            ([], NO_DOT),
            {"suffix-without-dot": (["undeleted"], [])},
        ),
        (
            "other digits",
            [*PAIR, OTHER_DIGITS],
            True,
            ([], [OTHER_DIGITS]),
            {"short-name-is-segment": ([], [])},
        ),
        ("a hidden file", HIDDEN, True, ([], HIDDEN), {"hidden-unseen": ([], [])}),
        ("capital letters", CAPITALS, True, ([], CAPITALS), {"ignores-case": (CAPITALS, [])}),
        (
            "a word inside",
            INSIDE,
            False,
            ([], INSIDE),
            {"deletes-strays": (INSIDE, []), "strays-unseen": ([], [])},
        ),
        (
            "20 letters",
            [*PAIR, LETTERS],
            False,
            ([], [LETTERS]),
            {"short-name-is-segment": ([], []), "deletes-strays": ([LETTERS], [])},
        ),
        (
            "a short name",
            [*PAIR, "7.index"],
            True,
            ([], ["7.index"]),
            {"short-name-is-segment": (["7.index"], []), "strays-unseen": ([], [])},
        ),
        (
            "reversed",
            [*UNKNOWN, *DELETED, *CUTS, f"{NINE}.index", *PAIR][::-1],
            True,
            (sorted([*DELETED, f"{NINE}.index"]), UNKNOWN),
            {},
        ),
    ):
        for given in (names[::-1], frozenset(names)):
            unsorted = tuple([name for name in given if name in each] for each in right)
            mistakes = {**mistakes, "names-unsorted": unsorted}
            compare.equal(
                what,  # with the function's name there is no room for the two lists
                lambda given=given, crash=is_after_crash: _brief(
                    leftovers_and_strays(given, is_after_crash=crash)
                ),
                _brief(right),
                {code: _brief(wrong) for code, wrong in mistakes.items()},
            )
            is_same = not isinstance(given, list) or given == names[::-1]
            compare.holds(is_same, f"{what}: the names that it got", "others", "as before")


def _brief(found: Any) -> Any:
    """Return the two lists with names of few digits, so that a sentence has room for them."""
    if not (isinstance(found, tuple | list) and all(isinstance(each, list) for each in found)):
        return found
    return tuple([str(name).replace("0" * 19, "…") for name in each] for each in found)


# ---- 5.6 a torn tail


def solve_6(folder: Path) -> dict[str, Any]:
    """Return the right constants of exercise 6, as the library reads the file."""
    data = (folder / "files" / FILE).read_bytes()
    *_, (position, tail) = scan(KAFKA, data)
    assert isinstance(tail, NeedMoreBytes)
    return {
        "SOUND_BYTES": position,
        "NEXT_OFFSET": WHOLE,
        "TAIL_BYTES": len(data) - position,
        "NEEDED_BYTES": tail.needed_bytes,
    }


def exercise_6(compare: Comparer, answers: dict[str, Any], folder: Path) -> None:
    right = solve_6(folder)
    mistakes = {
        "SOUND_BYTES": {"counts-torn-message": right["SOUND_BYTES"] + right["TAIL_BYTES"]},
        "NEXT_OFFSET": {"last-not-next": WHOLE - 1, "counts-torn-message": WHOLE + 1},
        "NEEDED_BYTES": {
            "size-without-12": right["NEEDED_BYTES"] - 12,
            "only-what-is-missing": right["NEEDED_BYTES"] - right["TAIL_BYTES"],
        },
    }
    for name, value in right.items():
        compare.equal(name, lambda name=name: answers[name], value, mistakes.get(name))


# ---- 5.10: what counts of a result; the words are free


def view_10(result: object) -> bool:
    return result is None
