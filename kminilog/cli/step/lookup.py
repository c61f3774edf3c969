"""`step find-offset`, `edges`: what they take."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import click

from kminilog.cli.shared.options import to_offset, to_topic_partition
from kminilog.cli.step.scene import scene
from kminilog.explain.document import Document
from kminilog.explain.documents_log import OFFSET, TOPIC, write_documents_log
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.reader import PartitionReader

_partition_argument = click.argument(
    "topic_partition",
    metavar="[TOPIC-P]",
    required=False,
    type=to_topic_partition,
)


@scene(
    "find-offset",
    "Find a message, from the names of files to its bytes.",
    shows="kminilog step find-offset orders-1 0",
)
@_partition_argument
@click.argument("offset", required=False, type=to_offset)
@click.pass_obj
def find_offset(
    log_dir: Path, topic_partition: TopicPartition | None, offset: int | None
) -> Document:
    """Search for the message with OFFSET in the partition TOPIC-P.

    Without arguments, the search of the documents: offset 368776, in a log that is made for it.
    """
    from kminilog.explain.find_offset import document

    if topic_partition and offset is None:
        raise click.UsageError(f"which offset of {topic_partition}? Give TOPIC-P and OFFSET")
    return document(_reader(log_dir, topic_partition), OFFSET if offset is None else offset)


@scene(
    "edges",
    "Search for offsets at a name, at both ends, and past them.",
    shows="kminilog step edges orders-1",
)
@_partition_argument
@click.pass_obj
def edges(log_dir: Path, topic_partition: TopicPartition | None) -> Document:
    """Search at the edges of the partition TOPIC-P: both ends, and the number in a name.

    Without arguments, in the log of the documents, which is made for it.
    """
    from kminilog.course.steps.edges import document

    return document(_reader(log_dir, topic_partition))


def _reader(log_dir: Path, partition: TopicPartition | None) -> PartitionReader:
    """Return a reader of the user's partition, or of the documents' log."""
    if partition:
        return LogDir(log_dir).reader(partition)
    return LogDir(_documents_log()).reader(TopicPartition(TOPIC, 0))


@cache
def _documents_log() -> Path:
    """Return the log dir of the documents' log: made once, deleted when this process ends."""
    directory = tempfile.mkdtemp(prefix="kminilog-step-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    write_documents_log(Path(directory))
    return Path(directory)
