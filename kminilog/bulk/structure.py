"""The fields of many messages, as far as they agree with each other.

What `format.message.decode` checks of a message besides its crc is checked here of all at once:
size, magic, key length, value length. The first message that it would refuse ends the structure.
Offsets are read, not judged. Source: format/message.py.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kminilog.bulk.boundaries import NO_HINTS, Positions, find_beginnings
from kminilog.format.dialect import Dialect
from kminilog.format.message import HEADER_BYTES, MAGIC, Message, decode

_HEADER = np.dtype(
    [
        ("offset", ">i8"),
        ("size", ">i4"),
        ("crc", ">u4"),
        ("magic", "i1"),
        ("attributes", "i1"),
        ("key_length", ">i4"),
    ]
)
_CODEC_BITS = 7
_LENGTH_BYTES = 4


class Structure(NamedTuple):
    """Messages, each a row: where they and their parts begin, and what their fields say.

    `boundaries` has one more than there are messages: where the last one ends. A key runs from
    byte 22 of its message to `key_ends`, a value from `value_starts` to the end of its message.
    If `is_uniform`, there are messages, and their lengths, keys' and values' included, are equal.
    """

    boundaries: Positions
    offsets: NDArray[np.int64]
    crcs: NDArray[np.uint32]
    is_compressed: NDArray[np.bool_]
    key_ends: Positions
    is_key_null: NDArray[np.bool_]
    value_starts: Positions
    is_value_null: NDArray[np.bool_]
    is_uniform: bool = False

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def positions(self) -> Positions:
        """Where each message begins."""
        return self.boundaries[:-1]

    @property
    def end(self) -> int:
        """Where the last message ends; 0 if there is none."""
        return int(self.boundaries[-1])

    def first(self, count: int) -> "Structure":
        """Return the structure of the first `count` messages."""
        if count == len(self):
            return self
        columns = self._asdict()
        del columns["is_uniform"]
        cut = {name: column[:count] for name, column in columns.items()}
        cut["boundaries"] = self.boundaries[: count + 1]
        return Structure(**cut, is_uniform=self.is_uniform and count > 0)


def read_structure(dialect: Dialect, data: Any, hints: Positions = NO_HINTS) -> Structure:
    """Return the messages that stand from byte 0 on, up to the first that is not sound.

    `hints` as in `find_beginnings`. O(messages) after finding where they begin.
    """
    boundaries = find_beginnings(dialect, data, hints)
    uniform = _uniform(dialect, data, boundaries) if len(boundaries) > 2 else None
    return uniform or _checked(dialect, data, boundaries)


def _checked(dialect: Dialect, data: Any, boundaries: Positions) -> Structure:
    """Return the messages between these boundaries, up to the first that is not sound."""
    positions, ends = boundaries[:-1], boundaries[1:]
    headers = _headers(data, positions)
    key_lengths = headers["key_length"].astype(np.int64)
    key_ends = positions + HEADER_BYTES
    key_ends += np.maximum(key_lengths, 0)
    is_sound = (headers["magic"] == MAGIC) & (key_lengths >= -1)
    value_starts, is_value_null = key_ends, np.zeros(len(positions), np.bool_)
    if dialect.has_value_length:
        value_starts = key_ends + _LENGTH_BYTES
    is_sound &= value_starts <= ends
    if dialect.has_value_length:
        places = key_ends if is_sound.all() else np.where(is_sound, key_ends, 0)
        stored, actual = _value_lengths(data, places), ends - value_starts
        is_same = stored == actual
        if not is_same.all():
            is_value_null = (stored == -1) & (actual == 0)
        is_sound &= is_same | is_value_null
    found = Structure(
        boundaries,
        headers["offset"].astype(np.int64),
        headers["crc"].astype(np.uint32),
        (headers["attributes"] & _CODEC_BITS) != 0,
        key_ends,
        key_lengths == -1,
        value_starts,
        is_value_null,
    )
    return found if is_sound.all() else found.first(int(np.argmin(is_sound)))


def _headers(data: Any, positions: Positions) -> NDArray[np.void]:
    if not len(positions):
        return np.empty(0, _HEADER)
    everywhere = np.ndarray(len(data) - HEADER_BYTES + 1, "V22", buffer=data, strides=1)
    return everywhere[positions].view(_HEADER)


def _value_lengths(data: Any, positions: Positions) -> NDArray[np.int64]:
    if not len(positions):
        return np.empty(0, np.int64)
    everywhere = np.ndarray(len(data) - _LENGTH_BYTES + 1, "V4", buffer=data, strides=1)
    lengths: NDArray[np.int64] = everywhere[positions].view(">i4").astype(np.int64)
    return lengths


def _uniform(dialect: Dialect, data: Any, boundaries: Positions) -> Structure | None:
    """Return the structure if all messages have the same fields, offset and crc apart, else None.

    Then what is true of the first one is true of all.
    """
    count, step = len(boundaries) - 1, int(boundaries[1])
    first = decode(dialect, bytes(memoryview(data)[:step]))
    if not isinstance(first, Message) or not (np.diff(boundaries) == step).all():
        return None
    key_end = HEADER_BYTES + len(first.key or b"")
    value_start = step - len(first.value or b"")
    headers = np.ndarray(count, "V22", data, strides=step).copy().view(_HEADER)
    fields = [headers[name] for name in ("magic", "attributes", "key_length")]
    if value_start > key_end:
        fields.append(np.ndarray(count, "u4", data, key_end, strides=step))
    if not all((field == field[0]).all() for field in fields):
        return None
    positions = boundaries[:-1]
    return Structure(
        boundaries,
        headers["offset"].astype(np.int64),
        headers["crc"].astype(np.uint32),
        np.full(count, first.attributes & _CODEC_BITS != 0),
        positions + key_end,
        np.full(count, first.key is None),
        positions + value_start,
        np.full(count, first.value is None),
        is_uniform=True,
    )
