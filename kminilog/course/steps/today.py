"""`step today`: a batch of format v2 byte by byte, a varint in slow motion, and v0 beside it.

    v2   one header of 61 bytes   then records whose lengths and deltas are varints
    v0   26 bytes of its own for every message

Kafka's own Java client wrote the batches; kminilog writes none. What is in them is what
`broker_files` reads. The same messages in v0 are encoded by the engine.
Source: Kafka: DefaultRecordBatch, DefaultRecord, MemoryRecords.filterTo, ByteUtils; KIP-98.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import count as counted
from zlib import crc32

from kminilog.broker_files.byte_picture import StoredField, fields_of_batch
from kminilog.broker_files.crc32c import crc32c
from kminilog.broker_files.entries import CorruptBatch, RecordBatch, decode_batch
from kminilog.broker_files.record import Record
from kminilog.broker_files.record_batch import (
    CRC_END,
    HEADER_BYTES,
    BatchHeader,
    ControlRecord,
    control_record,
)
from kminilog.broker_files.varint import Varint, decode_varint, encode_unsigned, zigzag
from kminilog.explain.document import (
    Arrow,
    Bar,
    ByteRange,
    Document,
    Field,
    Picture,
    PictureLane,
    Table,
    Value,
)
from kminilog.explain.field_layout import message_fields
from kminilog.explain.script import Script
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.text import numbered, shown

# ---- what kafka-clients 4.3.0 wrote: MemoryRecordsBuilder, and for COMPACTED filterTo

BATCH = bytes.fromhex(
    "00000000b2d05e00 000000d7 00000003 02 8a3341e8 0000 00000003 0000018bcfe56800"
    "0000018bcfe6eea0 ffffffffffffffff ffff ffffffff 00000004"
    "46 00 00 00 06 6b6579 0a 76616c7565 06 04 6831 02 78 08 6e756c6c 01 10 d0bad0bbd18ed187 00"
    "ce01 00 0a 02 01 c001" + b"no key, ".hex() * 12 + "00"
    "1e 00 0d 04 12 746f6d6273746f6e65 01 00"
    "10 00 c09a0c 06 00 00 00"
)
COMMIT = bytes.fromhex(
    "0000000000000033 00000042 00000003 02 e4104713 0030 00000000 0000018bcfe569f4"
    "0000018bcfe569f4 0000000000000fa1 0002 ffffffff 00000001"
    "20 00 00 00 08 00000001 0c 000000000009 00"
)
COMPACTED = bytes.fromhex(
    "00000000b2d05e00 0000005e 00000003 02 407e1b99 0000 00000003 0000018bcfe56800"
    "0000018bcfe6eea0 ffffffffffffffff ffff ffffffff 00000002"
    "46 00 00 00 06 6b6579 0a 76616c7565 06 04 6831 02 78 08 6e756c6c 01 10 d0bad0bbd18ed187 00"
    "10 00 c09a0c 06 00 00 00"
)
NUMBER = 100_000
"""The varint in slow motion: in BATCH it is the timestamp delta of the last record."""

# ---- the steps

STEPS = (
    *("The offset and the length", "The leader epoch", "The magic", "The CRC"),
    *("The leader writes into it", "The attributes", "The offsets and the times"),
    *("The producer", "The record count", "A record"),
    *("Varint: its bytes", "Varint: a byte", "Varint: zigzag"),
    *("The headers", "What the engine reads"),
    *("The same messages in v0", "Field by field", "A control batch", "After compaction"),
)
_BATCH, _VARINT, _V0 = "batch of format v2", "varint", "messages of format v0"
_STAMPED, _COMMIT, _COMPACTED = "batch in the log", "control batch", "batch after compaction"
_SHOWN_BYTES = 24
_MAGIC_AT, _CRC_START = 16, 17
# A kind is a colour. These names have none of their own.
_KINDS = {
    "base offset": "offset",
    "length": "key-length",
    "partition leader epoch": "entry",
    "last offset delta": "entry",
    "offset delta": "entry",
    "record count": "size",
    "header count": "size",
    "header key length": "key-length",
    "header key": "key",
    "header value length": "value-length",
    "header value": "value",
}
_ROWS = {
    "offsets": ("offset", "base offset", "last offset delta", "offset delta"),
    "lengths of messages, records, batch": ("size", "length"),
    "crc": ("crc",),
    "magic, attributes": ("magic", "attributes"),
    "timestamps": ("base timestamp", "max timestamp", "timestamp delta"),
    "leader epoch": ("partition leader epoch",),
    "producer": ("producer id", "producer epoch", "base sequence"),
    "record count": ("record count",),
    "lengths of keys and values": ("key length", "value length"),
    "keys and values": ("key", "value"),
    "headers": (
        *("header count", "header key length", "header key"),
        *("header value length", "header value"),
    ),
}


def document(number: int = NUMBER) -> Document:
    """Return the step-through; `number`, of 64 bits at most, is the varint in slow motion."""
    batch, header, records = _read(BATCH)
    told = Script(__file__, "today", STEPS, header=header, batch_bytes=len(BATCH))
    recording = told.recording
    recording.file(_BATCH, BATCH, _fields(_BATCH, BATCH))
    at = {field.name: field for field in fields_of_batch(BATCH) if field.record is None}

    def focus(*names: str) -> list[ByteRange]:
        return [_range(at[name]) for name in names]

    def values(*names: str) -> dict[str, Value]:
        return {name: _said(at[name]) for name in names}

    names: tuple[str, ...] = ("base offset", "length")
    told.tell("The offset and the length", focus=focus(*names), values=values(*names))
    recording.show(_BATCH, HEADER_BYTES)
    for step, names in (
        ("The leader epoch", ("partition leader epoch",)),
        ("The magic", ("magic",)),
    ):
        told.tell(step, focus=focus(*names), values=values(*names))
    recording.show(_BATCH)
    _tell_crc(told, focus("crc"), values("crc"))
    recording.show(_BATCH, HEADER_BYTES)
    for step, names in (
        ("The attributes", ("attributes",)),
        ("The offsets and the times", ("last offset delta", "base timestamp", "max timestamp")),
        ("The producer", ("producer id", "producer epoch", "base sequence")),
        ("The record count", ("record count",)),
    ):
        told.tell(step, focus=focus(*names), values=values(*names), batch=batch)

    first = [field for field in fields_of_batch(BATCH) if field.record == 0]
    end = first[-1].position + first[-1].length
    recording.show(_BATCH, end)
    told.tell(
        "A record",
        focus=[ByteRange(_BATCH, HEADER_BYTES, end)],
        bytes=end - HEADER_BYTES,
    )
    recording.hide()
    _tell_varint(told, number)

    recording.hide()
    recording.show(_BATCH, end)
    headers_start = next(field.position for field in first if field.name == "header count")
    told.tell(
        "The headers",
        focus=[ByteRange(_BATCH, headers_start, end)],
        values={name: shown(value, _SHOWN_BYTES) for name, value in records[0].headers},
        count=len(records[0].headers),
    )
    columns = ("offset", "timestamp", "key", "value", "headers")
    rows = tuple(
        (r.offset, r.timestamp, _text(r.key), _text(r.value), len(r.headers)) for r in records
    )
    recording.show(_BATCH)
    told.tell(
        "What the engine reads",
        focus=[ByteRange(_BATCH, HEADER_BYTES, len(BATCH))],
        tables=[Table("The records of the batch", columns, rows)],
        earlier_ms=header.base_timestamp - records[2].timestamp,
    )
    _tell_v0(told, records)
    _tell_control(told)
    _tell_compacted(told, [record.offset for record in records])
    return told.document()


def _tell_crc(told: Script, focus: Sequence[ByteRange], values: dict[str, Value]) -> None:
    """Tell which bytes the CRC covers, and what that is good for."""
    zeroed = BATCH[:_CRC_START] + bytes(4) + BATCH[CRC_END:]
    parts = {
        "attributes to the end": BATCH[CRC_END:],
        "magic to the end, CRC set to 0": zeroed[_MAGIC_AT:],
        "all bytes, CRC set to 0": zeroed,
    }
    rows: list[tuple[Value, ...]] = [
        ("CRC-32C", what, numbered(range(len(BATCH) - len(part), len(BATCH)), "byte"), crc32c(part))
        for what, part in parts.items()
    ]
    right, plain = rows[0][3], crc32(BATCH[CRC_END:])
    rows.append(("CRC-32", *rows[0][1:3], plain))
    columns = ("checksum", "of what", "which", "result")
    told.tell(
        "The CRC",
        focus=[*focus, ByteRange(_BATCH, CRC_END, len(BATCH))],
        values=values,
        tables=[Table("Which checksum, and of which bytes?", columns, tuple(rows), (0,))],
        right=right,
        plain=plain,
    )
    offset, epoch = 4_000_000_000, 4
    stamped = offset.to_bytes(8) + BATCH[8:12] + epoch.to_bytes(4) + BATCH[16:]
    flipped = BATCH[:-1] + b"\2"
    outcomes = {
        "offset and leader epoch": decode_batch(stamped),
        "last byte": decode_batch(flipped),
    }
    read = outcomes["offset and leader epoch"]
    assert isinstance(read, RecordBatch), read
    rows = [
        (name, "refused" if isinstance(found, CorruptBatch) else "read")
        for name, found in outcomes.items()
    ]
    told.recording.hide()
    told.recording.file(_STAMPED, stamped, _fields(_STAMPED, stamped), is_shown=False)
    told.recording.show(_STAMPED, HEADER_BYTES)
    told.tell(
        "The leader writes into it",
        focus=[ByteRange(_STAMPED, 0, 8), ByteRange(_STAMPED, 12, 16)],
        values={"base offset": offset, "leader epoch": epoch, "last offset": read.last_offset},
        tables=[Table("Bytes changed, CRC as it was", ("changed", "the reader"), tuple(rows))],
        offset=offset,
        epoch=epoch,
        last_offset=read.last_offset,
    )
    told.recording.hide()


def _tell_varint(told: Script, number: int) -> None:
    """Tell a varint byte by byte: seven bits of the number in each, the lowest first."""
    unsigned = zigzag(number)
    data = encode_unsigned(unsigned)
    read = decode_varint(data, bits=64)
    assert isinstance(read, Varint), read
    fields = [
        Field(_VARINT, at, at + 1, f"byte {at}", "entry", byte & 0x7F)
        for at, byte in enumerate(data)
    ]
    told.recording.file(_VARINT, data, fields)
    told.tell(
        "Varint: its bytes",
        focus=[ByteRange(_VARINT, 0, len(data))],
        values={"bytes": data.hex(" ")},
        picture=_bits(data, 0),
        data=data.hex(" "),
        length=len(data),
        is_of_batch=number == NUMBER,
    )
    so_far = 0
    for at, byte in enumerate(data):
        so_far += (byte & 0x7F) << 7 * at
        told.tell(
            "Varint: a byte",
            focus=[ByteRange(_VARINT, at, at + 1)],
            values={
                "byte": f"0x{byte:02x}",
                "top bit": byte >> 7,
                "seven bits": byte & 0x7F,
                "so far": so_far,
            },
            picture=_bits(data, at + 1),
            at=at,
            byte=f"{byte:02x}",
            seven=byte & 0x7F,
            factor=1 << 7 * at,
            so_far=so_far,
            goes_on=byte >= 0x80,
        )
    rows = tuple((n, zigzag(n)) for n in (0, -1, 1, -2, 2, number))
    told.tell(
        "Varint: zigzag",
        values={"unsigned": unsigned, "number": read.value},
        tables=[Table("Numbers in zigzag", ("number", "unsigned"), rows, (len(rows) - 1,))],
        picture=_bits(data, len(data)),
        number=read.value,
        unsigned=unsigned,
        other_way=-read.value,
    )


def _bits(data: bytes, done: int) -> Picture:
    """Return the bits of a varint, and those that `done` of its bytes give to the number."""
    bars, number, arrows = [], [], []
    for at, byte in enumerate(data):
        here = " here" if at == done - 1 else ""
        place = 7 * (len(data) - 1 - at)
        seven = f"{byte & 0x7F:07b}"
        bars.append(Bar(8 * at, 8 * at + 8, f"{byte >> 7} {seven}", f"value{here}"))
        if at < done:
            number.append(Bar(place, place + 7, seven, f"value{here}"))
        if here:
            arrows.append(Arrow(0, 8 * at + 4.5, 1, place + 3.5))
    lanes = (
        PictureLane("varint", 0, 8 * len(data), tuple(bars)),
        PictureLane("number", 0, 7 * len(data), tuple(number)),
    )
    return Picture(
        "Each byte: a bit that says if another one follows, and seven bits", lanes, tuple(arrows)
    )


def _tell_v0(told: Script, records: Sequence[Record]) -> None:
    """Tell what the same messages are in format v0, and which field needs how many bytes."""
    messages = [encode(KAFKA, record.offset, record.key, record.value) for record in records]
    fields: list[Field] = []
    for message in messages:
        fields += message_fields(_V0, KAFKA, fields[-1].end if fields else 0, message)
    v0 = b"".join(messages)
    told.recording.hide()
    told.recording.file(_V0, v0, fields)
    told.tell(
        "The same messages in v0",
        focus=[ByteRange(_V0, 0, len(v0))],
        values={"bytes in v0": len(v0), "bytes in v2": len(BATCH)},
        v0_bytes=len(v0),
    )
    of_v0, of_v2 = Counter[str](), Counter[str]()
    for field in fields:
        of_v0[field.name] += field.end - field.start
    for stored in fields_of_batch(BATCH):
        of_v2[stored.name] += stored.length
    rows: list[tuple[Value, ...]] = [
        (row, sum(of_v0[name] for name in names), sum(of_v2[name] for name in names))
        for row, names in _ROWS.items()
    ]
    rows.append(("in all", len(v0), len(BATCH)))
    v0_each = len(messages[-1])  # key and value are empty
    v2_each = sum(one.length for one in fields_of_batch(BATCH) if one.record == len(records) - 1)
    told.tell(
        "Field by field",
        tables=[Table("How many bytes?", ("field", "v0", "v2"), tuple(rows), (len(rows) - 1,))],
        header_bytes=HEADER_BYTES,
        v0_each=v0_each,
        v2_each=v2_each,
        pays_from=next(n for n in counted(1) if HEADER_BYTES + n * v2_each < n * v0_each),
    )


def _tell_control(told: Script) -> None:
    _, header, (record,) = _read(COMMIT)
    marker = control_record(record)
    assert isinstance(marker, ControlRecord), marker
    told.recording.hide()
    told.recording.file(_COMMIT, COMMIT, _fields(_COMMIT, COMMIT))
    told.tell(
        "A control batch",
        focus=[
            ByteRange(_COMMIT, CRC_END, CRC_END + 2),
            ByteRange(_COMMIT, HEADER_BYTES, len(COMMIT)),
        ],
        values={
            "type": marker.type,
            "offset": record.offset,
            "producer id": header.producer_id,
            "producer epoch": header.producer_epoch,
            "coordinator epoch": marker.coordinator_epoch,
        },
        marker=marker,
        offset=record.offset,
        producer_id=header.producer_id,
    )


def _tell_compacted(told: Script, before: Sequence[int]) -> None:
    batch, header, records = _read(COMPACTED)
    kept = [record.offset for record in records]
    told.recording.hide()
    told.recording.file(_COMPACTED, COMPACTED, _fields(_COMPACTED, COMPACTED))
    rows = tuple((offset, "kept" if offset in kept else "removed") for offset in before)
    at = {field.name: field for field in fields_of_batch(COMPACTED)[:13]}
    names = ("base offset", "last offset delta", "record count")
    told.tell(
        "After compaction",
        focus=[_range(at[name])._replace(file=_COMPACTED) for name in names],
        values={name: _said(at[name]) for name in names},
        tables=[Table("The offsets of the batch", ("offset", "record"), rows)],
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        record_count=header.record_count,
        removed=len(before) - len(kept),
    )


def _read(data: bytes) -> tuple[RecordBatch, BatchHeader, list[Record]]:
    """Return what the engine reads in a recorded batch."""
    batch = decode_batch(data)
    assert isinstance(batch, RecordBatch), batch
    assert isinstance(batch.fields, BatchHeader), batch
    return batch, batch.fields, [one for one in batch.records() if isinstance(one, Record)]


def _fields(file: str, data: bytes) -> list[Field]:
    return [
        Field(
            *(file, one.position, one.position + one.length, one.name),
            *(_KINDS.get(one.name, one.name.replace(" ", "-")), _said(one)),
        )
        for one in fields_of_batch(data)
    ]


def _range(field: StoredField) -> ByteRange:
    return ByteRange(_BATCH, field.position, field.position + field.length)


def _said(field: StoredField) -> Value:
    return _text(field.value) if isinstance(field.value, bytes) else field.value


def _text(data: bytes | None) -> str:
    return shown(data, _SHOWN_BYTES)
