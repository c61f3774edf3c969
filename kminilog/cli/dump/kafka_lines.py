"""`dump --format kafka`: exactly the lines of Kafka 0.8.2.2's DumpLogSegments.

    Dumping <path as given>
    Starting offset: 0
    offset: 0 position: 0 isvalid: true payloadsize: 8 magic: 0 compresscodec: ... crc: 3916773564
    Found 27 invalid bytes at the end of 00000000000000000000.log
    Non-secutive offsets in :<absolute path>                                        on stderr

As Kafka does, it goes from message to message by their size fields alone, and stops where a size is
impossible. Inside a compressed message Kafka crashes there; here a line on stderr tells of it.
tests/conformance compares the output with the real tool, byte for byte. Source: Kafka 0.8.2.2:
DumpLogSegments, FileMessageSet.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kminilog.cli.dump.reading import read_index
from kminilog.cli.dump.unpacking import Unpacking
from kminilog.explain.field_layout import split_fields
from kminilog.format.dialect import Dialect
from kminilog.format.message import CODECS, SIZE_END, Message, decode
from kminilog.format.names import LOG_SUFFIX, parse_segment_file
from kminilog.storage.files import open_regular

_CODEC_NAMES = {
    "none": "NoCompressionCodec",
    "gzip": "GZIPCompressionCodec",
    "snappy": "SnappyCompressionCodec",
    "lz4": "LZ4CompressionCodec",
}
_NO_CODEC = _CODEC_NAMES["none"]
# Java reads a surrogate in UTF-8, which is not allowed, as one wrong character, Python as three.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


class _Entry(NamedTuple):
    """A message as its fields say, valid or not."""

    offset: int
    line: str
    codec: str


def log_lines(
    file: str,
    dialect: Dialect,
    complaints: list[str],
    *,
    print_data: bool,
    unpacking: Unpacking | None = None,
) -> Iterator[str]:
    """Yield the lines for a `.log`; `file` is its path as given.

    What goes to stderr goes into `complaints`: offsets that do not follow each other, as Kafka has
    them, and where the bytes inside a compressed message are no message.
    Raises ValueError if its name is not 20 digits and `.log`, CompressedMessageError if
    `unpacking` meets a codec that cannot be opened.
    """
    path = Path(file)
    parsed = parse_segment_file(path.name)
    if parsed is None:
        raise ValueError(f"{file}: --format kafka needs the 20 digits of a segment's name")
    yield f"Dumping {file}"
    yield f"Starting offset: {parsed[0]}"
    followed: list[tuple[int, int]] = []
    position, last_offset = 0, -1
    for data in _whole_messages(path, dialect):
        cut_before = unpacking.cut_count if unpacking else 0
        damage: list[str] = []
        inside = _inside(path, dialect, position, data, unpacking, damage) if unpacking else [data]
        for inner in inside:
            entry = _entry(dialect, position, inner, print_data=print_data)
            if last_offset != -1 and entry.codec == _NO_CODEC and entry.offset != last_offset + 1:
                followed.insert(0, (last_offset, entry.offset))
            last_offset = entry.offset
            yield entry.line
        complaints += damage
        if damage or (unpacking and unpacking.cut_count > cut_before):
            last_offset = -1  # the last one inside was not seen
        position += len(data)
    invalid_bytes = path.stat().st_size - position
    if invalid_bytes > 0:
        yield f"Found {invalid_bytes} invalid bytes at the end of {path.name}"
    if followed:
        complaints.append(f"Non-secutive offsets in :{_absolute(file)}")
        complaints += [f"  {first} is followed by {second}" for first, second in followed]


def index_lines(file: str, complaints: list[str]) -> Iterator[str]:
    """Yield the lines for an `.index`; entries that its `.log` contradicts go into `complaints`."""
    yield f"Dumping {file}"
    mismatches: list[tuple[int, int]] = []
    log_path = Path(file).with_suffix(LOG_SUFFIX)
    with open(log_path, "rb", opener=open_regular) as log:
        for entry in read_index(Path(file)):
            if entry["offset"] is None:
                break
            log.seek(entry["position"])
            found = log.read(8)
            offset = int.from_bytes(found, signed=True) if len(found) == 8 else -1  # past the end
            if offset != entry["offset"]:
                mismatches.insert(0, (entry["offset"], offset))
            yield f"offset: {entry['offset']} position: {entry['position']}"
    if mismatches:
        complaints.append(f"Mismatches in :{_absolute(file)}")
        complaints += [f"  Index offset: {at}, log offset: {found}" for at, found in mismatches]


def is_complaint(line: str) -> bool:
    """Tell if a line reports damage.

    >>> is_complaint("Found 27 invalid bytes at the end of 0.log"), is_complaint("Dumping 0.log")
    (True, False)
    """
    return " isvalid: false " in line or line.startswith("Found ")


def _whole_messages(path: Path, dialect: Dialect) -> Iterator[bytes]:
    with open(path, "rb", opener=open_regular) as file:
        while len(start := file.read(SIZE_END)) == SIZE_END:
            size = int.from_bytes(start[8:], signed=True)
            if size < dialect.overhead_bytes:
                return
            rest = file.read(size)
            if len(rest) < size:
                return
            yield start + rest


def _inside(
    path: Path,
    dialect: Dialect,
    position: int,
    data: bytes,
    unpacking: Unpacking,
    damage: list[str],
) -> Iterator[bytes]:
    """Yield a message, or those inside it up to the first that is damaged: `damage` names it."""
    message = decode(dialect, data)
    if not isinstance(message, Message) or not message.is_compressed:
        yield data
        return
    where = f"kminilog: {path}, offset {message.offset}, byte {position}"
    try:
        for inner in unpacking.inside(message, path, position):
            size = int.from_bytes(inner[8:SIZE_END], signed=True)
            if size < dialect.overhead_bytes or len(inner) < SIZE_END + size:
                damage.append(f"{where}: damage inside the message; the rest of it is not shown")
                return
            yield inner
    except ValueError as error:
        damage.append(f"{where}: {error}; the rest of it is not shown")


def _entry(dialect: Dialect, position: int, data: bytes, *, print_data: bool) -> _Entry:
    fields = {field.name: field.data for field in split_fields(dialect, data)}

    def number(name: str) -> int:
        return int.from_bytes(fields[name], signed=name != "crc")

    is_valid = isinstance(decode(dialect, data), Message)
    value = fields.get("value", b"")
    value_size = number("value length") if "value length" in fields else len(value)
    codec = _CODEC_NAMES.get(CODECS.get(number("attributes") & 7, ""), _NO_CODEC)
    line = (
        f"offset: {number('offset')} position: {position} isvalid: {str(is_valid).lower()} "
        f"payloadsize: {value_size} magic: {number('magic')} "
        f"compresscodec: {codec} crc: {number('crc')}"
    )
    has_key = number("key length") >= 0
    if has_key:
        line += f" keysize: {number('key length')}"
    if print_data and has_key:
        line += f" key: {_as_java(fields.get('key', b''))}"
    if print_data:
        line += f" payload: {'null' if value_size < 0 else _as_java(value)}"
    return _Entry(number("offset"), line, codec)


def _as_java(data: bytes) -> str:
    return _SURROGATE.sub("\ufffd".encode(), data).decode("utf-8", "replace")


def _absolute(file: str) -> str:
    return os.path.join(os.getcwd(), file)
