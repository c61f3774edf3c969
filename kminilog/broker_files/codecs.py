"""Decompression of what a batch holds, with three outcomes.

    bytes           what was compressed
    CorruptRecord   these bytes are not of this codec, or are cut short
    NotChecked      the codec needs a package that is not installed, or there are too many bytes

    0 none     as they are
    1 gzip     RFC 1952, by the standard library
    2 snappy   one block; or as Java frames it: magic, versions, and blocks with their lengths
    3 lz4      the frame format. Format v0 has a wrong checksum in it (KAFKA-3160)
    4 zstd     RFC 8878; only in format v2

A kilobyte of each codec may hold a megabyte. So there is a limit, and no more than that much is
ever unpacked. Kafka has none: its `message.max.bytes`, 1 MiB by default, is of compressed bytes.
Source: Kafka: CompressionType, Lz4BlockInputStream, SnappyCompression; snappy-java: SnappyCodec.
"""

import struct
import zlib
from collections.abc import Callable

from kminilog.broker_files.record import CorruptRecord, NotChecked
from kminilog.broker_files.varint import Varint, decode_unsigned
from kminilog.text import count

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CODEC_BITS = 0b111  # of the attributes
MAX_DECOMPRESSED_BYTES = 64 << 20  # as for `dump --max-unpacked`: 64 times Kafka's largest batch

Decompressed = bytes | CorruptRecord | NotChecked

_GZIP_WRAPPER = 16 + zlib.MAX_WBITS  # says zlib: a header and a checksum of gzip
_GZIP_MAGIC = b"\x1f\x8b"
_XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEADER = struct.Struct(">8sii")  # magic, version, lowest compatible version
_LENGTH = struct.Struct(">i")
_LZ4_MAGIC = struct.pack("<I", 0x184D2204)
_CHUNK_BYTES = 1 << 16


class _TooMuchError(Exception):
    """More bytes than the limit."""


def codec_name(attributes: int) -> str:
    """Return the codec that the attributes of a message or a batch name.

    >>> codec_name(0b1_0100), codec_name(7)
    ('zstd', 'unknown')
    """
    number = attributes & CODEC_BITS
    return CODECS[number] if number < len(CODECS) else "unknown"


def decompress(
    codec: str, data: bytes, *, magic: int = 2, limit_bytes: int = MAX_DECOMPRESSED_BYTES
) -> Decompressed:
    """Return what was compressed, as long as that is at most `limit_bytes`. O(result).

    `magic` is the format's: lz4 in format v0 has a checksum that is wrong everywhere else.

    >>> decompress("gzip", zlib.compress(b"hello", wbits=31))
    b'hello'
    >>> decompress("gzip", zlib.compress(bytes(1000), wbits=31), limit_bytes=999)
    NotChecked(reason='more than 999 bytes when decompressed')
    >>> decompress("gzip", b"hello").detail
    'gzip: incorrect header check'
    """
    if codec == "none":
        return data
    if codec not in _BY_CODEC:
        return CorruptRecord("Unknown compression type")
    try:
        if codec == "lz4" and magic == 0:
            data = _with_right_header_checksum(data)
        return _BY_CODEC[codec](data, limit_bytes)
    except ModuleNotFoundError as error:
        return NotChecked(f"codec {codec} needs {error.name}: pip install 'kminilog[bulk]'")
    except _TooMuchError:
        return NotChecked(f"more than {count(limit_bytes, 'byte')} when decompressed")
    except (OSError, ValueError, zlib.error) as error:  # pyarrow's errors are of the first two
        reason = str(error).rpartition(": ")[2]
        return CorruptRecord(f"{codec}: {reason}")


def _gunzip(data: bytes, limit_bytes: int) -> bytes:
    """Return all members; bytes after the last one are ignored, as Java does."""
    unpacked = b""
    while True:
        member = zlib.decompressobj(_GZIP_WRAPPER)
        unpacked += member.decompress(data, limit_bytes + 1 - len(unpacked))
        if len(unpacked) > limit_bytes:
            raise _TooMuchError
        if not member.eof:
            raise ValueError("the data are cut short")
        data = member.unused_data
        if not data.startswith(_GZIP_MAGIC):
            return unpacked


def _snappy(data: bytes, limit_bytes: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return _snappy_block(data, limit_bytes)
    if len(data) < _XERIAL_HEADER.size:
        raise ValueError("the data are cut short")
    _, version, _ = _XERIAL_HEADER.unpack_from(data)
    if version < 1:
        raise ValueError(f"Compressed with an incompatible codec version {version}")
    blocks, position, left_bytes = [], _XERIAL_HEADER.size, limit_bytes
    while position < len(data):
        if position + _LENGTH.size > len(data):
            raise ValueError("the data are cut short")
        (length,) = _LENGTH.unpack_from(data, position)
        position += _LENGTH.size
        if not 0 <= length <= len(data) - position:
            raise ValueError(f"a block of {length} bytes, but {len(data) - position} are left")
        blocks.append(_snappy_block(data[position : position + length], left_bytes))
        position += length
        left_bytes -= len(blocks[-1])
    return b"".join(blocks)


def _snappy_block(data: bytes, limit_bytes: int) -> bytes:
    """Return one block: its own first number says how many bytes it gives."""
    import pyarrow

    length = decode_unsigned(data)
    if not isinstance(length, Varint):
        raise ValueError("a block does not say how long it is")
    if length.value > limit_bytes:
        raise _TooMuchError
    unpacked: bytes = pyarrow.Codec("snappy").decompress(data, length.value, asbytes=True)
    return unpacked


def _by_stream(codec: str) -> Callable[[bytes, int], bytes]:
    """Return a function that unpacks bit by bit, so the limit holds whatever the data say."""

    def unpack(data: bytes, limit_bytes: int) -> bytes:
        import pyarrow

        chunks, count = [], 0
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), codec) as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                chunks.append(chunk)
                count += len(chunk)
                if count > limit_bytes:
                    raise _TooMuchError
        return b"".join(chunks)

    return unpack


def _with_right_header_checksum(frame: bytes) -> bytes:
    """Return a frame of lz4 with the checksum that its header should have.

    Kafka's clients of format v0 took it over the magic number, too. It is the second byte of
    xxHash32 over the frame descriptor: flags, block size, and what the flags say is there.
    """
    import xxhash

    start = len(_LZ4_MAGIC)
    if not frame.startswith(_LZ4_MAGIC) or len(frame) <= start:
        return frame
    flags = frame[start]
    has_content_size, has_dictionary = flags >> 3 & 1, flags & 1
    end = start + 2 + 8 * has_content_size + 4 * has_dictionary
    checksum = xxhash.xxh32_intdigest(frame[start:end]) >> 8 & 0xFF
    return frame[:end] + bytes([checksum]) + frame[end + 1 :]


_BY_CODEC: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzip,
    "snappy": _snappy,
    "lz4": _by_stream("lz4"),
    "zstd": _by_stream("zstd"),
}
