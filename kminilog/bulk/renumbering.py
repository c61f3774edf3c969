"""Messages that were written before their offsets were known get them; their segments get names.

A *run* is what one task writes for one partition: segments with offsets from 0, as if they were a
partition of their own. The final offsets are known when all tasks are done. They can be written in
place, because the CRC does not cover the offset:

    what a run has                    what it gets, if it begins at offset 100
    offsets           0, 1, 2, ...    100, 101, 102, ...: 8 bytes of each message
    names             of its own      by the dialect, after the offset before
    index entries     relative        the same; only where the dialect names a first segment by its
                                      first message and others by the one before, one more

This happens in staging, before the manifest is written. A crash in the middle leaves a job that is
not committed, and the next writer deletes its staging. After the commit point there are only
renames, which are idempotent. Each run begins a new segment. There is one exception: after a
documented segment 0 that holds only offset 0 no name is free, so the run's first message joins that
segment. Source: ours.
"""

import os
import shutil
import struct
from pathlib import Path

import numpy as np

from kminilog.bulk.unnumbered import put_numbers
from kminilog.bulk.windows import segments_in, whole_windows
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import SIZE_END
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX
from kminilog.settings import TopicSettings
from kminilog.storage.durable_file import sync
from kminilog.storage.segment import Segment
from kminilog.storage.segment_scan import examine

_COPIED_BYTES = 1 << 20
_OFFSET_AND_SIZE = struct.Struct(">qi")


def renumber(
    run: Path,
    dialect: Dialect,
    settings: TopicSettings,
    first_offset: int,
    target: Path,
    *,
    before: Path | None = None,
) -> int:
    """Move the segments of a run to `target`, and return the offset that follows its last one.

    The first message gets `first_offset`. `before` is the directory of the segments before the run,
    if these are not in `target`. It is read only in the exception above: its segment 0 stays, and a
    copy in `target` takes the message. Once it returns, all bytes are on the disk, but names in
    `target` may not be. Modification times stay. Raises CorruptLogError if the run is not whole.
    O(bytes).
    """
    target.mkdir(parents=True, exist_ok=True)
    next_offset = first_offset
    for old in segments_in(run, dialect, settings):
        status = os.stat(old.log_path)
        if not status.st_size:
            old.remove()
            continue
        start, next_offset = next_offset, _number_file(old, next_offset)
        new = _named_for(old, target, start)
        changed = [new]
        if new.first_offset == start:
            _move(old, new)
        else:
            changed += _join(old, new, before)
        for segment in changed:
            os.utime(segment.log_path, ns=(status.st_atime_ns, status.st_mtime_ns))
    return next_offset


def _named_for(segment: Segment, directory: Path, first_offset: int) -> Segment:
    """Return the segment that the dialect names for this first offset."""
    base_offset = segment.dialect.base_offset_for(first_offset)
    return Segment(directory, base_offset, segment.dialect, segment.index_interval_bytes)


def _number_file(segment: Segment, first_offset: int) -> int:
    """Give the messages of a file their offsets; return the offset after the last one."""
    next_offset = first_offset
    descriptor = os.open(segment.log_path, os.O_WRONLY)
    try:
        for position, window, boundaries in whole_windows(segment):
            starts = boundaries[:-1]
            put_numbers(window, starts, np.arange(next_offset, next_offset + len(starts)))
            os.pwrite(descriptor, window, position)
            next_offset += len(starts)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return next_offset


def _move(old: Segment, new: Segment) -> None:
    """Give a segment its new name, and make its index entries relative to the number in it."""
    old.index.load()
    shift = (new.first_offset - new.base_offset) - (old.first_offset - old.base_offset)
    if shift:
        entries = [IndexEntry(e.relative_offset + shift, e.position) for e in old.index.entries()]
        old.index.rewrite(entries)
        sync(old.index.path)
    os.replace(old.index.path, new.index.path)
    os.replace(old.log_path, new.log_path)


def _join(old: Segment, new: Segment, before: Path | None) -> list[Segment]:
    """Append the first message of `old` to `new`, which holds one message.

    The other messages go into a new segment, which can then follow. Return that segment in a list,
    or an empty list if there are no others.
    """
    if not new.log_path.exists():
        assert before, "where is the segment that the run goes on in?"
        for suffix in (INDEX_SUFFIX, LOG_SUFFIX):
            shutil.copy2(before / (new.name + suffix), new.log_path.parent)
    with open(old.log_path, "rb") as file:
        header = file.read(SIZE_END)
        message = header + file.read(_OFFSET_AND_SIZE.unpack(header)[1])
        offset = _OFFSET_AND_SIZE.unpack(header)[0]
        new.open()
        new.add(offset, message)
        new.write()
        new.flush()
        rest = _named_for(new, new.log_path.parent, offset + 1)
        if old.file_bytes == len(message):
            return []
        rest.index.path.touch()
        with open(rest.log_path, "xb") as copy:
            shutil.copyfileobj(file, copy, _COPIED_BYTES)
    rest.index.rewrite(examine(rest).entries)
    rest.flush()
    return [rest]
