r"""Fields of CSV files as Arrow columns, and where large files are cut for several tasks.

    "a,b",c\n      the quotes count: after an odd number of them, a comma or a newline is data
    field spans    (1, 4) (6, 7)     without the quotes around a field; doubled ones become one

numpy finds the separators of a block all at once. That is right if every quote stands where RFC
4180 allows it: around a field, or doubled inside. A block is checked for that. It is also checked
for unusual records: another number of fields, an empty line, invalid UTF-8. If a check fails,
`formats` reads the block record by record, exactly and with its reasons. Tests compare the two.

A file is cut between records only:

    1,"a \n b" \n 2,"c" \n      a task that begins at ^ cannot know which newlines end records,
            ^                   because it may stand inside of quotes, or outside

So tasks first look at stretches of a file, and answer for both cases. Where does the first record
end? How many records end? Is the number of quotes odd? Then the next stretch begins in the other
case. Put together from the first stretch on, the answers tell which case holds. They also tell
where the first record of each stretch begins, and how many records stand before it. That holds if
every quote stands where RFC 4180 allows it, and if no carriage return ends a record. Any other file
stays one piece, and so does a compressed one. Tests compare each cut with Python's `csv`. Source:
ours; RFC 4180.
"""

import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import groupby, islice
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kminilog.errors import SourceError
from kminilog.jobs.source.compression import open_decompressed
from kminilog.jobs.source.formats import check_header, csv_records
from kminilog.jobs.source.pieces import Piece, pieces_of
from kminilog.jobs.source.source_files import SourceFile, changed
from kminilog.jobs.source.tasks import Tasks

# ---- where large files are cut


SURVEY_BYTES = 1 << 20
_QUOTE, _COMMA, _NEWLINE, _RETURN = b'",\n\r'
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Case(NamedTuple):
    """What a stretch of a file holds, if it begins outside of quotes; or if it begins inside.

    `border` is the byte after the first newline that stands outside of quotes; None without one.
    `ended` is how many records end there: 0 if it ends an empty line. `records` end in all.
    """

    is_regular: bool
    border: int | None
    ended: int
    records: int


class CsvStretch(NamedTuple):
    """What a task finds in a stretch of a file: both cases, and whether its quotes are odd."""

    outside: Case
    inside: Case
    is_odd: bool

    def case(self, is_inside: bool) -> Case:
        """Return what it holds if it begins inside of quotes, or outside."""
        return self.inside if is_inside else self.outside


_NOTHING = Case(is_regular=True, border=None, ended=0, records=0)
_EMPTY = CsvStretch(_NOTHING, _NOTHING, is_odd=False)


def csv_pieces(files: Sequence[SourceFile], tasks: Tasks) -> list[Piece]:
    """Return the pieces of CSV files in source order, cut about where lines of text would be.

    Each piece begins with a record and ends with one. With one core every file is one piece.
    O(bytes of large files), in `tasks`. Raises SourceError for a file that cannot be read, and what
    `tasks` raise.
    """
    wholes = pieces_of(files, "csv")
    if tasks.cores == 1:
        return wholes
    anywhere = [list(parts) for _, parts in groupby(pieces_of(files, "text"), lambda p: p.rank)]
    large = [
        (whole, [(part.path, part.start, min(part.end, whole.end)) for part in parts])
        for whole, parts in zip(wholes, anywhere, strict=True)
        if len(parts) > 1
    ]
    found = iter(tasks.map([part for _, parts in large for part in parts], _survey))
    cut = {whole.rank: _cut(whole, list(islice(found, len(parts)))) for whole, parts in large}
    return [piece for whole in wholes for piece in cut.get(whole.rank, [whole])]


def _cut(whole: Piece, stretches: Sequence[CsvStretch]) -> list[Piece]:
    is_inside, records, begins = False, 0, [(0, 0)]
    for number, stretch in enumerate(stretches):
        case = stretch.case(is_inside)
        if not case.is_regular:
            return [whole]
        if number > 0 and case.border is not None and case.border < whole.end:
            begins.append((case.border, records + case.ended))
        records += case.records
        is_inside ^= stretch.is_odd
    if is_inside or len(begins) == 1:
        return [whole]
    ends = [start for start, _ in begins[1:]] + [whole.end]
    return [
        replace(whole, start=start, end=end, is_whole=False, records_before=before)
        for (start, before), end in zip(begins, ends, strict=True)
    ]


