"""A picture of a step as SVG: its lanes below each other, each to scale, with arrows between them.

    00000000000000368769.index                    5 entries
    ┌──────┬──────┬──────┐
    └──┼───┴──────┴──────┘
       ▼
    ┌────┬────┬──┬─────┐
    └────┴────┴──┴─────┘
    00000000000000368769.log                     1687 bytes

Names of lanes stand on the left if all are short, else above. A label that does not fit into its
bar is left out; the bar has it as a tooltip. Where this happens is computed here, what a shape
looks like stands in picture.svg and picture.css. Source: ours.
"""

from typing import NamedTuple

from kminilog.course.steps.document import Bar, Picture, PictureLane
from kminilog.pages import render

WIDTH = 1000
_EDGE, _GAP = 8, 14
_BAR_HEIGHT, _LINE = 30, 18
_CHARACTER = 8.0  # of the labels, at most
_SHORT_NAME = 18
_LEAST_WIDTH = 3.0  # of a bar: so that it can be seen
_TOLD_BARS = 12
_ROLES = {
    "here": "here",
    "seen": "passed",
    "free": "free",
    "lost": "damaged",
    "torn": "unfinished",
}


class PlacedBar(NamedTuple):
    """A bar and where it stands; `label` is empty where it has no room."""

    bar: Bar
    tooltip: str
    label: str
    x: float
    y: float
    width: float
    height: float
    is_mark: bool


class PlacedLane(NamedTuple):
    """A lane, where its name, its note and its axis stand, and its bars."""

    lane: PictureLane
    name_x: float
    name_y: float
    note_y: float
    x: float
    y: float
    width: float
    bars: list[PlacedBar]

    def at(self, place: float) -> float:
        """Return the x of a place on the axis."""
        lane = self.lane
        return self.x + (place - lane.start) / (lane.end - lane.start) * self.width


class PlacedArrow(NamedTuple):
    """An arrow as two points."""

    x1: float
    y1: float
    x2: float
    y2: float


class Drawing(NamedTuple):
    """A picture with the places of all that is in it; `text` is its text alternative."""

    text: str
    lanes: list[PlacedLane]
    arrows: list[PlacedArrow]
    height: float
    width: int = WIDTH
    edge: int = WIDTH - _EDGE


def drawn(picture: Picture) -> Drawing:
    """Return where each thing of a picture stands. O(bars)."""
    lanes, height = _placed(picture)
    arrows = [
        _arrow(lanes[one.from_lane], one.from_at, lanes[one.to_lane], one.to_at)
        for one in picture.arrows
    ]
    return Drawing(described(picture), lanes, arrows, height)


def svg(picture: Picture) -> str:
    """Return the picture as a file of its own, with its style in it."""
    return render("picture.svg", drawing=drawn(picture), is_alone=True, answers=())


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


def _placed(picture: Picture) -> tuple[list[PlacedLane], float]:
    """Return the lanes with their places, and the height of the picture."""
    names = [lane.name for lane in picture.lanes]
    is_beside = all(len(name) <= _SHORT_NAME for name in names)
    left = _EDGE + (max(map(len, names)) * _CHARACTER + 10 if is_beside else 0)
    y = float(_EDGE)
    found = []
    for lane in picture.lanes:
        has_line = not is_beside or lane.note
        top = y + (_LINE if has_line else 0)
        name_y = top + _BAR_HEIGHT / 2 + 5 if is_beside else y + _LINE - 5
        placed = PlacedLane(lane, _EDGE, name_y, y + _LINE - 5, left, top, WIDTH - _EDGE - left, [])
        placed.bars.extend(_placed_bar(placed, bar) for bar in lane.bars)
        found.append(placed)
        has_marks = any(bar.is_mark and bar.label for bar in placed.bars)
        y = top + _BAR_HEIGHT + (_LINE if has_marks else 0) + _gap(picture, len(found) - 1)
    return found, y - _gap(picture, len(found) - 1) + _EDGE


def _gap(picture: Picture, number: int) -> int:
    """Return the room below a lane: more where arrows leave it for the next."""
    ends = [sorted((one.from_lane, one.to_lane)) for one in picture.arrows]
    return _GAP + 26 * any(low <= number < high for low, high in ends)


def _placed_bar(lane: PlacedLane, bar: Bar) -> PlacedBar:
    x, right = lane.at(bar.start), lane.at(bar.end)
    is_mark = bar.start == bar.end
    width = 0.0 if is_mark else max(right - x - 1, _LEAST_WIDTH)
    room = lane.width if is_mark else width
    label = bar.label if len(bar.label) * _CHARACTER <= room else ""
    tooltip = _told_bar(bar).strip()
    return PlacedBar(bar, tooltip, label, x, lane.y, width, _BAR_HEIGHT, is_mark)


def _arrow(first: PlacedLane, first_at: float, second: PlacedLane, second_at: float) -> PlacedArrow:
    down = second.y > first.y
    y1, y2 = (first.y + _BAR_HEIGHT, second.y) if down else (first.y, second.y + _BAR_HEIGHT)
    return PlacedArrow(first.at(first_at), y1, second.at(second_at), y2)
