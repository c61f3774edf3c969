"""Are these bytes valid messages? The fast twin of `format.message.scan`.

    read_structure   size, magic, key length and value length of all messages: the checks of
                     `format.message.decode`, without the CRC; offsets are read, and not checked
    check            the same, and the CRCs

The first message that `decode` would refuse ends the result. The CRCs are checked all together (see
`crc`): a single wrong CRC is always found; several in one window cancel each other with a
probability of 2^-32. Only if something is wrong, the CRC of each message is computed, to find the
first wrong one. This module does not know files, nor which offset belongs where. It does not name
the damage at which the valid messages end: the plain scan does. Source: format/message.py.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kminilog.columns.arrow_columns import allocate
from kminilog.columns.boundaries import Positions, everywhere, places
from kminilog.columns.crc import (
    UNCOVERED_BYTES,
    Words,
    crc32,
    crcs_match,
    replacements_for_first_bytes,
)
from kminilog.format.dialect import Dialect
from kminilog.format.message import KEY_START, MAGIC

# ---- the fields


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
    headers = everywhere(data, KEY_START)[places(positions)].copy().view(_HEADER)
    key_lengths = headers["key_length"].astype(np.int64)
    key_ends = positions + KEY_START
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


# ---- the CRCs, too


_WINDOW_BYTES = 1 << 18  # one crc call; its copy stays in a processor's cache


def check(dialect: Dialect, data: Any, boundaries: Positions) -> Structure:
    """Return the valid messages from byte 0 on, up to the first damage, as `scan` would; O(bytes).

    `boundaries` are those that `find_beginnings` returns for `data`.
    """
    messages = read_structure(dialect, data, boundaries)
    return messages.first(_count_right_crcs(memoryview(data), messages))


def _count_right_crcs(data: memoryview, messages: Structure) -> int:
    """Return how many messages there are before the first wrong CRC."""
    boundaries, count = messages.boundaries, len(messages)
    scratch = allocate(_WINDOW_BYTES)
    start = 0
    while start < count:
        limit = boundaries[start] + _WINDOW_BYTES
        stop = max(int(boundaries.searchsorted(limit, "right")) - 1, start + 1)
        inside, crcs = boundaries[start : stop + 1], messages.crcs[start:stop]
        size_bytes = int(inside[-1] - inside[0])
        if len(scratch) < size_bytes:
            scratch = allocate(size_bytes)
        scratch[:size_bytes] = np.frombuffer(data[inside[0] : inside[-1]], np.uint8)
        at = places(inside[:-1] - inside[0])
        everywhere(scratch, UNCOVERED_BYTES)[at] = replacements_for_first_bytes(crcs)
        if not crcs_match(scratch[:size_bytes], crcs):
            return start + _count_one_by_one(data, inside, crcs)
        start = stop
    return count


def _count_one_by_one(data: memoryview, boundaries: Positions, crcs: Words) -> int:
    """Return how many messages there are before the first wrong CRC, which exists."""
    borders = boundaries.tolist()
    for count, stored in enumerate(crcs.tolist()):
        if crc32(data[borders[count] + UNCOVERED_BYTES : borders[count + 1]]) != stored:
            return count
    return len(crcs)
