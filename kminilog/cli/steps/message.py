"""`step docs-vs-bytes`, `null-or-empty`, `flip`: what they take."""

import click

from kminilog.cli.steps.scene import scene
from kminilog.steps.document import Document

_key_option = click.option("--key", metavar="TEXT", help="Key of the message; none by default.")
_value_option = click.option(
    "--value",
    metavar="TEXT",
    default="message1",
    show_default=True,
    help="Value of the message, as text.",
)


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@scene(
    "docs-vs-bytes",
    "One message in both dialects, and as Kafka's old web pages have it",
    shows="kminilog step docs-vs-bytes --key k --value hello",
)
@_key_option
@_value_option
def docs_vs_bytes(key: str | None, value: str, seed: int) -> Document:
    """Encode a message in both dialects; then read it by the layout of Kafka's 0.8 web pages."""
    from kminilog.steps.message.docs_vs_bytes import document

    return document(None if key is None else _to_bytes(key), _to_bytes(value))
