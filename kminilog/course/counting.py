"""Bytes that count what is copied of them: a check judges a cost without a clock.

A slice of bytes is a copy. Who hands on all that follows, message after message, copies a file once
for each of its messages. Source: ours.
"""

from typing import Any


class CountedBytes(bytes):
    """Bytes whose copies, and the copies of these, add their lengths to `copied`.

    A memoryview of them copies nothing, and counts nothing.

    >>> data = CountedBytes(b"abcdef")
    >>> data[1:][2:], data[5], sum(data.copied)
    (b'def', 102, 8)
    """

    copied: list[int]

    def __new__(cls, data: bytes, copied: list[int] | None = None) -> "CountedBytes":
        counted = super().__new__(cls, data)
        counted.copied = [] if copied is None else copied
        return counted

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        if not isinstance(found, bytes):
            return found
        self.copied.append(len(found))
        return CountedBytes(found, self.copied)

    def __bytes__(self) -> bytes:
        copy: bytes = self[:]  # which counts
        return copy
