"""What a check compares: a call of the student's function, what it gave, and what was expected.

A check calls a `Comparer` as often as it likes. The first comparison that does not hold ends the
check: it raises `DifferenceError`. The code of a misconception is in it only if the student's
function gave exactly the value to which that misconception leads. Source: ours; the idea of naming
wrong values is that of Examplar.
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

SENTENCE_CHARACTERS = 100
_VALUE_CHARACTERS = 28


class DifferenceError(Exception):
    """A comparison did not hold. `code` is None if the value belongs to no known misconception.

    `name` is the sentence in the catalogue, `values` are what it puts in.
    """

    def __init__(self, name: str, code: str | None = None, **values: str) -> None:
        super().__init__(", ".join(f"{what}: {value}" for what, value in values.items()))
        self.name = name
        self.code = code
        self.values = values


class WrongKindError(Exception):
    """The function gave a value of another type than the right one: None instead of bytes.

    For a constant `call` is its name.
    """

    def __init__(self, call: str, got: str, expected: str) -> None:
        super().__init__(f"{call}: {got} instead of {expected}")
        self.values = {"got": got, "expected": expected}
        if call.isidentifier():
            self.values["answer"] = call


class Comparer:
    """Compares, and counts how often it did: a check that compares nothing proves nothing."""

    def __init__(self) -> None:
        self.count = 0

    def equal(
        self,
        call: str,
        make: Callable[[], Any],
        expected: Any,
        mistakes: Mapping[str, Any] | None = None,
    ) -> None:
        """Go on if `make()` gives `expected`; else raise DifferenceError, or WrongKindError.

        `call` is the call as the student would write it. `mistakes` maps codes of misconceptions to
        the values to which they lead; those that equal `expected` here are ignored.

        >>> Comparer().equal("double(4)", lambda: 16, 8, {"squares": 16})
        Traceback (most recent call last):
        ...
        kminilog.course.comparing.DifferenceError: call: double(4), got: 16, expected: 8
        """
        self.count += 1
        got = make()
        if _same(got, expected):
            return
        for code, wrong in (mistakes or {}).items():
            if _same(got, wrong):
                raise _differs(call, short(got), short(expected), code)
        if expected is not None and not isinstance(got, type(expected)):
            raise WrongKindError(call, _kind(got), _kind(expected))
        raise _differs(call, short(got), short(expected), None)

    def refuses(
        self,
        call: str,
        make: Callable[[], Any],
        error: type[Exception],
        mistakes: Mapping[str, Any] | None = None,
        *,
        code: str | None = None,
    ) -> None:
        """Go on if `make()` raises `error`. Else raise DifferenceError, with `code` for any value.

        `mistakes` maps codes to values that a misconception gives in place of the refusal.

        >>> Comparer().refuses("entry_for(-1)", lambda: 3, ValueError, code="accepts-negative")
        Traceback (most recent call last):
        ...
        kminilog.course.comparing.DifferenceError: call: entry_for(-1), got: 3, expected: ValueError
        """
        self.count += 1
        try:
            got = make()
        except error:
            return
        for wrong_code, wrong in (mistakes or {}).items():
            if _same(got, wrong):
                code = wrong_code
        raise _differs(call, short(got), error.__name__, code)

    def at_most(self, what: str, count: int, limit: int, code: str | None) -> None:
        """Go on if `count` is within `limit`; else raise DifferenceError with the code, if any.

        >>> Comparer().at_most("probes of 9 names", 9, 4, "linear-scan")
        Traceback (most recent call last):
        ...
        kminilog.course.comparing.DifferenceError: what: probes of 9 names, count: 9, limit: 4
        """
        self.count += 1
        if count > limit:
            raise DifferenceError("too-many", code, what=what, count=str(count), limit=str(limit))

    def holds(
        self, is_true: bool, call: str, got: str, expected: str, code: str | None = None
    ) -> None:
        """Go on if `is_true`; else raise DifferenceError: the call gave `got`, not `expected`.

        For what `equal` cannot compare: a property, a count, the kind of an outcome.
        """
        self.count += 1
        if not is_true:
            raise _differs(call, got, expected, code)


def short(value: Any) -> str:
    """Return a value as short text: bytes in hex, from the middle on left out if they are many.

    >>> short(b"abc"), short(bytes(40)), short(7)
    ('616263', '00000000000000…000000 (40)', '7')
    """
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, bytes | bytearray):
        digits = bytes(value).hex()
        if not digits:
            return "b''"
        if len(digits) <= _VALUE_CHARACTERS:
            return digits
        return f"{digits[:14]}…{digits[-6:]} ({len(value)})"
    text = str(value) if isinstance(value, BaseException) else repr(value)
    text = re.sub(r" at 0x[0-9a-f]+", "", text)  # the same each time
    if len(text) <= _VALUE_CHARACTERS:
        return text
    return f"{text[: _VALUE_CHARACTERS - 1]}…"


def _differs(call: str, got: str, expected: str, code: str | None) -> DifferenceError:
    room = SENTENCE_CHARACTERS - len(f" gave {got}, expected {expected}")
    if len(call) > room:
        call = f"{call[: room - 2]}…)"
    return DifferenceError("differs", code, call=call, got=got, expected=expected)


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def _same(got: Any, wanted: Any) -> bool:
    """Tell if two values are equal and of one kind: True is not 1, and a list is not a tuple."""
    if isinstance(got, bool) != isinstance(wanted, bool):
        return False
    try:
        return bool(got == wanted)
    except Exception:  # noqa: BLE001 - a student's class may define any __eq__
        return False
