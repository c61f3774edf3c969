"""A rebalance, second by second: who reads which partition, and when nobody does."""

from itertools import groupby

from kminilog.course.steps.document import Document, Table
from tests.pictures.drawing import BLUE, DIM, GREEN, GREY, ORANGE, WHITE, WIDTH, Drawing

_LEFT, _TOP, _ROW = 96, 122, 38
_FILLS = (BLUE, GREEN, ORANGE)
_PREPARED = "is prepared"


def rebalance(document: Document) -> str:
    """Draw the last state of `step rebalance`."""
    grid = document.final.tables[-1]
    seconds = [int(str(row[0])) for row in grid.rows]
    end = int(str(document.final.values["second"])) + 1
    partitions = [name for name in grid.columns if name[0] == "p" and name[1:].isdigit()]
    scale = (WIDTH - _LEFT - 24) / end
    strategy = document.title.rpartition(" ")[2]
    title = f"A rebalance, second by second: {strategy}"
    picture = Drawing(title, _described(grid, partitions))
    _events(picture, grid, scale)
    rows = [(f"partition {name[1:]}", _column(grid, name)) for name in partitions]
    states = [_PREPARED if text != "Stable" else "" for text in _column(grid, "state")]
    rows += [("generation", _column(grid, "gen")), ("rebalance", states)]
    members = sorted({who for _, cells in rows[: len(partitions)] for who in cells} - {"-"})
    fills = {"-": WHITE, "": WHITE, _PREPARED: GREY} | dict(zip(members, _FILLS, strict=False))
    for number, (name, cells) in enumerate(rows):
        y = _TOP + number * _ROW + (12 if number >= len(partitions) else 0)
        picture.text(_LEFT - 10, y + 21, name, anchor="end", size=13)
        for left, right, cell in _runs(seconds, cells, end):
            x, width = _LEFT + left * scale, (right - left) * scale
            picture.box(x, y, width, _ROW - 8, fills.get(cell, WHITE), is_dashed=cell == "-")
            if cell != _PREPARED:
                picture.text(x + width / 2, y + 20, cell, anchor="middle", size=13)
    y = _TOP + len(rows) * _ROW + 24
    _axis(picture, end, scale, y)
    note = "Seconds. Dashed: nobody reads this partition. Grey: a rebalance is prepared."
    picture.text(_LEFT, y + 26, note, size=13, fill=DIM)
    return picture.svg(y + 44)


def _described(grid: Table, partitions: list[str]) -> str:
    whole = [dict(zip(grid.columns, map(str, row), strict=True)) for row in grid.rows]
    return " ".join(
        f"Second {row['second']}: {row['what happens'] or 'new owners'}; readers "
        f"{', '.join(f'{name} {row[name]}' for name in partitions)}."
        for row in whole
    )


def _events(picture: Drawing, grid: Table, scale: float) -> None:
    bottom = _TOP + sum(name[0] == "p" for name in grid.columns) * _ROW
    for row in grid.rows:
        cells = dict(zip(grid.columns, row, strict=True))
        x = _LEFT + int(str(cells["second"])) * scale
        if cells["what happens"]:
            picture.line(x, 84, x, bottom, width=1.5)
            picture.text(x, 78, cells["what happens"], size=13, weight=600)
        if cells["again"]:
            picture.text(x, 104, f"{cells['again']} read again", anchor="middle", size=13)


def _column(grid: Table, name: str) -> list[str]:
    at = grid.columns.index(name)
    return [str(row[at]) for row in grid.rows]


def _runs(seconds: list[int], cells: list[str], end: int) -> list[tuple[int, int, str]]:
    firsts = [
        next(group) for _, group in groupby(zip(seconds, cells, strict=True), key=lambda p: p[1])
    ]
    ends = [second for second, _ in firsts[1:]] + [end]
    return [(second, stop, cell) for (second, cell), stop in zip(firsts, ends, strict=True)]


def _axis(picture: Drawing, end: int, scale: float, y: float) -> None:
    for second in range(0, end, 5):
        x = _LEFT + second * scale
        picture.line(x, y - 8, x, y - 2)
        picture.text(x, y + 10, second, anchor="middle", size=12, fill=DIM)
