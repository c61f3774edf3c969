"""Read the messages of a `.log` and the damage between them, in order, to the end of the file.

After damage it continues with the first message that has a right crc, at any byte.

    m0 m1 ~~~~~~ m3 m4 ~~~      m0 | m1 | damage, m3 | m4 | damage
                                          bad-crc,         torn-tail, or damage as before
                                          bad-magic or
                                          bad-length

A stretch of damage gets one finding, by the fault at its beginning. If the crc is right for another
size, the fault is the size field, which the crc does not cover. If one wrong byte explains it, the
finding names it (format/flipped_bit.py). This module does not check offsets.
A writer may be at work: a message that is complete at a second look is no damage. Source: ours;
Kafka stops at the first invalid message.
"""

import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from kminilog.format.dialect import Dialect
from kminilog.format.flipped_bit import MAX_BYTES, WrongByte, only_byte, wrong_byte_of
from kminilog.format.message import (
    CRC_END,
    KEY_START,
    SIZE_END,
    CorruptMessage,
    Fault,
    Message,
    NeedMoreBytes,
    checksum,
    decode,
    encode,
)
from kminilog.storage.files import open_regular, regular_status
from kminilog.storage.segment.segment import Segment
from kminilog.storage.segment.whole_messages import find_message, said_of, whole_at, whole_messages

BAD_LENGTH, TORN_TAIL = "bad-length", "torn-tail"
_SIZE_AT = 8
_SIZE_AND_CRC = struct.Struct(">iI")
_MAX_REPAIRED_BYTES = 1 << 26
_LOOKS = 10_000  # this takes some ten milliseconds; a writer's next step takes microseconds


class Damage(NamedTuple):
    """A stretch of bytes that holds no message; it begins at `position`.

    Its `kind` is the name of a class of findings.
    """

    kind: str
    position: int
    detail: str


class ScannedMessage(NamedTuple):
    """A message and the damage in front of it; without a message: damage to the end of the file."""

    position: int
    message: Message | None
    damage: Damage | None


def walk(segment: Segment, end: int, position: int = 0) -> Iterator[ScannedMessage]:
    """Yield every valid message that begins before byte `end`, and all damage; O(bytes).

    It begins at `position`, where a message begins.
    """
    damage: Damage | None = None
    while position < min(end, segment.file_bytes):
        for at, outcome in segment.scan(position):
            position = at
            if not isinstance(outcome, Message):
                damage, position = _examine(segment, at, outcome)
            elif at < end:
                yield ScannedMessage(at, outcome, damage)
                damage, position = None, at + outcome.length_bytes
            else:
                return
    if damage:
        yield ScannedMessage(damage.position, None, damage)


def _examine(
    segment: Segment, position: int, outcome: NeedMoreBytes | CorruptMessage
) -> tuple[Damage | None, int]:
    """Return the damage at a position, and where to continue.

    The damage is None if a writer has finished the message meanwhile.
    """
    file_bytes = segment.file_bytes
    if _message_at(segment, position):
        return None, position
    found = find_message(partial(decode, segment.dialect), segment.log_path, position + 1)
    end = found[0] if found else max(file_bytes, position + 1)
    real_size = _repaired_size(segment, position, end)
    if real_size is not None:
        detail = f"the size field is wrong: the crc is right for a size of {real_size}"
        detail += _said_of_byte(segment, position, SIZE_END + real_size)
        return Damage(BAD_LENGTH, position, detail), end
    if isinstance(outcome, NeedMoreBytes):
        if not found and has_grown(segment.log_path, file_bytes):
            return None, position
        other = None if found else next(whole_messages(segment.log_path, position + 1), None)
        kind = BAD_LENGTH if found or other else TORN_TAIL
        after = "the next message" if found else "the end of the file"
        if other:
            after = "a whole message of another format"
        detail = (
            f"unfinished message: at least {outcome.needed_bytes} bytes are needed, "
            f"{after} comes after {(other[0] if other else end) - position}"
        )
        return Damage(kind, position, detail), end
    claimed_end = position + outcome.length_bytes
    if end < claimed_end and (claimed_end == file_bytes or _message_at(segment, claimed_end)):
        end = claimed_end  # the message that was found is inside the value of this one
    whole = whole_at(segment.log_path, position) if outcome.fault is Fault.BAD_MAGIC else None
    detail = outcome.detail + (said_of(whole) if whole else "")
    detail += _said_of_byte(segment, position, outcome.length_bytes)
    return Damage(outcome.fault.value, position, detail), end


