"""The record of a source beside its message: what each holds, and which bytes differ.

    source    order 1|3| of alice      in front of the marks and after them, both are the same
    message   order 1|7| of alice

A long key or value is cut to an *excerpt* around the difference; its true size stays known. The
marks never stand inside a UTF-8 character. This module reads nothing. Source: ours.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from kminilog.json_fields import bytes_field
from kminilog.text import printable

EXCERPT_BYTES = 1000
_LONGEST_CHARACTER_BYTES = 4
_NO_TEXT = re.compile("[\udc80-\udcff]")  # Python's words for bytes that are no UTF-8
Marks = tuple[int, int]


class KeyValue(NamedTuple):
    """The key and the value of a record or of a message."""

    key: bytes | None
    value: bytes | None


class Excerpt(NamedTuple):
    """Some bytes of a key or value of `size_bytes`, from byte `start` on; `data` None is null.

    `differs` are the first byte that is not the same on the other side, and the one after the
    last, counted in the whole; None if nothing differs, or there is no other side.
    """

    data: bytes | None
    size_bytes: int
    start: int = 0
    differs: Marks | None = None

    @classmethod
    def of(
        cls, data: bytes | None, differs: Marks | None = None, limit_bytes: int = EXCERPT_BYTES
    ) -> "Excerpt":
        """Return the bytes around what differs, at most `limit_bytes`.

        >>> Excerpt.of(b"0123456789" * 9, (70, 71), limit_bytes=10)
        Excerpt(data=b'5678901234', size_bytes=90, start=65, differs=(70, 71))
        """
        if data is None:
            return cls(None, -1)
        return cls(data, len(data), 0, differs).shortened(limit_bytes)

    def shortened(self, limit_bytes: int) -> "Excerpt":
        """Return an excerpt of this one; the same if it is short enough.

        Excerpts of both sides begin with the same byte, because what differs does.
        """
        data = self.data
        if data is None or len(data) <= limit_bytes:
            return self
        first = self.differs[0] - self.start if self.differs else 0
        is_near = first < limit_bytes * 3 // 4
        begin = 0 if is_near else _boundary(data, first - limit_bytes // 2)
        end = _boundary(data, begin + limit_bytes)
        return self._replace(data=data[begin:end], start=self.start + begin)

    @property
    def parts(self) -> tuple[bytes, bytes, bytes]:
        """What of the excerpt stands in front of what differs, what differs, and what is after."""
        data = self.data or b""
        if self.differs is None:
            return data, b"", b""
        first, end = (min(max(at - self.start, 0), len(data)) for at in self.differs)
        return data[:first], data[first:end], data[end:]

    @property
    def escaped_parts(self) -> list[str]:
        r"""The same parts as text, escaped.

        >>> Excerpt(b"a\tb", 3, 0, (1, 2)).escaped_parts, Excerpt(bytes([255]), 1).escaped_parts
        (['a', '\\t', 'b'], ['\\xff', '', ''])
        """
        quoted = (
            json.dumps(part.decode("utf-8", "surrogateescape"), ensure_ascii=False)
            for part in self.parts
        )
        return [printable(_NO_TEXT.sub(_as_hex, text[1:-1])) for text in quoted]

    @property
    def is_cut_in_front(self) -> bool:
        """Whether bytes of the whole stand in front of the excerpt."""
        return self.start > 0

    @property
    def is_cut_after(self) -> bool:
        """Whether bytes of the whole stand after the excerpt."""
        return self.start + len(self.data or b"") < self.size_bytes

    def to_json(self, name: str) -> dict[str, Any]:
        """Return its fields; `name` is "key" or "value".

        >>> Excerpt.of(b"ok").to_json("key")
        {'key': 'ok', 'key_size': 2, 'key_start': 0, 'key_differs': None}
        """
        return {
            **bytes_field(name, self.data),
            f"{name}_size": self.size_bytes,
            f"{name}_start": self.start,
            f"{name}_differs": self.differs and list(self.differs),
        }


class Side(NamedTuple):
    """What a report shows of a record, or of a message."""

    key: Excerpt
    value: Excerpt

    def to_json(self) -> dict[str, Any]:
        """Return what `verify --json` prints under `source_record` or `message`."""
        return {**self.key.to_json("key"), **self.value.to_json("value")}


class BothSides(NamedTuple):
    """The record and the message of a finding; a side is None if there is none.

    It is None also if it could not be read again: `not_shown` says why.
    """

    source_record: Side | None
    message: Side | None
    not_shown: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields that a sample has in `verify --json`."""
        return {
            "source_record": self.source_record and self.source_record.to_json(),
            "message": self.message and self.message.to_json(),
            "not_shown": self.not_shown,
        }

    def fields(self) -> Iterator[tuple[str, str, Excerpt]]:
        """Yield the key and the value of each side: the field, the side's name, the excerpt.

        The side is "both" if they are equal.
        """
        sides = (("source", self.source_record), ("message", self.message))
        for name in ("key", "value"):
            found = [(word, getattr(side, name)) for word, side in sides if side]
            if len(found) == 2 and found[0][1] == found[1][1]:
                found = [("both", found[0][1])]
            for word, excerpt in found:
                yield name, word, excerpt

    @property
    def first_difference(self) -> "DifferingByte | None":
        """The first byte of the message that differs from the record; None if there is none.

        There is none, too, if a side has no such byte: one is null, or shorter.
        """
        if self.source_record is None or self.message is None:
            return None
        for name in ("key", "value"):
            right, found = getattr(self.source_record, name), getattr(self.message, name)
            if right.differs is None:
                continue
            one, other = right.data or b"", found.data or b""
            at = _common(one, other)
            if at == min(len(one), len(other)):
                return None
            is_all_here = right.differs[1] <= right.start + len(one)
            is_same_size = right.size_bytes == found.size_bytes
            is_one_field = name == "value" or self.message.value.differs is None
            is_one_byte = is_same_size and one[at + 1 :] == other[at + 1 :]
            is_only = is_one_field and is_all_here and is_one_byte
            return DifferingByte(name, found.start + at, other[at], one[at], is_only)
        return None


