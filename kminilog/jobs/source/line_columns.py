"""The lines of a file as Arrow columns, without a Python object for each line.

Lines end at \\n only and keep every byte; what follows the last \\n is a line, too.

    bytes of a block   a b \\n c \\n d          numpy finds the newlines
    without them       a b c d               these bytes are the data of an Arrow column,
    offsets            0   2   3   4         and these are its offsets
    places             0   3   5             where each line begins in the file

This module does not know what stands in a line. Source: ours; Arrow's variable-size binary layout.
"""

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kminilog.jobs.source.compression import open_decompressed
from kminilog.jobs.source.formats import rest_of_line
from kminilog.jobs.source.source_files import changed
from kminilog.regex import compile_regex

BLOCK_BYTES = 2 << 20
_NEWLINE = ord("\n")


class Lines(NamedTuple):
    """Some lines in file order: where they begin in the file, and their bytes without the newline.

    `row` is the ordinal of the first of them, counted from where reading began.
    """

    row: int
    positions: NDArray[np.int64]
    lines: Any


def read_lines(path: str, start: int = 0, end: int = sys.maxsize) -> Iterator[Lines]:
    """Yield the lines that begin at byte `start` or after it, and before byte `end`.

    So each line of a file that is read in pieces belongs to exactly one piece. Memory stays at a
    few BLOCK_BYTES, or at a few times the longest line. A compressed file needs `start` 0. Raises
    SourceError for a file that cannot be read, that ends before `end`, or that has a line that is
    too long (LONGEST_BYTES).
    """
    with open_decompressed(path) as file:
        position = start
        if start:
            file.seek(start - 1)
            position += len(rest_of_line(path, file, start)) - 1
        row, rest = 0, b""
        while position < end:
            data = file.read(BLOCK_BYTES)
            if data and b"\n" not in data:  # a line that is longer than a block
                data += rest_of_line(path, file, position)
            block = rest + data
            cut = block.rfind(b"\n") + 1 if data else len(block)
            block, rest = block[:cut], block[cut:]
            if block:
                found = _split(block, position, end)
                yield Lines(row, *found)
                row += len(found[0])
                position += len(block)
            if not data:
                break
        if position < end != sys.maxsize:
            raise changed(path)


def _split(block: bytes, position: int, end: int) -> tuple[NDArray[np.int64], Any]:
    """Return where the lines of a block begin, and the lines, up to the last one before `end`."""
    data = np.frombuffer(block, np.uint8)
    is_newline = data == _NEWLINE
    ends = np.flatnonzero(is_newline)
    if block[-1] != _NEWLINE:
        ends = np.append(ends, len(block))
    starts = np.concatenate(([0], ends[:-1] + 1))
    count = int(np.searchsorted(starts, end - position))
    offsets = np.zeros(len(ends) + 1, np.int32)
    np.cumsum(ends - starts, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data[~is_newline])]
    lines = pa.Array.from_buffers(pa.binary(), len(ends), buffers)
    return starts[:count].astype(np.int64) + position, lines[:count]


def search(regex: str, lines: Any) -> Any:
    """Return group 1 of the first match of a regex in each line, or all of it without a group.

    An Arrow column of bytes; null without a match, or for a null line. The regex is Python's, on
    bytes. O(bytes), with a Python call for each line.
    """
    pattern = compile_regex(regex.encode("utf-8", "surrogateescape"), "key_regex")
    find, group = pattern.search, 1 if pattern.groups else 0
    matches = (None if line is None else find(line) for line in lines.to_pylist())
    return pa.array([match and match[group] for match in matches], pa.binary())
