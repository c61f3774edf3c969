"""An index is damaged, a reader searches all the same, and recovery rebuilds it from the `.log`.

    missing    no .index file at all
    short      the file ends inside an entry
    wrong      an entry points into the middle of a message

All is done to real files by the engine; only the damage is done by hand. Source: ours; Kafka
0.8.2: Log.loadSegments, LogSegment.recover.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kminilog.course.steps.segment.partition import reader_of, temporary_log, without_keys
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, IndexEntry, encode_entry
from kminilog.settings import TopicSettings
from kminilog.storage.partition_log import PartitionLog
from kminilog.storage.recovery import carry_out, plan_recovery
from kminilog.storage.segment import Segment
from kminilog.storage.segment_scan import SegmentScan, scan_segment
from kminilog.storage.segment_search import Located
from kminilog.text import count

DAMAGES = ("missing", "short", "wrong")
INTERVAL_BYTES = 50
FIRST_OFFSET = 737_338  # of the third segment of the documents
_TORN_BYTES = 3
_SHIFT_BYTES = 7


class Rebuilt(NamedTuple):
    """An index before, damaged and rebuilt, and the search for one offset each time.

    `damaged` is None if the file is missing. `present` are the entries that a reader finds in it,
    `scan` is what the scan of the `.log` gives, `planned` what recovery means to write.
    """

    name: str
    base_offset: int
    log_data: bytes
    before: bytes
    damaged: bytes | None
    rebuilt: bytes
    present: list[IndexEntry]
    planned: list[IndexEntry] | None
    scan: SegmentScan
    entries: list[IndexEntry]
    searched_offset: int
    searches: list[Located]


def damage_and_rebuild(dialect: Dialect, messages: Sequence[bytes], damage: str) -> Rebuilt:
    """Write messages, damage the index of their segment, and let recovery rebuild it.

    Raises ValueError for an unknown damage, and for an index without an entry to damage.
    """
    if damage not in DAMAGES:
        raise ValueError(f"damage {damage!r}: give {', '.join(DAMAGES[:-1])} or {DAMAGES[-1]}")
    settings = TopicSettings(index_interval_bytes=INTERVAL_BYTES)
    with temporary_log(dialect, settings, FIRST_OFFSET) as log:
        log.append(without_keys(messages))
        (segment,) = log.segments()
        before, entries = segment.index.path.read_bytes(), segment.index.entries()
        if not entries:
            raise ValueError(f"{count(len(messages), 'message')}: too few for an index entry")
        slot = len(entries) // 2
        offset = log.log_end_offset - 1
        if damage == "wrong":
            offset = segment.base_offset + entries[slot].relative_offset
        searches = [_search(log, offset)]
        damaged = _damaged(entries, slot, damage)
        _put(segment, damaged)
        searches.append(_search(log, offset))
        (fresh,) = reader_of(log).segments()
        scan, present = scan_segment(fresh), fresh.index.entries()
        plan = plan_recovery(reader_of(log))
        carry_out(plan)
        searches.append(_search(log, offset))
        (fresh,) = reader_of(log).segments()
        fresh.index.load()
        return Rebuilt(
            segment.name,
            segment.base_offset,
            segment.log_path.read_bytes(),
            before,
            damaged,
            fresh.index.path.read_bytes(),
            present,
            next((planned for _, planned in plan.rebuilt_indexes), None),
            scan,
            fresh.index.entries(),
            offset,
            searches,
        )


def _search(log: PartitionLog, offset: int) -> Located:
    return reader_of(log).find(offset).located


def _damaged(entries: list[IndexEntry], slot: int, damage: str) -> bytes | None:
    if damage == "missing":
        return None
    if damage == "short":
        return b"".join(map(encode_entry, entries))[: slot * ENTRY_SIZE_BYTES + _TORN_BYTES]
    entry = entries[slot]
    false = entry._replace(position=entry.position + _SHIFT_BYTES)
    return b"".join(map(encode_entry, [*entries[:slot], false, *entries[slot + 1 :]]))


def _put(segment: Segment, damaged: bytes | None) -> None:
    if damaged is None:
        segment.index.path.unlink()
    else:
        segment.index.path.write_bytes(damaged)
