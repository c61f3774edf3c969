"""Where the messages in some bytes begin, by their size fields alone.

Messages stand back to back. So their beginnings form a chain: each size field leads to the next
message. The chain is walked in the fastest of three ways, which give the same result:

    all sizes equal    the fields stand at equal distances: one comparison proves all of them
    hints              walk from all hints at once, step by step. Each walk must arrive exactly at
                       the next hint. The first walk begins at the first message, so by induction
                       all hints are true. The positions in an index are good hints
    else               one by one

The chain ends where a size field is too small, or promises more bytes than there are. This module
does not check whether it has found messages. Source: ours.
"""

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kminilog.format.dialect import Dialect
from kminilog.format.message import SIZE_END

Positions = NDArray[np.int64]
_SIZE = struct.Struct(">i")
_SIZE_POSITION = SIZE_END - _SIZE.size
_MIN_CHAINS = 32  # with fewer, the cost of calling numpy is higher than that of a plain loop
NO_HINTS: Positions = np.empty(0, np.int64)


def find_beginnings(dialect: Dialect, data: Any, hints: Positions = NO_HINTS) -> Positions:
    """Return where messages begin, from byte 0 on, and as last number where the chain ends.

    Between two numbers there is one message, whole by its size field. Without a whole message, the
    result is [0]. `hints` are ascending positions where messages probably begin; wrong hints cost
    time, but do not change the result. O(messages).

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> find_beginnings(KAFKA, encode(KAFKA, 0, None, b"a") + encode(KAFKA, 1, None, b"bc"))
    array([ 0, 27, 55])
    """
    minimum = SIZE_END + dialect.overhead_bytes
    if len(data) < minimum:
        return np.zeros(1, np.int64)
    known = _equal_steps(data, minimum)
    if len(known) < _MIN_CHAINS:
        last = int(known[-1])
        inside = hints[(hints > last) & (hints <= len(data) - minimum)]
        walked = _lock_step(data, np.append(last, inside), minimum) if len(inside) else None
        if walked is not None:
            known = np.append(known[:-1], walked)
    one_by_one = _chain(data, int(known[-1]), minimum)
    return np.append(known[:-1], one_by_one)


def everywhere(data: Any, width: int) -> NDArray[np.void]:
    """Return a view of overlapping items: item n is the `width` bytes from byte n on.

    Reading and writing items reads and writes `data`; nothing is copied.
    """
    return np.ndarray(max(len(data) - width + 1, 0), f"V{width}", data, strides=1)


def places(positions: Positions) -> Positions | slice:
    """Return the positions, as a slice if their distances are equal: numpy is faster then."""
    if len(positions) > 1:
        step = int(positions[1] - positions[0])
        if step > 0 and (np.diff(positions) == step).all():
            return slice(int(positions[0]), int(positions[-1]) + 1, step)
    return positions


def _equal_steps(data: Any, minimum: int) -> Positions:
    """Return the beginnings of the first messages that have equal lengths, and where these end."""
    (size,) = _SIZE.unpack_from(data, _SIZE_POSITION)
    length = SIZE_END + size
    if not minimum <= length <= len(data):
        return np.zeros(1, np.int64)
    count = len(data) // length
    sizes = np.ndarray(count, "u4", buffer=data, offset=_SIZE_POSITION, strides=length)
    few = sizes[:_MIN_CHAINS]  # mixed lengths mostly show in the first messages
    differing = np.flatnonzero((few if (few != sizes[0]).any() else sizes) != sizes[0])
    if len(differing):
        count = int(differing[0])
    beginnings: Positions = np.arange(count + 1, dtype=np.int64) * length
    return beginnings


def _lock_step(data: Any, starts: Positions, minimum: int) -> Positions | None:
    """Return the beginnings from the first start to the last; None if a start is not one.

    The walk makes a guess. At the end, every size must lead exactly to the next beginning.
    """
    if len(starts) < _MIN_CHAINS:
        return None
    # Unsigned: so a negative size leads far beyond the goal, and never to before the first byte.
    sizes = np.ndarray(len(data) - SIZE_END + 1, ">u4", data, _SIZE_POSITION, strides=1)
    first_bytes = np.frombuffer(data, np.uint8)[_SIZE_POSITION:]
    positions, goals = starts[:-1], starts[1:]
    walked, ends = [], []
    for _ in range(int(np.diff(starts).max()) // minimum or 1):
        # Loads the cache lines first: gathering single bytes, the processor overlaps its misses.
        first_bytes.take(positions)
        following = sizes[positions].astype(np.int64)
        following += positions
        following += SIZE_END
        walked.append(positions)
        ends.append(following)
        positions = np.minimum(following, goals)  # a walk that has arrived waits at its goal
        if (positions == goals).all():
            break
    chains = np.array(walked).T
    is_under_way = chains < goals[:, np.newaxis]
    beginnings = np.append(chains[is_under_way], starts[-1])
    lengths = np.diff(beginnings)
    is_chain = int(lengths.min()) >= minimum and np.array_equal(
        np.array(ends).T[is_under_way], beginnings[1:]
    )
    return beginnings if is_chain else None


def _chain(data: Any, position: int, minimum: int) -> Positions:
    """Return the beginnings from a position on, one by one."""
    found = [position]
    last = len(data) - minimum
    unpack_from = _SIZE.unpack_from
    while position <= last:
        length = SIZE_END + unpack_from(data, position + _SIZE_POSITION)[0]
        if length < minimum or position + length > len(data):
            break
        position += length
        found.append(position)
    return np.array(found, np.int64)
