"""`step journey`: one source line, from a file of lines to a committed offset.

    line -> key, value -> interceptor -> serialiser -> partition -> batch -> .log -> .index
         -> find by its offset -> a group's consumer -> committed offset

`send_through` sends the line through the real engine and keeps what each part made of it; the rest
tells it. Producer, files, search and group are real. Around them stand three witnesses, where the
engine lets its callers in anyway: an interceptor, the cluster that takes the batches, the recorder
of searches. So that the line is not alone, others were sent before it, and one with the same key is
in its batch. Source: S0 7, S1, S2; docs/tour.md has the functions at each stop.
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
from kminilog.course.steps.temporary_partition import add_index, add_log, message_ends
from kminilog.explain.document import (
    Ask,
    Bar,
    ByteRange,
    Document,
    Field,
    PictureLane,
    Table,
    Value,
)
from kminilog.explain.recorded_search import Trace
from kminilog.explain.recording import Recording, ask, question_with_enough_choices
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.hashing import murmur2, to_positive
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, IndexEntry, decode_entries, is_due
from kminilog.format.names import TopicPartition
from kminilog.partitioners.keyed_rules import as_key_object
from kminilog.producer.interceptors import ProducerInterceptor
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.record import ProducerRecord, RecordMetadata
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.segment.lookup import ENTRIES, NAMES
from kminilog.storage.segment.search import Found
from kminilog.storage.topics import Topic
from kminilog.text import count, shown

# ---- one line through the engine


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


# ---- the questions


def who_chooses(*, has_key: bool) -> Ask:
    """Ask who chooses the partition, and by what."""
    by_key = "the producer, by a hash of the key"
    sticky = "the producer: the partition whose batch is open"
    wrong = {
        "the broker, by how full its partitions are": "Brokers do not choose. A producer knows "
        "the partitions and their leaders, and sends each record to the right leader.",
        "the producer, each partition in turn": "That is round robin. The messages of one key "
        "would be in several partitions, and batches would be small.",
        by_key: "There is no key to hash.",
        sticky: "That is the rule for messages without a key. Messages with the same key must "
        "stay together.",
    }
    right, why = by_key, "So all messages with this key are in one partition, and in their order."
    if not has_key:
        right, why = sticky, "So batches get full. The next batch goes to another partition."
    return ask("Who chooses the partition, and how?", right, why, wrong)


def what_the_batch_says(slot: int, offset: int) -> Ask | None:
    """Ask which offset a message has in its batch."""
    return question_with_enough_choices(
        ask(
            "Which offset does the message have as long as it is in the batch?",
            str(slot),
            "This offset counts inside the batch only. The leader of the partition gives the "
            "message its real offset.",
            {
                "0": "That is the offset of the first message in the batch. But another record "
                "came before this one.",
                str(offset): "Only the leader knows which offset comes next. Other producers may "
                "write to this partition, too.",
                str(slot + 1): "Offsets begin with 0.",
            },
        )
    )


def where_reading_begins(entry: IndexEntry | None, position: int) -> Ask | None:
    """Ask at which byte the walk to a message begins that stands at `position`."""
    begin = entry.position if entry else 0
    why = "That is the position in the greatest entry that is not above the offset."
    wrong = {
        "0": "That reads the whole .log up to the message. The index is there to avoid that.",
        str(position): "That is right if each message has an entry. But the index is sparse.",
    }
    if entry:
        wrong[str(entry.relative_offset)] = (
            "That is the first number of the entry, a relative offset. The second number is the "
            "position."
        )
    else:
        why = "No entry is low enough, so the walk begins with the first message."
        wrong["nowhere: the message is not found"] = (
            "A message without an entry is found, too, because the walk reaches it."
        )
    return question_with_enough_choices(
        ask("At which byte does the search begin to read?", str(begin), why, wrong)
    )


def what_is_committed(offset: int, committed: int, polled: int, position: int) -> Ask | None:
    """Ask which offset a consumer commits when it has read a message."""
    return question_with_enough_choices(
        ask(
            f"The consumer has read offset {offset}, the last one of this partition, and commits. "
            "Which offset does the group store for the partition?",
            str(committed),
            "A committed offset is the offset of the next message to read.",
            {
                str(offset): "That is the offset of the last message that was read. The next "
                "reader would read it again.",
                str(polled): "That counts the messages of all partitions. But each partition has "
                "an offset of its own.",
                str(position): "That is a position in a file. A group does not know about files.",
            },
        )
    )


# ---- the way down


_LINE, _BATCH = "line", "batch"
SHOWN_BYTES = 60


_STATIONS = ("line", "record", "partition", "batch", "log", "index", "search", "group")


def _at(recording: Recording, station: str) -> None:
    """Show the way from the line to the group above the next steps, and where they are on it."""
    here = _STATIONS.index(station)
    bars = [
        Bar(place, place + 1, name, "here" if place == here else "seen" if place < here else "free")
        for place, name in enumerate(_STATIONS)
    ]
    recording.way = PictureLane("the way of the line", 0, len(_STATIONS), tuple(bars))


def add_line(recording: Recording, line: Line) -> None:
    """Add the line as a file."""
    recording.file(_LINE, line.data, _line_fields(line))


def _line_fields(line: Line) -> list[Field]:
    parts = {"value": line.value}
    if line.key is not None:
        parts = {"key": line.key, "separator": line.separator, "value": line.value}
    fields, start = [], 0
    for name, data in parts.items():
        if data:
            end = start + len(data)
            fields.append(Field(_LINE, start, end, name, name, shown(data, SHOWN_BYTES)))
            start = end
    return fields


# ---- the client


def tell_client(recording: Recording, travel: Travel) -> None:
    """Tell what the source, the interceptors and the serialisers do."""
    line, sent = travel.line, travel.intercepted
    _at(recording, "line")
    whole = [ByteRange(_LINE, 0, len(line.data))] if line.data else []
    recording.step(
        f"A source has a line of {count(len(line.data), 'byte')}, which is to become a message of "
        f"the topic {TOPIC}.",
        focus=whole,
        values={"line": shown(line.data, SHOWN_BYTES)},
    )
    separator = shown(line.separator)
    said = f"The line has no {separator}. So the message has no key, and the line is its value."
    if line.key is not None:
        said = f"The text before the first {separator} is the key. The text after it is the value."
    recording.step(
        said,
        focus=whole,
        values={"key": shown(line.key, SHOWN_BYTES), "value": shown(line.value, SHOWN_BYTES)},
    )
    _at(recording, "record")
    recording.step(
        "Interceptors see the record first, and may change it. This interceptor puts the time, in "
        "ms, before the value.",
        values={"key": _of_object(sent.key), "value": _of_object(sent.value)},
    )
    rows: list[tuple[Value, ...]] = []
    for name, given in (("key", sent.key), ("value", sent.value)):
        size = f"{len(given)} characters" if isinstance(given, str) else "bytes"
        data = _bytes_of(given)
        rows.append((name, "none" if data is None else size, "" if data is None else len(data)))
    recording.step(
        "Serialisers turn key and value into bytes. A text becomes UTF-8. From here on, no part "
        "of the engine knows what the bytes mean, and all sizes are in bytes.",
        values={"key": _of_object(sent.key), "value": _of_object(sent.value)},
        tables=[Table("Key and value as bytes", ("part", "before", "bytes"), tuple(rows))],
    )


def tell_partition(recording: Recording, travel: Travel, partitions: int) -> None:
    """Tell how the partition is chosen."""
    partition, key = travel.place.partition, _bytes_of(travel.intercepted.key)
    values: dict[str, Value] = {"partitions": partitions}
    said = (
        "Without a key, any partition is right. The partitioner stays with one partition until "
        f"its batch is full. Here that is {TOPIC}-{partition}."
    )
    if key is not None:
        positive = to_positive(murmur2(key))
        values |= {"murmur2": murmur2(key), "without the sign bit": positive}
        said = (
            f"The partitioner hashes the key by murmur2, and sets the sign bit to 0. {positive} % "
            f"{partitions} = {partition}, which is the partition. Each message with this key goes "
            f"to {TOPIC}-{partition}, "
            "as long as the number of partitions stays the same."
        )
    _at(recording, "partition")
    recording.step(
        said, ask=who_chooses(has_key=key is not None), values={**values, "partition": partition}
    )


def tell_batch(recording: Recording, travel: Travel) -> None:
    """Tell what a batch is, and show its bytes."""
    ends = message_ends(KAFKA, travel.request)
    alike = "without a key" if travel.line.key is None else "with the same key"
    slot, ours = len(ends) - 1, ByteRange(_BATCH, ends[-2], ends[-1])
    add_log(recording, _BATCH, KAFKA, travel.request)
    _at(recording, "batch")
    recording.step(
        f"The record waits in memory, in a batch for {TOPIC}-{travel.place.partition}. The call of "
        "send has returned, but a crash would lose the record. It has the layout of a message of "
        f"Kafka's clients already. Another record {alike} came before it.",
        ask=what_the_batch_says(slot, travel.place.offset),
        focus=[ours],
        values={"records": len(ends), "offset in the batch": slot, "batch bytes": ends[-1]},
    )


# ---- the log


def tell_segment(recording: Recording, travel: Travel, dialect: Dialect) -> None:
    """Tell how the leader writes the message, and show its bytes."""
    located = travel.found
    segment = located.segment
    name, place, records = segment.log_path.name, travel.place, 2
    first = place.offset - records + 1
    add_log(recording, name, dialect, travel.log, is_shown=False)
    recording.show(name, travel.log_before_bytes)
    _at(recording, "log")
    recording.step(
        f"The batch goes to the leader of {TOPIC}-{place.partition}. The log ends with offset "
        f"{first - 1}, so the records of the batch get {first} and {place.offset}."
        if first
        else f"The batch goes to the leader of {TOPIC}-{place.partition}. The log is empty, so the "
        f"records of the batch get offsets {first} and {place.offset}.",
        values={"log end offset": first, "log bytes": travel.log_before_bytes},
    )
    recording.hide(_BATCH)
    recording.show(name)
    ours = ByteRange(name, located.position, located.position + located.message.length_bytes)
    recording.step(
        f"The leader writes the message after the last one, with its offset, in the dialect of "
        f"the topic: {count(located.message.length_bytes, 'byte')} from byte {located.position} "
        "on. The bytes in the file never change. The file only grows.",
        focus=[ours],
        values={"dialect": dialect.name, "offset": place.offset, "position": located.position},
    )
    recording.step(
        "The producer gets the offset of the record. It tells its callback and the interceptors, "
        "and the memory of the batch is free again.",
        values={"topic": place.topic, "partition": place.partition, "offset": place.offset},
    )


def tell_index(recording: Recording, travel: Travel) -> None:
    """Tell if the message gets an index entry."""
    located = travel.found
    segment = located.segment
    name, interval = segment.index.path.name, SETTINGS.index_interval_bytes
    entries = decode_entries(travel.entries)
    before = [entry.position for entry in entries if entry.position < located.position]
    last = before[-1] if before else 0
    distance, slot = located.position - last, len(before)
    add_index(recording, name, travel.entries)
    _at(recording, "index")
    since = "the message of the last entry" if before else "the beginning of the .log"
    has_entry = is_due(located.position, last, interval)
    said = f"not more than index.interval.bytes = {interval}, so the message gets no index entry."
    if has_entry:
        said = f"more than index.interval.bytes = {interval}, so the message gets an index entry."
    at = ByteRange(name, slot * ENTRY_SIZE_BYTES, (slot + 1) * ENTRY_SIZE_BYTES)
    table = Table("Index entries", ("relative offset", "position"), tuple(entries))
    recording.step(
        f"The message begins {located.position} − {last} = {count(distance, 'byte')} after "
        f"{since}. That is {said}",
        focus=[at] if has_entry else [],
        values={"entries": len(entries), "distance": distance, "interval": interval},
        tables=[table] if entries else [],
    )


def _bytes_of(given: str | bytes | None) -> bytes | None:
    return given.encode() if isinstance(given, str) else given


def _of_object(given: str | bytes | None) -> str:
    return shown(_bytes_of(given), SHOWN_BYTES)


# ---- the way up


_SHOWN_RECORDS = 6


def tell_search(recording: Recording, travel: Travel) -> None:
    """Tell how the message is found by its offset."""
    located = travel.found
    segment = located.segment
    offset, trace, entry = travel.place.offset, travel.trace, located.index_entry
    recording.spend(probes=len(trace.probes(NAMES)))
    _at(recording, "search")
    recording.step(
        f"Somebody asks {TOPIC}-{travel.place.partition} for offset {offset}. The names of the "
        f"files say which segment may hold it: {segment.name}.",
        values={"offset": offset, "segment": segment.name},
    )
    probes = tuple((probe.slot, probe.value) for probe in trace.probes(ENTRIES))
    recording.spend(probes=len(probes))
    begin = entry.position if entry else 0
    said = "No entry is low enough, so reading begins at byte 0."
    if entry:
        said = (
            f"The greatest entry that is not above it says that offset {segment.base_offset} + "
            f"{entry.relative_offset} begins at byte {entry.position}."
        )
    looked_for = (
        f"A binary search in the index looks for {offset} − {segment.base_offset} = "
        f"{offset - segment.base_offset}, the relative offset. {said}"
    )
    if not travel.entries:
        looked_for = "The index is empty, so reading begins at byte 0."
    recording.step(
        looked_for,
        ask=where_reading_begins(entry, located.position),
        values={"segment": segment.name, "start": begin},
        tables=[Table("Entries probed", ("slot", "relative offset"), probes)] if probes else [],
    )
    _tell_walk(recording, travel)


def _tell_walk(recording: Recording, travel: Travel) -> None:
    located = travel.found
    segment = located.segment
    # A header is read again if the bytes at hand ended inside its message.
    stands = tuple({read.position: read.fields[0] for read in travel.trace.header_reads}.items())
    end = located.position + located.message.length_bytes
    recording.spend(reads=1, bytes=located.scanned_bytes)
    recording.step(
        f"From there, the .log is read message by message. Offset {travel.place.offset} is found "
        f"at byte {located.position}.",
        focus=[ByteRange(segment.log_path.name, located.position, end)],
        values=_found_values(travel),
        tables=[Table("The walk", ("byte", "offset there"), stands, (len(stands) - 1,))],
    )


def tell_consumer(recording: Recording, travel: Travel) -> None:
    """Tell how a group's consumer reads it; the last step has the result."""
    place, located = travel.place, travel.found
    share = ", ".join(map(str, travel.share))
    _at(recording, "group")
    recording.step(
        f"A consumer joins the group {GROUP}. It is the only member, so it gets all partitions. "
        "The "
        "group has no committed offsets yet, so it begins with the first messages "
        "(auto.offset.reset = earliest).",
        values={"group": GROUP, "share": share},
    )
    mine = [one for one in travel.polled if one.partition == place.partition]
    rows = tuple(
        (one.offset, shown(one.key, SHOWN_BYTES), shown(one.value, SHOWN_BYTES))
        for one in mine[-_SHOWN_RECORDS:]
    )
    title = f"The last records of {TOPIC}-{place.partition}"
    recording.step(
        f"poll returns {count(len(travel.polled), 'record')}, partition by partition. In each "
        "partition they are in the order of their offsets. Between partitions there is no order.",
        values={"records": len(travel.polled), "next offset": travel.position},
        tables=[Table(title, ("offset", "key", "value"), rows, (len(rows) - 1,))],
    )
    recording.step(
        "The consumer commits its position in each partition, which is the offset of the next "
        f"record to read. The next member that reads {TOPIC}-{place.partition} begins there.",
        ask=what_is_committed(place.offset, travel.committed, len(travel.polled), located.position),
        values={
            "topic": place.topic,
            "partition": place.partition,
            "offset": place.offset,
            **_found_values(travel),
            "committed offset": travel.committed,
        },
    )


