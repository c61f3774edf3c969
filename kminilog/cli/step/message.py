"""`step record`, `docs-vs-bytes`, `null-or-empty`, `flip`, `today`: what they take."""

import tempfile
from pathlib import Path

import click

from kminilog.cli.shared.named_files import SegmentFile
from kminilog.cli.shared.options import refuse_given
from kminilog.cli.shared.output import warn
from kminilog.cli.shared.topic_files import dialect_of, refuse_later_format, topic_of
from kminilog.cli.step.scene import dialect_option, scene
from kminilog.explain.document import Document
from kminilog.format.dialect import DIALECTS, DOCUMENTED, Dialect
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX, segment_name
from kminilog.text import numbered

_key_option = click.option("--key", metavar="TEXT", help="Key of the message; none by default.")
_value_option = click.option(
    "--value", metavar="TEXT", default="message1", help="Value of the message, as text."
)
_dialect_option = dialect_option(DOCUMENTED)


def _to_byte(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    try:
        (byte,) = bytes.fromhex(value)
    except ValueError:
        reason = f"{value!r} is no byte: write two hex digits, like ff"
        raise click.BadParameter(reason, ctx, param) from None
    return byte


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@scene(
    "record",
    "Show a message field by field, or the damage in a file.",
    shows="kminilog step record kminilog-data/orders-1/00000000000000000000.log --at 40",
)
@click.argument(
    "file",
    required=False,
    type=SegmentFile(),
    callback=lambda ctx, param, file: file and Path(file),
)
@click.option(
    "--at",
    type=click.IntRange(min=0),
    metavar="BYTE",
    help="Position of a byte in FILE; shown is the message or entry that holds it.",
)
@click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS)),
    help="Dialect of the file.  [default: that of its topic, else as its bytes show]",
)
def record(file: Path | None, at: int | None, dialect: str | None) -> Document:
    """Show the message in FILE, a .log, that holds BYTE; or an entry, if it is an .index.

    Without BYTE, the first damage, else the first message. Without FILE, the message of
    docs/format.md.
    """
    from kminilog.course.steps.entry import document as of_index
    from kminilog.course.steps.record import SAMPLE_OFFSET, document, sample

    chosen = DIALECTS[dialect] if dialect else None
    if file is None:
        of_sample = chosen or DOCUMENTED
        data = sample(of_sample)
        if at is not None and at >= len(data):
            has = numbered(range(len(data)), "byte")
            raise click.UsageError(f"the sample has no byte {at}: it has {has}")
        with tempfile.TemporaryDirectory(prefix="kminilog-step-") as directory:
            name = segment_name(of_sample.base_offset_for(SAMPLE_OFFSET))
            made = Path(directory, name + LOG_SUFFIX)
            made.write_bytes(data)
            return document(made, of_sample, at)
    log_path = file.with_suffix(LOG_SUFFIX)
    if file.suffix == INDEX_SUFFIX and not log_path.is_file():
        refuse_given("dialect", "an .index has the same entries in both; name a .log")
        return of_index(file, at, topic_of(file))
    read_as = dialect_of(log_path, chosen)
    if file.suffix == INDEX_SUFFIX:
        shown = of_index(file, at, topic_of(file), read_as.dialect)
    else:
        refuse_later_format(file)
        shown = document(file, read_as.dialect, at)
    if read_as.said:
        warn(read_as.said)
    return shown


@scene(
    "docs-vs-bytes",
    "Encode a message in both dialects, and read it as Kafka's old web pages do.",
    shows="kminilog step docs-vs-bytes --key k --value hello",
)
@_key_option
@_value_option
def docs_vs_bytes(key: str | None, value: str) -> Document:
    """Encode a message in both dialects; then read it by the layout of Kafka's 0.8 web pages."""
    from kminilog.course.steps.docs_vs_bytes import document

    return document(None if key is None else _to_bytes(key), _to_bytes(value))


@scene(
    "null-or-empty",
    "Compare what is null with what is empty, as key and as value.",
    shows="kminilog step null-or-empty --dialect kafka",
)
@click.option("--key", metavar="TEXT", default="k", help="Key to compare with.")
@click.option(
    "--value", metavar="TEXT", default="v", help="Value of the messages that show the keys."
)
@_dialect_option
def null_or_empty(key: str, value: str, dialect: Dialect) -> Document:
    """Write what is null and what is empty, see the bytes of each, and read it again."""
    from kminilog.course.steps.null_or_empty import document

    return document(dialect, _to_bytes(key), _to_bytes(value))


@scene(
    "flip",
    "Change one byte of a message, and see which check notices.",
    shows="kminilog step flip --at 11 --to 40",
)
@_key_option
@_value_option
@_dialect_option
@click.option("--at", type=int, metavar="BYTE", help="Position of one more byte to change.")
@click.option(
    "--to",
    callback=_to_byte,
    metavar="HEX",
    help="New value of the byte at --at, two hex digits.  [default: its old value plus one]",
)
def flip(key: str | None, value: str, dialect: Dialect, at: int | None, to: int | None) -> Document:
    """Change every byte of a message to every value, and see which check notices."""
    from kminilog.course.steps.flip import document

    if to is not None and at is None:
        raise click.UsageError("--to is the new value of the byte at --at: give both")
    own_key = None if key is None else _to_bytes(key)
    return document(dialect, own_key, _to_bytes(value), at, to)


@scene(
    "today",
    "Read a batch of today's format byte by byte, and a varint in slow motion.",
    shows="kminilog step today --number -300",
)
@click.option(
    "--number",
    type=click.IntRange(-(1 << 63), (1 << 63) - 1),
    metavar="NUMBER",
    help="Number to show as a varint.  [default: a timestamp delta of the batch]",
)
def today(number: int | None) -> Document:
    """Read a batch of format v2 that Kafka's client wrote; then its messages in format v0."""
    from kminilog.course.steps.today import NUMBER, document

    return document(NUMBER if number is None else number)
