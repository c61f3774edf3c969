"""Record sets as producers send them: messages of formats v0 and v1, batches of v2."""

import gzip
import struct
from zlib import crc32

import pyarrow

from kminilog.broker_files.crc32c import crc32c
from kminilog.format.message import KeyValue
from tests.support.broker_files.partition_writer import NOBODY, Producer, batch, varint

__all__ = ["NOBODY", "Producer"]
CODEC_NUMBERS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
START_MS = 1_700_000_000_000


def message(
    key: bytes | None,
    value: bytes | None,
    *,
    magic: int = 0,
    attributes: int = 0,
    offset: int = 0,
    timestamp: int = START_MS,
) -> bytes:
    """Return a message of format v0 or v1."""
    content = struct.pack(">bb", magic, attributes)
    if magic:
        content += struct.pack(">q", timestamp)
    for part in (key, value):
        content += struct.pack(">i", -1 if part is None else len(part)) + (part or b"")
    return struct.pack(">qiI", offset, 4 + len(content), crc32(content)) + content


def compressed(codec: str, data: bytes, *, as_java: bool = False) -> bytes:
    """Return bytes as a codec packs them; snappy in Java's frames, if these are wanted."""
    if codec == "none":
        return data
    if codec == "gzip":
        return gzip.compress(data, mtime=0)
    if codec == "snappy":
        block = pyarrow.Codec("snappy").compress(data, asbytes=True)
        if not as_java:
            return bytes(block)
        return b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(block)) + block
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, codec) as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def wrapped(messages: list[KeyValue], codec: str, *, magic: int = 0) -> bytes:
    """Return one message of format v0 or v1 that has these in it, compressed."""
    inner = b"".join(
        message(*each, magic=magic, offset=number) for number, each in enumerate(messages)
    )
    number = CODEC_NUMBERS[codec]
    value = compressed(codec, inner, as_java=codec == "snappy")
    return message(None, value, magic=magic, attributes=number, offset=len(messages) - 1)


def set_of(messages: list[KeyValue], *, magic: int = 0) -> bytes:
    """Return a set of plain messages of format v0 or v1."""
    return b"".join(
        message(*each, magic=magic, offset=number) for number, each in enumerate(messages)
    )


def batch_of(
    messages: list[KeyValue],
    *,
    codec: str = "none",
    producer: Producer = NOBODY,
    headers: list[tuple[bytes, bytes | None]] | None = None,
    attributes: int = 0,
    times: int = 1,
) -> bytes:
    """Return a batch of format v2; each record has these headers. `times`: so often, all the same,
    with the offset deltas of the first time."""
    parts = []
    for delta, (key, value) in enumerate(messages):
        body = b"\0" + varint(0) + varint(delta)
        for each in (key, value):
            body += varint(-1) if each is None else varint(len(each)) + each
        body += varint(len(headers or ()))
        for name, content in headers or ():
            body += varint(len(name)) + name
            body += varint(-1) if content is None else varint(len(content)) + content
        parts += [varint(len(body)), body]
    plain = batch(0, [], producer=producer)
    payload = compressed(codec, b"".join(parts) * times)
    head = bytearray(plain[:61])
    struct.pack_into(">i", head, 8, 49 + len(payload))
    struct.pack_into(">hi", head, 21, CODEC_NUMBERS[codec] | attributes, len(messages) * times - 1)
    struct.pack_into(">i", head, 57, len(messages) * times)
    return with_right_crc(bytes(head) + payload)


def with_right_crc(data: bytes) -> bytes:
    """Return a batch of format v2 with the checksum that its bytes give."""
    return data[:17] + struct.pack(">I", crc32c(data[21:])) + data[21:]
