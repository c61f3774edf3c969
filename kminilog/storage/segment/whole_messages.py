"""The whole messages after damage: of whatever format, wherever they begin.

`scan_file` follows messages from one to the next, and ends at damage. This module goes on: it tries
every position after the damage, so it finds the next message. What is whole may have been
acknowledged, so recovery cuts no log in front of it. This module does not know which offset comes
next. It reads a file up to its length at the start of the call, in windows: memory stays at one
window, or at one message if that is larger.

What it knows of later formats comes from one table, `LATER_FORMATS`. Without that module, what has
the crc of format 0 is whole, and nothing else. Source: ours.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kminilog.format.any_format import MAGIC_AT, fields_of, possible_beginnings
from kminilog.format.message import (
    KEY_START,
    MAGIC,
    MIN_SIZE,
    SIZE_END,
    CorruptMessage,
    Fault,
    Message,
    NeedMoreBytes,
    Outcome,
    framed,
)
from kminilog.storage.files import open_regular
from kminilog.storage.segment.log_file import SCAN_WINDOW_BYTES, Decode, scan_by
from kminilog.storage.segment.segment import Segment

try:
    from kminilog.format.later_formats import LATER_FORMATS
except ModuleNotFoundError:  # left out
    LATER_FORMATS = {}

_FIRST_WINDOW_BYTES = 1 << 14  # after damage, the next message is usually near


def decode_any(data: bytes, position: int = 0) -> Outcome:
    """Return what begins at `position` as `decode` does, whatever the format and the dialect.

    In all formats a message is *whole* if there are as many bytes as its size says, and its crc is
    right. The formats differ in where key and value are: both are None in the result. A batch has
    the offset of its last record. O(size).

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> found = decode_any(encode(KAFKA, 7, None, b"hi"))
    >>> found.offset, found.value
    (7, None)
    """
    frame = framed(data, position, MIN_SIZE)
    if not isinstance(frame, bytes):
        return frame
    later = LATER_FORMATS.get(frame[MAGIC_AT])
    offset, magic, attributes, crc, actual_crc = (later.fields_of if later else fields_of)(frame)
    if actual_crc != crc:
        return CorruptMessage(Fault.BAD_CRC, "in no format", offset, len(frame))
    return Message(offset, len(frame) - SIZE_END, crc, magic, attributes, None, None)


def is_later(magic: int) -> bool:
    """Tell if this is the magic of a later format of Kafka."""
    return magic in LATER_FORMATS


def is_batch(magic: int) -> bool:
    """Tell if what has this magic is a batch: it holds messages."""
    return magic in LATER_FORMATS and LATER_FORMATS[magic].is_batch


def format_name(message: Message) -> str:
    """Return the name of the format that a whole message has; "" if it is format 0.

    >>> format_name(Message(5, 22, 0, 0, 0, None, None))
    ''
    >>> format_name(Message(5, 22, 0, 99, 0, None, None))
    'an unknown format'
    """
    if message.magic == MAGIC:
        return ""
    later = LATER_FORMATS.get(message.magic)
    return later.name if later else "an unknown format"


def said_of(whole: Message) -> str:
    """Return what is said of a whole message after a fault: nothing more if it has format 0."""
    name = format_name(whole)
    return f", but the crc is right: {name}" if name else ""


def whole_at(path: Path, position: int) -> Message | None:
    """Return the whole message that begins at a position, of whatever format; None if none does."""
    found = scan_by(decode_any, path, position, _FIRST_WINDOW_BYTES)
    _, outcome = next(found, (position, None))
    return outcome if isinstance(outcome, Message) else None


def whole_messages(
    path: Path, position: int = 0, minimum_offset: int = -(1 << 63)
) -> Iterator[tuple[int, Message]]:
    """Yield the whole messages at or after `position`, of whatever format, with their positions.

    It skips the damage between them, and messages with offsets below `minimum_offset`. What
    `decode_any` calls whole may have been acknowledged. O(bytes).
    """
    while True:
        for at, outcome in scan_by(decode_any, path, position, _FIRST_WINDOW_BYTES):
            position = at
            if not isinstance(outcome, Message):
                break
            if outcome.offset >= minimum_offset:
                yield at, outcome
            position += outcome.length_bytes
        found = find_message(decode_any, path, position, minimum_offset)
        if found is None:
            return
        position, _ = found


def find_message(
    decode: Decode, path: Path, position: int = 0, minimum_offset: int = 0
) -> tuple[int, Message] | None:
    """Return the first message at or after `position`, and its position; None if there is none.

    `decode` says what a message is. Its offset must be at least `minimum_offset`. Every byte is a
    possible start: a regular expression scans O(bytes), and each match costs one crc.
    """
    descriptor = open_regular(path)
    try:
        end = os.fstat(descriptor).st_size
        start, window_bytes = position, _FIRST_WINDOW_BYTES
        while start < end:
            window = os.pread(descriptor, window_bytes + KEY_START - 1, start)
            for beginning in possible_beginnings(window):
                offset = int.from_bytes(window[beginning : beginning + 8], "big", signed=True)
                if offset < minimum_offset and not is_batch(window[beginning + MAGIC_AT]):
                    continue  # a batch begins with the offset of its first record
                at = start + beginning
                outcome = decode(window, beginning)
                if isinstance(outcome, NeedMoreBytes) and outcome.needed_bytes <= end - at:
                    outcome = decode(os.pread(descriptor, outcome.needed_bytes, at), 0)
                if isinstance(outcome, Message) and outcome.offset >= minimum_offset:
                    return at, outcome
            start += window_bytes
            window_bytes = min(4 * window_bytes, SCAN_WINDOW_BYTES)
    finally:
        os.close(descriptor)
    return None


class WholeMessages(NamedTuple):
    """The whole messages after damage: their number, and one past their greatest offset.

    A batch of Kafka's format v2 holds messages, and counts as a batch.
    """

    message_count: int
    next_offset: int
    batch_count: int = 0

    def plus(self, other: "WholeMessages") -> "WholeMessages":
        """Return both together."""
        return WholeMessages(
            self.message_count + other.message_count,
            max(self.next_offset, other.next_offset),
            self.batch_count + other.batch_count,
        )

    def without(self, message: Message) -> "WholeMessages":
        """Return them without one that is counted."""
        batches = int(is_batch(message.magic))
        return self._replace(
            message_count=self.message_count - (1 - batches),
            batch_count=self.batch_count - batches,
        )

    def __str__(self) -> str:
        r"""Return what these are, in words.

        >>> print(WholeMessages(1, 8), WholeMessages(0, 8, 2), WholeMessages(3, 8, 1), sep="\n")
        1 whole message
        2 whole batches of format v2
        3 whole messages and 1 whole batch of format v2
        """
        messages = f"{self.message_count} whole message{'s' * (self.message_count != 1)}"
        batches = f"{self.batch_count} whole batch{'es' * (self.batch_count != 1)} of format v2"
        if not self.batch_count:
            return messages
        return f"{messages} and {batches}" if self.message_count else batches


def count_whole_messages(segment: Segment, position: int = 0) -> WholeMessages:
    """Return the number of whole messages at or after a position; skip damage between them.

    They may have any format (`whole_messages`). O(bytes). `next_offset` ignores an offset that a
    segment of this length cannot reach without gaps and compressed messages: there it is damage
    itself. It is 0 if no other message is there.
    """
    # No message is shorter than a byte, so the offsets cannot grow by more than the file has bytes.
    most_messages = segment.file_bytes
    limit = segment.first_offset + most_messages
    message_count = batch_count = next_offset = 0
    for _, message in whole_messages(segment.log_path, position):
        batch_count += is_batch(message.magic)
        message_count += not is_batch(message.magic)
        if next_offset <= message.offset < limit:
            next_offset = message.offset + 1
    return WholeMessages(message_count, next_offset, batch_count)
