"""Options and arguments that several commands share.

Nothing here prints or opens a file. An impossible value is refused before any command runs, with a
usage error that says how to write it; click names the option. The functions that take a text are
types of options and arguments.
"""

import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import click
from click.core import ParameterSource, augment_usage_errors

from kminilog.cli.shared.output import gap_teller
from kminilog.format.dialect import DIALECTS, Dialect
from kminilog.format.names import MAX_OFFSET, TopicPartition, check_topic, parse_topic_partition
from kminilog.storage.partition.notices import OnGap
from kminilog.storage.topics import MAX_PARTITIONS

ARGUMENTS = "kminilog.arguments"
"""Under this name a context's `meta` has the words of the command line."""

CLUSTER = "kminilog.cluster"
"""Under this name it has the directory of a cluster, if the command was given one."""

_TOKEN = re.compile(r"\\x([0-9A-Fa-f]{2})|\\(.?)|([^\\]+)", re.DOTALL)
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
Command = TypeVar("Command", bound=Callable[..., Any])


def hex_bytes(text: str) -> bytes:
    """Return the bytes that hexadecimal digits stand for."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise click.BadParameter(f"{text!r}: give pairs of hexadecimal digits") from None


def unescaped(text: str) -> bytes:
    r"""Return the bytes of a text in which `\t` and the like stand for bytes; else ValueError.

    >>> unescaped("a\\t\\x1f"), unescaped("\\0"), unescaped("\\\\n")
    (b'a\t\x1f', b'\x00', b'\\n')
    """
    parts = []
    for token in _TOKEN.finditer(text):
        byte, escape, literal = token.groups()
        if byte is not None:
            parts.append(bytes.fromhex(byte))
        elif literal is not None:
            parts.append(literal.encode("utf-8", "surrogateescape"))
        elif escape in _ESCAPES:
            parts.append(_ESCAPES[escape])
        else:
            raise ValueError(f"{token[0]}: after a backslash write n, t, r, 0, xHH or a backslash")
    return b"".join(parts)


def to_separator(text: str) -> bytes:
    """Return the bytes of a separator, which is not empty."""
    if not text:
        raise click.BadParameter("it must not be empty")
    try:
        return unescaped(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def to_topic_partition(text: str) -> TopicPartition:
    """Return the partition with this directory name, such as orders-0."""
    found = parse_topic_partition(text)
    if found is None:
        raise click.BadParameter(
            f"{text!r} names no partition: write TOPIC-PARTITION, like orders-0"
        )
    return found


def topic_partition_of(text: str) -> TopicPartition:
    """Return the partition that the first argument of the command at hand names.

    It is for an argument that may be something else, too. A usage error names the argument.
    """
    ctx = click.get_current_context()
    with augment_usage_errors(ctx, ctx.command.params[0]):
        return to_topic_partition(text)


def to_offset(text: str) -> int:
    """Return an offset: a whole number, never negative."""
    try:
        number = int(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no offset: give a whole number") from None
    if not 0 <= number <= MAX_OFFSET:
        what = f"offsets run from 0 to {MAX_OFFSET}, none is negative"
        raise click.BadParameter(f"{number} is no offset: {what}")
    return number


def to_directory(text: str) -> Path:
    """Return the path of a directory, which may not exist yet; the empty name names none."""
    if not text:
        raise click.BadParameter("the name is empty: name a directory")
    return Path(text)


def to_bytes(text: str) -> bytes:
    """Return the bytes that the user has typed, UTF-8 or not."""
    return text.encode("utf-8", "surrogateescape")


def _to_topic_counts(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in texts:
        topic, _, number = text.rpartition("=")
        if not topic or not number.isascii() or not number.isdigit():
            raise click.BadParameter(f"{text!r}: write TOPIC=PARTITIONS, like orders=10")
        check_topic(topic)
        if not 1 <= int(number) <= MAX_PARTITIONS:
            raise click.BadParameter(f"{text}: a topic has 1 to {MAX_PARTITIONS} partitions")
        if topic in found:
            raise click.BadParameter(f"topic {topic} is given twice")
        found[topic] = int(number)
    return found


def _to_dialect(ctx: click.Context, param: click.Parameter, value: str | None) -> Dialect | None:
    return None if value is None else DIALECTS[value]


def _to_on_gap(ctx: click.Context, param: click.Parameter, value: bool) -> OnGap | None:
    return gap_teller() if value else None


def _json_anywhere(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    return value or bool(ctx.find_root().params.get("as_json"))


json_option = click.option(
    "--json", "as_json", is_flag=True, callback=_json_anywhere, help="Print the result as JSON."
)
allow_gaps_option = click.option(
    "--allow-gaps",
    "on_gap",
    is_flag=True,
    callback=_to_on_gap,
    help="Do not report missing offsets as damage (for a log that Kafka wrote).",
)
dialect_option = click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS)),
    callback=_to_dialect,
    help="Dialect: the message format, and the rule that names segments.",
)


def example(command_line: str) -> str:
    """Return the last lines of a help text: a command that works as it stands."""
    return f"\b\nFor example:\n  {command_line}"  # \b: click keeps the line breaks


def key_option(what: str) -> Callable[[Command], Command]:
    """Return the option `--key K`: the bytes that the user has typed, None without the option."""
    return click.option("--key", metavar="K", type=to_bytes, help=what)


def config_option(what: str) -> Callable[[Command], Command]:
    """Return the option `--config NAME=VALUE`, which may be given several times."""
    return click.option("--config", multiple=True, metavar="NAME=VALUE", help=what)


def topic_counts_option(
    *, required: bool = False, default: tuple[str, ...] = ()
) -> Callable[[Command], Command]:
    """Return the option `--topic T=N`, which may be given several times: topics and partitions."""
    return click.option(
        "--topic",
        "topics",
        multiple=True,
        required=required,
        default=default or None,
        metavar="T=N",
        callback=_to_topic_counts,
        help="Topic and its number of partitions. Repeatable.",
    )


class NegativeOffset(click.Command):
    """A command that takes a negative number for an argument, not for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, negative numbers last: they are refused for what they are."""
        before = ["", *args]
        numbers = [
            place
            for place, word in enumerate(args)
            if re.fullmatch(r"-[0-9]+", word) and before[place] not in ("--key", "--time")
        ]
        if numbers and "--" not in args:
            others = [word for place, word in enumerate(args) if place not in numbers]
            args = [*others, "--", *(args[place] for place in numbers)]
        return super().parse_args(ctx, args)


class WatchedChance:
    """Chance from a seed, which notices whether anything was drawn that could differ."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)
        self.has_acted = False

    def randrange(self, stop: int, /) -> int:
        self.has_acted |= stop > 1
        return self._chance.randrange(stop)

    def getrandbits(self, count: int, /) -> int:
        """Return a number of `count` random bits."""
        self.has_acted = True
        return self._chance.getrandbits(count)


def refuse_given(name: str, why: str) -> None:
    """Raise UsageError if an option was given to the command at hand: it cannot act there."""
    if click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE:
        raise click.UsageError(f"--{name.replace('_', '-')} changes nothing here: {why}")
