"""One `.index` file: where some of the messages of its `.log` begin.

The index is derived from the `.log` and can always be rebuilt from it. A search believes an entry
only after it has read the message there. So a reader may load an invalid file: it takes the entries
in front of the first that breaks an invariant of format/index_entry.py, and ignores the rest.
Source: S1 5.2; Kafka: OffsetIndex. Differs: no memory map and no pre-allocation; the file is as
long as its entries (docs/differences.md).
"""

import sys
from array import array
from collections.abc import Iterable
from pathlib import Path

from kminilog.format.index_entry import ENTRY_SIZE_BYTES, IndexEntry, encode_entry
from kminilog.format.names import INDEX_SUFFIX, segment_name
from kminilog.storage.files import (
    append_to,
    naming,
    open_regular,
    read_regular,
    regular_status,
    truncate,
)
from kminilog.storage.segment.lookup import UNTRACED, Tracer, entry_slot


class OffsetIndex:
    """The entries of one segment, in memory and in its file.

    Invariants: `_relative_offsets` and `_positions` are equally long, and both strictly ascend. A
    writer's file holds the first `_file_bytes` / 8 entries of those in memory.
    """

    def __init__(self, directory: Path, base_offset: int) -> None:
        self.path = directory / (segment_name(base_offset) + INDEX_SUFFIX)
        self.base_offset = base_offset
        self._relative_offsets = array("i")
        self._positions = array("i")
        self._file_bytes = 0  # the file's size when it was read or written last

    def __len__(self) -> int:
        return len(self._positions)

    @property
    def last_entry(self) -> IndexEntry | None:
        """The last entry; None if there is none. Kafka: readLastEntry."""
        if not self._positions:
            return None
        return IndexEntry(self._relative_offsets[-1], self._positions[-1])

    @property
    def last_position(self) -> int:
        """Position of the last entry, 0 if there is none; the rule `is_due` counts from here."""
        return self._positions[-1] if self._positions else 0

    def entries(self, first_slot: int = 0) -> list[IndexEntry]:
        """Return the entries in memory from `first_slot` on, ascending. O(entries)."""
        pairs = zip(self._relative_offsets[first_slot:], self._positions[first_slot:], strict=True)
        return [IndexEntry(relative_offset, position) for relative_offset, position in pairs]

    def load(self) -> bool:
        """Read the file again if its size has changed; tell if it has. O(entries) then, else O(1).

        A missing file has no entries. Loading stops at the first entry that `decode_entries`
        refuses. A file that was rebuilt with the same size stays unread: a search checks the entry
        that it uses.
        """
        try:
            file_bytes = regular_status(self.path).st_size
            if file_bytes == self._file_bytes:
                return False
            data = read_regular(self.path)
        except FileNotFoundError:
            data = b""
            if not self._file_bytes:
                return False
        self._file_bytes = len(data)
        fields = array("i")  # not `decode_entries`: 10 MB of entries would be a million objects
        fields.frombytes(data[: len(data) - len(data) % ENTRY_SIZE_BYTES])
        if sys.byteorder == "little":
            fields.byteswap()
        self._relative_offsets, self._positions = fields[0::2], fields[1::2]
        self._drop_invalid()
        return True

    def _drop_invalid(self) -> None:
        last_offset, last_position = -1, 0
        pairs = zip(self._relative_offsets, self._positions, strict=True)
        for slot, (relative_offset, position) in enumerate(pairs):
            if relative_offset <= last_offset or position <= last_position:
                del self._relative_offsets[slot:], self._positions[slot:]
                return
            last_offset, last_position = relative_offset, position

    def nearest_entry(
        self, offset: int, tracer: Tracer = UNTRACED
    ) -> tuple[IndexEntry | None, int | None]:
        """Return the greatest entry not above `offset`, and the position of the next entry.

        The message with this offset begins at the entry, or after it, but before the next entry.
        Each is None if there is none. O(log entries), by binary search in memory.
        """
        slot = entry_slot(self._relative_offsets, offset - self.base_offset, tracer)
        positions = self._positions
        end = positions[slot + 1] if slot + 1 < len(positions) else None
        if slot < 0:
            return None, end
        return IndexEntry(self._relative_offsets[slot], positions[slot]), end

    def add(self, entry: IndexEntry) -> None:
        """Append an entry in memory; `write` brings it to the file. O(1)."""
        self._relative_offsets.append(entry.relative_offset)
        self._positions.append(entry.position)

    def write(self) -> None:
        """Append the added entries to the file; then they survive the death of the process.

        Raises OSError; the file may then end with part of an entry.
        """
        new_entries = self.entries(self._file_bytes // ENTRY_SIZE_BYTES)
        if new_entries:
            append_to(self.path, b"".join(map(encode_entry, new_entries)))
            self._file_bytes = len(self) * ENTRY_SIZE_BYTES

    def truncate_to(self, entry_count: int) -> None:
        """Keep the first `entry_count` entries, in memory and in the file."""
        del self._relative_offsets[entry_count:], self._positions[entry_count:]
        truncate(self.path, entry_count * ENTRY_SIZE_BYTES)
        self._file_bytes = entry_count * ENTRY_SIZE_BYTES

    def rewrite(self, entries: Iterable[IndexEntry]) -> None:
        """Replace file and memory by these entries; not atomic: a crash may leave part of them."""
        data = b"".join(map(encode_entry, entries))
        with naming(self.path), open(self.path, "wb", opener=open_regular) as file:
            file.write(data)
        self._file_bytes = -1  # no file has this size, so `load` reads it
        self.load()

    def holds_exactly(self, entries: Iterable[IndexEntry]) -> bool:
        """Tell if the bytes of the file are exactly these entries; False if it is missing."""
        try:
            return read_regular(self.path) == b"".join(map(encode_entry, entries))
        except FileNotFoundError:
            return False

    def is_intact(self) -> bool:
        """Tell if the file is exactly the entries in memory, without any rest."""
        return self.holds_exactly(self.entries())
