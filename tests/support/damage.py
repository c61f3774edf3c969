"""Damage done to files, and what the documented byte layout says about what is left.

Nothing of kminilog is imported here: what these functions break and count must not depend on the
code that is to find it.

    message   offset int64 | size int32 | crc uint32 | magic ... end     size: from the crc on
    index     relative offset int32 | position int32                     all are big-endian
"""

import os
import struct
import zlib
from pathlib import Path

OFFSET_BYTES = 8
SIZE_END = 12
CRC_END = 16
_OFFSET_AND_SIZE = struct.Struct(">qi")
_CRC = struct.Struct(">I")
_ENTRY = struct.Struct(">ii")


def flip_byte(
    path: Path, position: int, *, mask: int | None = None, value: int | None = None
) -> None:
    """Change one byte: its bits in `mask`, or all of it to `value`.

    Raises ValueError if the byte would stay as it is, so that no test changes nothing.
    """
    with open(path, "r+b") as file:
        file.seek(position)
        (old,) = file.read(1)
        new = value if value is not None else old ^ (mask or 0)
        if new == old:
            raise ValueError(f"{path.name}: byte {position} is {new:#04x} already")
        file.seek(position)
        file.write(bytes([new]))


def cut_to(path: Path, size: int) -> None:
    """Shorten a file; ValueError if it is not longer than that."""
    if size >= path.stat().st_size:
        raise ValueError(f"{path.name} has no more than {size} bytes")
    os.truncate(path, size)


def zero_range(path: Path, start: int, end: int) -> None:
    """Put zeros from byte `start` up to, not including, `end`; after the end the file grows."""
    with open(path, "r+b") as file:
        file.seek(start)
        file.write(bytes(end - start))


def fix_crc(path: Path, position: int) -> None:
    """Make the crc of the message that begins at `position` right for the bytes it has now."""
    with open(path, "r+b") as file:
        file.seek(position)
        _, size = _OFFSET_AND_SIZE.unpack(file.read(SIZE_END))
        file.seek(position + CRC_END)
        covered = file.read(size - _CRC.size)
        file.seek(position + SIZE_END)
        file.write(_CRC.pack(zlib.crc32(covered)))


def later_message(magic: int, offset: int, value: bytes, *, last_offset_delta: int = 0) -> bytes:
    """Return a whole message without a key, as another format than v0 has it.

    Magic 1: a message of Kafka 0.10. Magic 2: a batch with one record, whose crc is a CRC-32C; its
    last record has the offset `offset` + `last_offset_delta`. Any other magic: made up, with the
    crc of v0.
    """
    if magic == 2:
        record = b"\0\0\0\1" + bytes([2 * len(value)]) + value + b"\0"
        record = bytes([2 * len(record)]) + record
        covered = struct.pack(">hiqqqhii", 0, last_offset_delta, 1, 1, -1, -1, -1, 1) + record
        content = struct.pack(">ibI", 0, magic, crc32c(covered)) + covered
        return _OFFSET_AND_SIZE.pack(offset, len(content)) + content
    covered = struct.pack(">bb", magic, 0)
    if magic == 1:
        covered += struct.pack(">q", 1_500_000_000_000)
    covered += struct.pack(">ii", -1, len(value)) + value
    sized = _OFFSET_AND_SIZE.pack(offset, len(covered) + _CRC.size)
    return sized + _CRC.pack(zlib.crc32(covered)) + covered


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of RFC 3720, bit by bit.

    >>> f"{crc32c(b'123456789'):08x}"
    'e3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def message_positions(data: bytes) -> list[int]:
    """Return where each message of a `.log` begins, and last where the file ends.

    Raises ValueError if the chain of sizes does not end at the end of the file.
    """
    positions = [0]
    while positions[-1] < len(data):
        _, size = _OFFSET_AND_SIZE.unpack_from(data, positions[-1])
        positions.append(positions[-1] + SIZE_END + size)
    if positions[-1] != len(data):
        raise ValueError(f"the last message ends at {positions[-1]}, the file at {len(data)}")
    return positions


def offsets_in(data: bytes) -> list[int]:
    """Return the offset field of each message of a `.log` whose sizes are right."""
    return [
        _OFFSET_AND_SIZE.unpack_from(data, position)[0] for position in message_positions(data)[:-1]
    ]


def index_entries(data: bytes) -> list[tuple[int, int]]:
    """Return the (relative offset, position) pairs of an undamaged `.index`."""
    return list(_ENTRY.iter_unpack(data))


def encode_entries(entries: list[tuple[int, int]]) -> bytes:
    """Return the bytes of an `.index` with these pairs, however senseless they are."""
    return b"".join(_ENTRY.pack(*entry) for entry in entries)


def files_of(directory: Path) -> dict[str, bytes]:
    """Return the contents of all files below a directory by their relative paths."""
    paths = [path for path in sorted(directory.rglob("*")) if path.is_file()]
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}


def restore(directory: Path, files: dict[str, bytes]) -> None:
    """Make a directory hold exactly these files again; sub-directories stay."""
    for path in directory.rglob("*"):
        if path.is_file() and path.relative_to(directory).as_posix() not in files:
            path.unlink()
    for name, data in files.items():
        path = directory / name
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)
