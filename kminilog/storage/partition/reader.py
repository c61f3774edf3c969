"""Read a partition: which segments it has, and the messages in them. Needs no lock.

A reader may work beside the writer, in another thread or process, with an object of its own. It
sees at once what the writer has put into the page cache. An unfinished message at the end of the
last segment is the end of the log. Segments come and go, and a reader does not list them before
each search. It lists them after a search that has not found the message, and then searches again
if they have changed.

    find: names  --bisect-->  segment  --bisect-->  index entry  --walk-->  message   (lookup.py)

The segments are a SortedDict by base offset; its keys are the names that the search bisects.

kminilog writes no gaps, so a message or segment that does not follow the one before is damage. For
a log that Kafka has compacted pass `on_gap`: a read then skips gaps, and calls it with each one.

A *job* is a bulk load whose files appear in a partition all at once. `PartitionFiles` is what a
reader asks about jobs. To follow a search, read it with `PlainFiles`, which knows none: each
segment is in the directory itself, `has_changed` is False, and `retry_if_changed` works just once.
Source: S1 5.1 and 5.3; Kafka: Log.loadSegments, Log.read.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

from sortedcontainers import SortedDict

from kminilog.errors import CorruptLogError, LogDirError, OffsetOutOfRangeError
from kminilog.format.dialect import Dialect
from kminilog.format.message import Message
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.notices import Gap, OnGap
from kminilog.storage.partition.segment_names import segments_among
from kminilog.storage.segment.log_file import SCAN_WINDOW_BYTES
from kminilog.storage.segment.lookup import UNTRACED, Tracer, segment_slot
from kminilog.storage.segment.search import (
    Found,
    find_in_segment,
    misplaced_segment_error,
    refuse_compressed,
)
from kminilog.storage.segment.segment import Segment

Result = TypeVar("Result")
OpenLog = Callable[[Segment], int | None]
SegmentAfter = Callable[[Segment], Segment | None]
_GONE = "no such partition directory; put it back, or let `kminilog topic delete` delete the rest"


class PartitionFiles(Protocol):
    """What a reader may see of one partition's directory.

    Implemented by `PlainFiles` and, for log dirs with jobs, by `storage.publish.visibility`. A job
    may replace the last segment. Until all of the job is visible, readers use the old one, of which
    the job has kept a copy in a directory of its own.
    """

    def names(self) -> list[str]:
        """Return the names of all files; FileNotFoundError if the directory is gone."""
        ...

    def segments(self) -> dict[int, Path]:
        """Return the directory of each segment, by base offset; FileNotFoundError as `names`."""
        ...

    def has_changed(self) -> bool:
        """Tell if a job has come or gone since the last listing: what was read may be wrong."""
        ...

    def retry_if_changed(
        self, work: Callable[[], Result], list_again: Callable[[], object]
    ) -> Result:
        """Return what `work` reads; if a job has changed that, call `list_again` and retry."""
        ...


class PlainFiles:
    """The files of a directory as they are; no job changes them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def names(self) -> list[str]:
        return os.listdir(self._directory)

    def segments(self) -> dict[int, Path]:
        return dict.fromkeys(segments_among(self.names()), self._directory)

    def has_changed(self) -> bool:
        return False

    def retry_if_changed(
        self, work: Callable[[], Result], list_again: Callable[[], object]
    ) -> Result:
        return work()


