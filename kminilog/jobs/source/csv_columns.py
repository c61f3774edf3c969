"""Fields of CSV files as Arrow columns: numpy finds the separators of a block all at once.

    "a,b",c\\n      the quotes count: after an odd number of them, a comma or a newline is data
    field spans    (1, 4) (6, 7)     without the quotes around a field; doubled ones become one

That is right if every quote stands where RFC 4180 allows it: around a field, or doubled inside. A
block is checked for that. It is also checked for unusual records: another number of fields, an
empty line, invalid UTF-8. If a check fails, `formats` reads the block record by record, exactly and
with its reasons. Tests compare the two. Source: ours; RFC 4180.
"""

import io
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kminilog.jobs.source.compression import open_decompressed
from kminilog.jobs.source.files import changed
from kminilog.jobs.source.formats import check_header, csv_records

BLOCK_BYTES = 2 << 20
_LONGEST_BYTES = 64 << 20  # of a record that is looked at as a whole
_QUOTE, _COMMA, _NEWLINE, _RETURN = b'",\n\r'
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Fields(NamedTuple):
    """The fields of some records in file order: an Arrow column of texts for each wanted column.

    Empty fields are null. `rejected` has a reason or null for each record; a rejected record has
    null in all columns.
    """

    columns: list[Any]
    rejected: Any


def read_fields(
    path: str,
    names: list[str],
    wanted: Sequence[int],
    *,
    header: bool,
    start: int = 0,
    end: int = sys.maxsize,
) -> Iterator[Fields]:
    """Yield the fields in the columns `wanted` of a CSV file that has the columns `names`.

    Only the records from byte `start` up to `end`: one must begin there, and one must end there
    (csv_cuts.py). A compressed file needs all of them. With `header` the first one is checked and
    not yielded. Memory stays at a few BLOCK_BYTES, or at a few times the longest record. Raises
    SourceError as `formats.csv_records` does.
    """
    if header:
        check_header(path, names)
    with open_decompressed(path) as whole_file:
        file = _Part(path, whole_file, start, end)
        rest, lines, skip = b"" if start else file.read(len(_BYTE_ORDER_MARK)), 0, int(header)
        rest = rest.removeprefix(_BYTE_ORDER_MARK)
        while True:
            data = file.read(BLOCK_BYTES)
            block = rest + data
            cut = _end_of_records(block) if data else len(block)
            if _is_irregular(block, is_end=not data) or len(block) - cut > _LONGEST_BYTES:
                # From here on nobody but `formats` can tell where a record ends.
                whole = io.BufferedReader(_Joined(block, file))
                yield from _exactly(path, whole, names, wanted, lines, skip)
                return
            block, rest = block[:cut], block[cut:]
            if block:
                found = _plain_fields(block, len(names), wanted, skip)
                if found:
                    yield found
                    skip = 0
                else:
                    yield from _exactly(path, io.BytesIO(block), names, wanted, lines, skip)
                    skip = skip if not block.strip(b"\r\n") else 0
                lines += block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")
            if not data:
                return


def _quotes(data: NDArray[np.uint8], block: bytes) -> NDArray[np.int64] | None:
    return np.flatnonzero(data == _QUOTE) if b'"' in block else None


