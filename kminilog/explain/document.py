"""A step-through as a document: bytes, their fields, and steps that are each a complete state.

    files     bytes to look at, each from a position of the real file on
    fields    every byte belongs to exactly one: a name, a kind (its colour), a value
    steps     what is said, what is asked first, the bytes in focus, the state, the cost so far

A step does not depend on the one before it. So going back, jumping, linking and printing cost
nothing, and no viewer computes anything. `to_json` gives the format `kminilog.trace/1`, whose
schema is docs/trace-1.schema.json. This module knows neither logs nor viewers. Source: ours; a step
as a complete state: Python Tutor's traces.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

FORMAT = "kminilog.trace/1"
DEFAULT_LANGUAGE = "en"
MAX_BYTES = 1 << 16
MAX_STEPS = 2_000
MAX_FILES_JSON = 150_000
"""How long the JSON of all files and fields may be, in characters."""
MAX_LENGTH = 330_000
"""The same for all of a document, where a step counts `STEP_WEIGHT` times."""
STEP_WEIGHT = 5
"""A page has each step as JSON and as markup, together up to so many times its JSON.

So a page is below 400 KB.
"""
UNPARSED = "unparsed"
"""The kind of bytes that belong to no field of a message or an entry."""

Value = str | int | None


class File(NamedTuple):
    """Bytes of a file, from byte `start` of the real file on, which has `size_bytes` in all."""

    name: str
    data: bytes
    start: int
    size_bytes: int

    @property
    def end(self) -> int:
        """The position after the last byte that is shown."""
        return self.start + len(self.data)


class Field(NamedTuple):
    """Bytes `start` to `end` (exclusive, positions in the real file) and what they say."""

    file: str
    start: int
    end: int
    name: str
    kind: str
    value: Value


class ByteRange(NamedTuple):
    """Bytes `start` to `end`, exclusive, of a file."""

    file: str
    start: int
    end: int


class AnswerChoice(NamedTuple):
    """An answer to choose. `why` says what is right about it, or which thought leads to it."""

    answer: str
    is_right: bool
    why: str


class Ask(NamedTuple):
    """A question to answer before the step is shown; exactly one choice is right."""

    question: str
    choices: tuple[AnswerChoice, ...]


class Table(NamedTuple):
    """A part of the state as rows; `marked` are the numbers of the rows to look at."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    marked: tuple[int, ...] = ()


class Bar(NamedTuple):
    """A part of a lane, from `start` to `end`; if they are equal, a mark at a place.

    `style` is the kind of a field, a role such as `here` or `free`, or both: its colour. `key` is
    the same in each step for what stays the same thing. `row`, a table and a row of it by their
    numbers, is another view of it.
    """

    start: int
    end: int
    label: str = ""
    style: str = ""
    key: str = ""
    row: tuple[int, int] | None = None


class PictureLane(NamedTuple):
    """An axis from `start` to `end`, to scale: bytes of a file, slots of a list, partitions.

    `note` says what it counts. If `file` has a name, the axis are the bytes of this file, and each
    bar shows its bytes.
    """

    name: str
    start: int
    end: int
    bars: tuple[Bar, ...]
    note: str = ""
    file: str = ""


class Arrow(NamedTuple):
    """From a place on one lane to a place on another; lanes by their numbers."""

    from_lane: int
    from_at: float
    to_lane: int
    to_at: float


class Picture(NamedTuple):
    """A part of the state as lanes below each other; `title` says what they show."""

    title: str
    lanes: tuple[PictureLane, ...]
    arrows: tuple[Arrow, ...] = ()


class State(NamedTuple):
    """All that is true at a step: the files with their ends, named values, tables, a picture."""

    ends: Mapping[str, int]
    values: Mapping[str, Value]
    tables: tuple[Table, ...]
    picture: Picture | None = None


class Cost(NamedTuple):
    """What the engine has done so far: elements probed, reads, bytes read."""

    probes: int = 0
    reads: int = 0
    bytes: int = 0


class Step(NamedTuple):
    """One step; its number is its place in the document, from 1."""

    say: str
    ask: Ask | None
    focus: tuple[ByteRange, ...]
    state: State
    cost: Cost


class WhatIf(NamedTuple):
    """For each byte of a file, in order, 256 letters: what happens if it had that value.

    `meanings` says what each letter stands for.
    """

    file: str
    outcomes: tuple[str, ...]
    meanings: Mapping[str, str]


class Document(NamedTuple):
    """A whole step-through, told in a language; `name` is its name on the command line."""

    name: str
    title: str
    files: tuple[File, ...]
    fields: tuple[Field, ...]
    steps: tuple[Step, ...]
    what_if: WhatIf | None = None
    language: str = DEFAULT_LANGUAGE

    @property
    def final(self) -> State:
        """The state of the last step."""
        return self.steps[-1].state

    def check(self) -> None:
        """Assert what viewers rely on: bounds, one field for each byte, questions with one answer.

        O(bytes + steps).
        """
        assert self.steps, "no step"
        assert len(self.steps) <= MAX_STEPS, len(self.steps)
        assert sum(len(file.data) for file in self.files) <= MAX_BYTES
        names = [file.name for file in self.files]
        assert len(set(names)) == len(names), names
        for file in self.files:
            _check_fields(file, [field for field in self.fields if field.file == file.name])
        for step in self.steps:
            _check_step(step, {file.name: file for file in self.files})


