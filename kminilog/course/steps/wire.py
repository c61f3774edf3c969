"""`step wire`: one produce and one fetch, byte by byte: two requests, two answers, one file.

    request    size  header (API key, version, correlation id, client id)  body
    answer     size  correlation id                                        body

    sent       [0 crc …][0 crc …]            the client does not know the offsets
    .log       [0 …][1 …][2 crc …][3 crc …]  the broker gives them; the rest is as it was sent
    fetched              [2 crc …][3 cr      the very bytes of the .log, cut at a limit

The answers are those of a broker on a log dir. Only its sockets and its event loop are left out:
nothing waits here. The fields are those of the table in `wire.schemas`.
Source: Kafka: KafkaApis, the guide to its protocol; 0.8's clients use these versions.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from kminilog.clock import Chance, ManualClock
from kminilog.course.steps.temporary_partition import PARTITION, add_log
from kminilog.explain.document import ByteRange, Document, Field, Table, Value
from kminilog.explain.field_layout import split_fields
from kminilog.explain.script import Script
from kminilog.format.dialect import KAFKA
from kminilog.format.message import Message, encode, scan
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.wire.broker import ServingBroker
from kminilog.wire.schemas import APIS, WireField, fields_of
from kminilog.wire.schemas import decode as decode_message
from kminilog.wire.schemas import encode as encode_message
from kminilog.wire.served import Address, ServedLogDir

STORED = ((b"alice", b"book"), (b"bob", b"pen"))
SENT = ((b"alice", b"lamp"), (b"carol", b"cup"))
MAX_BYTES = 50
VERSION = 0
STEPS = (
    *("The log before", "The frame", "The header", "What is sent where", "The message set"),
    *("What the broker appends", "The checksum", "The answer", "The request to read"),
    *("The answer with messages", "The same bytes", "The end of the set"),
)
_PRODUCE, _PRODUCED = "Produce request", "Produce answer"
_FETCH, _FETCHED = "Fetch request", "Fetch answer"
_SENT_SET, _FETCHED_SET = "message set sent", "message set fetched"
_LOG = "00000000000000000000.log"
_SIZE_BYTES = 4
_NUMBER_BYTES = {"int8": 1, "int16": 2, "int32": 4, "int64": 8, "bool": 1}
_LENGTH_BYTES = {"string": 2, "bytes": 4}
_KINDS = {"size": "size", "correlation id": "crc", "error code": "magic"}


class Exchange(NamedTuple):
    """What a client and a broker have sent each other, and the `.log` before and after."""

    produce: bytes
    produced: bytes
    fetch: bytes
    fetched: bytes
    before: bytes
    after: bytes


def requests(max_bytes: int = MAX_BYTES) -> tuple[bytes, bytes]:
    """Return the two requests of the client, as they go over the network."""
    message_set = b"".join(encode(KAFKA, 0, *message) for message in SENT)
    of_partition = {"index": PARTITION.partition, "records": message_set}
    produce = {
        "acks": 1,
        "timeout_ms": 1_000,
        "topic_data": [{"name": PARTITION.topic, "partition_data": [of_partition]}],
    }
    asked = {
        "partition": PARTITION.partition,
        "fetch_offset": len(STORED),
        "partition_max_bytes": max_bytes,
    }
    fetch = {
        "replica_id": -1,
        "max_wait_ms": 100,
        "min_bytes": 1,
        "topics": [{"topic": PARTITION.topic, "partitions": [asked]}],
    }
    return _request("Produce", 7, produce), _request("Fetch", 8, fetch)


def _request(name: str, correlation_id: int, body: dict[str, object]) -> bytes:
    (api,) = (api for api in APIS.values() if api.name == name)
    header = {
        "api_key": api.key,
        "api_version": VERSION,
        "correlation_id": correlation_id,
        "client_id": "desk",
    }
    frame = encode_message("RequestHeader", 0, header)
    frame += encode_message(f"{name}Request", VERSION, body)
    return len(frame).to_bytes(_SIZE_BYTES) + frame


def exchange(chance: Chance, max_bytes: int = MAX_BYTES) -> Exchange:
    """Let a broker answer both requests, on a log that has two messages already."""
    produce, fetch = requests(max_bytes)
    with (
        TemporaryDirectory() as directory,
        LogDirWriter.open(Path(directory), create=True) as writer,
    ):
        writer.create_topic(Topic(PARTITION.topic, 1, KAFKA), chance=chance)
        log = writer.log(PARTITION)
        log.append(STORED)
        path = log.segments()[0].log_path
        before = path.read_bytes()
        served = ServedLogDir(writer, Address("127.0.0.1", 9092))
        broker = ServingBroker(served, ManualClock(), chance)
        produced, _ = broker.messages.produce(_body("Produce", produce), VERSION)
        assert produced
        fetched, _, _ = broker.messages.fetch(_body("Fetch", fetch), VERSION)
        after = path.read_bytes()
        broker.close()
    return Exchange(
        produce,
        _answer("Produce", produce, produced),
        fetch,
        _answer("Fetch", fetch, fetched),
        before,
        after,
    )


def _body(name: str, frame: bytes) -> dict[str, object]:
    _, start = decode_message("RequestHeader", 0, frame, _SIZE_BYTES)
    body, end = decode_message(f"{name}Request", VERSION, frame, start)
    assert end == len(frame)
    return body


def _answer(name: str, request: bytes, body: dict[str, object]) -> bytes:
    header, _ = decode_message("RequestHeader", 0, request, _SIZE_BYTES)
    frame: bytes = header["correlation_id"].to_bytes(4)
    frame += encode_message(f"{name}Response", VERSION, body)
    return len(frame).to_bytes(_SIZE_BYTES) + frame


def document(chance: Chance, max_bytes: int = MAX_BYTES) -> Document:
    """Return the step-through; `chance` makes the topic's id, which is nowhere in it."""
    found = exchange(chance, max_bytes)
    frames = {
        _PRODUCE: (found.produce, "Produce", "Request"),
        _PRODUCED: (found.produced, "Produce", "Response"),
        _FETCH: (found.fetch, "Fetch", "Request"),
        _FETCHED: (found.fetched, "Fetch", "Response"),
    }
    fields = {
        name: [*_frame_fields(name, data, api, kind)] for name, (data, api, kind) in frames.items()
    }
    sent, fetched = (fields[name][-1] for name in (_PRODUCE, _FETCHED))
    fetched_bytes = fetched.end - fetched.start if fetched.name == "records" else 0
    fetched_set = found.fetched[len(found.fetched) - fetched_bytes :]
    messages = [one for _, one in scan(KAFKA, found.after) if isinstance(one, Message)]
    whole = [one for _, one in scan(KAFKA, fetched_set) if isinstance(one, Message)]
    cut_bytes = fetched_bytes - sum(one.length_bytes for one in whole)
    told = Script(
        __file__,
        "wire",
        STEPS,
        base_offset=len(STORED),
        end=len(messages),
        sent_count=len(SENT),
        sent_bytes=sent.end - sent.start,
        before_bytes=len(found.before),
        max_bytes=max_bytes,
        fetched_bytes=fetched_bytes,
        whole_count=len(whole),
        cut_bytes=cut_bytes,
        next_offset=len(STORED) + len(whole),
    )
    recording = told.recording
    for name, (data, *_) in frames.items():
        recording.file(name, data, fields[name], is_shown=False)
    _add_set(told, _SENT_SET, found.produce[sent.start : sent.end])
    if fetched_set:
        _add_set(told, _FETCHED_SET, fetched_set)
    add_log(recording, _LOG, KAFKA, found.after, is_shown=False)

    def at(name: str, *names: str) -> list[ByteRange]:
        return [ByteRange(name, one.start, one.end) for one in fields[name] if one.name in names]

    def said(name: str, *names: str) -> dict[str, Value]:
        return {one.name: one.value for one in fields[name] if one.name in names}

    recording.show(_LOG, len(found.before))
    told.tell("The log before", values={"log end offset": len(STORED)})
    recording.hide()
    header_names = ("api key", "api version", "correlation id", "client id length", "client id")
    header_end = at(_PRODUCE, "client id")[0].end
    recording.show(_PRODUCE, header_end)
    told.tell(
        "The frame",
        focus=at(_PRODUCE, "size"),
        values=said(_PRODUCE, "size"),
        size=len(found.produce) - _SIZE_BYTES,
        length=len(found.produce),
    )
    told.tell(
        "The header",
        focus=at(_PRODUCE, *header_names),
        values=said(_PRODUCE, "api key", "api version", "correlation id", "client id"),
    )
    recording.show(_PRODUCE, sent.start)
    told.tell(
        "What is sent where",
        focus=[ByteRange(_PRODUCE, header_end, sent.start)],
        values=said(_PRODUCE, "acks", "timeout ms", "name", "index", "records length"),
    )
    recording.hide()
    recording.show(_SENT_SET)
    told.tell(
        "The message set",
        focus=_offset_fields(_SENT_SET, found.produce[sent.start : sent.end]),
        values={"messages": len(SENT), "bytes": sent.end - sent.start},
    )
    recording.show(_LOG)
    new = found.after[len(found.before) :]
    told.tell(
        "What the broker appends",
        focus=_offset_fields(_LOG, new, len(found.before)),
        values={"log end offset": len(messages), "log bytes": len(found.after)},
        tables=[_compared(found.produce[sent.start : sent.end], new)],
    )
    told.tell(
        "The checksum",
        focus=[ByteRange(_LOG, len(found.before), len(found.after))],
        values={"bytes that differ": _differing(found.produce[sent.start : sent.end], new)},
        tables=[_compared(found.produce[sent.start : sent.end], new)],
    )
    recording.hide()
    recording.show(_PRODUCED)
    told.tell(
        "The answer",
        focus=at(_PRODUCED, "correlation id", "error code", "base offset"),
        values=said(_PRODUCED, "correlation id", "error code", "base offset"),
    )
    recording.hide()
    recording.show(_FETCH)
    told.tell(
        "The request to read",
        focus=at(_FETCH, "max wait ms", "min bytes", "fetch offset", "partition max bytes"),
        values=said(_FETCH, "max wait ms", "min bytes", "fetch offset", "partition max bytes"),
    )
    recording.hide()
    recording.show(_FETCHED)
    told.tell(
        "The answer with messages",
        focus=at(_FETCHED, "high watermark", "records length", "records"),
        values=said(_FETCHED, "correlation id", "error code", "high watermark", "records length"),
    )
    recording.hide()
    place = found.after.index(fetched_set, len(found.before)) if fetched_set else len(found.before)
    recording.show(_LOG)
    if fetched_set:
        recording.show(_FETCHED_SET)
    recording.spend(reads=1, bytes=fetched_bytes)
    told.tell(
        "The same bytes",
        focus=[ByteRange(_LOG, place, place + fetched_bytes)],
        values={"from byte": place, "bytes": fetched_bytes},
        tables=[
            Table(
                "Where these bytes are",
                ("file", "from byte", "bytes", "in hex"),
                (
                    (_LOG, place, fetched_bytes, _hex(found.after[place:][:fetched_bytes])),
                    (_FETCHED, fetched.start, fetched_bytes, _hex(fetched_set)),
                ),
            )
        ],
        place=place,
    )
    end = fetched_bytes
    cut = [ByteRange(_FETCHED_SET, end - cut_bytes, end)] if cut_bytes else []
    told.tell(
        "The end of the set",
        focus=cut,
        values={
            "whole messages": len(whole),
            "bytes of another": cut_bytes,
            "next fetch offset": len(STORED) + len(whole),
        },
    )
    return told.document()


