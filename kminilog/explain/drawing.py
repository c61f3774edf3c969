"""A picture of a step as SVG: its lanes below each other, each to scale, with arrows between them.

    00000000000000368769.index                    5 entries
    ┌──────┬──────┬──────┐
    └──┼───┴──────┴──────┘
       ▼
    ┌────┬────┬──┬─────┐
    └────┴────┴──┴─────┘
    00000000000000368769.log                     1687 bytes

Names of lanes stand above them, or on the left if all are short and none is a file. Name and note
of a lane at which arrows end stand below it, where no arrow crosses them. A label that does not fit
into its bar stands below the lane, where there is room; else the bar has it as a tooltip only.
Where this happens is computed here, what a shape looks like stands in picture.svg and picture.css.
Source: ours.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kminilog.explain.document import Bar, Picture, PictureLane
from kminilog.pages import render

WIDTH = 1000
_EDGE, _GAP = 8, 10
_APART = 10  # more, between a name below its lane and the next name
_BAR_HEIGHT, _LINE = 30, 18
_CHARACTER, _SMALL = 8.7, 7.5  # how wide one is, at most: in a label, and in one below
_LABEL_GAP, _LABEL_LINES = 6, 2
_LEAST_WIDTH = 3.0  # of a bar: so that it can be seen
_TOLD_BARS = 12
_ROLES = {"here": "here", "seen": "passed", "free": "free", "lost": "damaged"}


class PlacedBar(NamedTuple):
    """A bar and where it stands; a mark has no width."""

    bar: Bar
    tooltip: str
    x: float
    y: float
    width: float
    height: float


class PlacedLabel(NamedTuple):
    """The label of a bar, and the middle of its base line; a small one stands below the lane."""

    text: str
    x: float
    y: float
    is_small: bool


class PlacedLane(NamedTuple):
    """A lane, where its name, its note and its axis stand, and its bars with their labels."""

    lane: PictureLane
    name: str
    note: str
    name_x: float
    name_y: float
    note_y: float
    x: float
    y: float
    width: float
    bars: list[tuple[PlacedBar, PlacedLabel | None]]
    bottom: float

    def at(self, place: float) -> float:
        """Return the x of a place on the axis."""
        lane = self.lane
        return self.x + (place - lane.start) / (lane.end - lane.start) * self.width


class PlacedArrow(NamedTuple):
    """An arrow as two points; it leaves and arrives upright."""

    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def middle(self) -> float:
        """Return the height of the middle."""
        return (self.y1 + self.y2) / 2


class Drawing(NamedTuple):
    """A picture with the places of all that is in it; `text` is its text alternative."""

    title: str
    text: str
    lanes: list[PlacedLane]
    arrows: list[PlacedArrow]
    height: float
    width: int

    @property
    def edge(self) -> int:
        """Return the x where lanes and notes end."""
        return self.width - _EDGE


def drawn(picture: Picture, width: int = WIDTH) -> Drawing:
    """Return where each thing of a picture stands, in a drawing of this width. O(bars)."""
    lanes, height = _placed(picture, width)
    arrows = [
        _arrow(lanes[one.from_lane], one.from_at, lanes[one.to_lane], one.to_at)
        for one in picture.arrows
    ]
    title = _cut(picture.title, (width - 2 * _EDGE) * _CHARACTER / _SMALL)  # its letters are narrow
    return Drawing(title, described(picture), lanes, arrows, height, width)


def svg(picture: Picture, title: str = "", width: int = WIDTH) -> str:
    """Return the picture as a file of its own, so wide, with its style in it.

    `title` is what the file says it is; by default the title of the picture.
    """
    drawing = drawn(picture, width)
    return render("picture.svg", drawing=drawing, alone=title or picture.title, answers=())


def described(picture: Picture) -> str:
    """Return in words what the picture shows: its text alternative.

    >>> described(Picture("Names", (PictureLane("slots", 0, 4, (Bar(1, 2, "7", "here"),)),)))
    'Names. slots, 0 to 4: 7 from 1 to 2 (here).'
    """
    return " ".join([f"{picture.title}.", *(_told(lane) for lane in picture.lanes)])


def _told(lane: PictureLane) -> str:
    named = [bar for bar in lane.bars if bar.label]
    told = [_told_bar(bar) for bar in named[:_TOLD_BARS]]
    if len(named) > _TOLD_BARS:
        told.append(f"and {len(named) - _TOLD_BARS} more")
    return f"{lane.name}, {lane.start} to {lane.end}: {'; '.join(told) or 'empty'}."


def _told_bar(bar: Bar) -> str:
    where = f"at {bar.start}" if bar.start == bar.end else f"from {bar.start} to {bar.end}"
    roles = [_ROLES[word] for word in bar.style.split() if word in _ROLES]
    return f"{bar.label} {where}" + (f" ({', '.join(roles)})" if roles else "")


def _placed(picture: Picture, width: int) -> tuple[list[PlacedLane], float]:
    """Return the lanes with their places, and the height of the picture."""
    names = [lane.name for lane in picture.lanes]
    widest = max(map(len, names), default=0) * _CHARACTER
    is_beside = widest <= width / 4 and not any(lane.file for lane in picture.lanes)
    left = _EDGE + (widest + 10 if is_beside else 0)
    y = bottom = float(_EDGE + _LINE)  # below the title
    found: list[PlacedLane] = []
    ends = [sorted((one.from_lane, one.to_lane)) for one in picture.arrows]
    below = {low for _, low in ends} - {high for high, _ in ends}
    for number, lane in enumerate(picture.lanes):
        has_words = bool(lane.note) or not is_beside
        top = y + (_LINE if has_words and number not in below else 0)
        note = _cut(lane.note, width - 2 * left)
        name = _cut(lane.name, width - 2 * _EDGE - len(note) * _CHARACTER)
        places = _EDGE, 0.0, 0.0, left, top, width - _EDGE - left
        placed = PlacedLane(lane, name, note, *places, [], top)
        bars = [_placed_bar(placed, bar) for bar in lane.bars]
        labels = _labels(bars, width - _EDGE)
        bottom = max([top + _BAR_HEIGHT, *(label.y + 4 for label in labels.values())])
        if has_words and number in below:
            bottom += _LINE
        note_y = bottom - 3 if number in below else y + _LINE - 7
        name_y = top + _BAR_HEIGHT / 2 + 5 if is_beside else note_y
        pairs = [(bar, labels.get(slot)) for slot, bar in enumerate(bars)]
        found.append(placed._replace(name_y=name_y, note_y=note_y, bars=pairs, bottom=bottom))
        y = bottom + _gap(picture, number) + (_APART if has_words and number in below else 0)
    return found, bottom + _EDGE


def _cut(text: str, room: float) -> str:
    """Return a text, or the beginning of one that needs more room."""
    length = max(int(room / _CHARACTER), 1)
    return text if len(text) <= length else text[: length - 1] + "…"


def _gap(picture: Picture, number: int) -> int:
    """Return the room below a lane: more where arrows leave it for the next."""
    ends = [sorted((one.from_lane, one.to_lane)) for one in picture.arrows]
    return _GAP + 22 * any(low <= number < high for low, high in ends)


def _placed_bar(lane: PlacedLane, bar: Bar) -> PlacedBar:
    x, right = lane.at(bar.start), lane.at(bar.end)
    width = 0.0 if bar.start == bar.end else max(right - x - 1, _LEAST_WIDTH)
    x = min(x, lane.x + lane.width - width)
    return PlacedBar(bar, _told_bar(bar).strip(), x, lane.y, width, _BAR_HEIGHT)


def _labels(bars: Sequence[PlacedBar], edge: int) -> dict[int, PlacedLabel]:
    """Return the labels that have room, by the numbers of their bars. O(bars²).

    If one that is looked at has none from left to right, those looked at come first.
    """
    numbers = range(len(bars))
    here = [n for n in numbers if "here" in bars[n].bar.style and bars[n].bar.label]
    found = _labels_in(numbers, bars, edge)
    if found.keys() >= set(here):
        return found
    return _labels_in([*here, *(n for n in numbers if n not in here)], bars, edge)


def _labels_in(
    order: Sequence[int], bars: Sequence[PlacedBar], edge: int
) -> dict[int, PlacedLabel]:
    taken: list[list[tuple[float, float]]] = [[] for _ in range(_LABEL_LINES)]
    found = {}
    for slot in order:
        (_, _, x, y, width, height), text = bars[slot], bars[slot].bar.label
        if text and len(text) * _CHARACTER <= width:
            found[slot] = PlacedLabel(text, x + width / 2, y + 20, is_small=False)
            continue
        length = len(text) * _SMALL
        for number, line in enumerate(taken):
            wanted = min(x + width / 2 - length / 2, edge - length)
            left = _free(line, max(wanted, _EDGE), length)
            if text and _EDGE <= left <= x + width and left + length <= edge:
                line.append((left, left + length))
                below = y + height + 14 + number * (_LINE - 3)
                found[slot] = PlacedLabel(text, left + length / 2, below, is_small=True)
                break
    return found


def _free(taken: list[tuple[float, float]], wanted: float, length: float) -> float:
    """Return the first place from `wanted` on that has room for a label."""
    left = wanted
    for start, end in sorted(taken):
        if start - _LABEL_GAP < left + length and left < end + _LABEL_GAP:
            left = end + _LABEL_GAP
    return left


def _arrow(first: PlacedLane, first_at: float, second: PlacedLane, second_at: float) -> PlacedArrow:
    down = second.y > first.y
    y1, y2 = (first.y + _BAR_HEIGHT, second.y) if down else (first.y, second.y + _BAR_HEIGHT)
    return PlacedArrow(first.at(first_at), y1, second.at(second_at), y2)