class PartitionReader:
    """Reads one partition. One object belongs to one thread.

    `files` lists the segments; by default, all in the directory. `open_log` returns an open
    descriptor of a segment's `.log` and may cache it; by default, and where it returns None, each
    search opens the file.
    """

    def __init__(
        self,
        directory: Path,
        topic_partition: TopicPartition,
        dialect: Dialect,
        settings: TopicSettings,
        *,
        on_gap: OnGap | None = None,
        files: PartitionFiles | None = None,
        open_log: OpenLog | None = None,
        widest_index_interval: int = 0,
    ) -> None:
        self.directory = directory
        self.topic_partition = topic_partition
        self.dialect = dialect
        self.settings = settings
        self._on_gap = on_gap
        self._segments: SortedDict[int, Segment] = SortedDict()  # by base offset
        self._files = files or PlainFiles(directory)
        self._open_log = open_log
        self._widest_index_interval = widest_index_interval

    def segments(self) -> list[Segment]:
        """Return the segments of the last listing, ascending; lists first if it knows none."""
        if not self._segments:
            self.list_segments()
        return list(self._segments.values())

    def segment_named(self, base_offset: int, directory: Path | None = None) -> Segment:
        """Return the segment of this name in the given or its own directory; touches no file."""
        return Segment(
            directory or self.directory,
            base_offset,
            self.dialect,
            self.settings.index_interval_bytes,
            allows_gaps=self._on_gap is not None,
            widest_index_interval=self._widest_index_interval,
        )

    def file_names(self) -> list[str]:
        """Return the names of the partition's files now; FileNotFoundError if it is gone."""
        return self._files.names()

    @property
    def log_start_offset(self) -> int:
        """The offset of the first message; the log end offset if there is none.

        It follows from the name of the first segment. 0 for a directory without segments.
        """
        if not self._segments and not self.list_segments():
            return 0
        return self._segments.peekitem(0)[1].first_offset

    @property
    def log_end_offset(self) -> int:
        """One past the offset of the last message: the next message gets it.

        Damage after the last right index entry counts as the end of the log; a read from there
        raises the error. Reads the last segment from that entry on.
        """
        while True:
            segments = self.segments()
            if not segments:
                return 0
            try:
                end = segments[-1].end_offset()
            except FileNotFoundError:
                self.list_segments()
                continue
            if not self.list_segments():  # else a roll has come between
                return end

    def find(self, offset: int, tracer: Tracer = UNTRACED) -> Found:
        """Return the message with this offset; `tracer` watches the search.

        O(log segments + log entries + bytes between two index entries). Raises
        OffsetOutOfRangeError if the log does not hold the offset, CorruptLogError if damage is in
        the way, CompressedMessageError if the message is inside a compressed one.
        """
        found = self._find_from(offset, tracer)
        if found is None or found.message.offset != offset:
            raise self._out_of_range(offset, has_later_messages=found is not None)
        return found

    def read(self, offset: int, max_bytes: int) -> list[Message]:
        """Return messages in order from `offset` on, across segments, within `max_bytes`.

        Returns at least one message, whatever its size; none at the log end offset, or if retention
        has deleted the segment meanwhile. A read ends in front of damage, and the next read raises.
        If gaps are allowed, a read ends in front of a gap, and a read from inside it begins with
        the next message. Raises as `find` does.
        """
        messages = self.retry_if_changed(lambda: self._read(offset, max_bytes))
        if self._on_gap and messages and messages[0].offset > offset:
            found = self.find(messages[0].offset)  # once more, for the place: a gap is rare
            path = str(found.segment.log_path)
            next_offset = found.message.offset
            self._on_gap(Gap(self.topic_partition, offset, next_offset, path, found.position))
        return messages

    def retry_if_changed(self, work: Callable[[], Result]) -> Result:
        """Return what `work` reads of this partition; retry if a job has changed it."""
        return self._files.retry_if_changed(work, self.list_segments)

    def _read(self, offset: int, max_bytes: int) -> list[Message]:
        while found := self._find_from(offset, UNTRACED):
            messages = messages_from(found.segment, found, max_bytes, self._segment_after)
            if messages or not self.list_segments():  # else it was deleted, or moved, meanwhile
                return messages
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise self._out_of_range(offset)
        return []

    def _segment_after(self, segment: Segment) -> Segment | None:
        """Return the next segment, after a new listing if needed; None after the last."""
        while True:
            slot = self._segments.bisect_right(segment.base_offset)
            if slot < len(self._segments):
                return self._segments.peekitem(slot)[1]
            if not self.list_segments():
                return None

    def _find_from(self, offset: int, tracer: Tracer) -> Found | None:
        """Return the first message not below `offset`; None at the log end, or below the log start.

        A list of segments may be outdated. So a search that does not find the very message is
        repeated with a new list, and its error is raised only if the list is the same.
        """
        if offset < 0:
            raise ValueError(f"an offset is never negative: {offset}")
        if not self._segments:
            self.list_segments()
        while True:
            found, error = None, None
            try:
                found = self._search(offset, tracer)
            except (CorruptLogError, FileNotFoundError) as caught:
                error = caught
            is_answer = found is not None and found.message.offset == offset
            if not self._relist_if_it_may_help(found if is_answer else None, error):
                break
        if not is_answer and offset < self.log_start_offset:
            return None
        if error:
            raise error
        if found:
            refuse_compressed(found)
        return found

    def _search(self, offset: int, tracer: Tracer) -> Found | None:
        """Search the listed segments once, from the one that may hold the offset."""
        tracer.begin()
        segments = self._segments
        first_slot = segment_slot(self.dialect, segments.keys(), offset, tracer)
        for slot in range(first_slot, len(segments)):  # goes on only where gaps are allowed
            segment = segments.peekitem(slot)[1]
            following = segments.peekitem(slot + 1)[1] if slot + 1 < len(segments) else None
            found = find_in_segment(
                segment,
                offset,
                tracer,
                following_offset=following.first_offset if following else None,
                descriptor=self._open_log(segment) if self._open_log else None,
            )
            if found:
                return found
            if following and self._on_gap is None:  # by the names, the message is in this segment
                raise misplaced_segment_error(following, segment)
        return None

    def _relist_if_it_may_help(self, answer: Found | None, error: Exception | None) -> bool:
        """Tell if another search may find something else; it lists the segments to know.

        An `answer` is the message with the right offset. In a log without jobs it stands. If there
        is no answer, another search may help if the segments have changed, or a file is gone.

        In a log with jobs, an answer from the last segment may belong to a job that has begun since
        the last listing, and is only half visible. Of the listed segments, a job can only have
        replaced the last one; all other segments of the job are new.
        """
        if answer and answer.segment is not self._segments.peekitem()[1]:
            return False
        has_changed = self._files.has_changed()
        if answer and not has_changed:
            return False
        return self.list_segments() or has_changed or isinstance(error, FileNotFoundError)

    def list_segments(self) -> bool:
        """List the directory; tell if the segments have changed since the last listing."""
        try:
            found = self._files.segments()
        except FileNotFoundError:
            raise LogDirError(str(self.directory), reason=_GONE) from None
        known = self._segments
        if found == {base: segment.directory for base, segment in known.items()}:
            return False
        if known.keys() - found.keys():
            # Retention has deleted one. Or a compaction has joined it to the one before, which has
            # new files under its old name. A Segment keeps entries of its index: so all are new.
            known = SortedDict()
        self._segments = SortedDict(
            (base, known[base])
            if base in known and known[base].directory == directory
            else (base, self.segment_named(base, directory))
            for base, directory in found.items()
        )
        return True

    def _out_of_range(
        self, offset: int, *, has_later_messages: bool = False
    ) -> OffsetOutOfRangeError:
        return OffsetOutOfRangeError(
            str(self.topic_partition),
            offset=offset,
            log_start_offset=self.log_start_offset,
            log_end_offset=self.log_end_offset,
            is_in_gap=has_later_messages and offset >= self.log_start_offset,
        )


