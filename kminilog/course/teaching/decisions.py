"""The decisions of the engine: the seams at which a student's functions stand in for the library's.

Source: ours.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from kminilog.course.catalogue import Catalogue
from kminilog.course.judging.patching import room_of
from kminilog.course.material import Exercise, all_labs
from kminilog.pages import render


class Seam(NamedTuple):
    """One seam, as the exercise that it belongs to, and whether the student's function passes."""

    exercise: Exercise
    is_yours: bool


class Room(NamedTuple):
    """A module of the engine, such as format.message, and its seams."""

    name: str
    seams: list[Seam]

    @property
    def area(self) -> str:
        """The part of the engine that it belongs to: `format`, `storage`, …"""
        return self.name.partition(".")[0]


def decisions() -> list[Exercise]:
    """Return the exercises whose function, method or class the engine calls, by number."""
    return [exercise for lab in all_labs() for exercise in lab.exercises if exercise.symbol]


def rooms_of(passed: Collection[str]) -> list[Room]:
    """Return all rooms that have seams, those of an area together; `passed` are ids of exercises.

    >>> [room.name for room in rooms_of([])][:2]
    ['format.message', 'format.names']
    """
    found: dict[str, Room] = {}
    for exercise in decisions():
        name = room_of(exercise.symbol)
        room = found.setdefault(name, Room(name, []))
        room.seams.append(Seam(exercise, exercise.id in passed))
    areas = list(dict.fromkeys(room.area for room in found.values()))
    return sorted(found.values(), key=lambda room: areas.index(room.area))


def count_yours(rooms: Sequence[Room]) -> int:
    """Return how many of the decisions are the student's."""
    return sum(seam.is_yours for room in rooms for seam in room.seams)


def engine_page(rooms: Sequence[Room], catalogue: Catalogue) -> str:
    """Return the page with the engine as boxes: areas, rooms and seams, the student's coloured."""
    areas: dict[str, list[Room]] = {}
    for room in rooms:
        areas.setdefault(room.area, []).append(room)
    titles = {each.id: catalogue.texts(each).title for each in decisions()}
    said = catalogue.say("decisions", mine=count_yours(rooms), all=len(decisions()))
    heading, legend = catalogue.say("engine"), catalogue.say("engine-legend")
    return render(
        "engine.html", areas=areas, titles=titles, said=said, heading=heading, legend=legend
    )
