"""The same as test_reasons, for lab 10: what an answer is told is true of it.

`once`: the code that the answer was given, or `pass`.
"""

import re

import pytest

from kminilog.course.judging.outcome import ERROR, FAIL
from kminilog.course.judging.patching import library_answer, load_answers
from kminilog.course.material import (
    WRONG,
    answers_to,
    checks_of,
    exercise_of,
    lab_of,
    sample_answers,
)
from kminilog.verification.coverage import Aspect, Unchecked
from kminilog.verification.findings import FindingClass
from tests.support.course.student import start_lab, told

pytestmark = pytest.mark.processes

HOLDS = """\
def holds(counts):
    source, extra, duplicate, stored, rejected, missing = map(
        counts.get, ("source", "extra", "duplicate", "stored", "rejected", "missing"))
    return {equation}
"""
ADD = """\
def add_to(self, slot, count, fingerprints):
    row = self._rows.setdefault(slot, [self.borders[slot], 0, 0])
    row[1] += {count}
    row[2] = {total}
"""
SUM = "(row[2] + fingerprints) % 2**64"
PARTNERS = """\
def partners(groups, is_record):
    groups, found = list(groups), []
    for place, group in enumerate(groups):
        rows = [row for row in range(len(groups)) if groups[row] == group]
        records = [row for row in rows if is_record[row]]
        messages = [row for row in rows if not is_record[row]]
        number = records.index(place) if is_record[place] else len(messages)
        found.append({partner} if number < len(messages) else -1)
    return found
"""
CONCLUDED = """\
def concluded(found, allowed, unchecked):
    found, unchecked = list(found), list(unchecked)
    if {wrong}:
        return "findings", 1
    return ("partial", 2) if {open} else ("ok", 0)
"""
WRONG_ONE, OPEN = "set(found) - set(allowed)", "any(one.asked for one in unchecked)"
FIND = """\
def find_altered(source, log):
    low, high = 0, -(-len(source) // 64)
    while high - low > {least}:
        middle = low + max((high - low) // {parts}, 1)
        first, end = low * 64, middle * 64
        if source.sum(first, end) != log.sum(first, end):
            high = middle
        else:
            low = middle
    rows = range(low * 64, min(high * 64, len(source)))
    return next((row + {plus} for row in rows if source.read(row) != log.read(row)), {none})
"""
FOUND = {"least": 1, "parts": 2, "plus": 0, "none": None}
JUMPS = """\
def find_altered(source, log):
    first, step = 0, 12 * 64
    while step >= 64:
        end = min(first + step, len(source))
        if source.sum(first, end) != log.sum(first, end) or end == len(source):
            step = step // 64 // 12 * 64
        else:
            first = end
    rows = range(first, min(first + 64, len(source)))
    return next((row for row in rows if source.read(row) != log.read(row)), None)
"""
OTHERS = {
    "never": ("10.1", HOLDS.format(equation="False"), None, "counts-altered"),
    "duplicates on the other side": (
        "10.1",
        HOLDS.format(equation="source + extra == stored + rejected + missing + duplicate"),
        "wrong-side",
        "forgets-duplicate",
    ),
    "rejected on the other side": (
        "10.1",
        HOLDS.format(equation="source + extra + duplicate + rejected == stored + missing"),
        "wrong-side",
        "forgets-rejected",
    ),
    "no missing": (
        "10.1",
        HOLDS.format(equation="source + extra + duplicate == stored + rejected"),
        None,
        None,
    ),
    "32 bits": (
        "10.2",
        ADD.format(count="count", total="(row[2] + fingerprints) % 2**32"),
        "sum-other-limit",
        None,
    ),
    "calls with messages": ("10.2", ADD.format(count="bool(count)", total=SUM), None, None),
    "the greatest": (
        "10.2",
        ADD.format(count="count", total="max(row[2], fingerprints) % 2**64"),
        None,
        None,
    ),
    "the last message for all": ("10.3", PARTNERS.format(partner="messages[-1]"), None, None),
    "place among the messages": ("10.3", PARTNERS.format(partner="number"), None, None),
    "the first of what is unchecked": (
        "10.4",
        CONCLUDED.format(wrong=WRONG_ONE, open="unchecked and unchecked[0].asked"),
        None,
        "pass",
    ),
    "the last class": (
        "10.4",
        CONCLUDED.format(wrong="found and found[-1] not in allowed", open=OPEN),
        None,
        "pass",
    ),
    "only if all was asked for": (
        "10.4",
        CONCLUDED.format(wrong=WRONG_ONE, open="unchecked and all(o.asked for o in unchecked)"),
        None,
        None,
    ),
    "minus one for none": (
        "10.6",
        FIND.format(**FOUND | {"none": -1}),
        None,
        "finds-without-fault",
    ),
    "counted from one": ("10.6", FIND.format(**FOUND | {"plus": 1}), None, None),
    "jumps of twelve blocks": ("10.6", JUMPS, None, "asks-every-block"),
    "eight blocks are read": (
        "10.6",
        FIND.format(**FOUND | {"least": 8}),
        "reads-all",
        "reads-all",
    ),
}


