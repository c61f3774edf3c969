"""Checks of lab 10: is every record stored exactly once?"""

import shutil
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial, reduce
from itertools import accumulate, pairwise
from math import isclose
from operator import ne, xor
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import numpy as np

from kminilog.course.broken import FOLDER, write_broken
from kminilog.course.comparing import Comparer, as_text
from kminilog.course.judging.checking import LOG_DIR
from kminilog.course.judging.diagnosis import diagnosis_by_verify
from kminilog.format.dialect import DOCUMENTED
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.publish.fingerprints import RangeSums, message_fingerprint
from kminilog.storage.topics import Topic
from kminilog.verification.account.pairing import NOTHING
from kminilog.verification.account.pairing import partners as partners_of_library
from kminilog.verification.conservation import holds as holds_in_library
from kminilog.verification.coverage import Aspect, Unchecked
from kminilog.verification.findings import FindingClass
from kminilog.verification.results import concluded as concluded_by_library

_LIMIT = 1 << 64
_OTHER_LIMITS = _LIMIT - 1, 1 << 63, 1 << 32, (1 << 32) - 1
_ALTERED, _MOVED = 4, 3  # counts that are no terms of the equation


def first_win(name: str) -> list[str]:
    """Return the xor and the sum of a row with the name: stored once, and twice."""
    row = message_fingerprint(0, len(name), sum(name.encode()))
    sides = (("once", [row]), ("twice", [row] * 2))
    return [
        f"{times:5} xor {reduce(xor, rows):016x}  sum {sum(rows) % _LIMIT:016x}"
        for times, rows in sides
    ]


# ---- 10.1


def exercise_1(compare: Comparer, holds: Callable[..., Any]) -> None:
    names = ("source", "extra", "duplicate", "stored", "rejected", "missing")
    rows = [
        (9, 0, 1, 8, 0, 2),
        (9, 0, 0, 8, 0, 0),
        (9, 0, 0, 9, 0, 0),
        (9, 2, 0, 9, 0, 0),
        (9, 0, 3, 12, 0, 0),
        (9, 0, 0, 7, 2, 0),
        (9, 2, 0, 9, 0, 2),
        (9, 1, 0, 9, 0, 0),
        (8, 0, 0, 8, 0, 1),
        (9, 0, 0, 6, 0, 2),
        (9, 0, 2, 9, 0, 0),
        (9, 0, 0, 9, 2, 0),
        (9, 2, 1, 10 - _ALTERED, 1, 1),
        (9, 0, 0, 8 - _ALTERED, 0, 0),
        (0, 0, 0, 0, 0, 0),
        # Each of these holds only with a term on the wrong side, or with one that is none.
        (9, 2, 0, 7, 0, 0),
        (9, 0, 2, 7, 0, 0),
        (9, 0, 0, 11, 2, 0),
        (9, 0, 0, 11, 0, 2),
        (9, 0, 0, 9 - _MOVED, 0, 0),
        (9, 0, 0, 9 + _ALTERED, 0, 0),
        (0, 0, 0, 3, 0, 0),
        (1, 0, 0, 0, 2, 0),
        (10**12, 0, 7, 10**12, 0, 7),
        (10**12, 0, 7, 10**12, 0, 8),
    ]
    cases = [dict(zip(names, row, strict=True)) for row in rows]

    def without(*left_out: str) -> list[bool]:
        return [holds_in_library({**case, **dict.fromkeys(left_out, 0)}) for case in cases]

    def sides(case: dict[str, int]) -> tuple[int, int]:
        left, right = (sum(case[name] for name in side) for side in (names[:3], names[3:]))
        return left, right

    def on_other_side(name: str) -> list[bool]:
        step = 2 if name in names[:3] else -2
        differences = [left - right for left, right in map(sides, cases)]
        return [step * case[name] == each for case, each in zip(cases, differences, strict=True)]

    readings = [
        *(
            ("wrong-side", on_other_side(name))
            for name in ("extra", "duplicate", "rejected", "missing")
        ),
        ("compared-as-objects", [left == right < 257 for left, right in map(sides, cases)]),
        ("nearly-equal", [isclose(*sides(case)) for case in cases]),
        ("zero-is-falsy", [not case["source"] or holds_in_library(case) for case in cases]),
        ("counts-others", [left == right + _MOVED for left, right in map(sides, cases)]),
        ("counts-only", [case["source"] == case["stored"] for case in cases]),
        ("forgets-rejected", without("rejected")),
        ("forgets-duplicate", without("duplicate")),
        ("forgets-extra", without("extra")),
        ("one-direction", [left <= right for left, right in map(sides, cases)]),
        ("one-direction", [left >= right for left, right in map(sides, cases)]),
        ("counts-altered", [left == right + _ALTERED for left, right in map(sides, cases)]),
        ("counts-altered", [left + _ALTERED == right for left, right in map(sides, cases)]),
    ]
    # An altered record has its message: the equation does not count it once more.
    given = [{**case, "altered": _ALTERED, "moved": _MOVED} for case in cases]
    compare.all_equal(
        [
            (f"holds({_counted(case)})", partial(holds, dict(case)), holds_in_library(case))
            for case in given
        ],
        readings,
    )
    case = dict(given[0])
    holds(case)
    call = "the counts given to holds, afterwards"
    compare.holds(case == given[0], call, "others", "what they were", "changes-counts")


