"""What a notebook shows of a log dir and of a segment: a small table.

A notebook asks an object for `_repr_html_`. `Segment` is read before anyone has met a page, so it
gets this method here. What cannot be read is said in its row. The template is table.html. Source:
ours.
"""

from collections.abc import Iterable
from pathlib import Path

from kminilog.errors import KMiniLogError, in_words
from kminilog.pages import render
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.segment.segment import Segment

MAX_ROWS = 50
_HEADS = ("first offset", "next offset", "bytes")


def log_dir_table(path: Path, readers: Iterable[PartitionReader], broken: list[Exception]) -> str:
    """Return a table with a row for each partition, and a line for each topic that is `broken`.

    Reads the end of each log, of MAX_ROWS partitions at most.
    """
    listed = list(readers)
    below = [in_words(error) for error in broken]
    if listed[MAX_ROWS:]:
        below.append(f"and {len(listed) - MAX_ROWS} more")
    rows = [_partition_row(reader) for reader in listed[:MAX_ROWS]]
    heads = ("partition", "segments", *_HEADS)
    return render("table.html", caption=f"log dir {path}", heads=heads, rows=rows, below=below)


def _partition_row(reader: PartitionReader) -> tuple[object, ...]:
    def row() -> tuple[object, ...]:
        segments = reader.segments()
        size_bytes = sum(segment.file_bytes for segment in segments)
        ends = reader.log_start_offset, reader.log_end_offset
        return reader.topic_partition, len(segments), *ends, size_bytes

    try:
        return reader.retry_if_changed(row)
    except (KMiniLogError, OSError) as error:
        return reader.topic_partition, in_words(error)


def segment_table(segment: Segment) -> str:
    """Return a table with one row; reads from the last index entry on."""
    row: tuple[object, ...]
    try:
        ends = segment.first_offset, segment.end_offset()
        row = (segment.name, *ends, segment.file_bytes, len(segment.index))
    except (KMiniLogError, OSError) as error:
        row = (segment.name, in_words(error))
    heads = ("segment", *_HEADS, "index entries")
    caption = f"segment {segment.log_path}"
    return render("table.html", caption=caption, heads=heads, rows=[row], below=())


Segment._repr_html_ = segment_table  # type: ignore[attr-defined]
