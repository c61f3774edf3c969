"""Where large CSV files are cut, so that several tasks read one file: between records only.

    1,"a \\n b" \\n 2,"c" \\n      a task that begins at ^ cannot know which newlines end records,
            ^                   because it may stand inside of quotes, or outside

So tasks first look at stretches of a file, and answer for both cases. Where does the first record
end? How many records end? Is the number of quotes odd? Then the next stretch begins in the other
case. Put together from the first stretch on, the answers tell which case holds. They also tell
where the first record of each stretch begins, and how many records stand before it. That holds if
every quote stands where RFC 4180 allows it, and if no carriage return ends a record. Any other file
stays one piece, and so does a compressed one. Tests compare each cut with Python's `csv`. This
module does not know what the fields are. Source: ours; RFC 4180.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import groupby, islice
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kminilog.errors import SourceError
from kminilog.jobs.source.files import SourceFile
from kminilog.jobs.source.pieces import Piece, pieces_of
from kminilog.jobs.source.tasks import Tasks

BLOCK_BYTES = 1 << 20
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


class Stretch(NamedTuple):
    """What a task finds in a stretch of a file: both cases, and whether its quotes are odd."""

    outside: Case
    inside: Case
    is_odd: bool

    def case(self, is_inside: bool) -> Case:
        """Return what it holds if it begins inside of quotes, or outside."""
        return self.inside if is_inside else self.outside


_NOTHING = Case(is_regular=True, border=None, ended=0, records=0)
_EMPTY = Stretch(_NOTHING, _NOTHING, is_odd=False)


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


def _cut(whole: Piece, stretches: Sequence[Stretch]) -> list[Piece]:
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


def _survey(part: tuple[str, int, int]) -> Stretch:
    """Return what the bytes of a file from `start` up to `end` hold. Memory: a few BLOCK_BYTES."""
    path, start, end = part
    try:
        with open(path, "rb") as file:
            has_mark = file.read(len(_BYTE_ORDER_MARK)) == _BYTE_ORDER_MARK
            origin = len(_BYTE_ORDER_MARK) if has_mark else 0
            blocks = range(max(start, origin), end, BLOCK_BYTES)
            found = (_look(file, origin, at, min(at + BLOCK_BYTES, end)) for at in blocks)
            return reduce(_join, found, _EMPTY)
    except OSError as error:
        raise SourceError(path, reason=error.strerror or str(error)) from None


def _join(one: Stretch, two: Stretch) -> Stretch:
    """Return what two stretches hold together; `two` follows `one`."""

    def case(is_inside: bool) -> Case:
        case, behind = one.case(is_inside), two.case(is_inside ^ one.is_odd)
        first = behind if case.border is None else case
        is_regular = case.is_regular and behind.is_regular
        return Case(is_regular, first.border, first.ended, case.records + behind.records)

    return Stretch(case(False), case(True), one.is_odd ^ two.is_odd)


def _look(file: IO[bytes], origin: int, start: int, end: int) -> Stretch:
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

    return Stretch(case(0), case(1), len(quotes) % 2 == 1)


def _places(data: NDArray[np.uint8], sign: int) -> NDArray[np.int64]:
    """Return where a byte stands in a stretch, without the two bytes before and the one after."""
    return np.flatnonzero(data[2:-1] == sign) + 2


def _sides(places: NDArray[np.int64], quotes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each place 1 if the number of quotes before it is odd, or else 0."""
    return quotes.searchsorted(places) % 2
