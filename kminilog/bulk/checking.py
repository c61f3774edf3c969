"""Are these bytes sound messages? The fast twin of `format.message.scan`.

Sizes, magic, key and value lengths are checked in `structure`, exactly. The crcs are checked all
together (see `crc`): a single wrong one is always found; with several wrong ones in one window
there is a chance of 2^-32 that they cancel each other. Only if something is wrong is each message's
crc computed, to find the first. What stands where the sound messages end is then asked of
`format.message.decode`, so that fault and words are the plain scan's. Nothing here knows files or
which offset belongs where. Source: format/message.py.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kminilog.bulk.boundaries import NO_HINTS, Positions
from kminilog.bulk.columns import allocate
from kminilog.bulk.crc import UNCOVERED_BYTES, crc32_of_each, crcs_match, in_place_of_uncovered
from kminilog.bulk.structure import Structure, read_structure
from kminilog.format.dialect import Dialect
from kminilog.format.message import CorruptMessage, Message, NeedMoreBytes, decode

_WINDOW_BYTES = 1 << 18  # one crc call; its copy stays in a processor's cache


class Checked(NamedTuple):
    """The sound messages in front, and what stands behind them: None if the bytes end there."""

    messages: Structure
    outcome: NeedMoreBytes | CorruptMessage | None


def check(dialect: Dialect, data: Any, hints: Positions = NO_HINTS) -> Checked:
    """Return what `scan` would find in some bytes from byte 0 on; O(bytes).

    `hints`: ascending positions at which messages probably begin, from an index for example; they
    make it faster and never change the result.
    """
    messages = read_structure(dialect, data, hints)
    messages = messages.first(_count_right_crcs(data, messages))
    if messages.end == len(data):
        return Checked(messages, None)
    outcome = decode(dialect, bytes(memoryview(data)[messages.end :]))
    assert not isinstance(outcome, Message), f"at byte {messages.end} stands a sound message"
    return Checked(messages, outcome)


def _count_right_crcs(data: Any, messages: Structure) -> int:
    """Return how many messages in front have the right crc."""
    boundaries, count = messages.boundaries, len(messages)
    ends = boundaries[1:]
    scratch = allocate(0)
    start = 0
    while start < count:
        first_byte = int(boundaries[start])
        stop = max(int(ends.searchsorted(first_byte + _WINDOW_BYTES, "right")), start + 1)
        window = memoryview(data)[first_byte : int(boundaries[stop])]
        if len(scratch) < len(window):
            scratch = allocate(max(len(window), _WINDOW_BYTES))
        inside, crcs = boundaries[start : stop + 1] - first_byte, messages.crcs[start:stop]
        step = len(window) // len(crcs) if messages.is_uniform else None
        if not _all_match(window, inside, crcs, scratch[: len(window)], step):
            return start + _count_one_by_one(window, inside, crcs)
        start = stop
    return count


def _all_match(
    window: memoryview,
    boundaries: Positions,
    crcs: NDArray[np.uint32],
    scratch: NDArray[np.uint8],
    step: int | None,
) -> bool:
    """Tell if all crcs are right; `step` is how long the messages are, if all are equally long."""
    scratch[:] = np.frombuffer(window, np.uint8)
    if step:  # rows of a table are reached faster than places here and there
        np.ndarray(len(crcs), "V16", scratch, strides=step)[:] = in_place_of_uncovered(crcs)
    else:
        places = np.ndarray(len(scratch) - UNCOVERED_BYTES + 1, "V16", scratch, strides=1)
        places[boundaries[:-1]] = in_place_of_uncovered(crcs)
    return crcs_match(scratch, crcs)


def _count_one_by_one(window: memoryview, boundaries: Positions, crcs: NDArray[np.uint32]) -> int:
    """Return how many messages in front have the right crc; not all have."""
    lengths = np.diff(boundaries)
    pieces = np.empty(2 * len(lengths), np.int64)  # in turn 16 bytes that do not count, and a tail
    pieces[::2], pieces[1::2] = UNCOVERED_BYTES, lengths - UNCOVERED_BYTES
    actual = crc32_of_each(window, pieces.tolist())[1::2]
    return int(np.argmin(actual == crcs))