def messages_from(
    segment: Segment, located: Found, max_bytes: int, segment_after: SegmentAfter
) -> list[Message]:
    """Return a located message and those that follow it, within `max_bytes`.

    `located` has the first message and its position in `segment`. Returns at least one message,
    whatever its size, or none if the file was deleted meanwhile. Ends also in front of a compressed
    message.
    """
    messages: list[Message] = []
    total_bytes = 0
    for message in _in_turn(segment, located, max_bytes, segment_after):
        total_bytes += message.length_bytes
        if messages and (total_bytes > max_bytes or message.is_compressed):
            break
        messages.append(message)
    return messages


def _in_turn(
    segment: Segment, located: Found, max_bytes: int, segment_after: SegmentAfter
) -> Iterator[Message]:
    """Yield the located message and those after it, as long as each offset is one more.

    Anything else ends it: damage, a gap, a segment that begins with another offset. A new search
    from there tells which.
    """
    window_bytes = min(max(max_bytes, located.message.length_bytes), SCAN_WINDOW_BYTES)
    position, next_offset = located.position, located.message.offset
    current: Segment | None = segment
    while current:
        try:
            for _, outcome in current.scan(position, window_bytes):
                if not isinstance(outcome, Message) or outcome.offset != next_offset:
                    return
                yield outcome
                next_offset = outcome.offset + 1
        except FileNotFoundError:
            return
        current, position = segment_after(current), 0
        if current and current.first_offset != next_offset:
            return