@pytest.mark.parametrize(("id", "answer", "code", "once"), OTHERS.values(), ids=OTHERS)
def test_wrong_answer_of_lab_10_gets_no_reason_of_another_one(tmp_path, id, answer, code, once):
    assert told(start_lab(tmp_path, number=10), id, answer)[:2] == (FAIL, code), once


def test_right_find_altered_of_the_same_form_passes(tmp_path):
    folder = start_lab(tmp_path, number=10)
    assert told(folder, "10.6", FIND.format(**FOUND))[0] == "pass"


def test_find_altered_that_raises_says_in_which_call(tmp_path):
    answer = FIND.format(**FOUND).replace("), None)", "))")
    status, _, sentence = told(start_lab(tmp_path, number=10), "10.6", answer)
    assert status == ERROR
    assert sentence.startswith("your find_altered (lab 10.6, line 11) raised StopIteration, for ")
    assert sentence.endswith(", for find_altered(none altered)")


def arguments_of(number: int, call: str) -> tuple:
    """Return the arguments of a call that a sentence names."""
    inside = call.partition("(")[2].removesuffix(")")
    if number == 1:
        names = ("source", "extra", "duplicate", "stored", "rejected", "missing", "altered")
        counts = {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", inside)}
        return (dict.fromkeys(names, 0) | counts,)
    if number == 3:
        return checks_of(lab_of(10))["_rows_of"](inside)
    if number == 4:
        found, allowed, unchecked = (
            list(filter(None, part.split(", "))) for part in re.findall(r"\[(.*?)\]", inside)
        )
        left = [Unchecked(Aspect.SOURCE, "", "", asked=each == "asked") for each in unchecked]
        return ([FindingClass[n] for n in found], {FindingClass[n] for n in allowed}, left)
    altered, count = re.fullmatch(r"(?:no. (\d+)|none)(?: of (\d+))? altered", inside).groups()
    return checks_of(lab_of(10))["_sides"](int(count or 10_000), altered and int(altered))


FUNCTIONS = [
    sample for sample in sample_answers(lab_of(10), WRONG) if sample.number in (1, 2, 3, 4, 6)
]


def _without_cuts(text: str) -> str:
    """Return a value without the beginning and the end that a sentence leaves out."""
    return re.sub(r"^…|…[])']*$", "", text)


@pytest.mark.parametrize("sample", FUNCTIONS, ids=lambda each: each.path.stem)
def test_wrong_answer_of_lab_10_is_told_what_it_gave_and_what_was_expected(tmp_path, sample):
    exercise = exercise_of(f"10.{sample.number}")
    text = sample.path.read_text()
    status, code, sentence = told(start_lab(tmp_path, number=10), exercise.id, text)
    assert (status, code) == (FAIL, sample.says)
    function = getattr(load_answers(sample.path), exercise.answers[0])
    if too_many := re.fullmatch(r"(.*): (\d+), expected at most (\d+)", sentence):
        what, count, limit = too_many.group(1), *map(int, too_many.groups()[1:])
        assert count > limit
        if sample.number == 6:
            places = (0, 63, 64, 4_999, 6_400, 9_983, 9_999, *range(63, 10_000, 64))
            sides = [checks_of(lab_of(10))["_sides"](10_000, place) for place in places]
            for pair in sides:
                function(*pair)
            is_read = what.startswith("records")
            counts = [side.reads if is_read else side.asked for side, _ in sides]
            assert next(each for each in counts if each > limit) == count
        return
    pattern = r"(.*?)(?: gave |: got | raised )(.*), expected (.*)"
    call, got, expected = re.fullmatch(pattern, sentence).groups()
    assert got != expected
    if sample.number == 2 or call.endswith(", afterwards"):
        assert call.startswith(("rows after ", "self._rows", "the counts given"))
        return
    arguments = arguments_of(sample.number, call)
    assert _without_cuts(got) in repr(function(*arguments))
    is_plain = not exercise.symbol
    right = load_answers(answers_to(exercise, "right")[0]).find_altered if is_plain else None
    wanted = (right or library_answer(exercise.symbol))(*arguments)
    wanted = wanted if sample.number != 3 else [int(each) for each in wanted]
    assert _without_cuts(expected) in repr(wanted)
