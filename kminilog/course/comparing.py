"""What a check compares: a call of the student's function, what it gave, and what was expected.

A check calls a `Comparer` as often as it likes. The first comparison that does not hold ends the
check: it raises `DifferenceError`. The code of a misconception is in it only if the student's
function gave exactly the value to which that misconception leads, and no other that is known leads
to the same value, the right one included. What is found is kept whole; a sentence shows of long
values what is around their first difference. Source: ours; the idea of naming wrong values is that
of Examplar.
"""

import ast
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

SENTENCE_CHARACTERS = 100
VALUE_CHARACTERS = 28
_MOST_PARTS = 1000
_MOST_CHARACTERS = 4000  # of a value that is said whole: a student's may have a million
_BEFORE_CHARACTERS = 10  # of a long value, in front of its first difference
_HEX = re.compile("[0-9a-f]+")
_NAME = re.compile(r"\b[A-Za-z_][\w.]{0,59}\b\(?")  # what is longer is a value
_ERROR = re.compile(r"[\w.]*([Ee]rror|Exception|Exit|Interrupt)")
_QUOTED = re.compile(r"""(['"])((?:(?!\1).)*)\1""")
_SLIPS = (NameError, AttributeError, TypeError, ImportError)
ENDED = "-"
"""What stands for a part that is not there."""
_CLOSING = "'\")]}"


class ValueParts(NamedTuple):
    """A value by its parts, each with its label: those of bytes are bytes in hex.

    `kind` is `bytes`, `number`, `parts`, `keys` of a dict, or `text`. Of a long value, which has
    `size` parts in all, the first ones are here.
    """

    kind: str
    parts: list[tuple[str, str]]
    size: int = 1


class DifferenceError(Exception):
    """A comparison did not hold. `code` is None if the value belongs to no known misconception.

    `name` is the sentence in the catalogue, `values` are what it puts in. `sides` are the values
    that were compared, that of the student first.
    """

    sides: tuple[ValueParts, ValueParts] | None = None

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
        self.call = call
        self.values = {"got": got, "expected": expected}
        if call.isidentifier():
            self.values["answer"] = call


