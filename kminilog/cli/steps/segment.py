"""`step append-roll`, `sparse-index`, `torn-tail`, `rebuild-index`: what they take."""

import click

from kminilog.cli.steps.scene import scene
from kminilog.format.dialect import DIALECTS, DOCUMENTED
from kminilog.steps.document import Document

_dialect_option = click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS)),
    default=DOCUMENTED.name,
    show_default=True,
    help="Dialect: the message format, and the rule that names segments.",
)


@scene(
    "append-roll",
    "A log grows, and a new segment begins",
    shows="kminilog step append-roll --segment-bytes 60 first second third fourth",
)
@click.argument("messages", nargs=-1, metavar="[LINE]...")
@click.option(
    "--segment-bytes",
    type=int,
    default=128,
    show_default=True,
    metavar="N",
    help="Largest .log file, in bytes.",
)
@_dialect_option
def append_roll(messages: tuple[str, ...], segment_bytes: int, dialect: str, seed: int) -> Document:
    """Append messages one by one, and see where each goes and what new files are named.

    Each LINE is a message; without any, ten short ones are appended.
    """
    from kminilog.steps.segment.append_roll import MESSAGES, document

    values = [message.encode("utf-8", "surrogateescape") for message in messages]
    return document(DIALECTS[dialect], values or MESSAGES, segment_bytes)