def _counted(case: dict[str, int]) -> str:
    return ", ".join(f"{name}={count}" for name, count in case.items() if count)


# ---- 10.2


def precondition_2(self: RangeSums, slot: int, count: int, fingerprints: int) -> bool:
    return 0 <= slot < len(self.borders) - 1 and count >= 0 and 0 <= fingerprints < _LIMIT


class _AskedBorders(list[int]):
    """Borders that count how many of them are looked at."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        self.looks += len(found) if isinstance(place, slice) else 1
        return found

    def __iter__(self) -> Iterator[int]:
        self.looks += len(self)
        return super().__iter__()


class _AskedRows(dict[int, list[int]]):
    """Rows that count how many of them are walked through."""

    looks = 0

    def items(self) -> Any:
        self.looks += len(self)
        return super().items()

    def values(self) -> Any:
        self.looks += len(self)
        return super().values()

    def __iter__(self) -> Iterator[int]:
        self.looks += len(self)
        return super().__iter__()


def exercise_2(compare: Comparer, add_to: Callable[..., Any]) -> None:
    a, b, large = (message_fingerprint(number, 20, 7) for number in (1, 2, 5))
    large |= 1 << 63
    lists: list[tuple[str, list[tuple[int, int, int]]]] = [
        ("a", [(0, 1, a)]),
        ("a, b", [(0, 1, a), (0, 1, b)]),
        ("a, b, b, b", [(0, 1, a), (0, 1, b), (0, 1, b), (0, 1, b)]),
        ("two large ones", [(0, 1, large), (0, 1, large)]),
        ("5 and 2 at once", [(0, 5, a), (0, 2, b)]),
        ("both ranges", [(1, 1, a), (0, 2, b), (1, 1, large), (0, 1, a)]),
        ("nothing", [(1, 0, 0)]),
        ("3 of sum 0", [(0, 1, a), (0, 3, 0)]),
        ("a sum of 2^64", [(0, 1, a), (0, 1, _LIMIT - a)]),
        ("70000 and 1", [(0, 70_000, a), (0, 1, b)]),
    ]

    def rows(calls: Iterable[tuple[int, int, int]], add: Callable[..., Any]) -> list[list[int]]:
        sums = RangeSums([10, 20, 30])
        for call in calls:
            add(sums, *call)
        return [list(row) for row in sums.rows()]

    def wrong(join: Callable[[int, int], int], counts: bool = True) -> Callable[..., None]:
        def add(sums: Any, slot: int, count: int, prints: int) -> None:
            row = sums._rows.setdefault(slot, [sums.borders[slot], 0, 0])
            row[1] += count if counts else 1
            row[2] = join(row[2], prints)

        return add

    def modulo(limit: int, before: int, prints: int) -> int:
        return (before + prints) % limit

    def ordered(before: int, prints: int) -> int:
        return (before * 31 + prints) % _LIMIT

    def unless_zero(sums: Any, slot: int, count: int, prints: int) -> None:
        if prints:
            RangeSums.add_to(sums, slot, count, prints)

    def above_limit(before: int, prints: int) -> int:
        return before + prints - (_LIMIT if before + prints > _LIMIT else 0)

    def times_count(sums: Any, slot: int, count: int, prints: int) -> None:
        RangeSums.add_to(sums, slot, count, count * prints)

    kinds = [
        ("xor-fingerprint", wrong(lambda before, prints: (before ^ prints) % _LIMIT)),
        ("xor-fingerprint", wrong(xor)),
        ("sum-without-limit", wrong(int.__add__)),
        *(("sum-other-limit", wrong(partial(modulo, limit))) for limit in _OTHER_LIMITS),
        ("sum-other-limit", wrong(above_limit)),
        ("sum-times-count", times_count),
        ("zero-is-falsy", unless_zero),
        ("counts-calls", wrong(lambda one, other: (one + other) % _LIMIT, counts=False)),
        ("keeps-last-sum", wrong(lambda _, prints: prints % _LIMIT)),
        ("sum-needs-order", wrong(ordered)),
    ]
    cases = {f"rows after {what}": partial(rows, calls) for what, calls in lists}
    compare.runs(cases, add_to, RangeSums.add_to, kinds)
    ranges = 500
    sums = RangeSums(_AskedBorders(range(0, 10 * ranges + 1, 10)))
    walked = sums._rows = _AskedRows()
    for slot in range(ranges):
        add_to(sums, slot, 1, a)
    looks = sums.borders.looks + walked.looks
    what = f"looks at ranges for {ranges} calls"
    compare.at_most(what, looks, 4 * ranges, "walks-all-ranges")
    is_kept = sums._rows is walked
    compare.holds(is_kept, "self._rows, afterwards", "a copy", "the same dict", "walks-all-ranges")


# ---- 10.3


def _set_subtract(groups: Sequence[int], is_record: Sequence[bool]) -> list[int]:
    """A group with any message has all its records stored: the set difference of Spark."""
    first = {g: at for at, g in reversed(list(enumerate(groups))) if not is_record[at]}
    return [first.get(g, NOTHING) if r else NOTHING for g, r in zip(groups, is_record, strict=True)]


def _blind_after_zero(groups: Sequence[int], is_record: Sequence[bool]) -> list[int]:
    """Records wait for the next messages, and nobody sees that group 0 ends."""
    found, waiting, before = [NOTHING] * len(groups), deque[int](), 0
    for place, group in enumerate(groups):
        if before and group != before:
            waiting.clear()
        before = group
        if is_record[place]:
            waiting.append(place)
        elif waiting:
            found[waiting.popleft()] = place
    return found


def _numbered(
    groups: Sequence[int],
    is_record: Sequence[bool],
    *,
    backwards: bool = False,
    only_balanced: bool = False,
    both: bool = False,
    first_only: bool = False,
) -> list[int]:
    found = [NOTHING] * len(groups)
    for group in dict.fromkeys(groups):
        places = [at for at, each in enumerate(groups) if each == group]
        records = [at for at in places if is_record[at]]
        messages = [at for at in places if not is_record[at]]
        if only_balanced and len(records) != len(messages):
            continue
        pairs = list(zip(records, messages[::-1] if backwards else messages, strict=False))
        for record, message in pairs[:1] if first_only else pairs:
            found[record] = message
            if both:
                found[message] = record
    return found


def precondition_3(groups: Sequence[int], is_record: Sequence[bool]) -> bool:
    rows = list(zip(map(int, groups), map(bool, is_record), strict=True))
    group_of = [group for group, _ in rows]
    stand_together = sum(map(ne, group_of, group_of[1:])) + bool(rows) == len({*group_of})
    in_front = all(
        is_first or not is_second or group != next_group
        for (group, is_first), (next_group, is_second) in pairwise(rows)
    )
    return stand_together and in_front


def _steps(call: Callable[[], Any]) -> int:
    """Return how many instructions Python executes in a call."""
    steps = 0

    def step(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        frame.f_trace_opcodes = True
        steps += event == "opcode"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        call()
    finally:
        sys.settrace(before)
    return steps


def exercise_3(compare: Comparer, partners: Callable[..., Any]) -> None:
    texts = ["5r5r5m5m5m8r9r9m", "1r1m", "1r1r1m", "1r1m1m", "7r", "7m", "", "2r2r2r2m2m2m"]
    texts += ["0r0r0m3r3m3m", "0m1r1m", "5r5r5m65541r65541m4294967301m"]
    chance = Random(10)
    for _ in range(40):
        numbers = chance.sample(range(30), chance.randrange(1, 5))
        texts.append(
            "".join(
                f"{number}r" * chance.randrange(4) + f"{number}m" * chance.randrange(4)
                for number in numbers
            )
        )
    cases = [_rows_of(text) for text in texts]

    def given(groups: list[int], is_record: list[bool]) -> Any:
        arrays = np.array(groups, np.int64), np.array(is_record, np.bool_)
        got = partners(*arrays)
        is_kept = arrays[0].tolist() == groups and arrays[1].tolist() == is_record
        call = "the arrays given to partners, afterwards"
        compare.holds(is_kept, call, "others", "what they were")
        return [_plain(each) for each in got] if hasattr(got, "__len__") else got

    kinds: list[tuple[str, Callable[..., list[int]]]] = [
        ("set-subtract", _set_subtract),
        ("pairs-backwards", partial(_numbered, backwards=True)),
        ("pairs-balanced-only", partial(_numbered, only_balanced=True)),
        ("pairs-first-only", partial(_numbered, first_only=True)),
        ("pairs-both-ways", partial(_numbered, both=True)),
        ("zero-is-falsy", _blind_after_zero),
        ("pairs-by-number", lambda *case: [
            place - case[0].index(case[0][at]) if place != NOTHING else NOTHING
            for at, place in enumerate(_numbered(*case))
        ]),
    ]  # fmt: skip
    compare.all_equal(
        [
            (
                f"partners({text})",
                partial(given, *case),
                [int(each) for each in partners_of_library(*case)],
            )
            for text, case in zip(texts, cases, strict=True)
        ],
        [(code, [wrong(*case) for case in cases]) for code, wrong in kinds],
    )
    # O(rows): eight times as many rows are eight times as many steps, not 64 times.
    for rows_of in (_one_group, _one_pair_each, _extra_first):
        few, many = (_steps(partial(given, *rows_of(rows))) for rows in (50, 400))
        compare.at_most(f"steps for 400 rows, {few} for 50", many, 16 * few, "goes-back")
    # What goes back inside of a list or numpy takes no steps; it does not end here.
    many_rows = _one_group(50_000), _one_pair_each(150_000)
    groups, is_record = ([*one, *other] for one, other in zip(*many_rows, strict=True))
    wanted = partners_of_library(groups, is_record)
    compare.unanswered = call = "partners(200,000 rows)"
    got = given(groups, is_record)
    compare.unanswered = ""
    compare.holds(got == list(wanted), call, "others", "the partners")


def _one_group(rows: int) -> tuple[list[int], list[bool]]:
    return [0] * rows, [row < rows // 2 for row in range(rows)]


def _one_pair_each(rows: int) -> tuple[list[int], list[bool]]:
    return [1 + row // 2 for row in range(rows)], [row % 2 == 0 for row in range(rows)]


def _extra_first(rows: int) -> tuple[list[int], list[bool]]:
    """Return messages without a record, half of the rows, in front of pairs."""
    extra = rows // 2
    groups, is_record = _one_pair_each(rows - extra)
    return [*range(extra), *(extra + group for group in groups)], [False] * extra + is_record


def _plain(given: Any) -> Any:
    """Return an integer of numpy as one of Python; anything else is left as it is."""
    return given.item() if isinstance(given, np.integer) else given


def _rows_of(text: str) -> tuple[list[int], list[bool]]:
    """Return groups and sides of a text: 5r is a record of group 5, 5m a message of it."""
    sides = [letter == "r" for letter in text if letter in "rm"]
    groups = [int(number) for number in text.replace("m", "r").split("r") if number]
    return groups, sides


# ---- 10.4


def precondition_4(found: Any, allowed: Any, unchecked: Any) -> bool:
    is_class = all(isinstance(each, FindingClass) for each in (*found, *allowed))
    return is_class and all(isinstance(each, Unchecked) for each in unchecked)


def exercise_4(compare: Comparer, concluded: Callable[..., Any]) -> None:
    missing, extra = FindingClass.MISSING, FindingClass.EXTRA
    asked = Unchecked(Aspect.MESSAGES, "a partition", "permission denied", asked=True)
    unasked = Unchecked(Aspect.SOURCE, "", "none is named")
    cases: list[tuple[Any, ...]] = [
        ([], frozenset(), [asked]),
        ([missing], frozenset(), []),
        ([], frozenset(), []),
        ([], frozenset(), [unasked]),
        ([missing], frozenset([missing]), []),
        ([missing, extra], frozenset([missing]), []),
        ([extra, missing], frozenset([missing]), []),
        ([missing], frozenset(), [unasked, asked]),
        ([missing], frozenset([missing]), [asked]),
        ([extra], frozenset([missing]), []),
        ([], frozenset([missing]), []),
        ([], frozenset(), [asked, unasked]),
        ([], frozenset(), [unasked, asked]),
        ([missing, missing], frozenset([missing]), []),
        ([missing, missing, extra], frozenset([missing, extra]), [asked]),
    ]
    right = concluded_by_library

    def ignoring_unchecked(found: Any, allowed: Any, _: Any) -> tuple[str, int]:
        return right(found, allowed, [])

    def all_asked(found: Any, allowed: Any, unchecked: Any) -> tuple[str, int]:
        return right(found, allowed, [one._replace(asked=True) for one in unchecked])

    def partial_first(found: Any, allowed: Any, unchecked: Any) -> tuple[str, int]:
        is_partial = any(one.asked for one in unchecked)
        return ("partial", 2) if is_partial else right(found, allowed, unchecked)

    def any_allowed(found: Any, allowed: Any, unchecked: Any) -> tuple[str, int]:
        return right([] if {*found} & allowed else found, allowed, unchecked)

    def each_once(found: Any, allowed: Any, unchecked: Any) -> tuple[str, int]:
        return right(found, allowed if len(found) == len({*found}) else [], unchecked)

    kinds: list[tuple[str, Callable[..., tuple[str, int]]]] = [
        ("ok-when-skipped", ignoring_unchecked),
        ("exit-zero", lambda *case: (right(*case)[0], 0)),
        ("exit-one-for-all", lambda *case: (right(*case)[0], int(right(*case)[1] > 0))),
        ("partial-unless-all", all_asked),
        ("partial-hides-findings", partial_first),
        ("allows-nothing", lambda found, allowed, unchecked: right(found, [], unchecked)),
        ("allows-all-with-one", any_allowed),
        ("allows-each-once", each_once),
    ]
    runs = {_verdict_of(*case): lambda conclude, case=case: conclude(*case) for case in cases}
    compare.runs(runs, concluded, right, kinds)
    sides = [extra, missing], [missing], [asked, unasked]
    concluded(*sides)
    is_kept = sides == ([extra, missing], [missing], [asked, unasked])
    call = "the lists given to concluded, afterwards"
    compare.holds(is_kept, call, "others", "what they were")


def _verdict_of(
    found: Iterable[FindingClass], allowed: Iterable[FindingClass], unchecked: Iterable[Unchecked]
) -> str:
    """Return the call: concluded([MISSING], [], [asked, not asked])."""
    classes = [", ".join(each.name for each in side) for side in (found, allowed)]
    asked = ", ".join("asked" if each.asked else "not asked" for each in unchecked)
    return f"concluded([{classes[0]}], [{classes[1]}], [{asked}])"


# ---- 10.5

_LOGS = (  # noqa: SIM905 - a text of its own with a hyphen would be taken for a reason's code
    "flipped-value changed-offset changed-size changed-magic false-entry torn-tail repeated "
    "left-out placed-by-abs renamed"
).split()


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write a topic with its source, and ten damaged logs, each with another fault.

    The seed says in which order. One line of the source is missing in the topic, one is there three
    times, and one message is extra.
    """
    chance = Random(seed)
    who = " ".join(name.split())[:20]
    lines = [f"{who} buys {number}".encode() for number in range(20)]
    (folder / "lines.txt").write_bytes(b"".join(line + b"\n" for line in lines))
    shutil.rmtree(folder / LOG_DIR, ignore_errors=True)
    with LogDirWriter.open(folder / LOG_DIR, create=True) as writer:
        topic = Topic("orders", 3, DOCUMENTED, TopicSettings())
        writer.create_topic(topic)
        stored = [*lines[1:], lines[5], lines[5], b"nobody buys this"]
        for partition in topic.all_partitions():
            values = stored[partition.partition :: topic.partitions]
            writer.log(partition).append([(None, value) for value in values])
    for number, fault in enumerate(chance.sample(_LOGS, len(_LOGS))):
        target = folder / f"log_{number}"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        write_broken(target, (fault,), chance)
        (partition,) = (target / FOLDER).iterdir()
        partition.rename(target / partition.name)
        (target / FOLDER).rmdir()


