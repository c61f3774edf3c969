"""Reading a partition: which segments it has, and the messages in them. Needs no lock.

A reader may work beside the writer, in another thread or process, with an object of its own. It
trusts the directory only as far as its last look: at the end of what it knows, and when a file has
vanished, it lists the directory again. What the writer has handed to the operating system is
visible at once; an unfinished message at the end of the last segment is the end of the log. A job
that is being published is visible all at once, when it is committed (publish/visibility.py).

What kminilog writes has no gaps, so a message or a segment that is not the next one is damage. A
reader of a log of other origin is made with `on_gap`, which is told of each gap that a read passes.

    find: names in a SortedDict  --bisect-->  segment  --bisect-->  index entry  --walk-->  message

The walk follows size fields in the bytes between two entries, which one read of an open file brings
(open_segments.py). Whatever it meets but the message, a scan from the same entry explains.

Source: S1 5.3; Kafka: Log.read.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from sortedcontainers import SortedDict

from kminilog.errors import CorruptLogError, LogDirError, OffsetOutOfRangeError
from kminilog.format.dialect import Dialect
from kminilog.format.message import Message, skip_sound, skip_to
from kminilog.format.names import TopicPartition
from kminilog.notices import Gap, OnGap
from kminilog.settings import TopicSettings
from kminilog.storage.open_segments import OpenSegments, Skip, Walk, decode_walk
from kminilog.storage.publish.visibility import VisibleFiles
from kminilog.storage.segment import Located, Segment, misplaced_segment, refuse_compressed
from kminilog.storage.sequence import messages_from
from kminilog.trace import UNTRACED, Probe, Trace, Tracer

Result = TypeVar("Result")
_GONE = "no such partition directory; put it back, or let `kminilog topic delete` delete the rest"


class Found(NamedTuple):
    """A message, where it stands, and every step of the search that found it."""

    segment: Segment
    located: Located
    segments_probed: list[Probe]
    index_probed: list[Probe]


class PartitionReader:
    """The segments of one partition, by base offset. One object belongs to one thread."""

    def __init__(
        self,
        directory: Path,
        topic_partition: TopicPartition,
        dialect: Dialect,
        settings: TopicSettings,
        *,
        on_gap: OnGap | None = None,
    ) -> None:
        self.directory = directory
        self.topic_partition = topic_partition
        self.dialect = dialect
        self.settings = settings
        self._on_gap = on_gap
        self._segments: SortedDict[int, Segment] = SortedDict()
        self._in_order: list[Segment] = []
        self._base_offsets: list[int] = []
        self._visible = VisibleFiles(directory, topic_partition, dialect)
        self._open = OpenSegments(directory.parent)

    def segments(self) -> list[Segment]:
        """Return the segments as of the last look at the directory, ascending; may look first."""
        if not self._segments:
            self._look()
        return list(self._segments.values())

    def file_names(self) -> list[str]:
        """List the partition's directory now, without the files of a job that is pending."""
        return self._visible.names()

    @property
    def log_start_offset(self) -> int:
        """The offset of the first message; the log end offset if there is none.

        By the name of the first segment. 0 for a directory without segments.
        """
        if not self._segments and not self._look():
            return 0
        first: Segment = self._segments.peekitem(0)[1]
        return first.first_offset

    @property
    def log_end_offset(self) -> int:
        """One past the offset of the last message; where the next one will go.

        Damage in the last segment behind its last true index entry is where the log ends: a read
        from there says what it is. Scans from that entry on.
        """
        while True:
            segments = self.segments()
            if not segments:
                return 0
            try:
                end = segments[-1].end_offset()
            except FileNotFoundError:
                self._look()
                continue
            if not self._look():
                return end

    def find(self, offset: int) -> Found:
        """Return the message with this offset and what finding it took.

        O(log segments + log entries + bytes between two index entries). Raises
        OffsetOutOfRangeError if the log does not hold the offset, CorruptLogError if damage is in
        the way, CompressedMessageError if the message is inside a compressed one.
        """
        trace = Trace()
        step = self._locate_by_walk(offset, trace)
        if step is None:
            trace = Trace()
            step = self._locate(offset, trace)
        if step:
            refuse_compressed(*step)
        if step is None or step[1].message.offset != offset:
            raise self._out_of_range(offset)
        return Found(*step, trace.probes("segments"), trace.probes("index"))

    def position_of(self, offset: int) -> tuple[Segment, int]:
        """Return the segment and the position of the message with this offset; raises as `find`.

        The fastest answer: a few microseconds. It follows size fields without looking at a crc, as
        Kafka's search does, unless they do not lead to the offset; so decode what you find there.
        """
        found = self._walk(offset, UNTRACED, skip_to)
        if found:
            segment, walk = found
            return segment, walk[0] + walk[1]
        segment, located, *_ = self.find(offset)
        return segment, located.position

    def read(self, offset: int, max_bytes: int) -> list[Message]:
        """Return messages in order from `offset` on, across segments, within `max_bytes`.

        At least one message if there is one, whatever its size; none at the log end offset. A read
        ends in front of damage, and the next one raises. Where gaps are allowed it ends at a gap,
        and the next message is the first of a read from inside the gap. Raises as `find` does.
        """
        messages = self.undisturbed(lambda: self._read(offset, max_bytes))
        if self._on_gap and messages and messages[0].offset > offset:
            segment, position = self.position_of(messages[0].offset)
            gap = (offset, messages[0].offset, str(segment.log_path), position)
            self._on_gap(Gap(self.topic_partition, *gap))
        return messages

    def undisturbed(self, work: Callable[[], Result]) -> Result:
        """Return what a piece of work returns that reads this partition; it is done again if a job
        has come or gone meanwhile, because then part of what it saw may not be committed."""
        while True:
            seen = self._visible.pending_seen
            result = work()  # which may look, too
            if self._visible.pending_seen == seen and not self._is_overtaken():
                return result
            self._look()

    def _read(self, offset: int, max_bytes: int) -> list[Message]:
        step = self._locate_by_walk(offset, UNTRACED) or self._locate(offset, UNTRACED)
        if step is None:
            if offset > self.log_end_offset:
                raise self._out_of_range(offset)
            return []
        refuse_compressed(*step)
        return messages_from(*step, max_bytes, self._segment_after)

    def _segment_after(self, segment: Segment) -> Segment | None:
        """The next segment, perhaps one that has come since the last look; None after the last."""
        while True:
            above = self._segments.irange(segment.base_offset, inclusive=(False, True))
            base_offset = next(above, None)
            if base_offset is not None:
                return self._segments[base_offset]
            if not self._look():
                return None

    def _walk(self, offset: int, tracer: Tracer, skip: Skip) -> tuple[Segment, Walk] | None:
        """The way to the message with this offset, if it is the usual one; None if in doubt."""
        if not self._in_order:
            self._look()
        base_offsets = tracer.watch("segments", self._base_offsets)
        slot = self.dialect.segment_slot(base_offsets, offset)
        try:
            segment = self._in_order[slot]
            walk = self._open.walk_to(segment, offset, tracer, skip)
        except (IndexError, FileNotFoundError):
            return None
        # What is in the last segment may have come with a job that is not committed.
        is_last = slot == len(self._in_order) - 1
        return None if walk is None or (is_last and self._is_overtaken()) else (segment, walk)

    def _locate_by_walk(self, offset: int, tracer: Tracer) -> tuple[Segment, Located] | None:
        found = self._walk(offset, tracer, skip_sound)
        located = found and decode_walk(*found)
        return (found[0], located) if found and located else None

    def _locate(self, offset: int, tracer: Tracer) -> tuple[Segment, Located] | None:
        """The first message not below `offset`, None at the end of the log."""
        if offset < 0:
            raise ValueError(f"an offset is never negative: {offset}")
        while True:
            if not self._segments and not self._look():
                return None
            if offset < self.log_start_offset:
                if not self._look():
                    raise self._out_of_range(offset)
                continue
            slot = self.dialect.segment_slot(tracer.watch("segments", self._base_offsets), offset)
            try:
                step = self._locate_from(slot, offset, tracer)
            except FileNotFoundError:
                self._look()
                continue
            except CorruptLogError:
                is_overtaken = self._is_overtaken()
                if not self._look() and not is_overtaken:
                    raise
                continue  # the list was old
            if self._is_overtaken():
                self._look()
                continue
            # Not there, or a gap: the list may be old, or made while the writer added to it.
            if (step and step[1].message.offset == offset) or not self._look():
                return step

    def _locate_from(
        self, slot: int, offset: int, tracer: Tracer
    ) -> tuple[Segment, Located] | None:
        segments = self._in_order
        for place in range(slot, len(segments)):
            following = segments[place + 1] if place + 1 < len(segments) else None
            following_offset = following.first_offset if following else None
            located = segments[place].locate(offset, tracer, following_offset=following_offset)
            if located:
                return segments[place], located
            if following and self._on_gap is None:
                raise misplaced_segment(following, segments[place])
        return None

    def _look(self) -> bool:
        """List the directory; tell if the segments have changed since the last look."""
        try:
            found = self._visible.segments()
        except FileNotFoundError:
            raise LogDirError(str(self.directory), reason=_GONE) from None
        known = {base: segment.log_path.parent for base, segment in self._segments.items()}
        if found == known:
            return False
        for base_offset in [base for base in known if found.get(base) != known[base]]:
            del self._segments[base_offset]
        for base_offset in found.keys() - set(self._segments):
            self._segments[base_offset] = self._segment(base_offset, found[base_offset])
        self._list()
        return True

    def _list(self) -> None:
        """Put what is in `_segments` into plain lists, in which looking up is faster."""
        self._base_offsets = list(self._segments.keys())
        self._in_order = list(self._segments.values())

    def _is_overtaken(self) -> bool:
        """Tell if a job has come or gone since the last look; see VisibleFiles.is_overtaken."""
        return self._visible.is_overtaken()

    def _segment(self, base_offset: int, directory: Path) -> Segment:
        interval_bytes = self.settings.index_interval_bytes
        allows_gaps = self._on_gap is not None
        return Segment(
            directory, base_offset, self.dialect, interval_bytes, allows_gaps=allows_gaps
        )

    def _out_of_range(self, offset: int) -> OffsetOutOfRangeError:
        return OffsetOutOfRangeError(
            str(self.topic_partition),
            offset=offset,
            log_start_offset=self.log_start_offset,
            log_end_offset=self.log_end_offset,
        )
