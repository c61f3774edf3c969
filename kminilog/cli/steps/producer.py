"""`step murmur2`, `sticky`, `buffer-pool`, `failover`: what they take."""

import click

from kminilog.cli.steps.scene import scene
from kminilog.steps.document import Document


@scene("murmur2", "From a key to its partition", shows="kminilog step murmur2 --key TT0124")
@click.option(
    "--key", metavar="TEXT", default="TT0124", show_default=True, help="Key to hash, as text."
)
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    default=15,
    show_default=True,
    metavar="N",
    help="Number of partitions.",
)
def murmur2(key: str, partitions: int, seed: int) -> Document:
    """Hash a key round by round, and take the rest in six ways."""
    from kminilog.steps.producer.murmur2 import document

    return document(key.encode("utf-8", "surrogateescape"), partitions)
