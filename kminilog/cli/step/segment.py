"""`step append-roll`, `sparse-index`, `torn-tail`, `rebuild-index`: what they take."""

import click

from kminilog.cli.step.scene import dialect_option, scene
from kminilog.errors import MessageTooLargeError
from kminilog.explain.document import Document
from kminilog.format.dialect import DOCUMENTED, Dialect

_dialect_option = dialect_option(DOCUMENTED)


@scene(
    "append-roll",
    "Append to a log until a new segment begins.",
    shows="kminilog step append-roll --segment-bytes 60 first second third fourth",
)
@click.argument("messages", nargs=-1, metavar="[LINE]...")
@click.option(
    "--segment-bytes", type=int, default=128, metavar="N", help="Largest .log file, in bytes."
)
@click.option(
    "--retention-bytes",
    type=click.IntRange(min=0),
    metavar="N",
    help="Bytes of the log that retention keeps at least, in the last steps.  "
    "[default: as many as --segment-bytes]",
)
@_dialect_option
def append_roll(
    messages: tuple[str, ...], segment_bytes: int, retention_bytes: int | None, dialect: Dialect
) -> Document:
    """Append messages one by one, and see where each goes; then let retention delete the oldest.

    Each LINE is a message; without any, ten short ones are appended.
    """
    from kminilog.course.steps.append_roll import MESSAGES, document

    values = [message.encode("utf-8", "surrogateescape") for message in messages]
    try:
        kept = segment_bytes if retention_bytes is None else retention_bytes
        return document(dialect, values or MESSAGES, segment_bytes, kept)
    except MessageTooLargeError as error:
        remedy = "give shorter lines, or raise --segment-bytes"
        raise click.UsageError(f"{error.reason}: {remedy}") from None


@scene(
    "sparse-index",
    "See which messages get an index entry.",
    shows="kminilog step sparse-index --interval 200",
)
@click.option(
    "--interval",
    type=int,
    default=248,
    metavar="N",
    help="Value of index.interval.bytes: a message gets an entry if it begins more than N bytes "
    "after the last indexed one.",
)
@click.option(
    "--count",
    type=click.IntRange(min=1),
    default=14,
    metavar="N",
    help="Number of messages, at most 100.",
)
@_dialect_option
def sparse_index(interval: int, count: int, dialect: Dialect) -> Document:
    """Write a segment, and see which of its messages get an entry in its index, and why.

    The third message begins at byte 497, so that the documents' entry 3,497 comes out. It is the
    segment that `kminilog demo --documents` writes in its full size.
    """
    from kminilog.course.steps.sparse_index import document

    return document(dialect, interval, count)


@scene(
    "torn-tail",
    "Kill a process in the middle of an append, and recover the log.",
    shows="kminilog step torn-tail --cut 5",
)
@click.option(
    "--cut",
    type=click.IntRange(min=0),
    default=20,
    metavar="BYTE",
    help="Byte of the last message at which the process dies.",
)
@_dialect_option
def torn_tail(cut: int, dialect: Dialect) -> Document:
    """Cut the last message of a log at a byte, recover the log, and append again."""
    from kminilog.course.steps.torn_tail import document

    return document(dialect, cut)


@scene(
    "rebuild-index",
    "Damage an index, and rebuild it from the log.",
    shows="kminilog step rebuild-index --damage missing",
)
@click.option(
    "--damage",
    type=click.Choice(["missing", "short", "wrong"]),
    default="wrong",
    help="Damage: no file, a file that ends inside an entry, or an entry that points elsewhere.",
)
@_dialect_option
def rebuild_index(damage: str, dialect: Dialect) -> Document:
    """Damage an index, search with it, and rebuild it from the log, byte for byte."""
    from kminilog.course.steps.rebuild_index import document

    return document(dialect, damage)
