"""Recording a step-through: files and steps are added in order, and become a document.

    recording = Recording("murmur2", "How a key is hashed")
    recording.file("key", data, fields)
    recording.step("The length is mixed in first.", values={"h": h})
    document = recording.document()

Each step gets the whole state: what `show` and `hide` have set, and what the step itself adds. The
cost only grows. If the steps are too long for a document, those before the last few give way: first
their pictures, then they themselves. The steps at these places say so. This module knows no scene.
Source: ours.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from kminilog.explain.document import (
    DEFAULT_LANGUAGE,
    MAX_BYTES,
    MAX_FILES_JSON,
    MAX_LENGTH,
    MAX_STEPS,
    STEP_WEIGHT,
    AnswerChoice,
    Ask,
    ByteRange,
    Cost,
    Document,
    Field,
    File,
    Picture,
    PictureLane,
    State,
    Step,
    Table,
    Value,
    WhatIf,
    files_length,
    step_length,
)
from kminilog.explain.file_pictures import files_picture, stacked
from kminilog.explain.page import framed_page
from kminilog.text import agreeing, count

FEWEST_CHOICES = 3
_LAST_STEPS = 4  # they say what came of it all: they give way last
# A notebook asks a document for this. Documents know no viewers; whoever records one gets it.
Document._repr_html_ = framed_page  # type: ignore[attr-defined]


class Recording:
    """A document that is being made."""

    def __init__(self, name: str, title: str, language: str = DEFAULT_LANGUAGE) -> None:
        self._name = name
        self._title = title
        self._language = language
        self._files: list[File] = []
        self._fields: list[Field] = []
        self._steps: list[Step] = []
        self._lengths: list[int] = []  # of the JSON of each step
        self._files_length = 0
        self._ends: dict[str, int] = {}
        self._cost = Cost()
        self.what_if: WhatIf | None = None
        self.way: PictureLane | None = None
        """Stands above the picture of each step: stations, and which one it is at."""
        self.damaged: list[ByteRange] = []
        """Red in the pictures of the next steps."""

    def file(
        self,
        name: str,
        data: bytes,
        fields: Iterable[Field],
        *,
        start: int = 0,
        size_bytes: int | None = None,
        is_shown: bool = True,
    ) -> None:
        """Add a file, or a part of one that has `size_bytes`; it is shown from the next step on.

        Raises ValueError if there are more bytes or fields in all than a document may have.
        """
        total = sum(len(file.data) for file in self._files) + len(data)
        if total > MAX_BYTES:
            raise ValueError(f"{name}: {total} bytes in a step-through; at most {MAX_BYTES}")
        file = File(name, data, start, start + len(data) if size_bytes is None else size_bytes)
        self._files.append(file)
        added = list(fields)
        self._fields += added
        self._files_length += files_length(file, added)
        if self._files_length > MAX_FILES_JSON:
            raise ValueError(
                f"{name}: {len(added)} fields are too many for a step-through; give less"
            )
        if is_shown:
            self.show(name)

    def has_file(self, name: str) -> bool:
        """Tell if a file of this name was added."""
        return any(file.name == name for file in self._files)

    def in_view(self, range: ByteRange) -> list[ByteRange]:
        """Return the part of a range that is among the bytes of its file: one range, or none."""
        for file in self._files:
            start, end = max(range.start, file.start), min(range.end, file.end)
            if file.name == range.file and start < end:
                return [ByteRange(file.name, start, end)]
        return []

    def show(self, name: str, end: int | None = None) -> None:
        """Show a file up to byte `end`, all of it by default, from the next step on."""
        file = next(file for file in self._files if file.name == name)
        self._ends[name] = file.end if end is None else end

    def hide(self, *names: str) -> None:
        """Show some files no longer; by default all."""
        for name in names or tuple(self._ends):
            del self._ends[name]

    @contextmanager
    def shown_alone(
        self, range: ByteRange, add: Callable[[str], None]
    ) -> Iterator[list[ByteRange]]:
        """Show bytes that a step looks at, for this step; yield the range to be in focus.

        If they are not in view, they become a part of their own in place of their file: `add` adds
        it under the name that it is given.
        """
        seen = self.in_view(range)
        if seen:
            yield seen
            return
        part, end = f"{range.file} at byte {range.start}", self._ends.pop(range.file, None)
        self.show(part) if self.has_file(part) else add(part)
        yield [range._replace(file=part)]
        self.hide(part)
        if end is not None:
            self.show(range.file, end)

    def spend(self, *, probes: int = 0, reads: int = 0, bytes: int = 0) -> None:
        """Add to the cost that the next steps show."""
        self._cost = Cost(
            self._cost.probes + probes, self._cost.reads + reads, self._cost.bytes + bytes
        )

    def step(
        self,
        say: str,
        *,
        ask: Ask | None = None,
        focus: Sequence[ByteRange] = (),
        values: Mapping[str, Value] | None = None,
        tables: Sequence[Table] = (),
        picture: Picture | None = None,
    ) -> None:
        """Add a step; its state is complete. Without a picture it gets that of the files shown."""
        if picture is None:
            damaged = self.damaged
            picture = files_picture(self._files, self._fields, self._ends, focus, damaged)
        if self.way:
            way = Picture(self.way.name, (self.way,))
            picture = stacked(way, picture) if picture else way
        state = State(dict(self._ends), dict(values or {}), tuple(tables), picture)
        step = Step(say, ask, tuple(focus), state, self._cost)
        self._steps.append(step)
        self._lengths.append(step_length(step))

    def _room_is_made(self) -> list[Step]:
        """Return the steps that have room; the one after a gap says how many are missing."""
        steps, lengths = list(self._steps), list(self._lengths)
        too_long = sum(lengths) - (MAX_LENGTH - self._files_length) // STEP_WEIGHT
        kept = max(len(steps) - _LAST_STEPS, 0)
        giving = [*reversed(range(kept)), *range(kept, len(steps) - 1)]
        drawn = [slot for slot in giving if steps[slot].state.picture]
        without: set[int] = set()
        for slot in drawn:
            if too_long <= 0:
                break
            state = steps[slot].state._replace(picture=None)
            steps[slot] = steps[slot]._replace(state=state)
            too_long += step_length(steps[slot]) - lengths[slot]
            lengths[slot] = step_length(steps[slot])
            without.add(slot)
        left_out: set[int] = set()
        for slot in giving:
            if too_long <= 0 and len(steps) - len(left_out) <= MAX_STEPS:
                break
            too_long -= lengths[slot]
            left_out.add(slot)
        return _noted(steps, left_out, without - left_out)

    def document(self) -> Document:
        """Return the document, checked. Raises ValueError if there is no step."""
        if not self._steps:
            raise ValueError(f"{self._name}: nothing to step through")
        document = Document(
            self._name,
            self._title,
            tuple(self._files),
            tuple(self._fields),
            tuple(self._room_is_made()),
            self.what_if,
            self._language,
        )
        document.check()
        return document


def _noted(steps: Sequence[Step], left_out: set[int], without: set[int]) -> list[Step]:
    """Return the steps that are not left out; those after a gap, or without pictures, say so."""
    noted: list[Step] = []
    missing = 0
    for slot, step in enumerate(steps):
        missing += slot in left_out
        if slot in left_out:
            continue
        said = []
        if missing:
            said.append(
                f"{count(missing, 'step')} before this one {agreeing('are', missing)} left out"
            )
        if slot in without and slot - 1 not in without:
            run = next(n for n in range(slot, len(steps) + 1) if n not in without) - slot
            more = f" and the {run - 1} after it" if run > 1 else ""
            said.append(f"this step{more} {agreeing('have', run)} no picture")
        if said:
            note = " and ".join(said)
            step = step._replace(say=f"{step.say} (To save room, {note}.)")
        noted.append(step)
        missing = 0
    return noted


def ask(question: str, right: str, why: str, wrong: Mapping[str, str]) -> Ask:
    """Return a question; `wrong` are the other answers, with the thought that leads to each.

    The choices are in the order of their numbers or letters, so that the place of the right one
    tells nothing. An answer of `wrong` that is the right one is left out.
    """
    choices = [AnswerChoice(right, True, why)]
    choices += [
        AnswerChoice(answer, False, how) for answer, how in wrong.items() if answer != right
    ]
    return Ask(question, tuple(sorted(choices, key=lambda choice: _order(choice.answer))))


def question_with_enough_choices(question: Ask, fewest: int = FEWEST_CHOICES) -> Ask | None:
    """Return a question, or None if the right answer has left it too few choices."""
    return question if len(question.choices) >= fewest else None


def _order(answer: str) -> tuple[int, float, str]:
    try:
        return 0, float(answer.replace(",", "").replace("−", "-")), ""
    except ValueError:
        return 1, 0.0, answer