def _add_set(told: Script, name: str, data: bytes) -> None:
    """Add the bytes of a message set as a file of its own: its messages stand side by side."""
    add_log(told.recording, name, KAFKA, data, is_shown=False)


def _offset_fields(file: str, data: bytes, start: int = 0) -> list[ByteRange]:
    return [ByteRange(file, start + at, start + at + 8) for at, _ in scan(KAFKA, data)]


def _differing(sent: bytes, stored: bytes) -> int:
    return sum(one != other for one, other in zip(sent, stored, strict=True))


def _compared(sent: bytes, stored: bytes) -> Table:
    """Return each message as it was sent and as it is stored; rows that differ are marked."""
    rows: list[tuple[Value, ...]] = []
    for (at, message), _ in zip(scan(KAFKA, sent), SENT, strict=True):
        assert isinstance(message, Message)
        both = [
            split_fields(KAFKA, part[at : at + message.length_bytes]) for part in (sent, stored)
        ]
        rows += [
            (one.name, one.data.hex(" "), other.data.hex(" "))
            for one, other in zip(*both, strict=True)
            if one.name in ("offset", "size", "crc")
        ]
    marked = tuple(slot for slot, (_, one, other) in enumerate(rows) if one != other)
    return Table("As sent, and as stored", ("field", "sent", "stored"), tuple(rows), marked)


