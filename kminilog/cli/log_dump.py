"""What `dump` reads: every message of a `.log`, the damage between them, every index entry.

    .log     m0 m1 ~~~~ m3        →  message, message, damage (bad-crc), message
    --deep   gzip(m0 m1) m2       →  the two inside, each with its own offset and the position of
                                     the compressed message around them; then m2
    .index   entries in order, up to the first unsound one: no reader uses the rest

The damage comes from the scan that `verify` uses, so both report the same. Nothing is printed here.
Source: ours; Kafka: DumpLogSegments.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.cli.message_fields import damage_json, message_json
from kminilog.cli.unpacking import Unpacking
from kminilog.errors import CorruptBytesError
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, decode_entries
from kminilog.format.message import (
    CODECS,
    HEADER_BYTES,
    CorruptMessage,
    Message,
    NeedMoreBytes,
    decode,
    encode,
    possible_beginnings,
)
from kminilog.format.names import parse_segment_file
from kminilog.storage.regular_file import open_regular, read_regular
from kminilog.storage.segment import Segment
from kminilog.verification.damage_scan import walk

_SHOWN_DAMAGE_BYTES = 1 << 16


class Dumped(NamedTuple):
    """One message, or a stretch of damage, of which `damaged_bytes` are the first."""

    record: dict[str, Any]
    message: Message | None = None
    damaged_bytes: bytes = b""

    def data(self, dialect: Dialect) -> bytes:
        """Return the bytes of the message, or of the damage."""
        if self.message is None:
            return self.damaged_bytes
        offset, *_, attributes, key, value = self.message
        return encode(dialect, offset, key, value, attributes=attributes)


def read_log(
    path: Path, dialect: Dialect, *, unpacking: Unpacking | None = None
) -> Iterator[Dumped]:
    """Yield what stands in a `.log`, in order; nothing for an empty one.

    With `unpacking` the messages inside of compressed ones in their place.

    Raises ValueError if no message is in it at all and its beginning does not look like one, and
    CompressedMessageError if `unpacking` meets a codec that cannot be opened.
    """
    base_offset, _ = parse_segment_file(path.name) or (0, "")
    segment = Segment(path.parent, base_offset, dialect, 0)
    segment.log_path = path  # a copy may have any name
    end = segment.file_bytes
    for step in walk(segment, end):
        if step.damage:
            at = step.damage.position
            if step.message is None and at == 0 and not _looks_like_a_message(path):
                raise ValueError(f"{path}: no message in {end} bytes; is this a .log of Kafka?")
            skipped_bytes = (step.position if step.message else end) - at
            data = _read(path, at, min(skipped_bytes, _SHOWN_DAMAGE_BYTES))
            yield damaged(dialect, at, data, step.damage.kind, step.damage.detail, skipped_bytes)
        if step.message is None:
            return
        if unpacking and step.message.codec != CODECS[0]:
            yield from _messages_inside(path, dialect, step.position, step.message, unpacking)
        else:
            yield Dumped(message_json(step.position, step.message), step.message)


def damaged(
    dialect: Dialect, position: int, data: bytes, fault: str, detail: str, skipped_bytes: int
) -> Dumped:
    """Return the record of a stretch of damage."""
    facts = {"fault": str(fault), "detail": detail, "skipped_bytes": skipped_bytes}
    return Dumped({**damage_json(dialect, position, data), **facts}, None, data)


def _messages_inside(
    path: Path, dialect: Dialect, position: int, wrapper: Message, unpacking: Unpacking
) -> Iterator[Dumped]:
    """Yield the messages inside a compressed one, up to the first that is damaged."""
    inside = unpacking.inside(wrapper, path, position)
    try:
        for data in inside:
            outcome = decode(dialect, data)
            if isinstance(outcome, Message):
                found = Dumped(message_json(position, outcome), outcome)
            else:
                detail = _detail(outcome)
                rest_bytes = len(data) + sum(map(len, inside))
                shown = data[:_SHOWN_DAMAGE_BYTES]
                found = damaged(dialect, position, shown, "bad-compression", detail, rest_bytes)
            yield found._replace(record={**found.record, "deep": True})
    except ValueError as error:
        wrapped = _read(path, position, wrapper.length_bytes)
        yield damaged(dialect, position, wrapped, "bad-compression", str(error), len(wrapped))


def _detail(outcome: CorruptMessage | NeedMoreBytes) -> str:
    return outcome.detail if isinstance(outcome, CorruptMessage) else "unfinished message"


def read_index(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON of each entry of an `.index`, up to the first that is unsound, with it.

    Raises ValueError if the name is not 20 digits: it has the number that offsets count from.
    """
    parsed = parse_segment_file(path.name)
    if parsed is None:
        raise ValueError(
            f"{path}: an index is read by the 20 digits of its name, like {0:020d}.index"
        )
    data = read_regular(path)
    for start in range(0, len(data), ENTRY_SIZE_BYTES):
        previous = max(start - ENTRY_SIZE_BYTES, 0)
        try:
            entry = decode_entries(data[previous : start + ENTRY_SIZE_BYTES])[-1]
        except CorruptBytesError as error:
            yield {
                "offset": None,
                "position": None,
                "valid": False,
                "fault": "index-order",
                "detail": f"{error.reason} at byte {start}",
                "skipped_bytes": len(data) - start,
            }
            return
        yield {
            "offset": parsed[0] + entry.relative_offset,
            "position": entry.position,
            "relative_offset": entry.relative_offset,
        }


def _looks_like_a_message(path: Path) -> bool:
    return next(possible_beginnings(_read(path, 0, HEADER_BYTES)), None) == 0


def _read(path: Path, position: int, size: int) -> bytes:
    with open(path, "rb", opener=open_regular) as file:
        file.seek(position)
        return file.read(size)
