"""Truncation: cut all messages from an offset on off the end of a partition.

A follower truncates messages that its leader does not have. The files are then those of a log that
never had these messages. So a segment whose first message is cut is deleted, unless it is the first
segment. Segments are deleted from the last one backwards, each durably before the next. So after a
crash the log only ends later than asked, perhaps with an index that recovery rebuilds. This module
does not know why a caller truncates. Source: Kafka: Log.truncateTo. Differs: Kafka keeps an empty
segment if the cut falls on its first message.
"""

from kminilog.storage.changes import count_change
from kminilog.storage.cuts import Reason, recorded_cut
from kminilog.storage.durable_file import sync
from kminilog.storage.partition_log import PartitionLog
from kminilog.storage.segment import Segment
from kminilog.storage.segment_search import locate


def truncate_log(log: PartitionLog, offset: int) -> None:
    """Cut off the messages of a log from `offset` on, and an empty segment at its end.

    Records the cut first (cuts.py); once it returns, the cut survives a power failure. Does nothing
    above the log end. Raises ValueError below the first message, LogClosedError, CorruptLogError.
    """
    log.check_is_open()
    if offset < log.log_start_offset:
        raise ValueError(f"{log.topic_partition} has nothing below {log.log_start_offset}")
    if offset <= log.log_end_offset:
        log_dir, cut = log.directory.parent, range(offset, log.log_end_offset)
        with recorded_cut(log_dir, log.topic_partition, cut, Reason.TRUNCATION):
            gone = cut_off(log.segments(), offset)
            count_change(log_dir)
        log.continue_from(offset, gone)


def cut_off(segments: list[Segment], offset: int) -> list[Segment]:
    """Cut off all messages from `offset` on, and return the segments that it deleted.

    `segments` are those of a partition, ascending; `offset` is not below the first message. Once it
    returns, the cut survives a power failure. Modification times stay. Raises CorruptLogError, with
    nothing changed, if the search for `offset` meets damage.
    """
    gone = [segment for segment in segments[1:] if segment.first_offset >= offset]
    last = segments[-len(gone) - 1]
    last.open()
    located = locate(last, offset, following_offset=gone[0].first_offset if gone else None)
    for segment in reversed(gone):
        segment.remove()
        sync(segment.log_path.parent)
    if located:
        entries = last.index.entries()
        kept = sum(entry.position < located.position for entry in entries)
        last.truncate_to(located.position, kept)
        last.flush()
    return gone
