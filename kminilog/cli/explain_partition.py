"""`partition --explain`: one choice of a partitioner as text, and as JSON.

The document `course.steps.choice` says why. If it has several steps, the last one is
shown, and the command that shows the others.
"""

from collections.abc import Iterator
from typing import Any

from kminilog.course.steps.choice import Asked, document
from kminilog.course.steps.text import step_command, step_lines
from kminilog.partitioners.dry_run import Choice
from kminilog.text import FIT_COLUMNS, SHOWN_BYTES, count, indented

_INDENT = "    "


def explanation_fields(choice: Choice, asked: Asked) -> dict[str, Any]:
    """Return the JSON fields that explain a choice: the values of the document's last state."""
    lists = {"available": list(asked.available), "answers": list(choice.answers)}
    values = document(choice, asked).final.values
    return {name: lists.get(name, value) for name, value in values.items()}


def explanation_lines(choice: Choice, asked: Asked) -> Iterator[str]:
    """Yield the lines of text that explain a choice."""
    key = choice.key_bytes if asked.hashes_bytes(choice) else None
    if key is not None:
        yield f"    {count(len(key), 'byte')}: {key.hex(' ') or 'none, and still a key'}"
    made = document(choice, asked)
    told = step_lines(made, made.steps[-1]._replace(ask=None), width=FIT_COLUMNS - len(_INDENT))
    yield from (indented(line, _INDENT) for line in told if line)
    if key is not None and len(key) <= SHOWN_BYTES:
        is_text = isinstance(choice.key, str) and choice.key.isprintable()
        shown = ("--key", choice.key) if is_text else ("--key-hex", key.hex())
        command = step_command("murmur2", [*shown, "--partitions", len(asked.order)])
        yield f"    Round by round: {command}"