def _survey(part: tuple[str, int, int]) -> CsvStretch:
    """Return what the bytes of a file from `start` up to `end` hold. Memory: a few SURVEY_BYTES."""
    path, start, end = part
    try:
        with open(path, "rb") as file:
            has_mark = file.read(len(_BYTE_ORDER_MARK)) == _BYTE_ORDER_MARK
            origin = len(_BYTE_ORDER_MARK) if has_mark else 0
            blocks = range(max(start, origin), end, SURVEY_BYTES)
            found = (_look(file, origin, at, min(at + SURVEY_BYTES, end)) for at in blocks)
            return reduce(_join, found, _EMPTY)
    except OSError as error:
        raise SourceError(path, reason=error.strerror or str(error)) from None


def _join(one: CsvStretch, two: CsvStretch) -> CsvStretch:
    """Return what two stretches hold together; `two` follows `one`."""

    def case(is_inside: bool) -> Case:
        case, following = one.case(is_inside), two.case(is_inside ^ one.is_odd)
        first = following if case.border is None else case
        is_regular = case.is_regular and following.is_regular
        return Case(is_regular, first.border, first.ended, case.records + following.records)

    return CsvStretch(case(False), case(True), one.is_odd ^ two.is_odd)


def _look(file: IO[bytes], origin: int, start: int, end: int) -> CsvStretch:
    """Return what the bytes of an open file from `start` up to `end` hold.

    It looks at two bytes before them and one after them, too. Before `origin`, where the first
    record begins, and after the end of the file newlines are assumed.
    """
    first = max(start - 2, origin)
    file.seek(first)
    block = b"\n" * (2 - start + first) + file.read(end + 1 - first)
    if len(block) < end + 3 - start:
        block += b"\n"
    data = np.frombuffer(block, np.uint8)
    newlines, quotes, returns = (_places(data, sign) for sign in (_NEWLINE, _QUOTE, _RETURN))
    alone = returns[data[returns + 1] != _NEWLINE]
    can_open = np.isin(data[quotes - 1], (_COMMA, _NEWLINE, _QUOTE))
    can_close = np.isin(data[quotes + 1], (_COMMA, _NEWLINE, _RETURN, _QUOTE))
    sides, before = _sides(newlines, quotes), data[newlines - 1]
    is_empty = (before == _NEWLINE) | (before == _RETURN) & (data[newlines - 2] == _NEWLINE)

    def case(side: int) -> Case:
        faults = not can_open[side::2].all() or not can_close[1 - side :: 2].all()
        is_regular = not faults and side not in _sides(alone, quotes)
        ends = np.flatnonzero(sides == side)
        if not len(ends):
            return _NOTHING._replace(is_regular=is_regular)
        border = start - 1 + int(newlines[ends[0]])
        records = ~is_empty[ends]
        return Case(is_regular, border, int(records[0]), int(np.count_nonzero(records)))

    return CsvStretch(case(0), case(1), len(quotes) % 2 == 1)


def _places(data: NDArray[np.uint8], sign: int) -> NDArray[np.int64]:
    """Return where a byte stands in a stretch, without the two bytes before and the one after."""
    return np.flatnonzero(data[2:-1] == sign) + 2


def _sides(places: NDArray[np.int64], quotes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each place 1 if the number of quotes before it is odd, or else 0."""
    return quotes.searchsorted(places) % 2


# ---- the fields


BLOCK_BYTES = 2 << 20
_LONGEST_BYTES = 64 << 20  # of a record that is looked at as a whole


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
    (`csv_pieces`). A compressed file needs all of them. With `header` the first one is checked and
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
    after = data[closing[closing < len(data) - 1] + 1]
    return (
        not np.isin(before, (_COMMA, _NEWLINE, _QUOTE)).all()
        or not np.isin(after, (_COMMA, _NEWLINE, _RETURN, _QUOTE)).all()
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
