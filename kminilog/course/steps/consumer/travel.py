"""One source line through the real engine, and what each part made of it.

    line -> producer -> log dir -> reader -> group's consumer -> committed offset

Everything is real: the producer, the files, the search, the group. Around them stand three
witnesses, where the engine lets its callers in anyway: an interceptor, the cluster that takes the
batches, the recorder of searches. So that the line is not alone, others were sent before it, and
one with the same key is in its batch. Source: ours.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from kminilog.clock import Chance, Clock, ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.cluster.requests import Produced
from kminilog.cluster.standalone import StandaloneBroker
from kminilog.consumer.consumer import Consumer
from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.interface import ConsumerRecord
from kminilog.consumer.readers import LogDirSource
from kminilog.course.steps.recorded_search import Trace
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.partitioners.keyed_rules import as_key_object
from kminilog.producer.interceptors import ProducerInterceptor
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.record import ProducerRecord, RecordMetadata
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir import LogDir
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.partition_reader import Found
from kminilog.storage.topics import Topic

TOPIC, GROUP = "orders", "readers"
SETTINGS = TopicSettings(index_interval_bytes=200)
PRODUCER_CONFIG = {
    "batch.size": 1 << 16,  # whatever a step-through can show goes into one batch
    "key.serializer": "text-or-bytes",
    "value.serializer": "text-or-bytes",
}
CONSUMER_CONFIG = {"group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": False}
BEFORE = tuple((f"customer-{number}", f"order {number}") for number in range(1, 25))
COMPANION = "an earlier order"
_BEGIN_MS, _LATER_MS = 1_000, 500
_MOST_POLLS = 100


class Line(NamedTuple):
    """A source line, and its key and value; without a separator in it, there is no key."""

    data: bytes
    separator: bytes
    key: bytes | None
    value: bytes


class Travel(NamedTuple):
    """What became of a line, from its producer to its consumer."""

    line: Line
    intercepted: ProducerRecord  # as the interceptors have left it
    place: RecordMetadata  # as the producer hears it
    request: bytes  # the batch
    log_before_bytes: int
    log: bytes
    entries: bytes  # of the whole index
    found: Found
    trace: Trace
    share: tuple[TopicPartition, ...]
    polled: list[ConsumerRecord]
    position: int  # of the consumer, afterwards
    committed: int


class Stamp(ProducerInterceptor):
    """An interceptor that puts the time, in ms, in front of values; it keeps the last record."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.last: ProducerRecord | None = None

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Return the record with its time."""
        stamp, value = f"{self._clock.now_ms()} ", record.value
        stamped = stamp + value if isinstance(value, str) else stamp.encode() + value
        self.last = record._replace(value=stamped)
        return self.last


class Witness:
    """The cluster that a producer knows: it notes each request, and hands it on."""

    def __init__(self, broker: StandaloneBroker) -> None:
        self._broker = broker
        self.requests: dict[TopicPartition, bytes] = {}

    def metadata(self) -> ClusterMetadata:
        """Return the broker's answer."""
        return self._broker.metadata()

    def produce(self, topic_partition: TopicPartition, data: bytes, *, acks: int) -> Produced:
        """Note a request, and return the broker's answer."""
        self.requests[topic_partition] = data
        return self._broker.produce(topic_partition, data, acks=acks)

    def is_replicated(self, topic_partition: TopicPartition, produced: Produced) -> bool:
        """Return the broker's answer."""
        return self._broker.is_replicated(topic_partition, produced)


def split_line(data: bytes, separator: bytes) -> Line:
    """Return a line with its key, which ends at the first separator.

    Raises ValueError for an empty separator.

    >>> split_line(b"a:b:c", b":")[2:], split_line(b"abc", b":")[2:]
    ((b'a', b'b:c'), (None, b'abc'))
    """
    if not separator:
        raise ValueError("the separator of key and value must not be empty")
    key, found, value = data.partition(separator)
    return Line(data, separator, key, value) if found else Line(data, separator, None, data)


def send_through(line: Line, dialect: Dialect, partitions: int, chance: Chance) -> Travel:
    """Send a line to a topic of a temporary log dir, find it, and read it in a group.

    Raises ValueError for a number of partitions below 1, or above that of a topic.
    """
    clock = ManualClock(_BEGIN_MS)
    with TemporaryDirectory() as directory:
        path = Path(directory)
        with LogDirWriter.open(path) as writer:
            writer.create_topic(Topic(TOPIC, partitions, dialect, SETTINGS))
            sent = _produce(line, writer, clock, chance)
        partition = TopicPartition(sent.place.topic, sent.place.partition)
        trace = Trace()
        found = LogDir(path).reader(partition).find(sent.place.offset, trace)
        with _consumer(path, clock, chance) as consumer:
            polled = _poll_until(consumer, partition, sent.place.offset)
            consumer.commit()
            return Travel(
                line,
                *sent,
                log=found.segment.log_path.read_bytes(),
                entries=found.segment.index.path.read_bytes(),
                found=found,
                trace=trace,
                share=consumer.assignment,
                polled=polled,
                position=consumer.position(partition),
                committed=consumer.committed()[partition],
            )


class _Sent(NamedTuple):
    intercepted: ProducerRecord
    place: RecordMetadata
    request: bytes
    log_before_bytes: int


def _produce(line: Line, writer: LogDirWriter, clock: ManualClock, chance: Chance) -> _Sent:
    """Send the lines before, then the companion and the line in one batch."""
    witness, stamp = Witness(StandaloneBroker(writer, clock)), Stamp(clock)
    with ManualProducer(
        witness, PRODUCER_CONFIG, clock=clock, chance=chance, interceptors=[stamp]
    ) as producer:
        for key, value in BEFORE:
            producer.send(ProducerRecord(TOPIC, key, value))
        producer.flush()
        clock.sleep_ms(_LATER_MS)
        same_key = None if line.key is None else as_key_object(line.key)
        producer.send(ProducerRecord(TOPIC, same_key, COMPANION))
        future = producer.send(ProducerRecord(TOPIC, same_key, as_key_object(line.value)))
        intercepted, before = stamp.last, _log_bytes(writer)
        producer.flush()
        place = future.result()
    partition = TopicPartition(place.topic, place.partition)
    assert intercepted is not None
    return _Sent(intercepted, place, witness.requests[partition], before[partition])


def _log_bytes(writer: LogDirWriter) -> dict[TopicPartition, int]:
    partitions = writer.topic(TOPIC).all_partitions()
    return {partition: writer.log(partition).segments()[-1].size_bytes for partition in partitions}


@contextmanager
def _consumer(path: Path, clock: Clock, chance: Chance) -> Iterator[Consumer]:
    source = LogDirSource(LogDir(path))
    coordinator = Coordinator(path, source.topics, source.topic_id, clock=clock, chance=chance)
    with Consumer(source, CONSUMER_CONFIG, clock=clock, coordinator=coordinator) as consumer:
        consumer.subscribe([TOPIC])
        yield consumer


def _poll_until(consumer: Consumer, partition: TopicPartition, offset: int) -> list[ConsumerRecord]:
    """Return what a consumer reads until it has a certain record."""
    polls: list[Sequence[ConsumerRecord]] = []
    for _ in range(_MOST_POLLS):
        polls.append(consumer.poll())
        if any((one.topic_partition, one.offset) == (partition, offset) for one in polls[-1]):
            break
    return list(chain.from_iterable(polls))
