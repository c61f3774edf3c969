"""The directive `floor-plan`: rooms as words draw them, and the table below them folded.

A word is a folder of the package, as wide and as high as it stands there. Modules and stars come
from the table, arrows from the imports of these modules: from each folder to those that it imports,
but for those to which other arrows lead already. No arrow crosses a room: one for which there is no
place is named below the words, as `wire -> consumer`, and then in the caption.
"""

import re
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

PACKAGE = Path(__file__).parents[1] / "kminilog"
WIDTH, WALL, GAP = 512, 12, 22  # of the drawing, between rooms of one row, between rows
HEAD, CELL = 46, 8  # above the squares of a room; of one square, with the space around it

CAPTION = """<figcaption>A square is a module: <i class="s1"></i> ★ storage, <i class="s2"></i> ★★
producer, <i class="s3"></i> ★★★ consumer. An arrow leads from a folder to one that it imports. It
may import all to which arrows lead from there, too.{more}</figcaption>"""


class Module(NamedTuple):
    """A row of the table."""

    name: str
    stars: str
    row: nodes.row

    @property
    def folder(self) -> str:
        """Its folder at the top of the package, or the package."""
        return self.name.partition(".")[0] if "." in self.name else PACKAGE.name


class Room(NamedTuple):
    """A folder, and where its walls are."""

    modules: list[Module]
    left: float
    top: float
    right: float
    bottom: float

    @property
    def stars(self) -> list[str]:
        """The stars of each module that is there."""
        there = (one for one in self.modules if not one.row.astext().endswith("(to come)"))
        return [one.stars for one in there]

    def size(self) -> str:
        """Return how many modules have which stars, and how many there are."""
        stars = self.stars
        marked = [f"{stars.count(one)} {one}" for one in sorted({*stars} - {""})]
        if marked:
            return f"{', '.join(marked)} of {len(stars)}"
        return f"{len(stars)} modules" if stars else "to come"

    def svg(self, folder: str) -> str:
        """Return the drawing: a link to the rows of the folder."""
        x, y, width, height = self.left, self.top, self.right - self.left, self.bottom - self.top
        cells = [
            f'<rect class="s{len(stars)}" x="{x + 10 + column * CELL:g}" '
            f'y="{y + HEAD + line * CELL:g}" width="{CELL - 2}" height="{CELL - 2}"/>'
            for number, stars in enumerate(self.stars)
            for line, column in [divmod(number, _cells(width))]
        ]
        return (
            f'<a href="#{_place(folder)}"><rect class="room" x="{x:g}" y="{y:g}" '
            f'width="{width:g}" height="{height:g}" rx="4"/>'
            f'<text x="{x + 10:g}" y="{y + 20:g}">{folder}</text>'
            f'<text class="size" x="{x + 10:g}" y="{y + 36:g}">{self.size()}</text>'
            f"{''.join(cells)}</a>"
        )


class Drawing(nodes.Element):
    """The place of the drawing on the page."""


class FloorPlan(SphinxDirective):
    """The words that draw; the table is the next one."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the place."""
        lines = [line.split() for line in self.content]
        words = [line for line in lines if "->" not in line]
        return [Drawing(words=words, told=[(line[0], line[2]) for line in lines if "->" in line])]


def _place(folder: str) -> str:
    return f"rooms-{folder}"


