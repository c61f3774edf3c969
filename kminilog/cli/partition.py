"""`kminilog partition`: where records with these keys would go, and why.

Only the choice: no topic is needed and nothing is written. `--key` gives a string, `--key-hex` any
bytes; the answers come in the order in which the keys were given.
"""

from typing import Any

import click

from kminilog.cli.options import json_option, partitioner_option
from kminilog.cli.output import bytes_field, shown, write_document, write_line, write_lines
from kminilog.format.hashing import murmur2, to_positive
from kminilog.producer.partitioners.keyed import keyed_rule

_ORDER = "kminilog.cli.partition.order"


class KeysInOrder(click.Command):
    """A command that remembers the order in which --key and --key-hex came."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and note the names of the options in their order."""
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        ctx.meta[_ORDER] = [param.name for param in order]
        return super().parse_args(ctx, args)


@click.command("partition", cls=KeysInOrder)
@partitioner_option
@click.option("--partitions", type=int, required=True, metavar="N", help="Number of partitions.")
@click.option("--key", "keys", multiple=True, metavar="K", help="A key, as text; repeatable.")
@click.option(
    "--key-hex", "hex_keys", multiple=True, metavar="H", help="A key, as hex; repeatable."
)
@click.option("--explain", is_flag=True, help="Show the steps of each choice.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    partitioner: str,
    partitions: int,
    keys: tuple[str, ...],
    hex_keys: tuple[str, ...],
    explain: bool,
    as_json: bool,
) -> None:
    """Show which of N partitions a partitioner chooses for each key."""
    rule = keyed_rule(partitioner)
    if partitions < 1:
        raise click.UsageError(f"a topic has at least one partition, not {partitions}")
    ordered = _in_order(ctx.meta[_ORDER], keys, hex_keys)
    if not ordered:
        raise click.UsageError("give at least one --key or --key-hex")
    choices = [(key, rule(key, partitions)) for key in ordered]
    if as_json:
        steps = [_steps(key) if explain else {} for key, _ in choices]
        write_document(
            {
                "partitioner": partitioner,
                "partitions": partitions,
                "choices": [
                    {**bytes_field("key", key), "partition": chosen, **step}
                    for (key, chosen), step in zip(choices, steps, strict=True)
                ],
            }
        )
        return
    for key, chosen in choices:
        write_line(f"{shown(key)} → partition {chosen}")
        if explain:
            write_lines(_explanation(key, partitions, chosen))


def _in_order(order: list[str], keys: tuple[str, ...], hex_keys: tuple[str, ...]) -> list[bytes]:
    texts, hexes = iter(keys), iter(hex_keys)
    found = []
    for name in order:
        if name == "keys":
            found.append(next(texts).encode("utf-8", "surrogateescape"))
        elif name == "hex_keys":
            found.append(_from_hex(next(hexes)))
    return found


def _from_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise click.UsageError(f"--key-hex {text!r}: give pairs of hexadecimal digits") from None


def _steps(key: bytes) -> dict[str, Any]:
    return {"murmur2": murmur2(key), "to_positive": to_positive(murmur2(key))}


def _explanation(key: bytes, partitions: int, chosen: int) -> list[str]:
    hashed = murmur2(key)
    positive = to_positive(hashed)
    return [
        f"    {len(key)} bytes: {key.hex(' ') or 'none, and still a key'}",
        f"    murmur2      {hashed} (0x{hashed & 0xFFFFFFFF:08x})",
        f"    to_positive  {hashed} & 0x7fffffff = {positive}",
        f"    modulo       {positive} % {partitions} = {chosen}",
    ]
