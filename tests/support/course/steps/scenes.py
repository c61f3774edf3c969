"""All step-throughs, as their commands make them without arguments."""

import json
from functools import cache
from pathlib import Path

from jsonschema import Draft202012Validator

from kminilog.cli.step.command import SCENES, scene_command
from kminilog.course.steps.document import Document

NAMES = tuple(SCENES)
SCHEMA = Draft202012Validator(
    json.loads(Path(__file__).parents[4].joinpath("docs", "trace-1.schema.json").read_text())
)


@cache
def made(name: str) -> Document:
    """Return the document that `kminilog step NAME` shows."""
    return scene_command(name).document()
