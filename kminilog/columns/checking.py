"""Are these bytes valid messages? The fast twin of `format.message.scan`.

`structure` checks sizes, magic, key and value lengths exactly. The CRCs are checked all together
(see `crc`): a single wrong CRC is always found; several in one window cancel each other with a
probability of 2^-32. Only if something is wrong, the CRC of each message is computed, to find the
first wrong one. This module does not know files, nor which offset belongs where. It does not name
the damage at which the valid messages end: the plain scan does. Source: format/message.py.
"""

from typing import Any

import numpy as np

from kminilog.columns.arrow_columns import allocate
from kminilog.columns.boundaries import Positions, everywhere, places
from kminilog.columns.crc import (
    UNCOVERED_BYTES,
    Words,
    crc32,
    crcs_match,
    replacements_for_first_bytes,
)
from kminilog.columns.structure import Structure, read_structure
from kminilog.format.dialect import Dialect

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
