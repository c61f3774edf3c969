"""Twelve sends, most of them without a key, under several partitioners: runs, and tables of them.

Each run is a `dry_run`, which is what `kminilog partition` shows. Source: ours.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kminilog.clock import Chance, ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.course.steps.document import Table, Value
from kminilog.partitioners.dry_run import Choice, dry_run
from kminilog.partitioners.registry import make_partitioner

KEYS = (None, None, None, "ann", None, None, None, "eve", None, None, None, "ann")
BUG = "round-robin.double-call-bug"
_TOPIC = "orders"


class Run(NamedTuple):
    """A partitioner with its settings, and where it sends each record."""

    label: str
    config: Mapping[str, object]
    choices: tuple[Choice, ...]

    @property
    def name(self) -> str:
        """What `--partitioner` calls it."""
        return str(self.config["partitioner.class"])

    @property
    def partitions(self) -> list[int]:
        """Where the records go."""
        return [choice.partition for choice in self.choices]


def send_twelve(
    name: str, new_chance: Callable[[], Chance], partitions: int, batch_bytes: int
) -> list[Run]:
    """Return the run of a partitioner by its name; of round robin also the one with its bug."""
    config: dict[str, object] = {"partitioner.class": name, "batch.size": batch_bytes}
    variants = [(name, config)]
    if name == "round-robin":
        variants.append((f"{name} (bug)", {**config, BUG: True}))
    cluster = ClusterMetadata.of_one_topic(_TOPIC, range(partitions))
    runs = []
    for label, settings in variants:
        chooser = make_partitioner(name, settings, chance=new_chance(), clock=ManualClock())
        choices = tuple(dry_run(chooser, KEYS, _TOPIC, cluster, batch_bytes))
        chooser.close()
        runs.append(Run(label, settings, choices))
    return runs


def grid(runs: Sequence[Run], sent: int, *, has_stars: bool = True) -> Table:
    """Return who sent what where so far; the partitioners that began a batch last are marked."""
    rows: list[tuple[Value, ...]] = [("the key", *KEYS)]
    for run in runs:
        cells: list[Value] = [
            f"{choice.partition}*" if has_stars and choice.is_batch_new else choice.partition
            for choice in run.choices[:sent]
        ]
        rows.append((run.label, *cells, *[None] * (len(KEYS) - sent)))
    began = [
        row
        for row, run in enumerate(runs, start=1)
        if has_stars and sent and run.choices[sent - 1].is_batch_new
    ]
    star = " (*: a batch began)" if has_stars else ""
    title = f"Partition of each record{star}"
    columns = ("partitioner", *(str(number + 1) for number in range(len(KEYS))))
    return Table(title, columns, tuple(rows), tuple(began))


def counts(runs: Sequence[Run], partitions: int) -> Table:
    """Return how many records each partition gets."""
    rows: list[tuple[Value, ...]] = []
    for run in runs:
        counted = Counter(run.partitions)
        rows.append((run.label, *(counted[number] for number in range(partitions))))
    columns = ("partitioner", *(f"p{number}" for number in range(partitions)))
    return Table("Records of each partition", columns, tuple(rows))
