"""A recorder of searches: which elements a search probed, and which headers it read.

The engine is handed a `Trace` in place of `UNTRACED`, and the same code runs on what it wraps. This
module knows neither segments nor messages.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kminilog.storage.segment.lookup import ReadFrame


class Probe(NamedTuple):
    """One element that a search looked at: its slot in the sequence, and the value there."""

    search: str
    slot: int
    value: int


class HeaderRead(NamedTuple):
    """One header that a walk read: its position in the file, and its fields."""

    position: int
    fields: tuple[int, ...]


class _Recording(Sequence[int]):
    def __init__(self, search: str, sequence: Sequence[int], probes: list[Probe]) -> None:
        self._search = search
        self._sequence = sequence
        self._probes = probes

    def __len__(self) -> int:
        return len(self._sequence)

    def __getitem__(self, slot: Any) -> Any:
        value = self._sequence[slot]
        self._probes.append(Probe(self._search, slot, value))
        return value


class Trace:
    """Records the probes and header reads of one search, in order.

    >>> from bisect import bisect_right
    >>> trace = Trace()
    >>> bisect_right(trace.watch("names", [0, 100, 200]), 150)
    2
    >>> trace.probes("names")
    [Probe(search='names', slot=1, value=100), Probe(search='names', slot=2, value=200)]
    """

    def __init__(self) -> None:
        self._probes: list[Probe] = []
        self.header_reads: list[HeaderRead] = []

    def begin(self) -> None:
        """Delete the record: a search begins, or begins again."""
        self._probes.clear()
        self.header_reads.clear()

    def watch(self, search: str, sequence: Sequence[int]) -> Sequence[int]:
        """Return a sequence with the same elements that records each access."""
        return _Recording(search, sequence, self._probes)

    def watch_reads(self, read: ReadFrame, start: int) -> ReadFrame:
        """Return a function that does the same, and records it; its bytes begin at `start`."""

        def watched(data: bytes, position: int) -> tuple[int, ...]:
            fields = read(data, position)
            self.header_reads.append(HeaderRead(start + position, fields))
            return fields

        return watched

    def probes(self, search: str) -> list[Probe]:
        """Return the probes that were recorded under this name, in order."""
        return [probe for probe in self._probes if probe.search == search]