def _check_fields(file: File, fields: Sequence[Field]) -> None:
    assert [file.start, *(field.end for field in fields)] == [
        *(field.start for field in fields),
        file.end,
    ], (file.name, fields)
    assert all(field.start < field.end for field in fields), fields


def _check_step(step: Step, files: Mapping[str, File]) -> None:
    for name, start, end in step.focus:
        assert files[name].start <= start < end <= files[name].end, (step.say, name, start, end)
        assert end <= step.state.ends.get(name, 0), (step.say, name, end, "is not shown")
    for name, end in step.state.ends.items():
        assert files[name].start <= end <= files[name].end, (step.say, name, end)
    for table in step.state.tables:
        assert all(len(row) == len(table.columns) for row in table.rows), table
        assert all(0 <= row < len(table.rows) for row in table.marked), table
    if step.state.picture:
        _check_picture(step, step.state.picture)
    if step.ask:
        assert sum(choice.is_right for choice in step.ask.choices) == 1, step.ask
        answers = [choice.answer for choice in step.ask.choices]
        assert len(set(answers)) == len(answers), answers


def _check_picture(step: Step, picture: Picture) -> None:
    for lane in picture.lanes:
        assert lane.start < lane.end, lane
        for bar in lane.bars:
            assert lane.start <= bar.start <= bar.end <= lane.end, (step.say, lane.name, bar)
            if bar.row:
                table, row = bar.row
                assert 0 <= row < len(step.state.tables[table].rows), (step.say, bar)
    for arrow in picture.arrows:
        for number, at in ((arrow.from_lane, arrow.from_at), (arrow.to_lane, arrow.to_at)):
            lane = picture.lanes[number]
            assert lane.start <= at <= lane.end, (step.say, arrow)


def to_json(document: Document) -> dict[str, Any]:
    """Return the document in the format `kminilog.trace/1`; the order of its keys is fixed."""
    return {
        "format": FORMAT,
        "name": document.name,
        "title": document.title,
        "files": [_file_json(file) for file in document.files],
        "fields": [field._asdict() for field in document.fields],
        "steps": [_step_json(number, step) for number, step in enumerate(document.steps, start=1)],
        "what_if": document.what_if
        and {**document.what_if._asdict(), "meanings": dict(document.what_if.meanings)},
    }


def _file_json(file: File) -> dict[str, Any]:
    return {
        "name": file.name,
        "hex": file.data.hex(),
        "start": file.start,
        "size_bytes": file.size_bytes,
    }


def _step_json(number: int, step: Step) -> dict[str, Any]:
    ask = step.ask and {
        "question": step.ask.question,
        "choices": [choice._asdict() for choice in step.ask.choices],
    }
    state = {
        "ends": dict(step.state.ends),
        "values": dict(step.state.values),
        "tables": [table._asdict() for table in step.state.tables],
        "picture": step.state.picture and _picture_json(step.state.picture),
    }
    return {
        "number": number,
        "say": step.say,
        "ask": ask,
        "focus": [focus._asdict() for focus in step.focus],
        "state": state,
        "cost": step.cost._asdict(),
    }


def _picture_json(picture: Picture) -> dict[str, Any]:
    lanes = [
        {**lane._asdict(), "bars": [_bar_json(bar) for bar in lane.bars]} for lane in picture.lanes
    ]
    arrows = [arrow._asdict() for arrow in picture.arrows]
    return {"title": picture.title, "lanes": lanes, "arrows": arrows}


def _bar_json(bar: Bar) -> dict[str, Any]:
    """Return what a bar says; a picture has many, so what is empty is left out."""
    return {name: value for name, value in bar._asdict().items() if value not in ("", None)}


def compact(document: Document) -> str:
    """Return the JSON of a document without a space too much: what terminals and pages show.

    It is ASCII, and has no `<`, `>` or `&`. So it stands in a page as it is.
    """
    return _compact(to_json(document))


def files_length(file: File, fields: Sequence[Field]) -> int:
    """Return how long the compact JSON of a file and its fields is, in characters."""
    return len(_compact([_file_json(file), *(field._asdict() for field in fields)]))


def step_length(step: Step) -> int:
    """Return how long the compact JSON of a step is, in characters."""
    return len(_compact(_step_json(MAX_STEPS, step)))


def _compact(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def digest(document: Document) -> str:
    """Return the SHA-256 of the compact JSON, in hex: two views with the same one show the same."""
    return sha256(compact(document).encode()).hexdigest()