class DifferingByte(NamedTuple):
    """A byte of a key or value: what it is in the message, and what in the source."""

    field: str
    at: int
    stored: int
    right: int
    is_only: bool

    def __str__(self) -> str:
        """Return what is said of it.

        >>> record, message = KeyValue(b"k", b"order 13"), KeyValue(b"k", b"order 17")
        >>> print(both_sides(record, message).first_difference)
        byte 7 of the value is 37, in the source 33
        """
        said = f"byte {self.at} of the {self.field} is {self.stored:02x}"
        more = "" if self.is_only else "the first difference: "
        return f"{more}{said}, in the source {self.right:02x}"


NEITHER_SIDE = BothSides(None, None)


def both_sides(
    record: KeyValue | None, message: KeyValue | None, not_shown: str | None = None
) -> BothSides:
    """Return both sides, with what differs marked if both are given. O(bytes).

    >>> sides = both_sides(KeyValue(b"k", b"order 13"), KeyValue(b"k", b"order 17"))
    >>> sides.message.value.parts
    (b'order 1', b'7', b'')
    """
    if record is None or message is None:
        return BothSides(_side(record), _side(message), not_shown)
    keys, values = differing(record.key, message.key), differing(record.value, message.value)
    one = Side(Excerpt.of(record.key, keys[0]), Excerpt.of(record.value, values[0]))
    other = Side(Excerpt.of(message.key, keys[1]), Excerpt.of(message.value, values[1]))
    return BothSides(one, other, not_shown)


def differing(one: bytes | None, other: bytes | None) -> tuple[Marks, Marks] | tuple[None, None]:
    """Return which bytes of each differ: all that is left without the common beginning and end.

    >>> differing("größe".encode(), "größer".encode())
    ((7, 7), (7, 8))
    >>> differing("é".encode(), "è".encode()), differing(b"", b""), differing(None, b"ab")
    (((0, 2), (0, 2)), (None, None), ((0, 0), (0, 2)))
    """
    if one == other:
        return None, None
    one, other = one or b"", other or b""
    front = _common(one, other)
    front = min(_boundary(one, front), _boundary(other, front))
    most = min(len(one), len(other)) - front
    after = _common(one[::-1], other[::-1], most)
    while after > 0 and (_is_inside(one, len(one) - after)):
        after -= 1  # both have this byte, so it is inside of a character in both
    return (front, len(one) - after), (front, len(other) - after)


