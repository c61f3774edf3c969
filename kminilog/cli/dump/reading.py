"""What `dump` reads: every message of a `.log`, the damage between them, every index entry.

    .log     m0 m1 ~~~~ m3        →  message, message, damage (bad-crc), message
    --deep   gzip(m0 m1) m2       →  the two inside, each with its own offset and the position of
                                     the compressed message around them; then m2
    .index   entries in order, up to the first invalid one: no reader uses the rest

The damage comes from the scan that `verify` uses, so both report the same. Nothing is printed here.
Source: ours; Kafka: DumpLogSegments.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kminilog.cli.dump.unpacking import Unpacking
from kminilog.cli.shared.message_fields import damage_json, message_json
from kminilog.cli.shared.topic_files import refuse_later_format
from kminilog.errors import CorruptBytesError
from kminilog.format.any_format import possible_beginnings
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, decode_entries, decode_entry
from kminilog.format.message import (
    CRC_END,
    KEY_START,
    MAGIC,
    CorruptMessage,
    Message,
    decode,
    encode,
)
from kminilog.format.names import LOG_SUFFIX, parse_segment_file
from kminilog.storage.files import open_regular, read_regular
from kminilog.storage.segment.damage_scan import no_tail, walk
from kminilog.storage.segment.log_file import message_at
from kminilog.storage.segment.segment import Segment
from kminilog.text import agreeing, count
from kminilog.verification.findings import FindingClass

_SHOWN_DAMAGE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Dumped:
    """Bytes `start` to `end`, exclusive: one message, or a stretch of damage.

    A message with `is_deep` is inside the compressed one that has these bytes. `damaged_bytes` are
    the first of the damage; `skipped_bytes` tells how many there are.
    """

    start: int
    end: int
    message: Message | None = None
    fault: str = ""
    detail: str = ""
    damaged_bytes: bytes = b""
    skipped_bytes: int = 0
    is_deep: bool = False

    @property
    def is_damage(self) -> bool:
        """Tell if there is no message here."""
        return self.message is None

    def record(self, dialect: Dialect) -> dict[str, Any]:
        """Return what `dump --json` prints."""
        more = {"deep": True} if self.is_deep else {}
        if self.message:
            return {**message_json(self.start, self.message), **more}
        facts = {"fault": self.fault, "detail": self.detail, "skipped_bytes": self.skipped_bytes}
        return {**damage_json(dialect, self.start, self.damaged_bytes), **facts, **more}

    def data(self, dialect: Dialect) -> bytes:
        """Return the bytes of the message, or of the damage."""
        if self.message is None:
            return self.damaged_bytes
        offset, *_, attributes, key, value = self.message
        return encode(dialect, offset, key, value, attributes=attributes)


def read_log(
    path: Path, dialect: Dialect, *, unpacking: Unpacking | None = None, of_topic: bool = False
) -> Iterator[Dumped]:
    """Yield what stands in a `.log`, in order; nothing for an empty one.

    With `unpacking`, the messages inside a compressed one come in its place.

    Raises ValueError if no message is in it at all, and it has messages of a later format or does
    not look like a log, unless it is a file `of_topic`: that is one, whatever is left of it.
    CompressedMessageError if `unpacking` meets a codec that cannot be opened.
    """
    base_offset, _ = parse_segment_file(path.name) or (0, "")
    segment = Segment(path.parent, base_offset, dialect, 0)
    segment.log_path = path  # a copy may have any name
    end = segment.file_bytes
    for step in walk(segment, end):
        if step.damage:
            at, damage_end = step.damage.position, step.position if step.message else end
            if not (step.message or at or of_topic):
                _refuse_if_no_log(path, end)
            damage = step.damage
            if of_topic and damage.kind == FindingClass.TORN_TAIL and _is_followed(path):
                damage = no_tail(damage)
            kind, detail = str(damage.kind), damage.detail
            data = _read(path, at, min(damage_end - at, _SHOWN_DAMAGE_BYTES))
            yield Dumped(at, damage_end, None, kind, detail, data, damage_end - at)
        if step.message is None:
            return
        if unpacking and step.message.is_compressed:
            yield from _messages_inside(path, dialect, step.position, step.message, unpacking)
        else:
            yield Dumped(step.position, step.position + step.message.length_bytes, step.message)


def _is_followed(path: Path) -> bool:
    """Tell if messages are in segments after this one."""
    return any(
        other.name > path.name and parse_segment_file(other.name) and other.stat().st_size
        for other in path.parent.glob("*" + LOG_SUFFIX)
    )


def _messages_inside(
    path: Path, dialect: Dialect, position: int, wrapper: Message, unpacking: Unpacking
) -> Iterator[Dumped]:
    """Yield the messages inside a compressed one, up to the first that is damaged."""
    inside = unpacking.inside(wrapper, path, position)
    whole = Dumped(position, position + wrapper.length_bytes, is_deep=True)
    broken = replace(whole, fault="bad-compression")
    try:
        for data in inside:
            outcome = decode(dialect, data)
            if isinstance(outcome, Message):
                yield replace(whole, message=outcome)
            else:
                rest_bytes = len(data) + sum(map(len, inside))
                shown = data[:_SHOWN_DAMAGE_BYTES]
                detail = (
                    outcome.detail if isinstance(outcome, CorruptMessage) else "unfinished message"
                )
                yield replace(broken, detail=detail, damaged_bytes=shown, skipped_bytes=rest_bytes)
    except ValueError as error:
        wrapped = _read(path, position, wrapper.length_bytes)
        yield replace(
            broken,
            detail=str(error),
            damaged_bytes=wrapped,
            skipped_bytes=len(wrapped),
            is_deep=False,
        )


def read_index(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON of each entry of an `.index`, up to the first that is invalid, with it.

    `index_position` is the byte of the `.index` at which the entry begins.
    Raises ValueError if the name is not 20 digits: it has the number that offsets count from.
    """
    parsed = parse_segment_file(path.name)
    if parsed is None:
        raise ValueError(
            f"{path}: an index is read by the 20 digits of its name, like {0:020d}.index"
        )
    base_offset = parsed[0]
    data = read_regular(path)
    for start in range(0, len(data), ENTRY_SIZE_BYTES):
        previous = max(start - ENTRY_SIZE_BYTES, 0)
        try:
            entry = decode_entries(data[previous : start + ENTRY_SIZE_BYTES])[-1]
        except CorruptBytesError:
            why = _index_fault(start, data[start : start + ENTRY_SIZE_BYTES])
            yield {
                "offset": None,
                "position": None,
                "index_position": start,
                "valid": False,
                "fault": str(FindingClass.INDEX_ORDER),
                "detail": why,
                "skipped_bytes": len(data) - start,
            }
            return
        yield {
            "offset": base_offset + entry.relative_offset,
            "position": entry.position,
            "relative_offset": entry.relative_offset,
            "index_position": start,
        }


