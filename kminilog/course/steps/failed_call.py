"""`lab check N.M --trace`: what a student's function gave, beside what is right.

    bytes      byte by byte, from shortly before the first difference on
    parts      a list, tuple or message: element by element
    keys       a dict: key by key
    number     in decimal, in hex, and how far it is off
    text       all else: what surrounds the first difference

A check that compared nothing has its sentence alone: an error, or a command that failed. Source:
ours.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from kminilog.course.comparing import ENDED, ValueParts, around_difference, is_call, shortened
from kminilog.explain.document import ByteRange, Document, Field, Table, Value
from kminilog.explain.recording import Recording
from kminilog.explain.script import Script

STEPS = ("The call", "Without a value", "The first difference", "What explains it")
_BEFORE, _AFTER = 4, 12  # rows around the first difference
_CHARACTERS = 30  # of an element
_YOURS, _RIGHT = "yours", "right"


class FailedCall(NamedTuple):
    """What is known of an answer that failed, in the words of a language; "" for what is not."""

    exercise: str
    sentence: str
    see: str
    call: str = ""
    says: str = ""
    breaks: str = ""


def document(failure: FailedCall, sides: tuple[ValueParts, ValueParts] | None) -> Document:
    """Return the step-through of a failing call: the value that it gave, and the right one."""
    told = Script(__file__, "failed-call", STEPS, **failure._asdict())
    if failure.call:
        is_typed = is_call(failure.call)  # else it is a case, in words
        what = "call" if is_typed else "case"
        told.tell("The call", values={what: failure.call}, is_call=is_typed)
    if sides is None:
        told.tell("Without a value")
    else:
        _tell_difference(told, *sides)
    values = {"see": failure.see} if failure.see else {}
    told.tell("What explains it", values=values, has_value=sides is not None)
    return told.document()


def _tell_difference(told: Script, yours: ValueParts, right: ValueParts) -> None:
    kind = right.kind
    place = _first_difference(yours, right)
    table = _numbers(yours, right) if kind == "number" else _rows(yours, right, place)
    if kind == "bytes":
        focus = _add_bytes(told.recording, (yours, right), place)
        told.recording.damaged = [part._replace(start=place, end=place + 1) for part in focus]
    else:
        focus = []
    told.tell(
        "The first difference",
        focus=focus,
        tables=[table],
        kind=kind,
        place=place,
        label=_cell(right, place)[0] or _cell(yours, place)[0],
        got=_cell(yours, place)[1],
        expected=_cell(right, place)[1],
        ended=ENDED,
        yours_size=yours.size,
        right_size=right.size,
    )


def _first_difference(yours: ValueParts, right: ValueParts) -> int:
    """Return the number of the first part that differs, or that only one of them has."""
    pairs = zip(yours.parts, right.parts, strict=False)
    shorter = min(len(yours.parts), len(right.parts))
    return next((n for n, (one, other) in enumerate(pairs) if one != other), shorter)


def _cell(side: ValueParts, number: int) -> tuple[str, str]:
    """Return label and text of a part; what stands for a part that is not there."""
    return side.parts[number] if number < len(side.parts) else ("", ENDED)


def _rows(yours: ValueParts, right: ValueParts, place: int) -> Table:
    """Return the parts around a place beside each other; those that differ are marked."""
    first = max(place - _BEFORE, 0)
    last = min(place + _AFTER, max(len(yours.parts), len(right.parts)))
    rows: list[tuple[Value, ...]] = []
    marked = []
    for number in range(first, last):
        (mine, got), (label, expected) = _cell(yours, number), _cell(right, number)
        if (mine, got) != (label, expected):
            marked.append(number - first)
            got, expected = around_difference(got, expected, _CHARACTERS)
        rows.append((label or mine, shortened(got, _CHARACTERS), shortened(expected, _CHARACTERS)))
    return Table("Beside each other", ("", _YOURS, _RIGHT), tuple(rows), tuple(marked))


def _numbers(yours: ValueParts, right: ValueParts) -> Table:
    got, expected = (int(side.parts[0][1]) for side in (yours, right))
    rows: tuple[tuple[Value, ...], ...] = (
        ("decimal", str(got), str(expected)),
        ("hex", f"{got:#x}", f"{expected:#x}"),
        ("yours - right", str(got - expected), ""),
    )
    return Table("Beside each other", ("", _YOURS, _RIGHT), rows, (0, 1))


def _add_bytes(recording: Recording, sides: Sequence[ValueParts], place: int) -> list[ByteRange]:
    """Add the bytes of both as files; return in each the byte that differs and those around it.

    The fields end where the focus does, so that no other byte is shown there.
    """
    focus = []
    first, last = max(place - _BEFORE, 0), place + _AFTER
    names = {0: "the same", first: "the same", place: "differs", place + 1: "after it"}
    for name, side in zip((_YOURS, _RIGHT), sides, strict=True):
        data = bytes.fromhex("".join(text for _, text in side.parts))
        ends = sorted({min(each, len(data)) for each in (*names, last, len(data))})
        fields = [
            Field(name, start, end, names.get(start, "after it"), "unparsed", None)
            for start, end in pairwise(ends)
        ]
        recording.file(name, data, fields)
        if place < len(data):
            focus.append(ByteRange(name, first, min(last, len(data))))
    return focus