# ---- which columns differ


_NAMED_BYTES = 100  # of each side, where a column that differs is named


class _Number(str):
    """A number of JSON as it was written: 1.50 and 1.5 differ."""


_NO_MEMBER = _Number("no such column")  # no value is the same


def differing_columns(record: KeyValue, message: KeyValue, name: str) -> tuple[list[str], str]:
    """Return the names of what differs between both sides, and how, as text.

    If both values are objects of JSON, these are their members. Else the value is called `name`.
    O(bytes).

    >>> one, other = (b'{"user": "u", "amount": %s}' % amount for amount in (b"1.50", b"1.5"))
    >>> differing_columns(KeyValue(b"k", one), KeyValue(b"k", other), "value")
    (['amount'], 'amount: 1.50 ≠ 1.5')
    >>> differing_columns(KeyValue(b"k", b"order 13"), KeyValue(None, b"order 17"), "value")
    (['key', 'value'], 'key: k ≠ null, value: order 13 ≠ order 17')
    """
    found = []
    if record.key != message.key:
        found.append(("key", record.key, message.key))
    if record.value != message.value:
        members = list(_members(record.value, message.value))
        found += members or [(name, record.value, message.value)]
    told = ", ".join(f"{name}: {_beside(one, other)}" for name, one, other in found)
    return [name for name, *_ in found], told


def _members(
    one: bytes | None, other: bytes | None
) -> Iterator[tuple[str, bytes | None, bytes | None]]:
    """Yield the members of two objects of JSON that differ; none if they are no objects."""
    try:
        rows = [
            json.loads(side or b"", parse_float=_Number, parse_int=_Number) for side in (one, other)
        ]
    except (ValueError, RecursionError):
        return
    if not all(isinstance(row, dict) for row in rows):
        return
    for name in {**rows[0], **rows[1]}:
        values = [row.get(name, _NO_MEMBER) for row in rows]
        if _same(*values):
            continue
        texts = [value if isinstance(value, str) else _json(value) for value in values]
        if texts[0] == texts[1]:  # 1 and "1"
            texts = [value if isinstance(value, _Number) else _json(value) for value in values]
        yield name, texts[0].encode(errors="replace"), texts[1].encode(errors="replace")


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _beside(one: bytes | None, other: bytes | None) -> str:
    marks = differing(one, other)
    sides = zip((one, other), marks, strict=True)
    return " ≠ ".join(_named(Excerpt.of(data, mark, _NAMED_BYTES)) for data, mark in sides)


def _named(excerpt: Excerpt) -> str:
    if excerpt.data is None:
        return "null"
    text = printable(excerpt.data.decode("utf-8", "backslashreplace"))
    return f"{'…' * excerpt.is_cut_in_front}{text}{'…' * excerpt.is_cut_after}"


# ---- bytes


def _side(found: KeyValue | None) -> Side | None:
    return found and Side(Excerpt.of(found.key), Excerpt.of(found.value))


def _common(one: bytes, other: bytes, most: int | None = None) -> int:
    """Return how many first bytes are the same, at most `most`; by halves, O(bytes)."""
    known, limit = 0, min(len(one), len(other)) if most is None else most
    while known < limit:
        middle = (known + limit + 1) // 2
        if one[known:middle] == other[known:middle]:
            known = middle
        else:
            limit = middle - 1
    return known


def _is_inside(data: bytes, at: int) -> bool:
    """Tell if a byte is a further one of a UTF-8 character."""
    return at < len(data) and data[at] & 0xC0 == 0x80


def _boundary(data: bytes, at: int) -> int:
    """Return the last place up to `at` where a character may begin; `at` if there is none near."""
    for place in range(at, max(at - _LONGEST_CHARACTER_BYTES, -1), -1):
        if not _is_inside(data, place):
            return place
    return at


def _as_hex(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]) - 0xDC00:02x}"
