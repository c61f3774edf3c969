"""`step streams`: streams of a group come and go; who reads what, and what is read again.

    program A      A-0               one stream has all partitions
    program B      A-0 B-0           they share them
    program C      A-0 B-0 C-0 ...   more streams than partitions: the last one waits
    A-0 is closed, then program B dies

The streams, their group and the log are real. The time is simulated, and no stream has a thread:
each round lets every stream step. Source: S3 (KafkaStream); Kafka: at-least-once delivery.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from kminilog.clock import ManualClock
from kminilog.consumer.consumer import Consumer
from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.interface import ConsumerRecord
from kminilog.consumer.manual_stream import ManualStream
from kminilog.consumer.readers import LogDirSource
from kminilog.course.steps.temporary_partition import PARTITION
from kminilog.explain.document import Bar, Document, Picture, PictureLane, Table, Value
from kminilog.explain.script import Script
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.system import SYSTEM_CHANCE

STEPS = (
    *("One stream", "It reads", "More streams", "They read", "Too many streams"),
    *("A stream is closed", "A program dies", "In all"),
)
GROUP = "readers"
EACH = 10  # messages of a partition
QUEUE = 4
_ROUND_MS = 1_000
_SILENT_ROUNDS = 12  # longer than session.timeout.ms
_COMMIT_ROUNDS = 60
_CONFIG = {
    "group.id": GROUP,
    "auto.offset.reset": "earliest",
    "queued.max.messages": QUEUE,
    "auto.commit.interval.ms": 60_000,  # longer than the story, up to its last step
}


class _Group:
    """The streams that run, and what each has handed out."""

    def __init__(self, path: Path, partitions: int) -> None:
        self._path = path
        self._clock = ManualClock()
        self._consumers: dict[str, Consumer] = {}
        self.streams: dict[str, ManualStream] = {}
        self.handed_out: list[tuple[str, ConsumerRecord]] = []
        with LogDirWriter.open(path) as writer:
            topic = writer.create_topic(Topic(PARTITION.topic, partitions))
            self.partitions = list(topic.all_partitions())
            for partition in self.partitions:
                writer.log(partition).append([(None, b"%d" % number) for number in range(EACH)])
        self.coordinator = self._coordinator()

    def open(self, program: str, count: int) -> None:
        """Open some streams of a program, and wait until each knows its share."""
        for number in range(count):
            name = f"{program}-{number}"
            make = partial(self._make_consumer, name)
            self.streams[name] = ManualStream(name, make, _CONFIG, self._clock)
        self.run()

    def run(self, rounds: int = 1) -> None:
        """Let time pass, and go on until each stream knows its share and has filled its queue."""
        for _ in range(rounds):
            self._round()
        while not self._is_settled():
            self._round()
        self._round()

    def read(self, name: str, count: int) -> None:
        """Take some messages from a stream, if there are so many; the last one stays at hand."""
        stream = self.streams[name]
        for _ in range(count):
            record = stream.take()
            stream.step()
            if record := record or stream.take():  # dropped ones took the room of the queue
                self.handed_out.append((name, record))

    def committed(self, partition: TopicPartition) -> int:
        """Return the committed offset of a partition."""
        return self.coordinator.committed(GROUP).get(partition, 0)

    def owner(self, partition: TopicPartition) -> str | None:
        """Return the stream that has a partition."""
        owners = [n for n, stream in self.streams.items() if partition in stream.assignment]
        return owners[0] if owners else None

    def idle(self) -> list[str]:
        """Return the streams that have no partition."""
        return [name for name, stream in self.streams.items() if not stream.assignment]

    def times(self) -> Counter[ConsumerRecord]:
        """Return how often each message was handed out."""
        return Counter(record for _, record in self.handed_out)

    def _is_settled(self) -> bool:
        members = self.coordinator.describe(GROUP).members
        return len(members) == len(self.streams) and all(
            stream.is_settled for stream in self.streams.values()
        )

    def _round(self) -> None:
        self._clock.sleep_ms(_ROUND_MS)
        for stream in self.streams.values():
            stream.step()

    def _coordinator(self) -> Coordinator:
        source = LogDirSource(LogDir(self._path))
        return Coordinator(
            self._path, source.topics, source.topic_id, clock=self._clock, chance=SYSTEM_CHANCE
        )

    def _make_consumer(self, name: str, **on_change: object) -> Consumer:
        consumer = Consumer(
            LogDirSource(LogDir(self._path)),
            _CONFIG | {"client.id": name, "enable.auto.commit": False},
            clock=self._clock,
            coordinator=self.coordinator,
            **on_change,  # type: ignore[arg-type]
        )
        consumer.subscribe([PARTITION.topic])
        return consumer


def document(streams: int = 2, partitions: int = 4) -> Document:
    """Return the step-through: first one stream, then `streams`, then more than partitions.

    Its last table counts how often the messages were handed out.
    """
    more = max(1, partitions + 1 - streams)
    told = Script(
        __file__, "streams", STEPS, streams=streams, partitions=partitions, queue=QUEUE, more=more
    )
    with ExitStack() as opened:
        group = _Group(Path(opened.enter_context(TemporaryDirectory())), partitions)

        def tell(step: str, since: int, *tables: Table, **facts: object) -> None:
            news = group.handed_out[since:]
            told.facts |= {"idle": group.idle(), **facts}
            told.tell(step, tables=(_streams(group, news), *tables), picture=_picture(group))

        group.open("A", 1)
        tell("One stream", 0)
        group.read("A-0", 4)
        tell("It reads", 0, order=[_name(record) for _, record in group.handed_out])
        group.open("B", streams - 1)
        since = len(group.handed_out)
        tell("More streams", since)
        for name in group.streams:
            group.read(name, 2)
        tell("They read", since, again=_again(group, since))
        group.open("C", more)
        since = len(group.handed_out)
        tell("Too many streams", since)
        group.read("A-0", 2)
        ends = group.handed_out[since:]
        group.streams.pop("A-0").close()
        group.run()
        tell("A stream is closed", len(group.handed_out), closed=[_name(r) for _, r in ends])
        since = len(group.handed_out)
        dead = [name for name in group.streams if name.startswith("B")]
        for name in dead:
            group.read(name, 2)
        unsaved = len(group.handed_out) - since
        for name in dead:
            del group.streams[name]
        group.run(_SILENT_ROUNDS)
        since = len(group.handed_out)
        tell("A program dies", since, unsaved=unsaved, dead=dead)
        for name in group.streams:
            group.read(name, partitions * EACH)
        group.run(_COMMIT_ROUNDS)
        times = group.times()
        twice = sum(number > 1 for number in times.values())
        tell("In all", since, _sums(times), twice=twice, all_messages=partitions * EACH)
    return told.document()


def _name(record: ConsumerRecord) -> str:
    return f"{record.partition}:{record.offset}"


def _again(group: _Group, since: int) -> list[str]:
    """Return what was handed out from there on and also before."""
    before = {record for _, record in group.handed_out[:since]}
    return [_name(record) for _, record in group.handed_out[since:] if record in before]


def _streams(group: _Group, news: Sequence[tuple[str, ConsumerRecord]]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for name, stream in group.streams.items():
        mine = [_name(record) for who, record in news if who == name]
        cut = [*mine[: 2 * QUEUE], *(["…"] if len(mine) > 2 * QUEUE else [])]
        rows.append(
            (
                name,
                " ".join(str(partition.partition) for partition in stream.assignment) or "none",
                " ".join(cut),
                " ".join(map(_name, stream.queued)),
            )
        )
    idle = tuple(n for n, stream in enumerate(group.streams.values()) if not stream.assignment)
    columns = ("stream", "partitions", "handed out, in order", "in its queue")
    return Table("Streams; 1:0 is offset 0 of partition 1", columns, tuple(rows), idle)


def _sums(times: Counter[ConsumerRecord]) -> Table:
    rows = tuple((number, sum(n == number for n in times.values())) for number in (1, 2, 3))
    return Table("How often messages were handed out", ("times", "messages"), rows)


def _picture(group: _Group) -> Picture:
    """Return a lane for each partition: who was handed out each message last, and the commit."""
    last = {record: name for name, record in group.handed_out}
    times = group.times()
    lanes = []
    for partition in group.partitions:
        committed = group.committed(partition)
        bars = [
            Bar(
                record.offset,
                record.offset + 1,
                name,
                _style(is_again=times[record] > 1, is_committed=record.offset < committed),
                _name(record),
            )
            for record, name in sorted(last.items(), key=lambda one: one[0].offset)
            if record.topic_partition == partition
        ]
        note = f"{group.owner(partition) or 'nobody'} reads; committed: {committed}"
        lanes.append(PictureLane(str(partition), 0, EACH, tuple(bars), note))
    title = "Messages handed out, by offset; red: more than once; dashed: once, and not committed"
    return Picture(title, tuple(lanes))


def _style(*, is_again: bool, is_committed: bool) -> str:
    if is_again:
        return "lost"
    return "value" if is_committed else "free"
