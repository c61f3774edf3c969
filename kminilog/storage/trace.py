"""The interface of a tracer, which may watch a search, as `find --explain` does.

A search is `bisect` on a plain sequence; a walk reads headers with a plain function. A tracer may
wrap either, and the same code runs on the wrapper. The default, `UNTRACED`, wraps nothing, so an
unwatched search costs nothing extra. This module knows neither segments nor messages.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

Reads = Callable[[bytes, int], tuple[int, ...]]
"""Reads the fields of a header that begins at a position of some bytes."""


class Tracer(Protocol):
    def begin(self) -> None: ...
    def watch(self, search: str, sequence: Sequence[int]) -> Sequence[int]: ...
    def watch_reads(self, read: Reads, start: int) -> Reads: ...


class Untraced:
    """Records nothing: `watch` and `watch_reads` return their argument."""

    def begin(self) -> None:
        """Nothing to forget."""

    def watch(self, search: str, sequence: Sequence[int]) -> Sequence[int]:
        return sequence

    def watch_reads(self, read: Reads, start: int) -> Reads:
        return read


UNTRACED = Untraced()