class Comparer:
    """Compares, and counts how often it did: a check that compares nothing proves nothing.

    With `is_secret`, for constants that are read off a file, `equal` does not tell the right value.
    """

    def __init__(self, *, is_secret: bool = False) -> None:
        self.count = 0
        self.unanswered = ""  # the call that has given nothing yet, if one has not
        self._is_secret = is_secret

    def equal(
        self,
        call: str,
        make: Callable[[], Any],
        expected: Any,
        mistakes: Mapping[str, Any] | None = None,
        raises: Mapping[type[Exception], str | None] | None = None,
    ) -> None:
        """Go on if `make()` gives `expected`; else raise DifferenceError, or WrongKindError.

        `call` is the call as the student would write it. `mistakes` maps codes of misconceptions to
        the values to which they lead; one that equals `expected` or another here names none. A
        value of a type that does the same in the engine, such as bytearray, is as good. A
        memoryview, which cannot be joined to bytes, is not, nor is an integer of numpy, which
        commands refuse. `raises` are errors that are a wrong answer, too, with their codes.

        >>> Comparer().equal("double(4)", lambda: 16, 8, {"squares": 16})
        Traceback (most recent call last):
        ...
        kminilog.course.comparing.DifferenceError: call: double(4), got: 16, expected: 8
        """
        self.count += 1
        self.unanswered = call
        wrong = raises or {}
        try:
            got = make()
        except tuple(wrong) as error:
            code = next(code for kind, code in wrong.items() if isinstance(error, kind))
            raise _differs(call, name_of(error), as_text(expected), code) from error
        self.unanswered = ""
        is_equal = _equal(got, expected)
        misfit = _misfit(got, expected, is_deep=is_equal)
        if is_equal and misfit is None:
            return
        code = None if is_equal else _code_of(got, mistakes)
        if misfit and code is None:
            raise WrongKindError(call, *misfit)
        if self._is_secret:
            raise DifferenceError("wrong-constant", code, answer=call, got=short(got))
        found = _differs(call, as_text(got), as_text(expected), code)
        found.sides = sides_of(got, expected)
        raise found

    def all_equal(
        self,
        cases: Sequence[tuple[str, Callable[[], Any], Any]],
        readings: Sequence[tuple[str, Sequence[Any]]],
    ) -> None:
        """Compare several cases: call, make and expected, as `equal` does.

        `readings` are codes of misconceptions, each with the values to which it leads, one for each
        case. One case may agree with a misconception by chance, so a code must explain all.

        >>> cases = [("double(2)", lambda: 4, 4), ("double(3)", lambda: 9, 6)]
        >>> try: Comparer().all_equal(cases, [("adds-two", [4, 5]), ("squares", [4, 9])])
        ... except DifferenceError as found: found.code
        'squares'
        """
        got: list[Any] = []
        error = None
        try:
            for self.unanswered, make, _ in cases:
                got.append(make())
        except Exception as raised:  # noqa: BLE001 - whatever the student's code raises
            error = raised
        call, self.unanswered = self.unanswered, ""
        code = None if error else common_code(got, readings)
        for (each, _, expected), value in zip(cases, got, strict=False):
            self.equal(each, partial(_itself, value), expected, {code: value} if code else None)
        if error:
            self.unanswered = call
            raise error

    def runs(
        self,
        cases: Mapping[str, Callable[[Any], Any]],
        mine: Any,
        library: Any,
        readings: Sequence[tuple[str, Any]],
    ) -> None:
        """Compare what becomes of each case with two functions: the student's and the library's.

        `cases` maps calls to what makes a value with a function. `readings` are codes of
        misconceptions, each with a function that has it; see `all_equal`.

        >>> cases = {"double(2)": lambda double: double(2), "double(3)": lambda double: double(3)}
        >>> readings = [("squares", lambda n: n**2), ("adds-two", lambda n: n + 2)]
        >>> try: Comparer().runs(cases, lambda n: n * n, lambda n: n + n, readings)
        ... except DifferenceError as found: found.code
        'squares'
        """
        self.all_equal(
            [(call, partial(run, mine), run(library)) for call, run in cases.items()],
            [(code, [run(wrong) for run in cases.values()]) for code, wrong in readings],
        )

    def refuses(
        self,
        call: str,
        make: Callable[[], Any],
        error: type[Exception],
        mistakes: Mapping[str, Any] | None = None,
    ) -> None:
        """Go on if `make()` raises `error`; else, or if it raises another one, DifferenceError.

        An error that nobody raises on purpose passes: its own text, and its line, explain it.
        `mistakes` maps codes to values that a misconception gives in place of the refusal.

        >>> Comparer().refuses("entry_for(-1)", lambda: 3, ValueError, {"accepts-negative": 3})
        Traceback (most recent call last):
        ...
        kminilog.course.comparing.DifferenceError: call: entry_for(-1), got: 3, expected: ValueError
        """
        self.count += 1
        self.unanswered = call
        try:
            got = make()
        except error:
            self.unanswered = ""
            return
        except _SLIPS:
            raise
        except Exception as other:
            raise _differs(call, name_of(other), error.__name__, None) from other
        raise _differs(call, as_text(got), error.__name__, _code_of(got, mistakes))

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

        For what `equal` cannot compare: a property, a count, the kind of an outcome. A `code` only
        where what is false is the misconception itself.
        """
        self.count += 1
        if not is_true:
            raise _differs(call, got, expected, code)


def sides_of(got: Any, expected: Any) -> tuple[ValueParts, ValueParts]:
    """Return two values by their parts; as texts, if they are not of one kind.

    >>> sides_of(b"ab", b"a")[0]
    ValueParts(kind='bytes', parts=[('0', '61'), ('1', '62')], size=2)
    >>> sides_of(2, None)[0]
    ValueParts(kind='text', parts=[('', '2')], size=1)
    """
    if isinstance(got, dict) and isinstance(expected, dict):
        return _keys_of(got, expected)
    sides = _side(got), _side(expected)
    is_alike = sides[0].parts == sides[1].parts  # the difference is further on
    if sides[0].kind == sides[1].kind != "text" and not is_alike:
        return sides
    one, other = around_difference(as_text(got), as_text(expected), _MOST_CHARACTERS)
    return ValueParts("text", [("", one)]), ValueParts("text", [("", other)])


def _keys_of(got: dict[Any, Any], expected: dict[Any, Any]) -> tuple[ValueParts, ValueParts]:
    """Return two dicts by the keys of both, in one order."""
    keys = [*expected, *(key for key in got if key not in expected)][:_MOST_PARTS]

    def parts(side: dict[Any, Any]) -> list[tuple[str, str]]:
        return [(short(key), short(side[key]) if key in side else ENDED) for key in keys]

    return ValueParts("keys", parts(got)), ValueParts("keys", parts(expected))


def _side(value: Any) -> ValueParts:
    if isinstance(value, bytes | bytearray):
        kind, parts = "bytes", [(str(n), f"{each:02x}") for n, each in enumerate(value)]
    elif isinstance(value, int) and not _is_bool(value):
        kind, parts = "number", [("", str(value))]
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        named = zip(value._fields, value, strict=False)
        kind, parts = "parts", [(str(name), short(each)) for name, each in named]
    elif isinstance(value, list | tuple):
        kind, parts = "parts", [(str(n), short(each)) for n, each in enumerate(value)]
    else:
        kind, parts = "text", []
    return ValueParts(kind, parts[:_MOST_PARTS], len(parts))


def common_code(got: Sequence[Any], readings: Sequence[tuple[str, Sequence[Any]]]) -> str | None:
    """Return the code of the one misconception that leads to all these values; None without one.

    >>> common_code([4, 9], [("adds-two", [4, 5]), ("squares", [4, 9])])
    'squares'
    """
    codes = {
        code
        for code, wrong in readings
        if all(
            _fits(one, other) and _equal(one, other) for one, other in zip(got, wrong, strict=True)
        )
    }
    return codes.pop() if len(codes) == 1 else None


def is_as_good(got: Any, wanted: Any) -> bool:
    """Tell if a value does the same in the engine as the one that is wanted; see `equal`.

    >>> is_as_good(bytearray(b"a"), b"a"), is_as_good(1.0, 1), is_as_good(1, True)
    (True, False, False)
    """
    return _equal(got, wanted) and _misfit(got, wanted) is None


def as_text(value: Any) -> str:
    """Return a value as text: bytes in hex, and nothing that changes from run to run.

    >>> as_text(b"abc"), as_text(b""), as_text(7)
    ('616263', "b''", '7')
    """
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex() or "b''"
    text = str(value) if isinstance(value, BaseException) else repr(value)
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def name_of(error: BaseException) -> str:
    """Return the name of an error; with its module, as of `struct.error`, if it needs that.

    >>> import struct
    >>> name_of(ValueError("x")), name_of(struct.error("x"))
    ('ValueError', 'struct.error')
    """
    kind = type(error)
    return f"{kind.__module__}.{kind.__name__}" if kind.__name__ == "error" else kind.__name__


def short(value: Any) -> str:
    """Return a value as text, of a very long one the beginning.

    >>> short(b"abc"), len(short(bytes(10**6)))
    ('616263', 4000)
    """
    return shortened(as_text(value), _MOST_CHARACTERS)


def around_difference(
    got: str, expected: str, characters: int = VALUE_CHARACTERS
) -> tuple[str, str]:
    """Return two texts that differ, each from shortly before the first difference on.

    `…` is what is left out; of bytes, `[20:]` says which is the first one that is shown.

    >>> around_difference("offset=5, key=None, value=b'1'", "offset=5, key=None, value=b'2'")
    ("…, value=b'1'", "…, value=b'2'")
    >>> around_difference("00" * 33 + "21", "00" * 33 + "12")
    ('[28:] 000000000021', '[28:] 000000000012')
    """
    texts = got, expected
    if max(map(len, texts)) <= characters:
        return texts
    pairs = enumerate(zip(got, expected, strict=False))
    place = next((n for n, (one, other) in pairs if one != other), min(map(len, texts)))
    start = max(place - _BEFORE_CHARACTERS, 0)
    is_hex = all(_HEX.fullmatch(text) for text in texts)
    if is_hex:
        start -= start % 2
    elif name := _name_at(got, start):
        start = name.start()
    left_out = "" if not start else f"[{start // 2}:] " if is_hex else "…"
    # The difference is shown, however long the name is that stands before it.
    characters = max(characters, place - start + _BEFORE_CHARACTERS)
    got, expected = (shortened(left_out + text[start:], characters) for text in texts)
    return got, expected


def shortened(text: str, characters: int) -> str:
    """Return a text, or its beginning and `…`; a quote or a bracket at its end stays there.

    A name is whole or left out, that of a function at the beginning is always there.

    >>> shortened("encode(1, 2)", 10), shortened("take(17): 0 available", 16)
    ('encode(1…)', 'take(17): 0 …')
    >>> shortened("IndexEntry(relative_offset=3)", 20), shortened("encode(1, 2)", 4)
    ('IndexEntry(…)', 'encode(…)')
    """
    if len(text) <= characters:
        return text
    end = f"…{text[-1]}" if text[-1] in _CLOSING else "…"
    place = max(characters - len(end), 0)
    if name := _name_at(text, place):
        place = name.start() or name.end()
    return text[:place] + end


def shortened_error(text: str) -> str:
    """Return the text of an error: values that it quotes lose their ends, and names do not.

    >>> shortened_error("ValueError: '" + "key " * 20 + "' is no partition_of_the_message")
    "ValueError: 'key key key key key key …' is no partition_of_the_message"
    """

    def less(quoted: re.Match[str]) -> str:
        is_name = _NAME.fullmatch(quoted[2])
        return quoted[0] if is_name else shortened(quoted[0], VALUE_CHARACTERS)

    return shortened(_QUOTED.sub(less, text), 2 * SENTENCE_CHARACTERS)


def _name_at(text: str, place: int) -> re.Match[str] | None:
    """Return the name that a cut at a place would break; bytes in hex are none."""
    for each in _NAME.finditer(text):
        if each.start() < place < each.end() and not _HEX.fullmatch(each[0]):
            return each
    return None


def of_file(name: str) -> str:
    """Return the sentence that tells of the file what `name` tells of an answer.

    It is for what goes wrong while the file is loaded: no answer has been called then.
    """
    return f"file-{name}"


def name_call(name: str, call: str, values: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the name of a sentence that also says which call or case it was, and the values in it.

    Without one, or if the call is only the name of the function, the name stays what it is.
    """
    is_said = call and not call.isidentifier()
    return (f"{name}-in", {**values, "call": call}) if is_said else (name, dict(values))