def index_bytes(path: Path, record: dict[str, Any]) -> bytes:
    """Return the bytes of such an entry, or the first of those that are left out."""
    size_bytes: int = record.get("skipped_bytes", ENTRY_SIZE_BYTES)
    return _read(path, record["index_position"], min(size_bytes, _SHOWN_DAMAGE_BYTES))


def _index_fault(start: int, data: bytes) -> str:
    """Return why there is no valid entry, as `verify` says it."""
    if len(data) < ENTRY_SIZE_BYTES:
        rest = count(len(data), "byte")
        return f"the index ends with {rest} that {agreeing('are', len(data))} no entry"
    return f"entry {start // ENTRY_SIZE_BYTES}, {tuple(decode_entry(data))}, does not ascend"


def message_beside(path: Path, dialect: Dialect, position: int) -> dict[str, int | str | None]:
    """Return the offset of the message at a position of the `.log` beside an `.index`.

    With its codec, if it is compressed. None if no whole message begins there; nothing if there is
    no such file.
    """
    log_path = path.with_suffix(LOG_SUFFIX)
    if not log_path.exists():
        return {}
    message = message_at(dialect, log_path, position) if position >= 0 else None
    codec = {"log_codec": message.codec} if message and message.is_compressed else {}
    return {"log_offset": message.offset if message else None, **codec}


def _refuse_if_no_log(path: Path, size_bytes: int) -> None:
    """Raise ValueError for messages of a later format, and if the first bytes are like none."""
    refuse_later_format(path)
    header = _read(path, 0, KEY_START)
    if next(possible_beginnings(header), None) != 0 or header[CRC_END] != MAGIC:
        size = count(size_bytes, "byte")
        raise ValueError(f"{path}: no message in {size}; is this a .log of Kafka?")


def _read(path: Path, position: int, size: int) -> bytes:
    with open(path, "rb", opener=open_regular) as file:
        file.seek(position)
        return file.read(size)
