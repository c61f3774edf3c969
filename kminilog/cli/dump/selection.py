"""Which messages or index entries of a file `dump` shows: all, or those at one place.

    --at BYTE      the message, or the damage, or the entry that holds this byte
    --offset N     the message with this offset, or the damage where it should be; of an index, the
                   entry at which the search for it begins
    --count N      so many from there on; without it, one

A file is read from its beginning: only so it is known where messages begin. Source: ours.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, dropwhile, islice, takewhile
from typing import Any

from kminilog.cli.dump.reading import Dumped
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import SIZE_END

Entry = dict[str, Any]


@dataclass(frozen=True)
class Selection:
    """What is asked for; at most one of `at` and `offset` is given."""

    at: int | None = None
    offset: int | None = None
    count: int | None = None

    @property
    def is_of_one_place(self) -> bool:
        """Tell if a byte or an offset is given."""
        return self.at is not None or self.offset is not None

    def messages(
        self, found: Iterator[Dumped], dialect: Dialect, first_offset: int
    ) -> Iterator[Dumped]:
        """Yield those messages and stretches of damage that are asked for; O(file).

        `first_offset` is the lowest one that the file may hold.
        """
        if self.at is not None:
            at = self.at
            found = dropwhile(lambda one: one.end <= at, found)
            if self.count is None:
                return _all_there(found)
        elif self.offset is not None:
            found = _from_offset(found, dialect, self.offset, first_offset - 1)
        return islice(found, self.limit)

    def entries(
        self, found: Iterator[Entry], entry_bytes: int = ENTRY_SIZE_BYTES
    ) -> Iterator[Entry]:
        """Yield those entries of an index that are asked for; damage holds all bytes after it."""
        if self.at is not None:
            at = self.at
            found = dropwhile(lambda one: _end(one, entry_bytes) <= at, found)
        elif self.offset is not None:
            found = _from_nearest(found, self.offset)
        return islice(found, self.limit)

    @property
    def limit(self) -> int | None:
        """How many: one, if only a place is named; None for all."""
        return 1 if self.count is None and self.is_of_one_place else self.count


def _all_there(found: Iterator[Dumped]) -> Iterator[Dumped]:
    """Yield the first, and all that share its bytes: messages inside the same compressed one."""
    first = next(found, None)
    if first:
        start = first.start
        yield first
        yield from takewhile(lambda one: one.start == start, found)


def _from_offset(
    found: Iterator[Dumped], dialect: Dialect, offset: int, before: int
) -> Iterator[Dumped]:
    """Return all from the message with this offset on, or from the damage in its place.

    `before` is one less than the lowest offset that the file may hold.
    """
    damage: Dumped | None = None
    for one in found:
        if one.message is None:
            if one.record(dialect)["offset"] == offset:
                return chain((one,), found)
            damage = one
            continue
        if damage and before < offset < one.message.offset:
            return chain((damage, one), found)
        if _holds(one, before, offset):
            return chain((one,), found)
        before, damage = one.message.offset, None
    if damage and before < offset <= before + _most_messages(damage, dialect):
        return iter((damage,))
    return iter(())


def _holds(one: Dumped, before: int, offset: int) -> bool:
    """Tell if a message has an offset, or is compressed and may hold the message that has it."""
    message = one.message
    assert message is not None
    return message.offset == offset or (message.is_compressed and before < offset < message.offset)


def _most_messages(damage: Dumped, dialect: Dialect) -> int:
    return max(1, (damage.end - damage.start) // (SIZE_END + dialect.overhead_bytes))


def _end(entry: Entry, entry_bytes: int) -> int:
    size_bytes: int = entry.get("skipped_bytes", entry_bytes)
    start: int = entry["index_position"]
    return start + size_bytes


def _from_nearest(found: Iterator[Entry], offset: int) -> Iterator[Entry]:
    """Return all from the greatest entry on that is not above an offset."""
    nearest: Entry | None = None
    for one in found:
        if one["offset"] is None or one["offset"] > offset:
            return chain((nearest, one), found) if nearest else iter(())
        nearest = one
    return iter((nearest,) if nearest else ())
