"""`step acks`: one story with acks 0, 1 and -1, in which the leader dies with a message.

              producer        broker 0    broker 1
    m1 ------ acks = 0        m0 m1       m0          nobody answers
              acks = 1        m0 m1       m0          acknowledged, and lost
              acks = -1       m0 m1       m0          not acknowledged yet: the producer tries again

Three clusters run side by side, each with one producer, and with one partition that has two copies.
What a copy has is read from its files; what a producer was told is in its futures. Source: S1 3;
Kafka: ProducerConfig.ACKS_CONFIG.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from kminilog.course.steps.watched_cluster import WatchedCluster
from kminilog.explain.document import Bar, Document, Picture, PictureLane, Table, Value
from kminilog.explain.script import Script
from kminilog.settings import TopicSettings

ACKS = (0, 1, -1)
BROKERS = (0, 1)
TOO_LARGE = "m3"  # as long as a segment, so no segment can hold it
STEPS = (
    *("Before", "Both copies have it", "The leader dies", "The new leader", "The next message"),
    *("The old leader returns", "A message that is too large", "In all"),
)
_HEADS = tuple(f"acks = {acks}" for acks in ACKS)
_OLD_LEADER, _NEW_LEADER = BROKERS
_SETTINGS = TopicSettings(segment_bytes=200)
_OFFSETS = 4  # as many as a picture has room for


class _Column(WatchedCluster):
    """A cluster of two brokers, and a producer with one value of `acks`."""

    def __init__(self, acks: int, path: Path, opened: ExitStack) -> None:
        super().__init__(path, opened, brokers=len(BROKERS), acks=[acks], settings=_SETTINGS)
        self.acks = acks
        self.producer = self.producers[acks]

    def send_next(self, name: str) -> None:
        """Send a message to the leader, and wait for no answer."""
        value = name.ljust(_SETTINGS.segment_bytes, ".") if name == TOO_LARGE else name
        self.send(name, self.acks, value)

    def counts(self) -> dict[str, int]:
        """Return what became of the messages, as the leader's files have them in the end."""
        kept = self.copy(_NEW_LEADER)
        told = {name: self.told(name) for name in self.answers}
        lost = {name: told[name] for name in told if name not in kept}
        return {
            "stored": len(set(kept)),
            "stored twice": len(kept) - len(set(kept)),
            "lost": len(lost),
            "lost, told that it is stored": sum(how.startswith("stored") for how in lost.values()),
            "lost, told nothing": sum(how == "nothing" for how in lost.values()),
            "lost, told an error": sum(how == "an error" for how in lost.values()),
        }


def document(is_copied: bool = False) -> Document:
    """Return the step-through; with `is_copied`, the follower has got what the dead leader had.

    Its last table counts what became of the messages with each value of `acks`.
    """
    told = Script(__file__, "acks", STEPS, is_copied=is_copied)
    with ExitStack() as opened:
        path = Path(opened.enter_context(TemporaryDirectory()))
        columns = [_Column(acks, path / str(acks), opened) for acks in ACKS]

        def tell(step: str, *tables: Table, down: int | None = None, **facts: object) -> None:
            told.facts |= facts
            shown = (_told(columns), *tables)
            told.tell(step, tables=shown, picture=_picture(columns, down))

        tell("Before")
        for column in columns:
            column.send_next("m0")
            column.copy_all()
            column.producer.flush()
        tell("Both copies have it")
        for column in columns:
            column.send_next("m1")
            if is_copied:
                column.cluster.replicate()
            column.cluster.crash(_OLD_LEADER)
        tell("The leader dies", down=_OLD_LEADER)
        for column in columns:
            column.producer.flush()
        kept = [column.copy(_NEW_LEADER).count("m1") for column in columns]
        tell("The new leader", down=_OLD_LEADER, kept=kept)
        for column in columns:
            column.send_next("m2")
            column.producer.flush()
        ends = [len(column.copy(_NEW_LEADER)) - 1 for column in columns]
        tell("The next message", down=_OLD_LEADER, ends=ends)
        old = [column.copy(_OLD_LEADER) for column in columns]
        for column in columns:
            column.cluster.start(_OLD_LEADER)
            column.copy_all()
        new = [column.copy(_OLD_LEADER) for column in columns]
        cut = [
            str(column.acks)
            for column, before, after in zip(columns, old, new, strict=True)
            if after[: len(before)] != before
        ]
        tell("The old leader returns", cut=cut)
        for column in columns:
            column.send_next(TOO_LARGE)
            column.producer.flush()
        tell("A message that is too large")
        counts = [column.counts() for column in columns]
        tell("In all", _sums(counts), counts=counts)
    return told.document()


def _told(columns: Sequence[_Column]) -> Table:
    """Return what each producer was told of each message."""
    names = list(columns[0].answers)
    rows = [(name, *(column.told(name) for column in columns)) for name in names]
    marked = (len(rows) - 1,) if rows else ()
    return Table("What the producer is told", ("message", *_HEADS), tuple(rows), marked)


def _sums(counts: Sequence[dict[str, int]]) -> Table:
    rows: list[tuple[Value, ...]] = [(what, *(one[what] for one in counts)) for what in counts[0]]
    return Table("What became of the messages", ("messages", *_HEADS), tuple(rows))


def _picture(columns: Sequence[_Column], down: int | None) -> Picture:
    """Return a lane for each copy of each cluster: the messages in its files, by offset."""
    lanes = []
    for head, column in zip(_HEADS, columns, strict=True):
        for node in BROKERS:
            style = "lost" if node == down else ""
            bars = [
                Bar(offset, offset + 1, name[:2], style, f"{head} {node} {offset}")
                for offset, name in enumerate(column.copy(node))
            ]
            state = ", down" if node == down else ""
            lanes.append(PictureLane(f"{head}, broker {node}{state}", 0, _OFFSETS, tuple(bars)))
    return Picture("Messages in the files of both brokers, by offset", tuple(lanes))