def _hex(data: bytes) -> str:
    return f"{data[:12].hex(' ')} …" if len(data) > 12 else data.hex(" ")


def _frame_fields(file: str, frame: bytes, api: str, kind: str) -> Iterator[Field]:
    """Yield the fields of a request or an answer, each byte once, as the table of schemas has them.

    Arrays and texts have a field more: their length.
    """
    at = 0

    def take(name: str, length: int, style: str = "attributes", *, is_text: bool = False) -> Field:
        nonlocal at
        data = frame[at : at + length]
        value = data.decode() if is_text else int.from_bytes(data, signed=True)
        field = Field(file, at, at + length, name, _KINDS.get(name, style), value)
        at += length
        return field

    def walk(fields: Sequence[WireField]) -> Iterator[Field]:
        nonlocal at
        for field in fields:
            name = field.name.replace("_", " ")
            times = 1
            if field.is_array:
                length = take(f"{name} count", 4, "value-length")
                yield length
                times = int(length.value or 0)
            for _ in range(times):
                if field.fields:
                    yield from walk(field.fields)
                elif field.type in _NUMBER_BYTES:
                    yield take(name, _NUMBER_BYTES[field.type])
                else:
                    length = take(f"{name} length", _LENGTH_BYTES[field.type], "key-length")
                    yield length
                    size = int(length.value or 0)
                    if field.type == "string":
                        yield take(name, size, "key", is_text=True)
                    elif size:
                        yield Field(file, at, at + size, name, "value", f"{size} bytes")
                        at += size

    yield take("size", _SIZE_BYTES)
    if kind == "Request":
        yield from walk(fields_of("RequestHeader", 0))
    else:
        yield take("correlation id", 4)
    yield from walk(fields_of(f"{api}{kind}", VERSION))
    assert at == len(frame)
