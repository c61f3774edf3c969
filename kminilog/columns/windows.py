"""A `.log` in windows of whole messages: the one reader of many messages at once.

    file      [m0 m1 m2 m3 m4 m5 m6 m7]
    windows   [m0 m1 m2 m]
                       [m3 m4 m5 m]      each begins where the messages of the one before end
                                [m6 m7]

Size fields say where messages begin (boundaries.py); positions in the index are hints, which are
verified. `checked_windows` also checks the messages. A message larger than a window makes the
window larger. A caller may change the bytes of a window, and must not use them once it has asked
for the next window. Source: ours.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kminilog.columns.arrow_columns import allocate
from kminilog.columns.boundaries import Positions, find_beginnings
from kminilog.columns.checking import Structure, check
from kminilog.errors import CorruptLogError
from kminilog.format.message import KEY_START, NeedMoreBytes, decode
from kminilog.storage.files import open_regular, read_regular
from kminilog.storage.segment.segment import Segment

WINDOW_BYTES = 1 << 22
_FIRST_WINDOW_BYTES = 1 << 16  # after damage, the next damage may be near


def windows(
    segment: Segment,
    hints: Positions,
    begin: int = 0,
    end: int | None = None,
    *,
    window_bytes: int = WINDOW_BYTES,
) -> Iterator[tuple[int, memoryview, Positions]]:
    """Yield windows: position in the file, bytes, and boundaries of at least one message in them.

    They go from byte `begin` to byte `end` (None: the end of the file now). They stop earlier at
    the first size field that is wrong or promises more bytes than there are. O(bytes); memory stays
    at one window. Raises FileNotFoundError and other OSErrors.
    """
    buffer = allocate(min(window_bytes, _FIRST_WINDOW_BYTES))
    with open(segment.log_path, "rb", buffering=0, opener=open_regular) as file:
        position = begin
        end = os.fstat(file.fileno()).st_size if end is None else end
        while position < end:
            wanted = buffer[: end - position].data
            window = wanted[: os.preadv(file.fileno(), [wanted], position)]
            first_hint, last_hint = hints.searchsorted([position, position + len(window)])
            inside = hints[first_hint:last_hint] - position
            boundaries = find_beginnings(segment.dialect, window, inside)
            used_bytes = int(boundaries[-1])
            if used_bytes:
                yield position, window[:used_bytes], boundaries
            position += used_bytes
            after = bytes(window[used_bytes : used_bytes + KEY_START])
            outcome = decode(segment.dialect, after)
            if not isinstance(outcome, NeedMoreBytes) or outcome.needed_bytes > end - position:
                return
            if not used_bytes and outcome.needed_bytes <= len(buffer):
                return  # another process has cut the file meanwhile
            larger_bytes = max(min(4 * len(buffer), window_bytes), outcome.needed_bytes)
            if larger_bytes > len(buffer):
                buffer = allocate(larger_bytes)


def checked_windows(
    segment: Segment,
    hints: Positions,
    begin: int = 0,
    end: int | None = None,
    *,
    window_bytes: int = WINDOW_BYTES,
) -> Iterator[tuple[int, memoryview, Structure]]:
    """Yield windows with their valid messages; the first window with damage is the last one.

    That window may have no valid message. Bounds, cost and errors are those of `windows`.
    """
    for position, window, boundaries in windows(
        segment, hints, begin, end, window_bytes=window_bytes
    ):
        messages = check(segment.dialect, window, boundaries)
        yield position, window, messages
        if messages.end < len(window):
            return


def whole_windows(segment: Segment) -> Iterator[tuple[int, memoryview, Positions]]:
    """Yield the windows of a whole file that a job has staged.

    Raises CorruptLogError at the end, if the file does not consist of messages by their size
    fields. CRCs are not checked.
    """
    end = 0
    for position, window, boundaries in windows(segment, index_hints(segment.index.path)):
        yield position, window, boundaries
        end = position + len(window)
    for _, outcome in segment.scan(end):
        reason = getattr(outcome, "detail", "an unfinished message")
        remedy = "the job is not published; run it again"
        raise CorruptLogError(str(segment.log_path), position=end, reason=reason, remedy=remedy)


def index_hints(index_path: Path) -> Positions:
    """Return the positions in the entries that `OffsetIndex.load` accepts; they may be wrong.

    These are the entries before the first that breaks an invariant. Without a file there are none.
    """
    try:
        data = read_regular(index_path)
    except FileNotFoundError:
        data = b""
    entries = np.frombuffer(data, ">i4", len(data) // 8 * 2).reshape(-1, 2)
    offsets, positions = entries.T.astype(np.int64, order="C")
    does_ascend = (np.diff(offsets, prepend=-1) > 0) & (np.diff(positions, prepend=0) > 0)
    return positions if does_ascend.all() else positions[: np.argmin(does_ascend)]