def solve_5(folder: Path) -> dict[str, tuple[str, int]]:
    """Return class and offset that `verify` finds in each log."""
    found = {}
    for number in range(len(_LOGS)):
        with TemporaryDirectory() as temporary:
            again = Path(temporary)
            shutil.copytree(folder / "files" / f"log_{number}", again / FOLDER)
            kind, _, offset = diagnosis_by_verify(again)[0]
            found[f"LOG_{number}"] = kind, offset
    return found


def exercise_5(compare: Comparer, constants: dict[str, Any], folder: Path) -> None:
    expected = solve_5(folder)
    pairs = [each for each in constants.values() if isinstance(each, tuple) and len(each) == 2]
    is_one = len(pairs) == len(constants) and len({kind for kind, _ in pairs}) == 1
    of_all = {
        "crc-explains-all": FindingClass.BAD_CRC.value,
        "torn-explains-all": FindingClass.TORN_TAIL.value,
    }
    for name, pair in expected.items():
        if not (isinstance(constants[name], tuple) and len(constants[name]) == 2):
            compare.equal(name, partial(constants.get, name), pair)
    for place, mistakes in ((0, of_all if is_one else {}), (1, {})):
        for name, pair in expected.items():
            got = constants[name][place]
            compare.equal(f"{name}[{place}]", lambda got=got: got, pair[place], mistakes)


