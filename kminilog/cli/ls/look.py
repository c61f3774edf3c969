"""What the page of a log dir shows, as values: topics, partitions, segments, messages.

page_data.py and contents.py read them from files, page.py and lanes.py show them. An offset that is
not known is None. Source: ours.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kminilog.explain.drawing import Drawing
from kminilog.explain.page import BytesTable
from kminilog.pages import counted

MAX_TICKS = 200
"""How many index entries of a partition are drawn; of more, the page says how dense they are."""


class MessageLook(NamedTuple):
    """A message of a segment, from byte `start` on; with `damage`, bytes that are none."""

    start: int
    size_bytes: int
    offset: int | None
    key: str
    value: str
    damage: str
    tables: list[BytesTable]


def messages_said(messages: Sequence[MessageLook]) -> str:
    """Return how many messages these are, and how many places that are none."""
    damaged = sum(bool(message.damage) for message in messages)
    said = counted(len(messages) - damaged, "message")
    return f"{said} and {counted(damaged, 'damaged place')}" if damaged else said


class SegmentContents(NamedTuple):
    """Some messages of a segment, from byte `start` on, and index entries that point at them.

    `rest_bytes` are not shown; the command shows them.
    """

    log: str
    drawing: Drawing | None
    messages: tuple[MessageLook, ...]
    entries: BytesTable | None
    start: int
    rest_bytes: int
    command: str

    @property
    def said(self) -> str:
        """How many messages these are, and how many places that are none."""
        return messages_said(self.messages)

    def links(self, partition: str) -> dict[tuple[str, int], str]:
        """Return where on the page each message stands, by its file and its first byte."""
        starts = [message.start for message in self.messages]
        return {(self.log, start): f"{partition}/{self.log}/{start}" for start in starts}


ContentsOf = Callable[[str, str, int | None, int], SegmentContents | None]
"""Returns messages of a segment: by its partition, its name, a byte, and how many around it.

Without a byte, they are the first ones. Returns None if the segment is gone.
"""


class SegmentLook(NamedTuple):
    """One segment; `entry_offsets` has the offset of each index entry, or nothing if too many.

    Byte `near` of its `.log` is where the first finding is; None if there is none. It `is_damaged`
    if one of its findings is an error. `valid_count` is what `verify` counts; None if it did not.
    """

    name: str
    first_offset: int
    next_offset: int
    log_bytes: int
    index_entries: int
    entry_offsets: tuple[int, ...] = ()
    finding_count: int = 0
    near: int | None = None
    is_damaged: bool = False
    valid_count: int | None = None

    @property
    def message_count(self) -> int:
        """How many valid messages it has, or else how many the offsets have room for."""
        room = self.next_offset - self.first_offset
        return room if self.valid_count is None else self.valid_count


class GroupLook(NamedTuple):
    """How far a group has read a partition, as `group describe` tells it."""

    group: str
    committed: int | None
    lag: int | None
    is_above_log_end: bool = False


class CopyLook(NamedTuple):
    """A broker's copy of a partition; `role` says what it is, a `failure` why it is not known."""

    broker: int
    role: str
    log_end_offset: int | None = None
    high_watermark: int | None = None
    failure: str = ""


class FindingLook(NamedTuple):
    """One finding of `verify`, its bytes, and the command that shows it.

    `comes_from` and `tables` may be empty.
    """

    kind: str
    severity: str
    partition: str
    place: str
    detail: str
    command: str
    offset: int | None = None
    last_offset: int | None = None
    comes_from: str = ""
    segment: str = ""
    tables: Sequence[BytesTable] = ()


class PartitionLook(NamedTuple):
    """One partition. With a `failure`, it could not be read, and most of the rest is not known.

    It `is_checked` if all of its copies are. `finding_count` is that of `verify`, which also counts
    the findings that it does not keep; `has_unkept_errors` tells if errors may be among those.
    `readable` says how far a damaged log can be read.
    """

    name: str
    log_start_offset: int = 0
    log_end_offset: int = 0
    size_bytes: int = 0
    segments: tuple[SegmentLook, ...] = ()
    recovery_point: int | None = None
    copies: tuple[CopyLook, ...] = ()
    groups: tuple[GroupLook, ...] = ()
    findings: tuple[FindingLook, ...] = ()
    finding_count: int = 0
    has_unkept_errors: bool = False
    is_checked: bool = True
    failure: str = ""
    readable: str = ""

    @property
    def topic(self) -> str:
        """The name of its topic."""
        return self.name.rpartition("-")[0]

    @property
    def message_count(self) -> int:
        """How many messages all segments have."""
        return sum(segment.message_count for segment in self.segments)

    @property
    def entry_count(self) -> int:
        """How many index entries all segments have."""
        return sum(segment.index_entries for segment in self.segments)

    @property
    def largest_lag(self) -> int | None:
        """The largest lag of a group; None if none is known."""
        return max((group.lag for group in self.groups if group.lag is not None), default=None)

    @property
    def severity(self) -> str:
        """How bad it is: that of its worst finding, or "ok", or "warning" if nobody knows."""
        if self.finding_count:
            is_bad = any(one.severity == "error" for one in self.findings) or (
                self.has_unkept_errors and self.finding_count > len(self.findings)
            )
            return "error" if is_bad else "warning"
        return "ok" if self.is_checked and not self.failure else "warning"

    @property
    def said(self) -> str:
        """What `verify` says of it, in few words."""
        if self.failure:
            return "not read"
        if self.finding_count:
            return counted(self.finding_count, "finding")
        if not self.is_checked:
            return "not all copies checked" if self.copies else "not checked"
        return "ok"


class LogDirLook(NamedTuple):
    """A log dir, or one topic of it; or a cluster.

    title        "Log dir" or "Cluster", and where it is
    command      the words in front of a command of `kminilog` that is about it
    said         the verdict of `verify` in a sentence
    severity     "ok", "warning" or "error"
    settings     of each topic, its dialect and the settings that are not the default, in words
    elsewhere    findings in none of these partitions
    counts       of each class of findings, how many there are, and how many of them are shown
    not_checked  what `verify` did not check, and why
    not_read     what else could not be read, and why
    """

    title: str
    command: str
    verdict: str
    said: str
    severity: str
    partitions: tuple[PartitionLook, ...]
    settings: Mapping[str, str] = MappingProxyType({})
    elsewhere: tuple[FindingLook, ...] = ()
    counts: tuple[tuple[str, int, int], ...] = ()
    not_checked: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()
