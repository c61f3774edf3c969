"""Data that counts what is read or copied of it: a check judges a cost without a clock.

A slice of bytes is a copy. Who hands on all that follows, message after message, copies a file once
for each of its messages. Source: ours.
"""

from collections.abc import Sequence
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


class CountedSlots(Sequence[int]):
    """A sequence that knows which of its slots have been read, and if a slice was taken.

    >>> names = CountedSlots([0, 7, 9])
    >>> names[-1], names[:1], sorted(names.slots), names.is_sliced
    (9, [0], [0, 2], True)
    """

    def __init__(self, values: Sequence[int]) -> None:
        self._values = values
        self.slots: set[int] = set()
        self.is_sliced = False

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, slot: Any) -> Any:
        read = range(len(self._values))[slot]
        self.is_sliced = self.is_sliced or isinstance(slot, slice)
        self.slots |= {read} if isinstance(read, int) else set(read)
        return self._values[slot]
