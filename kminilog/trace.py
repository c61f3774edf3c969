"""A recorder of steps: which elements a search probed.

A search is `bisect` on a plain sequence. To watch one, `Trace.watch` wraps the sequence, and the
very same call runs on the wrapper; `UNTRACED.watch` hands the sequence back, so an unwatched search
pays nothing. This module knows neither segments nor indexes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol


class Probe(NamedTuple):
    """One element that a search looked at: its slot in the sequence, and the value there."""

    search: str
    slot: int
    value: int


class Tracer(Protocol):
    def watch(self, search: str, sequence: Sequence[int]) -> Sequence[int]: ...


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
    """Records the probes of the searches that it watches, in order.

    >>> from bisect import bisect_right
    >>> trace = Trace()
    >>> bisect_right(trace.watch("names", [0, 100, 200]), 150)
    2
    >>> trace.probes("names")
    [Probe(search='names', slot=1, value=100), Probe(search='names', slot=2, value=200)]
    """

    def __init__(self) -> None:
        self._probes: list[Probe] = []

    def watch(self, search: str, sequence: Sequence[int]) -> Sequence[int]:
        """Return a sequence with the same elements that notes each one looked at."""
        return _Recording(search, sequence, self._probes)

    def probes(self, search: str) -> list[Probe]:
        """Return the probes of the searches of that name, in order."""
        return [probe for probe in self._probes if probe.search == search]


class Untraced:
    """Records nothing: `watch` returns the sequence itself."""

    def watch(self, search: str, sequence: Sequence[int]) -> Sequence[int]:
        return sequence


UNTRACED = Untraced()
