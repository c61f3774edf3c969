"""Reading a partition: which segments it has, and the messages in them. Needs no lock.

A reader may work beside the writer, in another thread or process, with an object of its own. It
trusts the directory only as far as its last look: at the end of what it knows, and when a file has
vanished, it lists the directory again. What the writer has handed to the operating system is
visible at once; an unfinished message at the end of the last segment is the end of the log.

    find: names in a SortedDict  --bisect-->  segment  --bisect-->  index entry  --scan-->  message

Source: S1 5.3; Kafka: Log.read.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sortedcontainers import SortedDict

from kminilog.errors import (
    CompressedMessageError,
    LogDirError,
    OffsetOutOfRangeError,
)
from kminilog.format.dialect import Dialect
from kminilog.format.message import CODECS, Message, follows
from kminilog.format.names import LOG_SUFFIX, TopicPartition, parse_segment_file
from kminilog.settings import TopicSettings
from kminilog.storage.segment import Located, Segment
from kminilog.trace import UNTRACED, Probe, Trace, Tracer


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
    ) -> None:
        self.directory = directory
        self.topic_partition = topic_partition
        self.dialect = dialect
        self.settings = settings
        self._segments: SortedDict[int, Segment] = SortedDict()

    def segments(self) -> list[Segment]:
        """Return the segments as of the last look at the directory, ascending; may look first."""
        if not self._segments:
            self._look()
        return list(self._segments.values())

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

        Scans the last segment from its last index entry on.
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
        step = self._locate(offset, trace)
        if step is None or step[1].message.offset != offset:
            self._refuse_compressed(step)
            raise self._out_of_range(offset)
        self._refuse_compressed(step)
        return Found(*step, trace.probes("segments"), trace.probes("index"))

    def read(self, offset: int, max_bytes: int) -> list[Message]:
        """Return messages in order from `offset` on, across segments, within `max_bytes`.

        At least one message if there is one, whatever its size; none at the log end offset. Where
        a log of other origin has a gap, a read ends, and the next message is the first of a read
        from inside the gap. Raises as `find` does.
        """
        step = self._locate(offset, UNTRACED)
        if step is None:
            if offset > self.log_end_offset:
                raise self._out_of_range(offset)
            return []
        self._refuse_compressed(step)
        messages: list[Message] = []
        total_bytes = 0
        for message in self._messages_from(*step, max_bytes):
            total_bytes += message.length_bytes
            if messages and (total_bytes > max_bytes or message.codec != CODECS[0]):
                break
            messages.append(message)
        return messages

    def _messages_from(
        self, segment: Segment, located: Located, max_bytes: int
    ) -> Iterator[Message]:
        window_bytes = min(max(max_bytes, located.message.length_bytes), 1 << 20)
        position, next_offset = located.position, located.message.offset
        for following in list(self._segments.irange(segment.base_offset)):
            try:
                for _, outcome in self._segments[following].scan(position, window_bytes):
                    if not isinstance(outcome, Message) or not follows(outcome, next_offset):
                        return  # the next read starts here, and says what it is
                    yield outcome
                    next_offset = outcome.offset + 1
            except FileNotFoundError:
                return
            position = 0

    def _locate(self, offset: int, tracer: Tracer) -> tuple[Segment, Located] | None:
        """The first message not below `offset`, None at the end of the log."""
        if offset < 0:
            raise ValueError(f"an offset is never negative: {offset}")
        while True:
            if not self._segments and not self._look():
                return None
            bases = self._segments.keys()
            if offset < self.log_start_offset:
                if not self._look():
                    raise self._out_of_range(offset)
                continue
            slot = self.dialect.segment_slot(tracer.watch("segments", bases), offset)
            try:
                step = self._locate_from(slot, offset, tracer)
            except FileNotFoundError:
                self._look()
                continue
            # Not there, or a gap: the list may be old, or made while the writer added to it.
            if (step and step[1].message.offset == offset) or not self._look():
                return step

    def _locate_from(
        self, slot: int, offset: int, tracer: Tracer
    ) -> tuple[Segment, Located] | None:
        segments = self._segments.values()
        for place in range(slot, len(segments)):
            is_last = place + 1 == len(segments)
            following_offset = None if is_last else segments[place + 1].first_offset
            located = segments[place].locate(offset, tracer, following_offset=following_offset)
            if located:
                return segments[place], located
        return None

    def _look(self) -> bool:
        """List the directory; tell if the segments have changed since the last look."""
        try:
            names = os.listdir(self.directory)
        except FileNotFoundError:
            raise LogDirError(
                str(self.directory), reason="no such partition directory; has it been deleted?"
            ) from None
        parsed = filter(None, map(parse_segment_file, names))
        found = {base_offset for base_offset, suffix in parsed if suffix == LOG_SUFFIX}
        known = set(self._segments)
        for base_offset in known - found:
            del self._segments[base_offset]
        for base_offset in found - known:
            self._segments[base_offset] = self._segment(base_offset)
        return found != known

    def _segment(self, base_offset: int) -> Segment:
        interval_bytes = self.settings.index_interval_bytes
        return Segment(self.directory, base_offset, self.dialect, interval_bytes)

    def _out_of_range(self, offset: int) -> OffsetOutOfRangeError:
        return OffsetOutOfRangeError(
            str(self.topic_partition),
            offset=offset,
            log_start_offset=self.log_start_offset,
            log_end_offset=self.log_end_offset,
        )

    def _refuse_compressed(self, step: tuple[Segment, Located] | None) -> None:
        if step and step[1].message.codec != CODECS[0]:
            segment, located = step
            raise CompressedMessageError(
                located.message.codec,
                where=f"{segment.log_path} at byte {located.position}",
                remedy="only `kminilog dump --deep` looks inside, and only with gzip",
            )
