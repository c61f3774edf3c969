"""Some messages of a segment, for the page of a log dir: a picture to scale, and their bytes.

They are the first ones, or those around the first damage. They are shown as a step-through shows
them, damage included. If the files have changed or gone meanwhile, nothing is shown. Source: ours.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache

from kminilog.cli.ls.look import ContentsOf, MessageLook, SegmentContents, messages_said
from kminilog.errors import KMiniLogError
from kminilog.explain.document import ByteRange, Field, File
from kminilog.explain.drawing import drawn
from kminilog.explain.field_layout import index_fields, message_fields
from kminilog.explain.file_pictures import files_picture
from kminilog.explain.page import bytes_table
from kminilog.explain.stretches import Stretch, read_range, stretches
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.names import TopicPartition, parse_topic_partition
from kminilog.pages import counted
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.segment.log_file import message_at
from kminilog.storage.segment.segment import Segment
from kminilog.text import shown_beside
from kminilog.verification.commands import quoted

_MOST_MESSAGES = 60
_MOST_BYTES = 16_384
_MOST_ENTRIES = 24
_NEAR_BYTES, _FAR_BYTES = 2_048, 1 << 22
_TEXT_WIDTH = 72


def contents_of(reader: Callable[[TopicPartition], PartitionReader]) -> ContentsOf:
    """Return what reads messages of segments. O(bytes shown, and those after an index entry)."""

    @cache
    def segments(partition: str) -> dict[str, Segment]:
        found = parse_topic_partition(partition)
        listed = reader(found).segments() if found else []
        return {segment.name: segment for segment in listed}

    @cache
    def around(partition: str, segment: str, near: int | None) -> list[Stretch]:
        return _around(segments(partition)[segment], near)

    @cache
    def contents(
        partition: str, segment: str, near: int | None, count: int
    ) -> SegmentContents | None:
        with suppress(OSError, KMiniLogError, ValueError, KeyError):
            window = _cut(around(partition, segment, near), near, count)
            return _contents(segments(partition)[segment], window, near, count)
        return None

    return contents


def _contents(
    segment: Segment, window: Sequence[Stretch], near: int | None, count: int
) -> SegmentContents:
    log, index = segment.log_path, segment.index.path
    start, end = (window[0].start, window[-1].end) if window else (0, 0)
    rest = segment.file_bytes - (end - start)
    words = ["dump", str(log)] if start else ["dump", str(log), "--at", str(end)]
    command = " ".join(
        ["kminilog", *map(quoted, words), *([] if start else ["--count", str(count)])]
    )
    if not window:
        return SegmentContents(log.name, None, (), None, 0, rest, command)
    shown_end = min(end, start + _MOST_BYTES)
    data = read_range(log, start, shown_end)
    if len(data) < shown_end - start:
        raise ValueError(f"{log} was cut meanwhile")
    fields: list[Field] = []
    messages = []
    for one in window:
        part = data[one.start - start : one.end - start]
        own = message_fields(log.name, segment.dialect, one.start, part)
        table = bytes_table(File(log.name, part, one.start, segment.file_bytes), own)
        key = value = ""
        if one.message:
            key, value = shown_beside(one.message.key, one.message.value, _TEXT_WIDTH)
        messages.append(
            MessageLook(
                start=one.start,
                size_bytes=one.end - one.start,
                offset=one.message.offset if one.message else None,
                key=key,
                value=value,
                damage=f"{one.damage.kind}: {one.damage.detail}" if one.damage else "",
                tables=[table],
            )
        )
        fields += own
    files = [File(log.name, data, start, segment.file_bytes)]
    entries = None
    if found := b"" if start else _entries(segment, shown_end):
        files.append(File(index.name, found, 0, len(found)))
        own = index_fields(index.name, found)
        entries = bytes_table(files[-1], own)
        fields += own
    wrong = [one for one in window if one.damage or one.start == near]
    damaged = [ByteRange(log.name, one.start, one.end) for one in wrong]
    picture = files_picture(files, fields, {file.name: file.end for file in files}, (), damaged)
    if picture:
        note = f"{messages_said(messages)}, {counted(end - start, 'byte')}"
        lanes = (picture.lanes[0]._replace(note=note), *picture.lanes[1:])
        picture = picture._replace(lanes=lanes)
    return SegmentContents(
        log.name, picture and drawn(picture), tuple(messages), entries, start, rest, command
    )


def _around(segment: Segment, near: int | None) -> list[Stretch]:
    """Return messages, and damage between them: at the beginning, or around byte `near`.

    They are fewer if they are long. To a byte that is far from any index entry nobody reads.
    """
    start = _start(segment, near or 0)
    place = near or 0
    if place - start > _FAR_BYTES:
        start = place = 0
    before: deque[Stretch] = deque(maxlen=_MOST_MESSAGES // 2)
    after: list[Stretch] = []
    for one in stretches(segment, start):
        if one.end <= place:
            before.append(one)
        elif after and (len(after) == _MOST_MESSAGES or one.end - after[0].start > _MOST_BYTES):
            break
        else:
            after.append(one)
    while before and after and after[-1].end - before[0].start > _MOST_BYTES:
        before.popleft()
    return [*before, *after]


def _cut(around: Sequence[Stretch], near: int | None, count: int) -> Sequence[Stretch]:
    """Return so many of the messages, half of them in front of byte `near` at most."""
    place = next((slot for slot, one in enumerate(around) if one.end > (near or 0)), 0)
    first = max(place - count // 2, 0)
    return around[first : first + count]


def _start(segment: Segment, near: int) -> int:
    """Return where to begin to read: at an index entry in front of byte `near`, or 0."""
    segment.index.load()
    places = [one.position for one in segment.index.entries() if one.position < near - _NEAR_BYTES]
    is_true = places and message_at(segment.dialect, segment.log_path, places[-1])
    return places[-1] if is_true else 0


def _entries(segment: Segment, end: int) -> bytes:
    """Return the bytes of the first entries, up to the last one that points below byte `end`."""
    data = b""
    with suppress(OSError):
        data = read_range(segment.index.path, 0, _MOST_ENTRIES * ENTRY_SIZE_BYTES)
    fields = [one for one in index_fields("", data) if one.kind == "position"]
    ends = [one.end for one in fields if isinstance(one.value, int) and one.value < end]
    return data[: max(ends, default=0)]
