"""`step sticky`: the same twelve sends under each partitioner, and what a slow leader does to them.

    one row for each partitioner, one column for each record; a star: a batch began with this record

Most records have no key. Where they go depends on the batches: from Kafka 2.4 on a partitioner is
asked again when one must begin. Then come the bug of round robin (KAFKA-9965), and the skew of
changing with the batch (KAFKA-10888), which a replay with the real producer shows. The twelve sends
are a `dry_run`, which is what `kminilog partition` shows. Source: S0 4, 5 and 7; KIP-480, KIP-794.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kminilog.clock import Chance, ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.course.replays.slow_leader import FAST_MS, RECORDS, SLOW_MS, replay_slow_leader
from kminilog.explain.choice import BY_MURMUR2
from kminilog.explain.document import Bar, Document, Picture, PictureLane, Table, Value
from kminilog.explain.script import Script
from kminilog.partitioners.dry_run import Choice, dry_run
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.partitioners.registry import PARTITIONERS, make_partitioner

# ---- twelve sends


KEYS = (None, None, None, "ann", None, None, None, "eve", None, None, None, "ann")
BUG = "round-robin.double-call-bug"
_TOPIC = "orders"


class PartitionerRun(NamedTuple):
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
) -> list[PartitionerRun]:
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
        runs.append(PartitionerRun(label, settings, choices))
    return runs


def grid(runs: Sequence[PartitionerRun], sent: int, *, has_stars: bool = True) -> Table:
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


def counts(runs: Sequence[PartitionerRun], partitions: int) -> Table:
    """Return how many records each partition gets."""
    rows: list[tuple[Value, ...]] = []
    for run in runs:
        rows.append((run.label, *_counted(run, partitions)))
    columns = ("partitioner", *(f"p{number}" for number in range(partitions)))
    return Table("Records of each partition", columns, tuple(rows))


def _counted(run: PartitionerRun, partitions: int) -> list[int]:
    counted = Counter(run.partitions)
    return [counted[number] for number in range(partitions)]


# ---- the pictures


def _batches(runs: Sequence[PartitionerRun], sent: int) -> Picture:
    """Return a lane for each partitioner: the records sent so far, by runs into one batch."""
    lanes = []
    for run in runs:
        bars: list[Bar] = []
        for number, choice in enumerate(run.choices[:sent]):
            label = f"p{choice.partition}"
            if bars and not choice.is_batch_new and bars[-1].label == label:
                bars[-1] = bars[-1]._replace(end=number + 1)
            else:
                bars.append(Bar(number, number + 1, label, "key" if KEYS[number] else ""))
        if bars:
            bars[-1] = bars[-1]._replace(style=f"{bars[-1].style} here".strip())
        lanes.append(PictureLane(run.label, 0, len(KEYS), tuple(bars)))
    title = (
        "Each bar: records in a row in one batch, which may have several bars; orange: the first "
        "one of a bar has a key"
    )
    return Picture(title, tuple(lanes))


def _shares(got: Mapping[str, Sequence[int]]) -> Picture:
    """Return a lane for each partitioner: how many records each partition got."""
    lanes = []
    for place, (label, shares) in enumerate(got.items()):
        bars, at = [], 0
        for number, share in enumerate(shares):
            if share:
                style = "key" if not number else ""
                bars.append(Bar(at, at + share, f"p{number}: {share}", style, row=(0, place)))
            at += share
        lanes.append(PictureLane(label, 0, max(at, 1), tuple(bars)))
    return Picture("How many records each partition got", tuple(lanes))


# ---- the steps


MAX_PARTITIONS = 20
STEPS = (
    *("Before the first record", "A record", "The bug of round robin"),
    *("A slow leader", "Bytes, not batches", "All records"),
)
_STICKY = ("default-2.4", "uniform-sticky", "sticky-cache")
_KEYLESS = "uniform-sticky"
_OTHER_KEY = "eve"  # no record before has had it


def document(
    new_chance: Callable[[], Chance],
    partitions: int = 4,
    batch_bytes: int = 78,
    partitioners: Sequence[str] = tuple(PARTITIONERS),
) -> Document:
    """Return the step-through; each partitioner gets a random generator of its own.

    The last state has the grid. `round-robin` has two rows, with and without its bug. Raises
    ValueError for partitions that are none or too many to show, SettingError for an unknown name,
    and what a user's own class raises.
    """
    if not 1 <= partitions <= MAX_PARTITIONS:
        raise ValueError(f"{partitions} partitions: give 1 to {MAX_PARTITIONS}")
    runs = [
        run
        for name in dict.fromkeys(partitioners)
        for run in send_twelve(name, new_chance, partitions, batch_bytes)
    ]
    sticky = next((run for run in runs if run.name in _STICKY), None)
    hashing = [run for run in runs if run.name in BY_MURMUR2]
    labels = {run.label for run in runs}
    told = Script(
        __file__,
        "sticky",
        STEPS,
        partitions=partitions,
        partitioners=len(runs),
        records=len(KEYS),
    )
    plain = runs[0].choices[0].size_bytes
    told.tell(
        "Before the first record",
        tables=[grid(runs, 0)],
        picture=_batches(runs, 0),
        plain=plain,
        batch_bytes=batch_bytes,
        fitting=max(1, batch_bytes // plain),
    )
    for number, key in enumerate(KEYS):
        here = [(run, run.choices[number]) for run in runs]
        full = [run.label for run, choice in here if choice.is_batch_full]
        asked_twice = [
            (run, choice)
            for run, choice in here
            if len(set(choice.answers)) > 1 and (number < 2 or run.name in _STICKY)
        ]
        asked_twice.sort(key=lambda one: one[0].name not in _STICKY)
        told.tell(
            "A record",
            asks=partitions >= 3,
            values={"record": number + 1, "key": key, "full batches": ", ".join(full) or None},
            tables=[grid(runs, number + 1)],
            picture=_batches(runs, number + 1),
            number=number + 1,
            key=key,
            size_bytes=here[0][1].size_bytes,
            hashing=[run.label for run in hashing],
            hashed=murmur2_partition(key.encode(), partitions) if key else None,
            began=sum(choice.is_batch_new for _, choice in here),
            asked_twice=asked_twice[:1],
            is_second=number == 1 and sticky is not None,
            sticky=sticky,
            ignoring=_KEYLESS if key == _OTHER_KEY and _KEYLESS in labels else None,
            earlier=KEYS.index(key) + 1 if key and hashing and key in KEYS[:number] else None,
            previous=hashing[0].choices[number - 1].partition if hashing else None,
        )
    both = [run for run in runs if run.name == "round-robin"]
    if both:
        told.tell(
            "The bug of round robin",
            tables=[counts(both, partitions)],
            picture=_shares({run.label: _counted(run, partitions) for run in both}),
            used=len(set(both[-1].partitions)),
        )
    _tell_slow(told, runs, partitions, new_chance)
    told.tell(
        "All records",
        values={"partitions": partitions, "batch.size": batch_bytes},
        tables=[grid(runs, len(KEYS), has_stars=False)],
        picture=_batches(runs, len(KEYS)),
    )
    return told.document()


def _tell_slow(
    told: Script, runs: Sequence[PartitionerRun], partitions: int, new_chance: Callable[[], Chance]
) -> None:
    """Tell what each partition gets if one leader is slow."""
    got = {run.label: replay_slow_leader(run.config, partitions, new_chance()) for run in runs}
    columns = ("partitioner", "p0, slow", *(f"p{number}" for number in range(1, partitions)))
    rows: tuple[tuple[Value, ...], ...] = tuple((label, *each) for label, each in got.items())
    fair = _equal_share(partitions)
    names_told: dict[str, Sequence[str]] = {"A slow leader": _STICKY}
    if "built-in" in got:
        names_told["Bytes, not batches"] = ("built-in",)
    for step, names in names_told.items():
        marked = tuple(row for row, run in enumerate(runs) if run.name in names)
        label = runs[marked[0]].label if marked else None
        slow = got[label][0] if label else 0
        told.tell(
            step,
            asks=bool(marked) and partitions > 1,
            values={"equal share": " or ".join(map(str, fair))},
            tables=[Table("Records of each partition", columns, rows, marked)],
            picture=_shares(got),
            sent=RECORDS,
            slow_ms=SLOW_MS,
            fast_ms=FAST_MS,
            fair=fair,
            label=label,
            slow=slow,
            is_far=5 * abs(slow * partitions - RECORDS) > RECORDS,
        )


def _equal_share(partitions: int) -> list[int]:
    """Return how many records each partition gets if no one gets two more than another.

    >>> _equal_share(4), _equal_share(8)
    ([75], [37, 38])
    """
    each, extra = divmod(RECORDS, partitions)
    return [each, each + 1] if extra else [each]
