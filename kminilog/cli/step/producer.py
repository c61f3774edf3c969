"""`step murmur2`, `sticky`, `buffer-pool`, `failover`, `acks`: what they take."""

import click

from kminilog.cli.shared.options import WatchedChance, hex_bytes, refuse_given
from kminilog.cli.step.scene import scene
from kminilog.explain.document import Document
from kminilog.plugins import look_in_current_directory
from kminilog.settings import INT32_MAX

_KEY = "TT0124"


@scene(
    "murmur2", "Hash a key, and choose its partition.", shows="kminilog step murmur2 --key TT0124"
)
@click.option("--key", metavar="TEXT", help=f"Key to hash, as text.  [default: {_KEY}]")
@click.option(
    "--key-hex", "hex_key", type=hex_bytes, metavar="H", help="Key to hash, in hexadecimal digits."
)
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    default=15,
    metavar="N",
    help="Number of partitions.",
)
def murmur2(key: str | None, hex_key: bytes | None, partitions: int) -> Document:
    """Hash a key round by round, and take the rest in six ways."""
    from kminilog.explain.murmur2 import document

    if key is not None and hex_key is not None:
        raise click.UsageError("give one key: --key or --key-hex")
    if hex_key is None:
        hex_key = (_KEY if key is None else key).encode("utf-8", "surrogateescape")
    return document(hex_key, partitions)


@scene("sticky", "Compare how partitioners spread twelve records.", shows="kminilog step sticky")
@click.option(
    "--partitions", type=click.IntRange(min=1), default=4, metavar="N", help="Number of partitions."
)
@click.option(
    "--batch-bytes",
    type=click.IntRange(0, INT32_MAX),
    default=78,
    metavar="N",
    help="Size of a full batch: batch.size.",
)
@click.option(
    "--partitioner",
    "partitioners",
    multiple=True,
    metavar="NAME",
    help="Partitioner to show, or your own class. Repeatable.  [default: all]",
)
def sticky(partitions: int, batch_bytes: int, partitioners: tuple[str, ...], seed: int) -> Document:
    """Watch where records go, and why a batch begins: most of them have no key."""
    from kminilog.course.steps.sticky import document
    from kminilog.partitioners.registry import PARTITIONERS, checked_name, is_path

    names = tuple(map(checked_name, partitioners)) or tuple(PARTITIONERS)
    if partitions == 1:
        refuse_given("seed", "there is one partition")
    if any(map(is_path, names)):
        look_in_current_directory()
    made: list[WatchedChance] = []

    def new_chance() -> WatchedChance:
        made.append(WatchedChance(seed))
        return made[-1]

    shown = document(new_chance, partitions, batch_bytes, names)
    if not any(chance.has_acted for chance in made):
        refuse_given("seed", "no partition is chosen at random")
    return shown


@scene(
    "buffer-pool",
    "Lend the memory of a producer, and take it back.",
    shows="kminilog step buffer-pool --total 1024 --batch 128",
)
@click.option(
    "--total",
    type=click.IntRange(min=1),
    default=256,
    metavar="N",
    help="Size of the pool in bytes: buffer.memory.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=64,
    metavar="N",
    help="Size in bytes of a buffer that the pool keeps for reuse: batch.size.",
)
def buffer_pool(total: int, batch: int) -> Document:
    """Lend memory and take it back: reuse, a fair queue, a time-out, a batch in flight."""
    from kminilog.course.steps.buffer_pool import document

    return document(total, batch)


@scene("failover", "Stop a broker, and start it again.", shows="kminilog step failover --switch on")
@click.option(
    "--switch",
    type=click.Choice(["on", "off"]),
    default="off",
    help="Value of the setting send.switch.broker.enable.",
)
@click.option(
    "--on-failure",
    type=click.Choice(["go-on", "stop"]),
    default="go-on",
    help="What the producer does after it has lost a message.",
)
@click.option(
    "--replicas",
    type=click.IntRange(1, 4),
    default=1,
    metavar="N",
    help="Copies of each partition: a main one (M), and secondary ones (S).",
)
def failover(switch: str, on_failure: str, replicas: int, seed: int) -> Document:
    """Stop one of four brokers and start it again: what arrives where, and what is lost."""
    from kminilog.cli.cluster.demo import replayed_failovers
    from kminilog.explain.failover import document

    if replicas > 1:
        refuse_given("switch", "a copy leads, so each partition keeps a leader")
    ((_, seconds),) = replayed_failovers([switch], on_failure, seed, replicas=replicas).items()
    return document(seconds, is_switch_on=switch == "on", replicas=replicas)


@scene(
    "acks",
    "Let the leader die with a message, for acks 0, 1 and -1.",
    shows="kminilog step acks --dies after-copy",
)
@click.option(
    "--dies",
    type=click.Choice(["before-copy", "after-copy"]),
    default="before-copy",
    help="When the leader dies: before its follower has copied the message, or after.",
)
def acks(dies: str) -> Document:
    """Send the same messages with acks 0, 1 and -1, and let the leader die with one of them."""
    from kminilog.course.steps.acks import document

    return document(is_copied=dies == "after-copy")