def no_tail(torn: Damage) -> Damage:
    """Return a torn tail as what it is if segments come after it: a message without its end.

    >>> no_tail(Damage(TORN_TAIL, 5, "unfinished message")).detail
    'unfinished message; other segments come after it'
    """
    detail = f"{torn.detail}; other segments come after it"
    return torn._replace(kind=BAD_LENGTH, detail=detail)


def most_messages(dialect: Dialect, size_bytes: int) -> int:
    """Return how many messages fit into so many bytes at most.

    >>> from kminilog.format.dialect import DOCUMENTED
    >>> most_messages(DOCUMENTED, 4096), most_messages(DOCUMENTED, 21)
    (186, 0)
    """
    return size_bytes // len(encode(dialect, 0, None, b""))


def has_grown(path: Path, size_bytes: int) -> bool:
    """Tell if the size of a file changes, now or within milliseconds: then a writer is at work."""
    return any(regular_status(path).st_size != size_bytes for _ in range(_LOOKS))


def _message_at(segment: Segment, position: int) -> bool:
    _, outcome = next(segment.scan(position), (position, None))
    return isinstance(outcome, Message)


def repaired_size(data: bytes) -> int | None:
    """Return the right size of a message, if only its size field is wrong; else None.

    `data` is the message from its offset field to its real end. The crc does not cover the size. So
    if the crc matches these bytes, only the size can be wrong. O(bytes).

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> data = encode(KAFKA, 5, b"k", b"v")
    >>> repaired_size(data[:8] + bytes([0, 0, 0, 99]) + data[12:])
    16
    >>> repaired_size(data) is repaired_size(data[:-1]) is None
    True
    """
    if len(data) < KEY_START:
        return None
    size, stored_crc = _SIZE_AND_CRC.unpack_from(data, _SIZE_AT)
    real_size = len(data) - SIZE_END
    return real_size if size != real_size and stored_crc == crc32(data[CRC_END:]) else None


def wrong_byte_in(dialect: Dialect, data: bytes) -> WrongByte | None:
    """Return the likely wrong byte of a message, all of it; None if none is likely. O(bytes).

    >>> from kminilog.format.dialect import KAFKA
    >>> data = encode(KAFKA, 5, b"key", b"an order")
    >>> wrong_byte_in(KAFKA, data.replace(b"key", b"kex"))
    WrongByte(at=24, mask=1)
    """
    if len(data) < KEY_START:
        return None
    real_size = repaired_size(data)
    if real_size is not None:
        return only_byte(_SIZE_AT, real_size ^ int.from_bytes(data[_SIZE_AT:SIZE_END]))
    return wrong_byte_of(
        data,
        SIZE_END,
        checksum(data),
        lambda repaired: isinstance(decode(dialect, repaired), Message),
    )


def _said_of_byte(segment: Segment, position: int, length_bytes: int) -> str:
    if length_bytes > CRC_END + MAX_BYTES:
        return ""
    with open(segment.log_path, "rb", opener=open_regular) as file:
        file.seek(position)
        data = file.read(max(length_bytes, 0))
    wrong = wrong_byte_in(segment.dialect, data)
    return f"; {wrong.said(data, position, SIZE_END)}" if wrong else ""


def _repaired_size(segment: Segment, position: int, end: int) -> int | None:
    if end - position > _MAX_REPAIRED_BYTES:
        return None
    with open(segment.log_path, "rb", opener=open_regular) as file:
        file.seek(position)
        return repaired_size(file.read(end - position))