def _cells(width: float) -> int:
    return int((width - 18) // CELL)


def _folders(table: nodes.table) -> dict[str, list[Module]]:
    found: dict[str, list[Module]] = {}
    for row in table.next_node(nodes.tbody).children:
        stars, name = re.fullmatch(r"(★*) ?(\S+)", row[0].astext()).groups()
        module = Module(name, stars, row)
        found.setdefault(module.folder, []).append(module)
    return found


def _arrows(folders: dict[str, list[Module]]) -> dict[str, list[str]]:
    """Return the folders that each imports, without those that one of these imports."""
    imported: dict[str, set[str]] = {}
    for folder, modules in folders.items():
        paths = (PACKAGE / f"{module.name.replace('.', '/')}.py" for module in modules)
        code = "\n".join(path.read_text() for path in paths if path.exists())
        names = {*re.findall(rf"^ *from {PACKAGE.name}\.(\w+)", code, re.MULTILINE)}
        names = {name if name in folders else PACKAGE.name for name in names}
        imported[folder] = names & imported.keys()  # only __main__ imports what stands below
    return {
        folder: [one for one in imported if one in found - set().union(*map(imported.get, found))]
        for folder, found in imported.items()
    }


def _rooms(words: list[list[str]], folders: dict[str, list[Module]]) -> dict[str, Room]:
    """Return the folders with their walls."""
    if {*folders} != {folder for line in words for folder in line}:
        raise ValueError(f"draw each of {', '.join(folders)}, and no other")
    lane = (WIDTH + WALL) / len(words[0])
    places: dict[str, list[tuple[int, int]]] = {folder: [] for folder in folders}
    for y, line in enumerate(words):
        for x, folder in enumerate(line):
            places[folder].append((x, y))
    columns = {folder: sorted({x for x, _ in found}) for folder, found in places.items()}
    lines = {folder: sorted({y for _, y in found}) for folder, found in places.items()}
    tops = [1.0]
    for y, line in enumerate(words):
        squares = [
            -(-len(folders[one]) // _cells(lane * len(columns[one]) - WALL))
            for one in line
            if lines[one] == [y]
        ]
        tops.append(tops[-1] + HEAD + max(squares, default=0) * CELL + 8 + GAP)
    return {
        folder: Room(
            modules,
            1 + columns[folder][0] * lane,
            tops[lines[folder][0]],
            1 + (columns[folder][-1] + 1) * lane - WALL,
            tops[lines[folder][-1] + 1] - GAP,
        )
        for folder, modules in folders.items()
    }


def _svg(
    rooms: dict[str, Room], arrows: dict[str, list[str]], only_told: list[tuple[str, str]]
) -> str:
    for folder, other in only_told:
        if other not in arrows[folder]:
            raise ValueError(f"{folder} -> {other}: there is no such arrow")
    more = "".join(f" Not drawn: {one} imports {other}." for one, other in only_told)
    told, drawn = [], []
    for folder, room in rooms.items():
        told.append(f"{folder}: {room.size()}")
        for other in arrows[folder]:
            if (folder, other) in only_told:
                continue
            above = rooms[other]
            left, right = max(room.left, above.left), min(room.right, above.right)
            if left >= right or room.top - above.bottom != GAP:
                raise ValueError(f"{folder} imports {other}: draw it right below that")
            drawn.append(f"M{(left + right) / 2:g} {room.top:g}v{3 - GAP}m-4 5l4 -5l4 5")
        if arrows[folder]:
            told[-1] += f"; imports {' and '.join(arrows[folder])}"
    height = max(room.bottom for room in rooms.values()) + 1
    return (
        f'<figure class="floor-plan"><svg viewBox="0 0 {WIDTH + 2} {height:g}" role="group" '
        f'aria-label="{". ".join(told)}."><path d="{"".join(drawn)}"/>'
        f"{''.join(room.svg(folder) for folder, room in rooms.items())}</svg>"
        f"{CAPTION.format(more=more)}</figure>"
    )


def _raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def _folded(table: nodes.table, rooms: dict[str, Room]) -> list[nodes.Node]:
    """Return a table for each folder, which opens when a link leads there."""
    found: list[nodes.Node] = []
    table.next_node(nodes.tbody).clear()
    for folder, room in rooms.items():
        part = table.deepcopy()
        part.next_node(nodes.tbody).extend(module.row for module in room.modules)
        summary = f"<summary><code>{folder}</code>: {room.size()}</summary>"
        inside = f'<div class="rooms" id="{_place(folder)}">'
        found += [_raw(f"<details>{summary}{inside}"), part, _raw("</div></details>")]
    return found


def draw(app: Sphinx, page: nodes.document) -> None:
    """Replace the place by the drawing, and the table by its parts; warn if that cannot be done."""
    for place in list(page.findall(Drawing)):
        table = place.next_node(nodes.table, descend=False, siblings=True)
        folders = _folders(table)
        try:
            rooms = _rooms(place["words"], folders)
            place.replace_self(_raw(_svg(rooms, _arrows(folders), place["told"])))
            table.replace_self(_folded(table, rooms))
        except ValueError as error:
            logging.getLogger(__name__).warning("floor plan: %s", error, location=table)
            place.replace_self([])


def setup(app: Sphinx) -> None:
    """Add the directive."""
    app.add_node(Drawing)
    app.add_directive("floor-plan", FloorPlan)
    app.connect("doctree-read", draw)
