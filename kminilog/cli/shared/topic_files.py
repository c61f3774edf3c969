"""What a topic looks like on the disk: its partitions and segments, with ranges and sizes.

The number of messages is computed from offsets, which are contiguous in what kminilog writes;
`verify` reads and counts them. At a missing offset a segment ends here, unless gaps are allowed. A
segment that retention deletes meanwhile is left out. Source: ours.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.output import warn
from kminilog.errors import KMiniLogError, typed
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.names import TopicPartition, parse_topic_partition
from kminilog.storage.log_dir.log_dir import LogDir, why_no_log_dir
from kminilog.storage.partition.notices import OnGap
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.segment.seen_dialect import seen_dialect
from kminilog.storage.segment.segment import Segment
from kminilog.storage.segment.whole_messages import format_name, is_later, whole_messages
from kminilog.storage.topics import TOPIC_SUFFIX, Topic, read_topic
from kminilog.text import columns, table, table_rows

SEGMENT_HEADINGS = ("partition", "segment", "offsets", "messages", "bytes", "entries")
_SHOWN_ORPHANS = 5
_INDENT = "  "


OnBroken = Callable[[Exception], object]
"""Gets the error of a partition that cannot be read; the others are described."""


def describe_topic(
    log_dir: LogDir,
    topic: Topic,
    *,
    on_gap: OnGap | None = None,
    on_broken: OnBroken | None = None,
) -> dict[str, Any]:
    """Return a topic with its settings, partitions and segments; reads the end of each segment.

    Raises KMiniLogError or OSError for a partition that cannot be read, unless `on_broken` takes
    the error.
    """
    partitions = interruptible(topic.all_partitions())
    described = (
        describe_partition_of(log_dir, found, on_gap=on_gap, on_broken=on_broken)
        for found in partitions
    )
    return {
        "topic": topic.name,
        "topic_id": topic.topic_id,
        "dialect": topic.dialect.name,
        "config": topic.settings.to_config(),
        "partitions": [found for found in described if found],
    }


def describe_partition_of(
    log_dir: LogDir,
    partition: TopicPartition,
    *,
    on_gap: OnGap | None,
    on_broken: OnBroken | None,
) -> dict[str, Any] | None:
    """Return what `describe_partition` does; None if `on_broken` got the error."""
    try:
        return describe_partition(log_dir.reader(partition, on_gap=on_gap))
    except (KMiniLogError, OSError) as error:
        if on_broken is None:
            raise
        on_broken(error)
        return None


def warn_of_orphans(log_dir: LogDir, topic: str | None = None) -> None:
    """Write a line that names the directories of messages that belong to no topic, if there are.

    Or one that says that this seems to be no log dir.
    """
    found = [str(one) for one in log_dir.orphans() if topic in (None, one.topic)]
    if found:
        shown = ", ".join(found[:_SHOWN_ORPHANS])
        more = f" and {len(found) - _SHOWN_ORPHANS} more" if found[_SHOWN_ORPHANS:] else ""
        warn(
            f"log dir {log_dir.path}: messages that belong to no topic are in {shown}{more}; "
            "`kminilog verify` says what to do"
        )
    if not topic and (why := why_no_log_dir(log_dir)):
        warn(why)


def topic_size(log_dir: LogDir, topic: Topic, on_broken: OnBroken) -> dict[str, int | None]:
    """Return how much a topic holds, as JSON fields; reads the end of each partition.

    `on_broken` gets the error of each partition that cannot be read; then nobody knows how much.
    """
    message_count = size_bytes = 0
    is_known = True
    for partition in interruptible(topic.all_partitions()):
        try:
            reader = log_dir.reader(partition)
            messages, data_bytes = reader.retry_if_changed(partial(_partition_size, reader))
        except (KMiniLogError, OSError) as error:
            on_broken(error)
            is_known = False
        else:
            message_count += messages
            size_bytes += data_bytes
    fields = {"message_count": message_count, "size_bytes": size_bytes}
    return {name: size if is_known else None for name, size in fields.items()}


def _partition_size(reader: PartitionReader) -> tuple[int, int]:
    messages = reader.log_end_offset - reader.log_start_offset
    size_bytes = 0
    for segment in reader.segments():
        with suppress(FileNotFoundError):  # retention has deleted it meanwhile
            size_bytes += segment.file_bytes
    return messages, size_bytes


def describe_partition(reader: PartitionReader) -> dict[str, Any]:
    """Return a partition's range and size, and its segments; a pending job does not show."""
    return reader.retry_if_changed(lambda: _describe_partition(reader))


def _describe_partition(reader: PartitionReader) -> dict[str, Any]:
    segments = [
        found
        for segment in interruptible(reader.segments())
        if (found := _describe_segment(segment))
    ]
    return {
        "partition": reader.topic_partition.partition,
        "log_start_offset": reader.log_start_offset,
        "log_end_offset": reader.log_end_offset,
        "size_bytes": sum(segment["log_bytes"] for segment in segments),
        "segments": segments,
    }


