"""How `ingest` and `verify --against` read a source: the options, and the source they describe."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kminilog.regex import compile_regex

if TYPE_CHECKING:
    from kminilog.jobs.source.description import Source

Command = TypeVar("Command", bound=Callable[..., Any])

_READING = (
    click.option(
        "--format",
        "source_format",
        type=click.Choice(["text", "csv", "json", "parquet", "kcat", "kminilog"]),
        default="text",
        help="Format of the source. kcat: what `kcat -J` has printed; kminilog: DIR:TOPIC, a topic "
        "of another log dir.",
    ),
    click.option(
        "--key",
        metavar="COLUMN",
        help="Column that holds the key: also a nested one (user.id), or a folder's (a=1/).",
    ),
    click.option(
        "--key-regex",
        metavar="R",
        help="Regular expression that finds the key: its group 1, or else the whole match.",
    ),
    click.option(
        "--value",
        metavar="COLUMN",
        help="Column that holds the value.  [default: the whole record]",
    ),
    click.option(
        "--no-header",
        is_flag=True,
        help="Read the first line of a CSV file as a record, not as column names.",
    ),
    click.option(
        "--allow-empty",
        is_flag=True,
        help="Take a source without records as right, not as an error.",
    ),
)


def reading_options(command: Command) -> Command:
    """Add the options that say how a source is read; their values go to `to_source`."""
    for option in reversed(_READING):
        command = option(command)
    return command


def is_reading_asked(**reading: Any) -> bool:
    """Tell if any of the reading options differs from its default."""
    return reading.pop("source_format") != "text" or any(
        value not in (None, False) for value in reading.values()
    )


def to_source(
    paths: tuple[str, ...],
    *,
    source_format: str,
    key: str | None,
    key_regex: str | None,
    value: str | None,
    no_header: bool,
    allow_empty: bool,
    same_places: bool = False,
) -> "Source":
    """Return the source that these options describe."""
    if no_header and source_format != "csv":
        raise click.UsageError("--no-header is about CSV files: it needs --format csv")
    if key is not None and key_regex is not None:
        raise click.UsageError("give --key or --key-regex, not both")
    if key_regex is not None:
        compile_regex(key_regex.encode("utf-8", "surrogateescape"), "--key-regex")
    from kminilog.jobs.source.description import Source, check_options

    source = Source(
        paths=paths,
        format=source_format,
        key=key,
        key_regex=key_regex,
        value=value,
        header=not no_header,
        allow_empty=allow_empty,
        same_places=same_places,
    )
    check_options(source)  # bad ones end here, before Spark starts
    return source
