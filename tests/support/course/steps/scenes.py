"""All step-throughs, as their commands make them without arguments."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jsonschema import Draft202012Validator

from kminilog.cli.step.command import SCENES, scene_command
from kminilog.explain.document import Document

NAMES = tuple(SCENES)
SCHEMA = Draft202012Validator(
    json.loads(Path(__file__).parents[4].joinpath("docs", "trace-1.schema.json").read_text())
)


@cache
def made(name: str) -> Document:
    """Return the document that `kminilog step NAME` shows."""
    return scene_command(name).document()


def words_of(document: Document) -> Iterator[str]:
    """Yield all that a step-through says in words of its own, names of values and columns too."""
    yield document.title
    for step in document.steps:
        yield step.say
        if step.ask:
            yield step.ask.question
            for choice in step.ask.choices:
                yield from (choice.answer, choice.why)
        yield from step.state.values
        for table in step.state.tables:
            yield from (table.title, *table.columns)
        if step.state.picture:
            yield step.state.picture.title
            yield from (lane.name for lane in step.state.picture.lanes)
