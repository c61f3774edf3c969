"""The directories of a topic's partitions: create or delete many at once.

    create     check what has these names already -> directories with empty segments -> fsync
    delete     rename each directory, then empty it -> one fsync for all

Both can be repeated after a crash, because the settings file decides if the topic exists
(topics.py): it is written after the directories are created, and deleted after they are deleted.
Source: ours; Kafka: LogManager.
"""

import os
import shutil
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from kminilog.errors import LogDirError
from kminilog.format.names import (
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TopicPartition,
    parse_segment_file,
    parse_topic_partition,
    segment_name,
    suffixed,
)
from kminilog.progress import Progress, untold
from kminilog.storage.changes import count_change
from kminilog.storage.durable_files import check_real_directory, sync_all
from kminilog.storage.files import sync

MAX_AT_ONCE = 10_000
"""The most partitions that one call creates; more take minutes on some file systems."""

_PARTITIONS_BETWEEN_STEPS = 50
"""Ctrl-C is answered between two steps, so a step must be short: 500 took 3 s on a slow disk."""


def make_directories(
    log_dir: Path,
    partitions: Sequence[TopicPartition],
    *,
    base_offset: int = 0,
    bare: Collection[TopicPartition] = (),
    progress: Progress = untold,
) -> None:
    """Create the directory of each partition, with an empty segment named `base_offset`.

    Those that are `bare` get no segment. Replaces directories whose files are all empty. Once it
    returns, the directories and segments survive a power failure. O(partitions). Raises, with
    nothing changed, ValueError above MAX_AT_ONCE, LogDirError if a directory has a file that is not
    empty or one of a higher partition holds messages, NotADirectoryError if something else has its
    name. Raises OSError.
    """
    if len(partitions) > MAX_AT_ONCE:
        raise ValueError(
            f"{len(partitions):,} new partitions: one command makes at most {MAX_AT_ONCE:,}; "
            "create the topic with fewer, and add the rest with `kminilog topic alter`"
        )
    present = set(os.listdir(log_dir))
    _check_higher(log_dir, present, partitions)
    in_the_way = [log_dir / str(p) for p in partitions if str(p) in present]
    for directory in in_the_way:
        check_real_directory(directory)
        with os.scandir(directory) as entries:
            sizes = [entry.stat(follow_symlinks=False).st_size for entry in entries]
        if any(sizes):
            raise _belongs_to_none(directory)
    for directory in in_the_way:
        shutil.rmtree(directory)
    if in_the_way:
        count_change(log_dir)
    for number, partition in enumerate(partitions):
        if number and number % _PARTITIONS_BETWEEN_STEPS == 0:
            progress(f"{number:,} of {len(partitions):,} partitions")
        path = f"{log_dir}/{partition}"
        os.mkdir(path)
        if partition not in bare:
            _make_segment(path, base_offset)
    sync_all([*(log_dir / str(partition) for partition in partitions), log_dir])


def holds_messages(directory: Path) -> bool:
    """Tell if a directory holds a segment file that is not empty, or cannot be read.

    What a crash in `make_directories` has left holds none.
    """
    try:
        with os.scandir(directory) as entries:
            return any(parse_segment_file(e.name) and e.stat().st_size for e in entries)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def delete_directories(log_dir: Path, topic: str, *, progress: Progress = untold) -> None:
    """Delete all directories that are named for partitions of a topic; needs no settings file.

    It renames each directory, then empties it: after a crash a partition is whole, or its name is
    gone. Of a symbolic link it deletes only the link. Once it returns, the deletion survives a
    power failure. O(files). Raises OSError.
    """
    found = [(name, _partition_of(name, topic)) for name in os.listdir(log_dir)]
    own = [(name, partition) for name, partition in found if partition]
    for number, (name, partition) in enumerate(own):
        if number and number % _PARTITIONS_BETWEEN_STEPS == 0:
            progress(f"{number:,} of {len(own):,} partitions")
        path, deleted = f"{log_dir}/{name}", f"{log_dir}/{_deleted_name(partition)}"
        if os.path.islink(path):
            os.unlink(path)
        elif os.path.isdir(path):
            _delete(path, deleted)
    sync(log_dir)


def _make_segment(directory: str, base_offset: int) -> None:
    name = segment_name(base_offset)
    for suffix in (INDEX_SUFFIX, LOG_SUFFIX):  # the index first: no log is ever without its index
        os.close(
            os.open(f"{directory}/{name}{suffix}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        )


def _delete(path: str, deleted: str) -> None:
    with suppress(OSError):  # an empty directory needs no rename
        os.rmdir(path)
        return
    if path != deleted:
        if os.path.exists(deleted):
            shutil.rmtree(deleted)
        os.rename(path, deleted)
    shutil.rmtree(deleted)


def _partition_of(name: str, topic: str) -> TopicPartition | None:
    """Return the partition of a topic to which a directory belongs, deleted or not; else None."""
    found = parse_topic_partition(name.removesuffix(DELETED_SUFFIX))
    own = TopicPartition(topic, found.partition) if found else None
    return own if own and name in (str(own), _deleted_name(own)) else None


def _deleted_name(partition: TopicPartition) -> str:
    """Return the name of a directory while it is emptied.

    Two very long names of topics may share it: what is there is rubbish of either.
    """
    return suffixed(partition.topic, f"-{partition.partition}{DELETED_SUFFIX}")


def _check_higher(log_dir: Path, names: Iterable[str], made: Sequence[TopicPartition]) -> None:
    """Refuse messages in a higher partition of the topic: they would become part of it later."""
    for partition in filter(None, map(parse_topic_partition, sorted(names))):
        is_higher = made and partition.topic == made[0].topic and partition > made[-1]
        if is_higher and holds_messages(log_dir / str(partition)):
            raise _belongs_to_none(log_dir / str(partition))


def _belongs_to_none(directory: Path) -> LogDirError:
    reason = f"{directory.name} holds files but belongs to no topic; put the settings file of its "
    return LogDirError(str(directory.parent), reason=f"{reason}topic back, or move it away first")
