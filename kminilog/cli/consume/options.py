"""Options of `consume`: what to read, from where to where, and how to print it.

They are the same for a log dir and for the directory of a Kafka broker.
Source: ours; Kafka: ConsoleConsumer; kcat.
"""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from kminilog.cli.consume.record_lines import (
    NO_MORE,
    Letters,
    check_format,
    format_writer,
    text_writer,
)
from kminilog.cli.shared.options import to_offset
from kminilog.consumer.group_moves import EARLIEST, LATEST

Command = TypeVar("Command", bound=Callable[..., Any])

_OTHER_WORDS = {
    "beginning": f"write {EARLIEST}",
    "end": f"write {LATEST}",
    "stored": "write --group G: it starts where the group has committed",
}


def _to_start(text: str) -> int | str:
    """Return where to start: an offset, earliest or latest."""
    if text in (EARLIEST, LATEST):
        return text
    if text in _OTHER_WORDS:
        raise click.BadParameter(f"{text!r}: {_OTHER_WORDS[text]}")
    if re.fullmatch(r"-[0-9]+", text):  # as with kcat
        reason = f"{text} is no offset, none is negative: --tail {text[1:]} starts so many "
        raise click.BadParameter(reason + "messages before the end")
    return to_offset(text)


_PLACES = (
    click.argument("topic", required=False),
    click.option(
        "--pattern",
        metavar="REGEX",
        help="Regular expression: read all topics whose whole name matches.",
    ),
    click.option("--partition", type=int, metavar="P", help="Partition to read.  [default: all]"),
    click.option(
        "--offset",
        "start",
        default=EARLIEST,
        type=_to_start,
        metavar="N|earliest|latest",
        help="Offset to start at. A number needs --partition, unless the topic has only one.",
    ),
    click.option(
        "--tail",
        type=click.IntRange(min=0),
        metavar="N",
        help="Start N offsets before the end of each partition.",
    ),
    click.option(
        "--until-end",
        "is_until_end",
        is_flag=True,
        help="Stop where the logs end now; do not wait.",
    ),
    click.option(
        "--max-messages", type=click.IntRange(min=0), metavar="N", help="Stop after N messages."
    ),
)


def place_options(command: Command) -> Command:
    """Add the argument and the options that say what is read, and from where to where."""
    for option in reversed(_PLACES):
        command = option(command)
    return command


print_key_option = click.option(
    "--print-key", is_flag=True, help="Print key, tab and value instead of the value alone."
)
raw_option = click.option(
    "--raw", "is_raw", is_flag=True, help="Print bytes unchanged on a terminal, too, as in a pipe."
)


def format_option(letters: str, more: Letters = NO_MORE) -> Callable[[Command], Command]:
    """Return the option `--format`, whose help names these letters; `more` are not for all logs."""

    def to_format(text: str) -> str:
        try:
            return check_format(text, more)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return click.option(
        "--format",
        "line_format",
        metavar="F",
        type=to_format,
        help=f"Print each message in this format: %t topic, %p partition, %o offset, %k key, "
        rf"%s value, {letters}, \n newline, \t tab; such as '%t-%p %o: %k %s\n'.",
    )


def line_writer(
    line_format: str | None,
    write_json: Callable[[Any], None] | None,
    *,
    print_key: bool,
    is_escaping: bool,
    more: Letters = NO_MORE,
) -> Callable[[Any], None]:
    """Return what writes a record as these options say; `write_json` is given with --json."""
    if line_format is not None:
        if write_json or print_key:
            raise click.UsageError("--format says all that is printed: no --json, no --print-key")
        return format_writer(line_format, is_escaping=is_escaping, more=more)
    return write_json or text_writer(has_key=print_key, is_escaping=is_escaping)