# ---- 10.6

_RECORDS, _BLOCK, _SHARE, _MOST_SUMS = 10_000, 64, 50, 20
_NAMES = ("source", "log")


def _which(count: int, place: int) -> str:
    return f"no. {place}" if count == _RECORDS else f"no. {place} of {count}"


class Side:
    """The fingerprints of one side: the source, or the log; they are not to be read off.

    `sums` are those of the first records, none to all; `altered` says by how much one record
    differs. `sum(first, end)` is what the first pass has kept: it costs no reading. `first` and
    `end` are multiples of 64, or the end of all. `read(number)` reads the record once more.
    """

    def __init__(self, sums: Sequence[int], altered: tuple[int, int] | None = None) -> None:
        self._sums = sums
        self._place, self._difference = altered or (-1, 0)
        self.asked, self.reads = 0, 0

    def __len__(self) -> int:
        return len(self._sums) - 1

    def sum(self, first: int, end: int) -> int:
        """Return the sum of the fingerprints from `first` to `end` - 1."""
        for border in (first, end):
            if not (0 <= border <= len(self)) or (border % _BLOCK and border != len(self)):
                raise ValueError(f"{border} is no border")
        self.asked += 1
        return self._between(first, end)

    def read(self, number: int) -> int:
        """Return the fingerprint of one record."""
        if not 0 <= number < len(self):
            raise ValueError(f"there is no record {number}")
        self.reads += 1
        return self._between(number, number + 1)

    def _between(self, first: int, end: int) -> int:
        difference = self._difference if first <= self._place < end else 0
        return (self._sums[end] - self._sums[first] + difference) % _LIMIT


