"""`step journey`: one source line, from a file of lines to a committed offset.

    line -> key, value -> interceptor -> serialiser -> partition -> batch -> .log -> .index
         -> find by its offset -> a group's consumer -> committed offset

The line is sent through the real engine first, then it is told what each part made of it. Producer,
files, search and group are real. Around them stand three witnesses, where the engine lets its
callers in anyway: an interceptor, the cluster that takes the batches, the recorder of searches. So
that the line is not alone, others were sent before it, and one with the same key is in its batch.
Source: S0 7, S1, S2; docs/tour.md has the functions at each stop.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from kminilog.clock import Chance, Clock, ManualClock
from kminilog.cluster.requests import Produced
from kminilog.cluster.standalone import StandaloneBroker
from kminilog.consumer.consumer import Consumer
from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.interface import ConsumerRecord
from kminilog.consumer.readers import LogDirSource
from kminilog.course.steps.temporary_partition import add_index, add_log, message_ends
from kminilog.explain.document import Bar, ByteRange, Document, Field, PictureLane, Table, Value
from kminilog.explain.recorded_search import Trace
from kminilog.explain.script import Script
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.hashing import murmur2, to_positive
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, decode_entries, is_due
from kminilog.format.names import TopicPartition
from kminilog.partitioners.keyed_rules import as_key_object
from kminilog.producer.interceptors import ProducerInterceptor
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.record import ProducerRecord
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.segment.lookup import ENTRIES, NAMES
from kminilog.storage.topics import Topic
from kminilog.text import shown

LINE = b"customer-20:two teapots"
MOST_BYTES = 1 << 14  # it is shown three times: as a line, in its batch and in the log
SHOWN_BYTES = 60
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
STEPS = (
    *("A line", "Key and value", "Interceptors", "Serialisers", "The partition", "The batch"),
    *("The leader", "The bytes in the log", "The producer hears", "The index"),
    *("Which segment", "The search in the index", "The walk"),
    *("A consumer joins", "It polls", "It commits"),
)
_STATIONS = ("line", "record", "partition", "batch", "log", "index", "search", "group")
_BEGIN_MS, _LATER_MS = 1_000, 500
_MOST_POLLS = 100
_SHOWN_RECORDS = 6
_LINE, _BATCH = "line", "batch"


def split_line(line: bytes, separator: bytes) -> tuple[bytes | None, bytes]:
    """Return key and value; the key ends at the first separator, without one there is no key.

    Raises ValueError for an empty separator.

    >>> split_line(b"a:b:c", b":"), split_line(b"abc", b":")
    ((b'a', b'b:c'), (None, b'abc'))
    """
    if not separator:
        raise ValueError("the separator of key and value must not be empty")
    key, found, value = line.partition(separator)
    return (key, value) if found else (None, line)


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


class Witness(StandaloneBroker):
    """The cluster that a producer knows: it notes each request."""

    def __init__(self, log_dir: LogDirWriter, clock: Clock) -> None:
        super().__init__(log_dir, clock)
        self.requests: dict[TopicPartition, bytes] = {}

    def produce(self, topic_partition: TopicPartition, data: bytes, *, acks: int) -> Produced:
        """Note a request, and return the broker's answer."""
        self.requests[topic_partition] = data
        return super().produce(topic_partition, data, acks=acks)


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
    line_key, line_value = split_line(line, separator)
    key = None if line_key is None else as_key_object(line_key)
    clock = ManualClock(_BEGIN_MS)
    with TemporaryDirectory() as directory:
        path = Path(directory)
        with LogDirWriter.open(path) as writer:
            topic = writer.create_topic(Topic(TOPIC, partitions, dialect, SETTINGS))
            broker, stamp = Witness(writer, clock), Stamp(clock)
            with ManualProducer(
                broker, PRODUCER_CONFIG, clock=clock, chance=chance, interceptors=[stamp]
            ) as producer:
                for earlier in BEFORE:
                    producer.send(ProducerRecord(TOPIC, *earlier))
                producer.flush()
                clock.sleep_ms(_LATER_MS)
                producer.send(ProducerRecord(TOPIC, key, COMPANION))
                future = producer.send(ProducerRecord(TOPIC, key, as_key_object(line_value)))
                logs = [(one, writer.log(one)) for one in topic.all_partitions()]
                sizes = {one: log.segments()[-1].size_bytes for one, log in logs}
                producer.flush()
                place = future.result()
        offset, partition = place.offset, TopicPartition(place.topic, place.partition)
        trace = Trace()
        found = LogDir(path).reader(partition).find(offset, trace)
        segment = found.segment
        log_data, index_data = segment.log_path.read_bytes(), segment.index.path.read_bytes()
        source = LogDirSource(LogDir(path))
        coordinator = Coordinator(path, source.topics, source.topic_id, clock=clock, chance=chance)
        with Consumer(source, CONSUMER_CONFIG, clock=clock, coordinator=coordinator) as consumer:
            consumer.subscribe([TOPIC])
            polled: list[ConsumerRecord] = []
            for _ in range(_MOST_POLLS):
                polled += consumer.poll()
                if any((one.topic_partition, one.offset) == (partition, offset) for one in polled):
                    break
            consumer.commit()
            share, next_offset = consumer.assignment, consumer.position(partition)
            committed = consumer.committed()[partition]

    told = Script(
        __file__,
        "journey",
        STEPS,
        topic=TOPIC,
        group=GROUP,
        partition=partition,
        offset=offset,
        has_key=key is not None,
        segment=segment,
        position=found.position,
        entry=found.index_entry,
    )
    recording = told.recording
    recording.file(_LINE, line, _line_fields(line_key, separator, line_value))
    whole = [ByteRange(_LINE, 0, len(line))] if line else []
    _go_to(told, "line")
    told.tell("A line", focus=whole, values={"line": _shown(line)}, size_bytes=len(line))
    told.tell(
        "Key and value",
        focus=whole,
        values={"key": _shown(line_key), "value": _shown(line_value)},
        separator=separator,
    )
    _go_to(told, "record")
    assert stamp.last is not None
    sent = {"key": stamp.last.key, "value": stamp.last.value}
    encoded = {name: _encoded(given) for name, given in sent.items()}
    values: dict[str, Value] = {name: _shown(data) for name, data in encoded.items()}
    told.tell("Interceptors", values=values)
    rows: list[tuple[Value, ...]] = []
    for name, given in sent.items():
        size = f"{len(given)} characters" if isinstance(given, str) else "bytes"
        data = encoded[name]
        rows.append((name, "none" if data is None else size, "" if data is None else len(data)))
    table = Table("Key and value as bytes", ("part", "before", "bytes"), tuple(rows))
    told.tell("Serialisers", values=values, tables=[table])

    _go_to(told, "partition")
    values, positive = {"partitions": partitions}, None
    if encoded["key"] is not None:
        hashed = murmur2(encoded["key"])
        positive = to_positive(hashed)
        values |= {"murmur2": hashed, "without the sign bit": positive}
    told.tell(
        "The partition",
        values={**values, "partition": place.partition},
        partitions=partitions,
        positive=positive,
    )
    request = broker.requests[partition]
    ends = message_ends(KAFKA, request)
    slot = len(ends) - 1
    add_log(recording, _BATCH, KAFKA, request)
    _go_to(told, "batch")
    told.tell(
        "The batch",
        focus=[ByteRange(_BATCH, ends[-2], ends[-1])],
        values={"records": len(ends), "offset in the batch": slot, "batch bytes": ends[-1]},
        slot=slot,
    )

    log_name, first = segment.log_path.name, offset - slot
    add_log(recording, log_name, dialect, log_data, is_shown=False)
    recording.show(log_name, sizes[partition])
    _go_to(told, "log")
    told.tell(
        "The leader", values={"log end offset": first, "log bytes": sizes[partition]}, first=first
    )
    recording.hide(_BATCH)
    recording.show(log_name)
    message_bytes = found.message.length_bytes
    ours = ByteRange(log_name, found.position, found.position + message_bytes)
    told.tell(
        "The bytes in the log",
        focus=[ours],
        values={"dialect": dialect.name, "offset": offset, "position": found.position},
        message_bytes=message_bytes,
    )
    address: dict[str, Value] = {"topic": TOPIC, "partition": place.partition, "offset": offset}
    told.tell("The producer hears", values=address)
    entries, interval = decode_entries(index_data), SETTINGS.index_interval_bytes
    before = [entry.position for entry in entries if entry.position < found.position]
    last = before[-1] if before else 0
    distance = found.position - last
    add_index(recording, segment.index.path.name, index_data)
    has_entry = is_due(found.position, last, interval)
    start = len(before) * ENTRY_SIZE_BYTES
    at = ByteRange(segment.index.path.name, start, start + ENTRY_SIZE_BYTES)
    table = Table("Index entries", ("relative offset", "position"), tuple(entries))
    _go_to(told, "index")
    told.tell(
        "The index",
        focus=[at] if has_entry else [],
        values={"entries": len(entries), "distance": distance, "interval": interval},
        tables=[table] if entries else [],
        last=last,
        distance=distance,
        is_first=not before,
        interval=interval,
        has_entry=has_entry,
    )

    recording.spend(probes=len(trace.probes(NAMES)))
    _go_to(told, "search")
    told.tell("Which segment", values={"offset": offset, "segment": segment.name})
    probes = tuple((probe.slot, probe.value) for probe in trace.probes(ENTRIES))
    recording.spend(probes=len(probes))
    begin = found.index_entry.position if found.index_entry else 0
    told.tell(
        "The search in the index",
        values={"segment": segment.name, "start": begin},
        tables=[Table("Entries probed", ("slot", "relative offset"), probes)] if probes else [],
        is_empty=not entries,
        begin=begin,
    )
    # A header is read again if the bytes at hand ended inside its message.
    stands = tuple({read.position: read.fields[0] for read in trace.header_reads}.items())
    recording.spend(reads=1, bytes=found.scanned_bytes)
    key_value = {"key": _shown(found.message.key), "value": _shown(found.message.value)}
    place_and_content: dict[str, Value] = {"position": found.position, **key_value}
    told.tell(
        "The walk",
        focus=[ours],
        values=place_and_content,
        tables=[Table("The walk", ("byte", "offset there"), stands, (len(stands) - 1,))],
    )

    _go_to(told, "group")
    told.tell("A consumer joins", values={"group": GROUP, "share": ", ".join(map(str, share))})
    mine = [one for one in polled if one.partition == place.partition][-_SHOWN_RECORDS:]
    records = tuple((one.offset, _shown(one.key), _shown(one.value)) for one in mine)
    title = f"The last records of {partition}"
    told.tell(
        "It polls",
        values={"records": len(polled), "next offset": next_offset},
        tables=[Table(title, ("offset", "key", "value"), records, (len(records) - 1,))],
        polled=len(polled),
    )
    told.tell(
        "It commits",
        values={**address, **place_and_content, "committed offset": committed},
        polled=len(polled),
        committed=committed,
    )
    return told.document()


def _go_to(told: Script, station: str) -> None:
    """Show the way from the line to the group above the next steps, and where they are on it."""
    here = _STATIONS.index(station)
    bars = [
        Bar(place, place + 1, name, "here" if place == here else "seen" if place < here else "free")
        for place, name in enumerate(_STATIONS)
    ]
    told.recording.way = PictureLane("the way of the line", 0, len(_STATIONS), tuple(bars))


def _line_fields(key: bytes | None, separator: bytes, value: bytes) -> list[Field]:
    parts = {"value": value}
    if key is not None:
        parts = {"key": key, "separator": separator, "value": value}
    fields, start = [], 0
    for name, data in parts.items():
        if data:
            end = start + len(data)
            fields.append(Field(_LINE, start, end, name, name, _shown(data)))
            start = end
    return fields


def _encoded(given: str | bytes | None) -> bytes | None:
    return given.encode() if isinstance(given, str) else given


def _shown(data: bytes | None) -> str:
    return shown(data, SHOWN_BYTES)
