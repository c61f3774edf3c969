"""A process dies in the middle of an append; recovery follows, and the append is made again.

    00000000000000000003.log   [m4 m5 m6 ~~~~~~   ]    m7 is unfinished
    recovery                   [m4 m5 m6]              the rest goes to a side file
    next append                [m4 m5 m6 m7      ]     m7 again, with the same offset

The log is a real one; only its end is cut by hand. Its index had not been written yet, because the
writer writes the .log first. Recovery is the engine's own. Source: S1 5.2; ours.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kminilog.course.steps.document import Value
from kminilog.course.steps.segment.partition import (
    PARTITION,
    listed_segments,
    reader_of,
    temporary_log,
    without_keys,
)
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import Outcome, encoded_bytes
from kminilog.settings import TopicSettings
from kminilog.storage.lookup import segment_slot
from kminilog.storage.partition_log import PartitionLog
from kminilog.storage.recovery import Decision, carry_out, plan_recovery
from kminilog.storage.segment import Segment
from kminilog.storage.segment_scan import SegmentScan, scan_segment

SETTINGS = TopicSettings(segment_bytes=128, index_interval_bytes=50)

Rows = list[tuple[Value, ...]]


class Scanned(NamedTuple):
    """A segment that recovery reads whole: what decoding gave at each position, and the result."""

    name: str
    outcomes: list[tuple[int, Outcome]]
    scan: SegmentScan


class Recovered(NamedTuple):
    """What recovery decided and did; `side_file` is a name and the bytes kept in it."""

    scanned: list[Scanned]
    decision: Decision
    lost_bytes: int
    lost_messages: int
    side_file: tuple[str, bytes] | None
    rebuilt: list[str]
    segments: Rows
    log_end_offset: int


class Crash(NamedTuple):
    """A log before, during and after a crash; `files` are all there were, at their last state.

    The last `message_bytes` were to go to `torn_name`; `cut_bytes` of them came.
    """

    before: Rows
    recovery_point: int
    torn_name: str
    torn_start: int
    torn_entries: int
    message_bytes: int
    cut_bytes: int
    torn_data: bytes
    recovered: Recovered
    next_offset: int
    after: Rows
    log_end_offset: int
    files: dict[str, bytes]


def crash_and_recover(dialect: Dialect, messages: Sequence[bytes], cut_bytes: int) -> Crash:
    """Append all messages, the last one only up to its byte `cut_bytes`; recover, and append again.

    Two thirds of the others were flushed before. Raises ValueError if the last message has not so
    many bytes.
    """
    *whole, last = without_keys(messages)
    message_bytes = encoded_bytes(dialect, *last)
    if not 0 <= cut_bytes <= message_bytes:
        reason = f"the last message has {message_bytes} bytes"
        raise ValueError(f"cut at byte {cut_bytes}: {reason}; give 0 to {message_bytes}")
    with temporary_log(dialect, SETTINGS) as log:
        flushed = (2 * len(whole) + 2) // 3
        log.append(whole[:flushed])
        log.flush()
        log.append(whole[flushed:])
        before, recovery_point = listed_segments(reader_of(log)), log.recovery_point
        torn, start, entry_count = _die_while_appending(log, last, cut_bytes)
        torn_data = torn.log_path.read_bytes()
        recovered = _recover(log, recovery_point)
        reopened = PartitionLog.open(
            log.directory, PARTITION, dialect, SETTINGS, recovery_point=recovery_point
        )
        (next_offset,) = reopened.append([last])
        reader = reader_of(reopened)
        return Crash(
            before,
            recovery_point,
            torn.name,
            start,
            entry_count,
            message_bytes,
            cut_bytes,
            torn_data,
            recovered,
            next_offset,
            listed_segments(reader),
            reader.log_end_offset,
            {path.name: path.read_bytes() for path in sorted(log.directory.iterdir())},
        )


def _die_while_appending(
    log: PartitionLog, message: tuple[bytes | None, bytes | None], cut_bytes: int
) -> tuple[Segment, int, int]:
    """Return the segment that was appended to, and its bytes and entries before that."""
    before = log.segments()[-1]
    size_bytes, entry_count = before.size_bytes, len(before.index)
    log.append([message])
    log.close()
    segment = log.segments()[-1]
    if segment is not before:
        size_bytes, entry_count = 0, 0
    os.truncate(segment.log_path, size_bytes + cut_bytes)
    os.truncate(segment.index.path, entry_count * ENTRY_SIZE_BYTES)
    return segment, size_bytes, entry_count


def _recover(log: PartitionLog, recovery_point: int) -> Recovered:
    reader = reader_of(log)
    names = [segment.base_offset for segment in reader.segments()]
    first = segment_slot(log.dialect, names, recovery_point)
    scanned = [
        Scanned(segment.name, list(segment.scan()), scan_segment(segment))
        for segment in reader.segments()[first:]
    ]
    plan = plan_recovery(reader, scan_from=recovery_point, recovery_point=recovery_point)
    found = plan.cut or plan.damage
    decision = Decision.CUT if plan.cut else Decision.REFUSE if plan.damage else Decision.KEEP
    side_files = carry_out(plan)
    return Recovered(
        scanned,
        decision,
        found.lost_bytes if found else 0,
        found.lost_messages if found else 0,
        _named(side_files),
        [segment.name for segment, _ in plan.rebuilt_indexes],
        listed_segments(reader_of(log)),
        plan.log_end_offset,
    )


def _named(side_files: list[Path]) -> tuple[str, bytes] | None:
    return next(((path.name, path.read_bytes()) for path in side_files), None)