@cache
def _sums(count: int) -> list[int]:
    records = (message_fingerprint(number, 20, 7) for number in range(count))
    return [each % _LIMIT for each in accumulate(records, initial=0)]


def _sides(count: int, altered: int | None, difference: int = 1) -> tuple[Side, Side]:
    where = None if altered is None else (altered, difference)
    return Side(_sums(count)), Side(_sums(count), where)


def exercise_6(compare: Comparer, find_altered: Callable[..., Any]) -> None:
    chance = Random(10)
    places = [0, 63, 64, 4_999, 6_400, 9_983, _RECORDS - 1]
    # Each block once, and its last record: whoever reads more than one block is seen to do so.
    places += [min(first + 63, _RECORDS - 1) for first in range(0, _RECORDS, _BLOCK)]
    places += [chance.randrange(_RECORDS) for _ in range(5)]
    altered = [(_RECORDS, place) for place in places]
    altered += [(count, count - 1) for count in (63, 64, 65, 640)]
    # It differs by one, in the highest bit alone, or is less than it was.
    differences = (1, _LIMIT >> 1, -(1 << 40))
    pairs = [_sides(*each, differences[n % 3]) for n, each in enumerate(altered)]
    compare.all_equal(
        [
            (
                f"find_altered({_which(count, place)} altered)",
                partial(find_altered, *pair),
                place,
            )
            for (count, place), pair in zip(altered, pairs, strict=True)
        ],
        [
            ("names-the-block", [place // _BLOCK * _BLOCK for _, place in altered]),
            ("zero-is-falsy", [place or None for _, place in altered]),
        ],
    )
    pairs.append(_sides(_RECORDS, None))
    compare.unanswered = call = "find_altered(none altered)"
    got = find_altered(*pairs[-1])
    compare.unanswered = ""
    names_one = isinstance(got, int) and 0 <= got < _RECORDS
    code = "finds-without-fault" if names_one else None
    compare.holds(got is None, call, as_text(got), "None", code)
    is_each = min(side.asked for side in pairs[-1]) >= len(range(0, _RECORDS, _BLOCK))
    code = "asks-every-block" if is_each else None
    for name, side in [each for pair in pairs for each in zip(_NAMES, pair, strict=True)]:
        if len(side) == _RECORDS:
            most = _RECORDS // _SHARE
            compare.at_most(f"records of the {name} read", side.reads, most, "reads-all")
            compare.at_most(f"sums of the {name} asked for", side.asked, _MOST_SUMS, code)
