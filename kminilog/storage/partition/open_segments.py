"""A cache of open `.log` files for one reader: opening a file takes longer than searching in it.

An open file does not change when its name comes to mean another file, or none. So the cache drops
all files when the counter of the log dir changes (changes.py). Without a counter it opens a file
anew each time. It keeps the files used last. All caches of the process together keep no more than a
share of the files that the process may open: a consumer has a reader for each of its partitions,
and there may be thousands. A cache that gets no share keeps nothing. It only reads, and remembers
nothing about the length of a file. Source: ours.
"""

import errno
import os
import sys
from collections import OrderedDict
from pathlib import Path

from kminilog.storage.changes import CHANGES_FILE
from kminilog.storage.files import open_regular
from kminilog.storage.segment.segment import Segment

_SHARE = 8  # 1/8 of the files that the process may have open; the counters may be as many again
_AT_MOST = 4096
_KEPT: set[int] = set()  # the descriptors of all caches


class OpenSegments:
    """The open segments of one partition, for one reading thread: an LRU cache."""

    def __init__(self, log_dir: Path) -> None:
        self._changes_path = str(log_dir / CHANGES_FILE)
        self._kept = _KEPT
        self._counter: int | None = None
        self._count = -1
        self._descriptors: OrderedDict[Segment, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._descriptors)

    def descriptor(self, segment: Segment) -> int | None:
        """Return a descriptor of a segment's `.log`, valid until the next call.

        None if the process keeps as many files as it may; the caller then opens the file. Opening
        the file also loads the index if that has changed; a cached file does not. One `lseek` if it
        is cached. Raises FileNotFoundError.
        """
        if self._counter is None or os.lseek(self._counter, 0, os.SEEK_END) != self._count:
            self._begin_anew()
        descriptor = self._descriptors.get(segment)
        if descriptor is None:
            return self._open(segment)
        self._descriptors.move_to_end(segment)
        return descriptor

    def close(self) -> None:
        """Close all files; the next use opens them again."""
        while self._descriptors:
            self._close_oldest()
        if self._counter is not None:
            os.close(self._counter)
            self._counter = None

    __del__ = close

    def _begin_anew(self) -> None:
        self.close()
        try:
            self._counter = open_regular(self._changes_path)
        except FileNotFoundError:
            return
        self._count = os.lseek(self._counter, 0, os.SEEK_END)

    def _open(self, segment: Segment) -> int | None:
        if len(self._kept) >= share_of_process():
            if not self._descriptors:
                self.close()
                return None
            self._close_oldest()
        try:
            descriptor = open_regular(segment.log_path)
        except OSError as error:
            if error.errno != errno.EMFILE or not self._descriptors:
                raise
            self.close()
            descriptor = open_regular(segment.log_path)
        self._descriptors[segment] = descriptor
        self._kept.add(descriptor)
        segment.index.load()
        return descriptor

    def _close_oldest(self) -> None:
        _, descriptor = self._descriptors.popitem(last=False)
        self._kept.discard(descriptor)  # first: another thread may get the same number
        os.close(descriptor)


def share_of_process() -> int:
    """Return how many files all caches of this process may keep open now."""
    if sys.platform == "emscripten":  # a browser has no such limit
        return _AT_MOST
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _AT_MOST if limit < 0 else min(limit // _SHARE, _AT_MOST)
