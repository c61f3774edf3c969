"""`step wire`: what it takes."""

import random

import click

from kminilog.cli.step.scene import scene
from kminilog.explain.document import Document


@scene(
    "wire",
    "Send messages to a broker and fetch them again, byte by byte.",
    shows="kminilog step wire --max-bytes 200",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(1, 10_000),
    default=50,
    metavar="BYTES",
    help="How many bytes of messages the client asks for.",
)
def wire(max_bytes: int) -> Document:
    """Produce two messages and fetch them again: two requests, two answers, one file."""
    from kminilog.course.steps.wire import document

    return document(random.Random(0), max_bytes)
