"""`kminilog partition`: where records would go, in order, and why.

A dry run (`partitioners.dry_run`): it needs no topic and writes nothing. The partitioner is called
as in a real producer, with batches that are never sent: values are empty, and a batch is full at
`batch.size`. A simulated clock begins at 0. `--interval` lets time pass between the records: then
the cached partition of `default-0.8` changes after ten minutes.

`--key` gives a string, and its bytes to those partitioners that hash bytes; if it is not valid
UTF-8, and with `--key-hex`, the key is the bytes themselves. A user's own class may be in the
current directory. Several partitioners stand side by side, each with the same seed. The document
`explain.choice` says why; `--explain` shows its last step. Source: ours.
"""

from collections.abc import Iterator
from functools import partial
from random import Random, SystemRandom
from typing import Any

import click

from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.options import config_option, example, hex_bytes, json_option, to_bytes
from kminilog.cli.shared.output import show, width
from kminilog.clock import ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.config import complete_config, parse_config
from kminilog.explain.choice import Asked, document
from kminilog.explain.text import step_command, step_lines
from kminilog.json_fields import bytes_field, field_bytes
from kminilog.partitioners.default_0_8 import Default08
from kminilog.partitioners.dry_run import Choice, dry_run
from kminilog.partitioners.registry import PARTITIONERS, checked_name, is_path, make_partitioner
from kminilog.plugins import look_in_current_directory
from kminilog.producer_settings import PRODUCER_SETTINGS
from kminilog.settings import INT64_MAX
from kminilog.storage.topics import MAX_PARTITIONS
from kminilog.text import COMMAND, SHOWN_BYTES, Span, StyledText, count, indented, shown, table

_ORDER = "kminilog.cli.partition.order"
_TOPIC = "dry-run"
_SEED_BITS = 32
_MOST_WITHOUT_KEY = 1_000_000  # each is a line of the answer
_CLASS = "partitioner.class"
_INDENT = "    "


class KeysInOrder(click.Command):
    """A command that remembers the order in which --key, --key-hex and --no-key came."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and note the names of the options in their order."""
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        ctx.meta[_ORDER] = [param.name for param in order]
        return super().parse_args(ctx, args)


def _to_key(text: str) -> str | bytes:
    """Return a key as text, or as bytes where they are not valid UTF-8."""
    data = to_bytes(text)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


@click.command(
    "partition",
    cls=KeysInOrder,
    epilog=example("kminilog partition --partitions 3 --key alice --key bob --explain"),
)
@click.option(
    "--partitioner",
    "partitioners",
    multiple=True,
    metavar="NAME",
    help=f"Partitioner: {', '.join(PARTITIONERS)}, or your own class as package.module.Class. Give "
    f"several to compare them.  [default: {PRODUCER_SETTINGS[_CLASS].default}]",
)
@click.option("--partitions", type=int, required=True, metavar="N", help="Number of partitions.")
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="K",
    type=_to_key,
    help="Key of a record, as text. Repeatable.",
)
@click.option(
    "--key-hex",
    "hex_keys",
    type=hex_bytes,
    multiple=True,
    metavar="H",
    help="Key of a record, in hexadecimal digits. Repeatable.",
)
@click.option(
    "--no-key",
    "no_keys",
    type=click.IntRange(1, _MOST_WITHOUT_KEY),
    multiple=True,
    metavar="COUNT",
    help="Number of records without a key. Repeatable.",
)
@click.option(
    "--order",
    metavar="P,P,…",
    help="Order in which the metadata lists the partitions.  [default: 0,1,2,…]",
)
@click.option(
    "--unavailable",
    type=int,
    multiple=True,
    metavar="P",
    help="Partition without a leader. Repeatable.",
)
@click.option(
    "--interval",
    "interval_ms",
    type=click.IntRange(0, INT64_MAX),
    metavar="MS",
    help="Milliseconds between two records; the output then shows the time of each record.",
)
@click.option(
    "--seed", type=int, metavar="S", help="Seed for the random generator of the partitioner."
)
@config_option("Setting of the producer. Repeatable.")
@click.option("--explain", is_flag=True, help="Show each step of each choice.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    partitioners: tuple[str, ...],
    partitions: int,
    keys: list[Any],
    hex_keys: list[Any],
    no_keys: tuple[int, ...],
    order: str | None,
    unavailable: tuple[int, ...],
    interval_ms: int | None,
    seed: int | None,
    config: tuple[str, ...],
    explain: bool,
    as_json: bool,
) -> None:
    """Show which of N partitions each record goes to, and why."""
    given = parse_config(config, PRODUCER_SETTINGS)
    named = partitioners or (complete_config(given, PRODUCER_SETTINGS)[_CLASS],)
    names = list(dict.fromkeys(map(checked_name, named)))
    if explain and len(names) > 1:
        raise click.UsageError("--explain takes one --partitioner")
    numbers = _numbers(partitions, order)
    for partition in unavailable:
        if not 0 <= partition < partitions:
            reason = f"--unavailable {partition}: partitions run from 0 to {partitions - 1}"
            raise click.UsageError(reason)
    cluster = ClusterMetadata.of_one_topic(_TOPIC, numbers, unavailable)
    records = {
        "keys": ([key] for key in keys),
        "hex_keys": ([key] for key in hex_keys),
        "no_keys": ([None] * number for number in no_keys),
    }
    ordered = [key for name in ctx.meta[_ORDER] if name in records for key in next(records[name])]
    if not ordered:
        raise click.UsageError("give at least one --key, --key-hex or --no-key")
    if any(is_path(name) for name in names):
        look_in_current_directory()
    if seed is None:
        seed = SystemRandom().getrandbits(_SEED_BITS)
    runs = [
        _run(given | {_CLASS: name}, names, ordered, numbers, cluster, seed, interval_ms or 0)
        for name in names
    ]
    answers = [
        {
            "partitioner": asked.name,
            "partitions": partitions,
            "seed": seed,
            "order": numbers,
            "available": asked.available,
            "choices": [
                {
                    **bytes_field("key", choice.key_bytes),
                    **({} if interval_ms is None else {"at_ms": choice.at_ms}),
                    "partition": choice.partition,
                    **(_explanation_fields(choice, asked) if explain and as_json else {}),
                }
                for choice in choices
            ],
        }
        for asked, choices in runs
    ]
    if len(answers) > 1:
        show({"partitioners": answers}, as_json, _side_by_side)
        return
    ((asked, choices),) = runs
    explained = (_explanation(choice, asked) for choice in choices) if explain else None
    show(answers[0], as_json, partial(_lines, explained=explained))


