"""The first messages of a segment, for the page of a log dir: a picture to scale, and their bytes.

They are shown as a step-through shows them, damage included. If the files have changed or gone
meanwhile, nothing is shown. Source: ours.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice

from kminilog.cli.ls.look import ContentsOf, MessageLook, SegmentContents
from kminilog.course.steps.document import ByteRange, Document, Field, Picture
from kminilog.course.steps.drawing import drawn
from kminilog.course.steps.field_layout import index_fields, message_fields
from kminilog.course.steps.page import BytesTable, bytes_in_focus
from kminilog.course.steps.recording import Recording
from kminilog.course.steps.stretches import Stretch, read_range, stretches
from kminilog.errors import KMiniLogError
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.names import TopicPartition, parse_topic_partition
from kminilog.storage.partition_reader import PartitionReader
from kminilog.storage.segment import Segment
from kminilog.text import shown_beside
from kminilog.verification.commands import quoted

_MOST_BYTES = 16_384
_MOST_ENTRIES = 24
_TEXT_WIDTH = 72


def contents_of(reader: Callable[[TopicPartition], PartitionReader]) -> ContentsOf:
    """Return what reads messages of segments; each costs O(bytes of what is shown)."""

    @cache
    def segments(partition: str) -> dict[str, Segment]:
        found = parse_topic_partition(partition)
        listed = reader(found).segments() if found else []
        return {segment.name: segment for segment in listed}

    @cache
    def contents(partition: str, segment: str, count: int) -> SegmentContents | None:
        with suppress(OSError, KMiniLogError, ValueError):
            if found := segments(partition).get(segment):
                return _contents(found, count)
        return None

    return contents


def _contents(segment: Segment, count: int) -> SegmentContents:
    first = _first(segment, count)
    log, end = segment.log_path, first[-1].end if first else 0
    rest = segment.file_bytes - end
    words = ["dump", str(log), "--at", str(end), "--count", str(count)]
    command = " ".join(["kminilog", *map(quoted, words)])
    if not first:
        return SegmentContents(log.name, None, (), None, rest, command)
    document = _document(segment, first)
    tables = bytes_in_focus(document)
    messages, entries = tables[: len(first)], tables[len(first) :]
    picture = document.steps[0].state.picture
    return SegmentContents(
        log.name,
        picture and drawn(_with_damage(picture, first)),
        tuple(_message(*one) for one in zip(first, messages, strict=True)),
        entries[0] if entries else None,
        rest,
        command,
    )


def _first(segment: Segment, count: int) -> list[Stretch]:
    """Return the first messages, and damage between them: one of them, or as many as are short."""
    found: list[Stretch] = []
    for stretch in islice(stretches(segment), count):
        if found and stretch.end > _MOST_BYTES:
            break
        found.append(stretch)
    return found


def _document(segment: Segment, first: Sequence[Stretch]) -> Document:
    """Return a document: the first step has the picture, the last one the bytes in focus.

    These are the bytes of each message, then those of the index entries, if there are some.
    """
    name, end = segment.log_path.name, min(first[-1].end, _MOST_BYTES)
    data = read_range(segment.log_path, 0, end)
    fields: list[Field] = []
    for one in first:
        fields += message_fields(name, segment.dialect, one.start, data[one.start : one.end])
    recording = Recording("segment", segment.name)
    recording.file(name, data, fields, size_bytes=segment.file_bytes)
    focus = [ByteRange(name, one.start, min(one.end, end)) for one in first]
    if entries := _entries(segment, first[-1].end):
        index = segment.index.path.name
        recording.file(index, entries, index_fields(index, entries))
        focus.append(ByteRange(index, 0, len(entries)))
    recording.step("The picture.")
    recording.step("The bytes.", focus=focus)
    return recording.document()


def _entries(segment: Segment, end: int) -> bytes:
    """Return the bytes of the first entries, up to the last one that points below byte `end`."""
    data = b""
    with suppress(OSError):
        data = read_range(segment.index.path, 0, _MOST_ENTRIES * ENTRY_SIZE_BYTES)
    fields = [one for one in index_fields("", data) if one.kind == "position"]
    ends = [one.end for one in fields if isinstance(one.value, int) and one.value < end]
    return data[: max(ends, default=0)]


def _with_damage(picture: Picture, first: Sequence[Stretch]) -> Picture:
    """Return the picture; of several bars, those of bytes that are no message say so."""
    if len(first) < 2:
        return picture
    damaged = {one.start for one in first if one.damage}
    lanes = []
    for lane in picture.lanes:
        if lane.file.endswith(".log"):
            bars = (b._replace(style="lost") if b.start in damaged else b for b in lane.bars)
            lane = lane._replace(bars=tuple(bars))
        lanes.append(lane)
    return picture._replace(lanes=tuple(lanes))


def _message(stretch: Stretch, table: BytesTable) -> MessageLook:
    message, damage = stretch.message, stretch.damage
    key, value = shown_beside(message.key, message.value, _TEXT_WIDTH) if message else ("", "")
    return MessageLook(
        start=stretch.start,
        size_bytes=stretch.end - stretch.start,
        offset=message.offset if message else None,
        key=key,
        value=value,
        damage=f"{damage.kind}: {damage.detail}" if damage else "",
        tables=[table],
    )