def _unquoted(places: NDArray[np.int64], quotes: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the places that an even number of quotes stands in front of."""
    return places if quotes is None else places[quotes.searchsorted(places) % 2 == 0]


def _end_of_records(block: bytes) -> int:
    """Return where the last whole record of a block ends; 0 if it has none."""
    data = np.frombuffer(block, np.uint8)
    quotes = _quotes(data, block)
    if quotes is None:
        return block.rfind(b"\n") + 1
    ends = _unquoted(np.flatnonzero(data == _NEWLINE), quotes)
    return int(ends[-1]) + 1 if len(ends) else 0


def _is_irregular(block: bytes, *, is_end: bool) -> bool:
    """Tell if a quote stands where RFC 4180 has none: not around a field, and not doubled."""
    data = np.frombuffer(block, np.uint8)
    quotes = _quotes(data, block)
    if quotes is None:
        return False
    opening, closing = quotes[0::2], quotes[1::2]
    before = data[opening[opening > 0] - 1]
    behind = data[closing[closing < len(data) - 1] + 1]
    return (
        not np.isin(before, (_COMMA, _NEWLINE, _QUOTE)).all()
        or not np.isin(behind, (_COMMA, _NEWLINE, _RETURN, _QUOTE)).all()
        or (is_end and len(quotes) % 2 == 1)
    )


def _plain_fields(block: bytes, width: int, wanted: Sequence[int], skip: int) -> Fields | None:
    """Return the fields of whole records, without the first `skip`; None if one is not plain."""
    found = _spans(block, width)
    if found is None:
        return None
    # Fields and the bytes between them in turn: Arrow takes the fields, every second one.
    offsets = np.stack(found, axis=1).ravel().astype(np.int32)
    spans = pa.Array.from_buffers(
        pa.string(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    )
    firsts = np.arange(skip, len(offsets) // 2 // width) * width
    columns = [spans.take(pa.array((firsts + column) * 2)) for column in wanted]
    if b'""' in block:
        columns = [pc.replace_substring(column, '""', '"') for column in columns]
    absent = pa.scalar(None, pa.string())
    columns = [
        pc.if_else(pc.equal(pc.binary_length(column), 0), absent, column) for column in columns
    ]
    return Fields(columns, pa.nulls(len(firsts), pa.string()))


def _spans(block: bytes, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return where the fields of whole records begin and end, without the quotes around them.

    None unless every record has `width` fields, ends with a newline, and is valid UTF-8.
    """
    if width == 0:  # the first file has only empty lines
        return None
    try:
        block.decode()
    except UnicodeDecodeError:
        return None
    data = np.frombuffer(block, np.uint8)
    quotes = _quotes(data, block)
    ends = _unquoted(np.flatnonzero((data == _COMMA) | (data == _NEWLINE)), quotes)
    is_last = data[ends] == _NEWLINE
    if block[-1] != _NEWLINE:
        ends, is_last = np.append(ends, len(data)), np.append(is_last, True)
    if len(ends) % width or (is_last != (np.arange(1, len(ends) + 1) % width == 0)).any():
        return None
    starts = np.concatenate(([0], ends[:-1] + 1))
    if b"\r" in block:
        returns = _unquoted(np.flatnonzero(data == _RETURN), quotes)
        followed = returns[returns < len(data) - 1] + 1
        if len(followed) < len(returns) or (data[followed] != _NEWLINE).any():
            return None  # a return without a newline ends a record, too
        ends[ends.searchsorted(followed)] -= 1
    if width == 1 and (starts == ends).any():
        return None  # an empty line is no record
    if quotes is not None:
        is_quoted = (starts < ends) & (data[np.minimum(starts, len(data) - 1)] == _QUOTE)
        starts, ends = starts + is_quoted, ends - is_quoted
    return starts, ends


def _exactly(
    path: str, file: Any, names: list[str], wanted: Sequence[int], lines: int, skip: int
) -> Iterator[Fields]:
    """Yield the records of an open file as `formats` reads them; `lines` stand in front of it."""
    found = csv_records(path, file, len(names), skip=skip, lines_before=lines, encoding="utf-8")
    for records in found:
        columns = list(zip(*records.fields, strict=True)) or [()] * len(names)
        yield Fields(
            [pa.array(columns[column], pa.string()) for column in wanted],
            pa.array(records.rejected, pa.string()),
        )


class _Part:
    """The bytes of an open file from `start` up to `end`; SourceError if it ends before."""

    def __init__(self, path: str, file: Any, start: int, end: int) -> None:
        if start:
            file.seek(start)
        self._path = path
        self._file = file
        self._left_bytes = end - start
        self._has_no_end = end == sys.maxsize

    def read(self, count: int) -> bytes:
        data: bytes = self._file.read(min(count, self._left_bytes))
        self._left_bytes -= len(data)
        if not data and self._left_bytes and not self._has_no_end:
            raise changed(self._path)
        return data


class _Joined(io.RawIOBase):
    """Some bytes, and what follows them in a part of a file."""

    def __init__(self, head: bytes, file: _Part) -> None:
        self._head = memoryview(head)
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._head:
            self._head = memoryview(self._file.read(len(buffer)))
        count = min(len(buffer), len(self._head))
        buffer[:count], self._head = self._head[:count], self._head[count:]
        return count