def _run(
    given: dict[str, Any],
    names: list[str],
    keys: list[Any],
    numbers: list[int],
    cluster: ClusterMetadata,
    seed: int,
    interval_ms: int,
) -> tuple[Asked, list[Choice]]:
    """Return what one partitioner of `names` was asked, and its choices."""
    settings = complete_config(given, PRODUCER_SETTINGS)
    name = settings[_CLASS]
    clock = ManualClock()
    chooser = make_partitioner(name, settings, chance=Random(seed), clock=clock, compared=names)
    choices = dry_run(
        chooser,
        interruptible(keys),
        _TOPIC,
        cluster,
        settings["batch.size"],
        clock=clock,
        interval_ms=interval_ms,
    )
    made = list(choices)
    chooser.close()
    available = [info.partition for info in cluster.available_partitions_for_topic(_TOPIC)]
    return Asked(name, settings, numbers, available, isinstance(chooser, Default08)), made


def _lines(answer: dict[str, Any], explained: Iterator[Iterator[str]] | None) -> Iterator[str]:
    for choice in answer["choices"]:
        at = f"{choice['at_ms']} ms: " if "at_ms" in choice else ""
        yield f"{at}{shown(field_bytes(choice, 'key'))} → partition {choice['partition']}"
        yield from next(explained) if explained else ()
    if explained:
        yield f"To get the same result again, give --seed {answer['seed']}."


def _side_by_side(document: dict[str, Any]) -> list[str]:
    answers = document["partitioners"]
    time = ["ms"] if "at_ms" in answers[0]["choices"][0] else []
    rows = []
    for placed in zip(*(answer["choices"] for answer in answers), strict=True):
        at = [placed[0]["at_ms"]] if time else []
        key = shown(field_bytes(placed[0], "key"))
        rows.append([*at, key, *(choice["partition"] for choice in placed)])
    return table([*time, "key", *(answer["partitioner"] for answer in answers)], rows, width())


def _numbers(partitions: int, order: str | None) -> list[int]:
    if not 1 <= partitions <= MAX_PARTITIONS:
        raise click.UsageError(f"a topic has 1 to {MAX_PARTITIONS} partitions, not {partitions}")
    numbers = list(range(partitions))
    if order is None:
        return numbers
    try:
        ordered = [int(text) for text in order.split(",")]
    except ValueError:
        ordered = []
    if sorted(ordered) != numbers:
        reason = (
            f"--order {order}: name each partition from 0 to {partitions - 1} once, with commas"
        )
        raise click.UsageError(reason)
    return ordered


# ---- why


_FIELDS = {
    "without the sign bit": "to_positive",
    "hash code": "hash_code",
    "not negative": "non_negative",
    "by the hash": "by_hash",
}
"""The names of JSON fields that the document has in words."""


def _explanation_fields(choice: Choice, asked: Asked) -> dict[str, Any]:
    """Return the JSON fields that explain a choice: the values of the document's last state."""
    lists = {"available": list(asked.available), "answers": list(choice.answers)}
    values = document(choice, asked).final.values
    return {_FIELDS.get(name, name): lists.get(name, value) for name, value in values.items()}


def _explanation(choice: Choice, asked: Asked) -> Iterator[str]:
    key = choice.key_bytes if asked.hashes_bytes(choice) else None
    if key is not None:
        yield f"{_INDENT}{count(len(key), 'byte')}: {key.hex(' ') or 'none, and still a key'}"
    made = document(choice, asked)
    told = step_lines(made, made.steps[-1]._replace(ask=None), width=width() - len(_INDENT))
    yield from (indented(line, _INDENT) for line in told if line)
    if key is not None and len(key) <= SHOWN_BYTES:
        is_text = isinstance(choice.key, str) and choice.key.isprintable()
        named = ("--key", choice.key) if is_text else ("--key-hex", key.hex())
        command = step_command("murmur2", [*named, "--partitions", len(asked.order)])
        yield StyledText(f"{_INDENT}Round by round: ", Span(command, COMMAND))