def _describe_segment(segment: Segment) -> dict[str, Any] | None:
    try:
        next_offset = segment.end_offset()
        log_bytes = segment.file_bytes
    except FileNotFoundError:
        return None
    return {
        "name": segment.name,
        "base_offset": segment.base_offset,
        "first_offset": segment.first_offset,
        "next_offset": next_offset,
        "log_bytes": log_bytes,
        "index_entries": len(segment.index),
        "message_count": next_offset - segment.first_offset,
    }


def offset_range(first_offset: int, next_offset: int) -> str:
    """Return a range of offsets for a human eye.

    >>> offset_range(0, 10), offset_range(7, 8), offset_range(7, 7)
    ('0..9', '7..7', 'none')
    """
    return f"{first_offset}..{next_offset - 1}" if next_offset > first_offset else "none"


def segment_row(segment: dict[str, Any]) -> tuple[object, ...]:
    """Return a segment, as `ls --json` has it, as a row under SEGMENT_HEADINGS."""
    return (
        f"{segment['topic']}-{segment['partition']}",
        segment["name"],
        offset_range(segment["first_offset"], segment["next_offset"]),
        segment["message_count"],
        segment["log_bytes"],
        segment["index_entries"],
    )


def segment_lines(segments: Sequence[dict[str, Any]], fit: int) -> list[str]:
    """Return the table of such segments; in a cluster each has its `broker`, too.

    If the table is wider than `fit` columns, the partition is no column: its name stands on a line
    of its own above its segments.
    """
    if not segments:
        return ["no segments"]
    of_cluster = "broker" in segments[0]
    headings = ("broker", *SEGMENT_HEADINGS) if of_cluster else SEGMENT_HEADINGS
    rows = [
        (str(one["broker"]), *segment_row(one)) if of_cluster else segment_row(one)
        for one in segments
    ]
    lines = table(headings, rows, None)
    if all(columns(line) <= fit for line in lines):
        return lines
    slot = headings.index("partition")
    others = [row[:slot] + row[slot + 1 :] for row in rows]
    left = headings[:slot] + headings[slot + 1 :]
    heads, *blocks = table_rows(left, others, fit - len(_INDENT))
    lines = [_INDENT + line for line in heads]
    for partition, pairs in groupby(zip(rows, blocks, strict=True), lambda pair: pair[0][slot]):
        lines.append(str(partition))
        lines += [_INDENT + line for _, block in pairs for line in block]
    return lines


def partition_of_file(path: Path) -> TopicPartition | None:
    """Return the partition in whose directory a file lies; None if no topic is there."""
    directory = path.absolute().parent
    partition = parse_topic_partition(directory.name)
    if not partition or not (directory.parent / (partition.topic + TOPIC_SUFFIX)).exists():
        return None
    return partition


def topic_of(path: Path) -> Topic | None:
    """Return the topic in whose partition directory a file lies; None elsewhere."""
    partition = partition_of_file(path)
    return partition and read_topic(path.absolute().parent.parent, partition.topic)


class FileDialect(NamedTuple):
    """The dialect in which a `.log` is read, and who says so: JSON has both as fields.

    `source` is `option`, `topic`, `bytes`, or `unclear` if the user should decide. For the last
    two, `said` is a line for the user.
    """

    dialect: Dialect
    source: str
    said: str = ""

    def record(self) -> dict[str, str]:
        """Return the fields of JSON."""
        return {"dialect": self.dialect.name, "dialect_source": self.source}


def dialect_of(
    path: Path, chosen: Dialect | None = None, *, default: Dialect = DOCUMENTED
) -> FileDialect:
    """Return the dialect of a `.log`: the one that was `chosen`; else that of the topic in whose
    partition directory it lies; else what its bytes show. `default` is for a file without messages.
    """
    if chosen:
        return FileDialect(chosen, "option")
    if topic := topic_of(path):
        return FileDialect(topic.dialect, "topic")
    found = seen_dialect(path, default)
    name = found.dialect.name
    if found.is_clear:
        return FileDialect(found.dialect, "bytes", f"{path}: dialect {name}: {found.seen}")
    said = f"{path}: dialect {name} is assumed, not clear: {found.seen}; --dialect decides"
    return FileDialect(found.dialect, "unclear", said)


def refuse_later_format(path: Path) -> None:
    """Raise ValueError if the first whole message of a `.log` has a format of a later Kafka."""
    at, whole = next(whole_messages(path), (0, None))
    if whole and (name := format_name(whole)):
        said = f"{path}: at byte {at} stands {name}; here only format v0 is read"
        if is_later(whole.magic) and not partition_of_file(path):
            said += f"; {typed('dump', path)}, without --dialect and --format, reads it"
        raise ValueError(said)
