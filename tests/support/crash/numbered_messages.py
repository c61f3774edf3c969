"""Messages whose content follows from their offset: what the processes of the tests write."""

import random

KeyValue = tuple[bytes | None, bytes | None]


def numbered_message(offset: int, value_bytes: int | None = None) -> KeyValue:
    """Return the message for an offset; with a value of some size, or of `value_bytes`."""
    source = random.Random(offset)
    size = source.choice([10, 30, 100, 300]) if value_bytes is None else value_bytes
    key = None if offset % 3 == 0 else b"key %d" % (offset % 10)
    return key, b"%d:" % offset + source.randbytes(10) * (size // 10)


def numbered_messages(first_offset: int, count: int) -> list[KeyValue]:
    """Return the messages for `count` offsets."""
    return [numbered_message(offset) for offset in range(first_offset, first_offset + count)]