def _found_values(travel: Travel) -> dict[str, Value]:
    position, message = travel.found.position, travel.found.message
    return {
        "position": position,
        "key": shown(message.key, SHOWN_BYTES),
        "value": shown(message.value, SHOWN_BYTES),
    }


# ---- the whole way


LINE = b"customer-20:two teapots"
MOST_BYTES = 1 << 14  # it is shown three times: as a line, in its batch and in the log


def document(
    line: bytes = LINE,
    *,
    chance: Chance,
    partitions: int = 3,
    dialect: Dialect = DOCUMENTED,
    separator: bytes = b":",
) -> Document:
    """Return the step-through of a line; its last state says where it is, and what was committed.

    Raises ValueError for an empty separator, an impossible number of partitions, and a line that
    is too long to be shown.
    """
    if len(line) > MOST_BYTES:
        raise ValueError(f"a line of {len(line)} bytes; a step-through shows {MOST_BYTES} at most")
    split = split_line(line, separator)
    recording = Recording("journey", "How a line becomes a message, and is stored, found and read")
    add_line(recording, split)
    travel = send_through(split, dialect, partitions, chance)
    tell_client(recording, travel)
    tell_partition(recording, travel, partitions)
    tell_batch(recording, travel)
    tell_segment(recording, travel, dialect)
    tell_index(recording, travel)
    tell_search(recording, travel)
    tell_consumer(recording, travel)
    return recording.document()