def is_call(text: str) -> bool:
    """Tell if a text is a call that a student can type: what it is given are values of Python.

    What is not names a case: `header(0, 4 bytes)`, or `two topics`.

    >>> is_call("header(0, b'')"), is_call("list(scan(b'a', 0))[0]")
    (True, True)
    >>> is_call("header(0, 4 bytes)"), is_call("header(0, content)"), is_call("two topics")
    (False, False, False)
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of `1or`, for example
            nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, ValueError):
        return False
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    functions = [call.func for call in calls]
    return bool(calls) and all(
        node in functions or not isinstance(node, ast.Name | ast.Attribute) for node in nodes
    )


def _differs(call: str, got: str, expected: str, code: str | None) -> DifferenceError:
    got, expected = around_difference(got, expected, _MOST_CHARACTERS)
    name = "differs-in-case"
    if is_call(call):
        name = "raised-other" if _ERROR.fullmatch(got) else "differs"
    return DifferenceError(name, code, call=call, got=got, expected=expected)


def _code_of(got: Any, mistakes: Mapping[str, Any] | None) -> str | None:
    return common_code([got], [(code, [wrong]) for code, wrong in (mistakes or {}).items()])


def _kind(value: Any) -> str:
    if isinstance(value, bytes):  # CountedBytes, too
        return "bytes"
    return "None" if value is None else type(value).__name__


def _itself(value: Any) -> Any:
    return value


def _equal(got: Any, wanted: Any) -> bool:
    try:
        return bool(got == wanted)
    except Exception:  # noqa: BLE001 - a student's class may define any __eq__
        return False


def _misfit(got: Any, wanted: Any, *, is_deep: bool = True) -> tuple[str, str] | None:
    """Return the kinds of a value and the one that is wanted if they are not alike, else None.

    `is_deep`, for values that are equal: or the kinds of the first parts of them that are not.
    """
    if not _fits(got, wanted):
        return _kind(got), _kind(wanted)
    if not is_deep:
        return None
    if isinstance(wanted, dict):
        pairs = [(got[key], value) for key, value in wanted.items()]
    elif isinstance(wanted, list | tuple):
        pairs = list(zip(got, wanted, strict=False))
    else:
        return None
    for each in pairs:
        if found := _misfit(*each):
            return f"{found[0]} in {_kind(got)}", found[1]
    return None


def _fits(got: Any, wanted: Any) -> bool:
    if _is_bool(got) or _is_bool(wanted):
        return _is_bool(got) and _is_bool(wanted)
    if isinstance(wanted, int):
        return isinstance(got, int)
    if isinstance(wanted, bytes):
        return isinstance(got, bytes | bytearray)
    return wanted is None or isinstance(got, type(wanted))


def _is_bool(value: Any) -> bool:
    """Tell if a value is True or False, perhaps of numpy."""
    return isinstance(value, bool) or getattr(value, "dtype", None) == "bool"
