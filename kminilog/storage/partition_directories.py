"""The directories of a topic's partitions: many are made, or deleted, at once.

    made       all that is in the way is looked at -> directories with empty segments -> one fsync
    deleted    each by one rename, then emptied -> one fsync for all

The topic's settings file says whether they count: it is written behind the first and deleted behind
the second (topics.py), so what a crash leaves of either is made or deleted again. An fsync for each
directory would take longer than all the rest. So after a power failure a partition may lack its
empty segment: whoever writes to it first makes it. Source: ours; Kafka: LogManager.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from kminilog.errors import LogDirError
from kminilog.format.names import (
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TopicPartition,
    segment_name,
)
from kminilog.format.topic_names import parse_topic_partition
from kminilog.storage.changes import count_change
from kminilog.storage.durable_file import sync
from kminilog.storage.real_directory import check_real_directory

Progress = Callable[[str], object]
"""Takes what a long work is at right now, for somebody who waits."""

MAX_AT_ONCE = 10_000
"""Partitions that one call makes; more take minutes on many a file system."""

_PARTITIONS_BETWEEN_STEPS = 500


def make_directories(
    log_dir: Path,
    partitions: Sequence[TopicPartition],
    *,
    base_offset: int = 0,
    progress: Progress | None = None,
) -> None:
    """Make the directory of each partition, with an empty segment named `base_offset`.

    Empty files of an earlier attempt go. Once it returns, the directories survive a power failure,
    and so does any `base_offset` but 0: a directory without files is a partition that begins at 0.
    O(partitions); an fsync for each only with such a `base_offset`. Raises, with nothing changed,
    ValueError for more than MAX_AT_ONCE, and LogDirError if a directory holds messages;
    NotADirectoryError for what is none; OSError.
    """
    if len(partitions) > MAX_AT_ONCE:
        raise ValueError(
            f"{len(partitions):,} new partitions: one command makes at most {MAX_AT_ONCE:,}; "
            "create the topic with fewer, and add the rest with `kminilog topic alter`"
        )
    present = set(os.listdir(log_dir))
    in_the_way = [log_dir / str(p) for p in partitions if str(p) in present]
    for directory in in_the_way:
        _check_empty(directory)
    for directory in in_the_way:
        shutil.rmtree(directory)
    if in_the_way:
        count_change(log_dir)
    for number, partition in enumerate(partitions):
        if progress and number and number % _PARTITIONS_BETWEEN_STEPS == 0:
            progress(f"{number:,} of {len(partitions):,} partitions")
        path = f"{log_dir}/{partition}"
        os.mkdir(path)
        _make_segment(path, base_offset)
        if base_offset:
            sync(Path(path))
    sync(log_dir)


def delete_directories(log_dir: Path, topic: str, *, progress: Progress | None = None) -> None:
    """Delete all directories that are named for partitions of a topic, be there settings or not.

    Each goes by one rename, and is emptied then: after a crash it is whole, or no partition's any
    more. Of a symbolic link only the link goes. Once it returns, they are gone after a power
    failure too. Raises OSError.
    """
    found = [(name, _partition_of(name)) for name in os.listdir(log_dir)]
    own = [(name, partition) for name, partition in found if partition and partition.topic == topic]
    for number, (name, partition) in enumerate(own):
        if progress and number and number % _PARTITIONS_BETWEEN_STEPS == 0:
            progress(f"{number:,} of {len(own):,} partitions")
        path, deleted = f"{log_dir}/{name}", f"{log_dir}/{partition}{DELETED_SUFFIX}"
        if os.path.islink(path):
            os.unlink(path)
        elif os.path.isdir(path):
            _delete(path, deleted)
    sync(log_dir)


def _make_segment(directory: str, base_offset: int) -> None:
    name = segment_name(base_offset)
    for suffix in (INDEX_SUFFIX, LOG_SUFFIX):  # the index first: no log is ever without its index
        os.close(os.open(f"{directory}/{name}{suffix}", os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def _delete(path: str, deleted: str) -> None:
    with suppress(OSError):  # where nothing was ever written there is nothing to be emptied
        os.rmdir(path)
        return
    if path != deleted:
        if os.path.exists(deleted):
            shutil.rmtree(deleted)
        os.rename(path, deleted)
    shutil.rmtree(deleted)


def _partition_of(name: str) -> TopicPartition | None:
    return parse_topic_partition(name.removesuffix(DELETED_SUFFIX))


def _check_empty(directory: Path) -> None:
    check_real_directory(directory)
    with os.scandir(directory) as entries:
        sizes = [entry.stat(follow_symlinks=False).st_size for entry in entries]
    if any(sizes):
        reason = f"{directory.name} holds files but belongs to no topic; move it away first"
        raise LogDirError(str(directory.parent), reason=reason)
