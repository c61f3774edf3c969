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
from kminilog.explain.choice import BY_MURMUR2, asked_again
from kminilog.explain.document import Ask, Bar, Document, Picture, PictureLane, Table, Value
from kminilog.explain.recording import Recording, ask, question_with_enough_choices
from kminilog.partitioners.dry_run import Choice, dry_run
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.partitioners.registry import PARTITIONERS, make_partitioner
from kminilog.text import count

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
_STICKY = ("default-2.4", "uniform-sticky", "sticky-cache")


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
    recording = Recording("sticky", "How each partitioner spreads the same twelve records")
    recording.step(
        _beginning(runs, partitions, batch_bytes), tables=[grid(runs, 0)], picture=_batches(runs, 0)
    )
    for number in range(len(KEYS)):
        _say_record(recording, runs, number, partitions)
    _say_bug(recording, runs, partitions)
    _say_slow(recording, runs, partitions, new_chance)
    recording.step(
        "All records, and the partition that each of them went to. The same seed gives the same "
        "grid. The command kminilog partition gives the same answers.",
        values={"partitions": partitions, "batch.size": batch_bytes},
        tables=[grid(runs, len(KEYS), has_stars=False)],
        picture=_batches(runs, len(KEYS)),
    )
    return recording.document()


def _beginning(runs: Sequence[PartitionerRun], partitions: int, batch_bytes: int) -> str:
    plain = runs[0].choices[0].size_bytes
    fitting = max(1, batch_bytes // plain)
    return (
        f"Twelve records are sent to a topic of {count(partitions, 'partition')}. Three of them "
        f"have a key. A record without a key takes {plain} bytes, and batch.size is {batch_bytes}. "
        f"So a batch has room for {fitting} of them. No batch leaves the producer in this "
        "step-through."
    )


def _say_record(
    recording: Recording, runs: Sequence[PartitionerRun], number: int, partitions: int
) -> None:
    key = KEYS[number]
    here = [(run, run.choices[number]) for run in runs]
    began = sum(choice.is_batch_new for _, choice in here)
    first = f"the key {key}" if key else "no key"
    said = [f"Record {number + 1} has {first}: {here[0][1].size_bytes} bytes."]
    if key:
        said.append(_of_key(runs, key, partitions))
    said.append(f"For {began} of {count(len(runs), 'partitioner')} this record opens a batch.")
    moved = [run for run, one in here if len(set(one.answers)) > 1]
    moved.sort(key=lambda run: run.name not in _STICKY)
    if moved and (moved[0].name in _STICKY or number < 2):
        said.append(asked_again(moved[0].label, moved[0].choices[number]))
    full = [run.label for run, one in here if one.is_batch_full]
    values: dict[str, Value] = {"record": number + 1, "key": key}
    values["full batches"] = ", ".join(full) or None
    recording.step(
        " ".join(said),
        ask=_question(runs, number, partitions),
        values=values,
        tables=[grid(runs, number + 1)],
        picture=_batches(runs, number + 1),
    )


def _of_key(runs: Sequence[PartitionerRun], key: str, partitions: int) -> str:
    by_hash = [run.label for run in runs if run.name in BY_MURMUR2]
    if not by_hash:
        return "Each partitioner here has a rule of its own for keys."
    partition = murmur2_partition(key.encode(), partitions)
    verb = "sends" if len(by_hash) == 1 else "send"
    return f"By murmur2 of the key, {', '.join(by_hash)} {verb} it to partition {partition}."


def _question(runs: Sequence[PartitionerRun], number: int, partitions: int) -> Ask | None:
    """Return what is asked at a record: at the second one, and where a key comes again."""
    if partitions < 3:
        return None
    sticky = next((run for run in runs if run.name in _STICKY), None)
    if number == 1 and sticky:
        return _ask_second(sticky)
    hashing = next((run for run in runs if run.name in BY_MURMUR2), None)
    if KEYS[number] in KEYS[:number] and KEYS[number] and hashing:
        return _ask_key(hashing, number, partitions)
    return None


def _ask_second(run: PartitionerRun) -> Ask:
    one, two = run.choices[:2]
    answers = {
        "the same partition again": "That would be right if the batch had room for it.",
        "the next partition in turn": "That is round robin. A sticky partitioner does not take "
        "turns.",
        "another partition, at random": "That happens only when a new batch must begin. This "
        "batch has room.",
    }
    if one.partition == two.partition:
        right = "the same partition again"
        why = "The batch there has room. A sticky partitioner stays with a partition until its "
        why += "batch is full."
    else:
        right = "another partition, at random"
        why = "The batch has no room, so another batch must begin."
    return ask(
        f"{run.label} sent record 1 to partition {one.partition}. Record 2 has no key either. "
        "Where does it go?",
        right,
        why,
        answers,
    )


def _ask_key(run: PartitionerRun, number: int, partitions: int) -> Ask:
    before = KEYS.index(KEYS[number])
    right = run.choices[number].partition
    previous = run.choices[number - 1].partition
    wrong = {
        str(other): "The same key goes to the same partition as before. If not, its messages "
        "would lose their order."
        for other in range(min(partitions, 5))
    }
    wrong[str((right + 1) % partitions)] = (
        "That is the next partition in turn. But records with a key take no turns."
    )
    wrong[str(previous)] = (
        f"Record {number} without a key went there. But for a record with a key, only the hash of "
        "the key counts."
    )
    return ask(
        f"Record {number + 1} has the key {KEYS[number]} again, like record {before + 1}. Where "
        f"does {run.label} send it?",
        str(right),
        "The hash of the key and the number of partitions decide. Both are the same as for record "
        f"{before + 1}.",
        wrong,
    )


def _say_bug(recording: Recording, runs: Sequence[PartitionerRun], partitions: int) -> None:
    """Show how many partitions round robin uses, if it is among the partitioners."""
    both = [run for run in runs if run.name == "round-robin"]
    if not both:
        return
    used = len(set(both[-1].partitions))
    lost = "When a batch begins, the producer asks twice, and the first answer is lost."
    reached = f"Turns are lost, but {count(used, 'partition', 'are')} reached."
    question = ask(
        f"With its bug, round robin counts a turn each time it is asked. How many of the "
        f"{count(partitions, 'partition')} get any of the {len(KEYS)} records?",
        str(used),
        lost if used < min(partitions, len(KEYS)) else reached,
        {
            str(partitions): "That is right without the bug, if there are enough records.",
            str(partitions // 2): "That is right if each record begins a batch and the number of "
            "partitions is even.",
            "1": "The turn moves on, by one or by two.",
            "0": "Each record goes to some partition.",
        },
    )
    recording.step(
        f"Round robin with its bug (KAFKA-9965) uses {used} of {count(partitions, 'partition')}. "
        "When a batch begins, the producer asks again, because sticky partitioners need that. In "
        "Kafka 2.4 to 3.9, round robin counted that as a turn. Without the bug, it repeats "
        "its answer.",
        ask=question_with_enough_choices(question),
        tables=[counts(both, partitions)],
        picture=_shares({run.label: _counted(run, partitions) for run in both}),
    )


def _say_slow(
    recording: Recording,
    runs: Sequence[PartitionerRun],
    partitions: int,
    new_chance: Callable[[], Chance],
) -> None:
    """Show what each partition gets if one leader is slow."""
    got = {run.label: replay_slow_leader(run.config, partitions, new_chance()) for run in runs}
    columns = ("partitioner", "p0, slow", *(f"p{number}" for number in range(1, partitions)))
    rows: tuple[tuple[Value, ...], ...] = tuple((label, *each) for label, each in got.items())
    fair = _equal_share(partitions)
    slow_ms = f"The leader of partition 0 takes {SLOW_MS} ms for a batch"
    others_ms = f", the others {FAST_MS} ms" if partitions > 1 else ""

    def say(said: str, names: Sequence[str], question: Ask | None) -> None:
        marked = tuple(row for row, run in enumerate(runs) if run.name in names)
        table = Table("Records of each partition", columns, rows, marked)
        recording.step(
            said, ask=question, values={"equal share": fair}, tables=[table], picture=_shares(got)
        )

    say(
        f"The problem of KAFKA-10888: the real producer sends {RECORDS} records without a key, one "
        f"each millisecond. {slow_ms}{others_ms}. A batch that waits for its leader stays open as "
        "long as it has room, and a sticky partitioner stays with it until another batch begins. "
        f"An equal share is {fair}.",
        _STICKY,
        _ask_slow(runs, got, partitions),
    )
    if "built-in" in got:
        say(
            "Since Kafka 3.3 the partitioner counts the bytes that a partition got, not its "
            "batches. It also chooses partitions with a short queue more often. Here partition "
            f"0 gets {got['built-in'][0]} of {RECORDS} records.",
            ("built-in",),
            None,
        )


def _ask_slow(
    runs: Sequence[PartitionerRun], got: Mapping[str, Sequence[int]], partitions: int
) -> Ask | None:
    sticky = next((run for run in runs if run.name in _STICKY), None)
    if sticky is None or len(got[sticky.label]) < 2:
        return None
    slow = got[sticky.label][0]
    more, fewer, equal = "more than that", "fewer than that", "about as many as that"
    right = equal
    if 5 * abs(slow * partitions - RECORDS) > RECORDS:
        right = more if slow * partitions > RECORDS else fewer
    fact = f"It gets {slow} of {RECORDS}. An equal share is {_equal_share(partitions)}."
    return ask(
        f"The leader of partition 0 becomes slow. {sticky.label} changes its partition with each "
        f"batch. An equal share is {_equal_share(partitions)} records. How many does partition 0 "
        "get? About as many means: up to a fifth more or less.",
        right,
        fact,
        {
            more: "That happens if a batch that waits for the slow leader has room for many "
            f"records. {fact}",
            fewer: "That would be good. But this partitioner does not look at how slow a leader "
            f"is. {fact}",
            equal: f"That is right if each visit brings the same number of records. {fact}",
        },
    )


def _equal_share(partitions: int) -> str:
    """Return how many records each partition gets if no one gets two more than another.

    >>> _equal_share(4), _equal_share(8)
    ('75', '37 or 38')
    """
    each, extra = divmod(RECORDS, partitions)
    return f"{each} or {each + 1}" if extra else str(each)
