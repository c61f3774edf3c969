"""`step find-offset`: one search for one message, from the names of files to its bytes.

Source: S1 5.3, whose example is offset 368776.
"""

from kminilog.course.steps.document import Document
from kminilog.course.steps.lookup.entries import record_entries
from kminilog.course.steps.lookup.names import record_names
from kminilog.course.steps.lookup.search import Search, tried
from kminilog.course.steps.lookup.walk import record_walk
from kminilog.course.steps.recording import Recording
from kminilog.storage.partition_reader import PartitionReader


def document(reader: PartitionReader, offset: int) -> Document:
    """Return the step-through of a search; an offset that the log does not hold has one, too.

    Raises what `PartitionReader.find` raises for damage, and ValueError for a partition without
    segments.
    """
    return of_search(tried(reader, offset))


def of_search(search: Search) -> Document:
    """Return the step-through of a search that has run."""
    partition = search.reader.topic_partition
    if not search.reader.segments():
        raise ValueError(f"{partition} has no segment, so there is nothing to search")
    recording = Recording("find-offset", f"Where is offset {search.offset} of {partition}?")
    record_names(recording, search)
    record_entries(recording, search)
    record_walk(recording, search)
    return recording.document()
