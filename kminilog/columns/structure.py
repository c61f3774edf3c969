"""The fields of many messages, as far as the fields of each message agree with each other.

This module makes the checks of `format.message.decode` for all messages at once: size, magic, key
length and value length, but not the CRC. The first message that `decode` would refuse ends the
structure. Offsets are read, but not checked. Source: format/message.py.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kminilog.columns.boundaries import Positions, everywhere, places
from kminilog.format.dialect import Dialect
from kminilog.format.message import HEADER_BYTES, MAGIC

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
_LENGTH = np.dtype(">i4")


class Structure(NamedTuple):
    """Messages, each a row: where they and their parts begin, and what their fields say.

    `boundaries` has one number more than there are messages: where the last message ends. A key
    goes from byte 22 of its message to `key_ends`, a value from `value_starts` to the end of its
    message.
    """

    boundaries: Positions
    offsets: NDArray[np.int64]
    crcs: NDArray[np.uint32]
    is_compressed: NDArray[np.bool_]
    key_ends: Positions
    is_key_null: NDArray[np.bool_]
    value_starts: Positions
    is_value_null: NDArray[np.bool_]

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
        return self.between(0, count)

    def between(self, start: int, end: int) -> "Structure":
        """Return the structure of the messages from number `start` to `end` - 1."""
        if (start, end) == (0, len(self)):
            return self
        columns: list[Any] = [column[start:end] for column in self[1:]]
        return Structure(self.boundaries[start : end + 1], *columns)


def read_structure(dialect: Dialect, data: Any, boundaries: Positions) -> Structure:
    """Return the messages between these boundaries, up to the first one whose fields disagree.

    `boundaries` are those that `find_beginnings` returns for `data`. CRCs are not checked.
    O(messages).
    """
    positions, ends = boundaries[:-1], boundaries[1:]
    headers = everywhere(data, HEADER_BYTES)[places(positions)].copy().view(_HEADER)
    key_lengths = headers["key_length"].astype(np.int64)
    key_ends = positions + HEADER_BYTES
    key_ends += np.maximum(key_lengths, 0)
    is_valid = (headers["magic"] == MAGIC) & (key_lengths >= -1)
    value_starts, is_value_null = key_ends, np.zeros(len(positions), np.bool_)
    if dialect.has_value_length:
        value_starts = key_ends + _LENGTH.itemsize
    is_valid &= value_starts <= ends
    if dialect.has_value_length:
        at = places(key_ends if is_valid.all() else np.where(is_valid, key_ends, 0))
        stored = everywhere(data, _LENGTH.itemsize)[at].view(_LENGTH).astype(np.int64)
        actual = ends - value_starts
        is_same = stored == actual
        if not is_same.all():
            is_value_null = (stored == -1) & (actual == 0)
        is_valid &= is_same | is_value_null
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
    return found if is_valid.all() else found.first(int(np.argmin(is_valid)))
