"""`step rebuild-index`: an index is missing, torn or wrong, and is made again from the `.log`.

    .log     [m0 m1 m2 m3 m4 …]            the truth
    .index   damaged  →  compared with the due entries  →  written anew

    missing    no .index file at all
    short      the file ends inside an entry
    wrong      an entry points into the middle of a message

No reader is misled meanwhile: an entry counts only if its message stands where it points. The new
index is byte for byte the old one, because both come from the same messages by the same rule. The
files are real; only the damage is done by hand. Source: ours; Kafka 0.8.2: Log.loadSegments,
LogSegment.recover.
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from kminilog.course.steps.temporary_partition import (
    add_index,
    add_log,
    entries_table,
    entry_cell,
    reader_of,
    temporary_log,
    without_keys,
)
from kminilog.explain.document import ByteRange, Document, Table, Value
from kminilog.explain.script import Script
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, IndexEntry, encode_entry
from kminilog.format.message import SIZE_END
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX
from kminilog.settings import TopicSettings
from kminilog.storage.partition.recovery import carry_out, plan_recovery
from kminilog.storage.segment.scan import scan_segment
from kminilog.storage.segment.search import Found
from kminilog.text import count

MESSAGES = (
    *(b"one apple", b"two pears", b"three plums", b"four dates", b"five lemons"),
    *(b"six limes", b"seven figs", b"eight nuts", b"nine grapes", b"ten cherries"),
)
DAMAGES = ("missing", "short", "wrong")
DAMAGE = "wrong"
INTERVAL_BYTES = 50
FIRST_OFFSET = 737_338  # of the third segment of the documents
STEPS = (
    *("The index", "The damage", "A reader searches", "An entry is due"),
    *("Recovery compares", "The rebuilt index", "The index, read from its file"),
)
_TORN_BYTES = 3
_SHIFT_BYTES = 7


def document(
    dialect: Dialect = DOCUMENTED,
    damage: str = DAMAGE,
    messages: Sequence[bytes] = MESSAGES,
) -> Document:
    """Return the step-through; its last table has the entries that `OffsetIndex` reads.

    `damage` is one of DAMAGES. Raises ValueError for another one, and if the messages are too few
    for an index entry.
    """
    if damage not in DAMAGES:
        raise ValueError(f"damage {damage!r}: give {', '.join(DAMAGES[:-1])} or {DAMAGES[-1]}")
    settings = TopicSettings(index_interval_bytes=INTERVAL_BYTES)
    with temporary_log(dialect, settings, FIRST_OFFSET) as log:
        log.append(without_keys(messages))
        (segment,) = log.segments()
        log_data, index_path = segment.log_path.read_bytes(), segment.index.path
        before, entries = index_path.read_bytes(), segment.index.entries()
        if not entries:
            raise ValueError(f"{count(len(messages), 'message')}: too few for an index entry")
        slot = len(entries) // 2
        searched = log.log_end_offset - 1
        if damage == "wrong":
            searched = segment.base_offset + entries[slot].relative_offset
        searches = {"whole": reader_of(log).find(searched)}
        damaged = _damaged(entries, slot, damage)
        if damaged is None:
            index_path.unlink()
        else:
            index_path.write_bytes(damaged)
        searches["damaged"] = reader_of(log).find(searched)
        (fresh,) = reader_of(log).segments()
        fresh.index.load()
        scan, present = scan_segment(fresh), fresh.index.entries()
        plan = plan_recovery(reader_of(log))
        carry_out(plan)
        searches["rebuilt"] = reader_of(log).find(searched)
        (fresh,) = reader_of(log).segments()
        fresh.index.load()
        rebuilt, rebuilt_entries = index_path.read_bytes(), fresh.index.entries()

    base_offset = segment.base_offset
    told = Script(
        __file__,
        "rebuild-index",
        STEPS,
        damage=damage,
        searched=searched,
        interval_bytes=INTERVAL_BYTES,
        base_offset=base_offset,
    )
    recording = told.recording
    log_file, index_file = segment.name + LOG_SUFFIX, segment.name + INDEX_SUFFIX
    add_log(recording, log_file, dialect, log_data)
    add_index(recording, f"{index_file} before", before)
    told.tell(
        "The index",
        focus=[ByteRange(f"{index_file} before", 0, len(before))],
        values={"log bytes": len(log_data), "index bytes": len(before)},
        tables=[entries_table("The index", base_offset, entries)],
    )
    recording.hide(f"{index_file} before")
    if damaged is not None:
        add_index(recording, f"{index_file} damaged", damaged)
        start = slot * ENTRY_SIZE_BYTES
        end = min(start + ENTRY_SIZE_BYTES, len(damaged))
        recording.damaged = [ByteRange(f"{index_file} damaged", start, end)]
    index_bytes = None if damaged is None else len(damaged)
    told.tell(
        "The damage",
        focus=recording.damaged,
        values={"log bytes": len(log_data), "index bytes": index_bytes},
        tables=[entries_table("What is left of the index", base_offset, present)],
    )
    found = searches["damaged"]
    told.tell(
        "A reader searches",
        focus=[ByteRange(log_file, found.position, found.position + found.message.length_bytes)],
        tables=[_search_table(searched, searches, ("whole", "damaged"))],
        found=found,
        scanned_bytes_before=searches["whole"].scanned_bytes,
    )
    last = 0
    for number, entry in enumerate(scan.entries):
        recording.spend(bytes=entry.position - last)
        due = scan.entries[: number + 1]
        told.tell(
            "An entry is due",
            focus=[ByteRange(log_file, entry.position, entry.position + SIZE_END)],
            values={"position of the last entry": last, "position": entry.position},
            tables=[entries_table("Entries that the rule asks for", base_offset, due, [number])],
            entry=entry,
            last=last,
        )
        last = entry.position
    recording.spend(bytes=len(log_data) - last)
    pairs = list(zip_longest(present, scan.entries))
    marked = tuple(number for number, (one, due) in enumerate(pairs) if one != due)
    rows = [(number, entry_cell(one), entry_cell(due)) for number, (one, due) in enumerate(pairs)]
    columns = ("entry", "in the file", "by the rule")
    told.tell(
        "Recovery compares",
        values={"to be rebuilt": "true" if plan.rebuilt_indexes else "false"},
        tables=[Table("The index and the rule", columns, tuple(rows), marked)],
        differing=len(marked),
    )
    if damaged is not None:
        recording.hide(f"{index_file} damaged")
    add_index(recording, f"{index_file} rebuilt", rebuilt)
    recording.show(f"{index_file} before")
    differing = sum(one != other for one, other in zip_longest(before, rebuilt))
    told.tell(
        "The rebuilt index",
        focus=[ByteRange(f"{index_file} rebuilt", 0, len(rebuilt))],
        values={"index bytes": len(rebuilt), "bytes that differ": differing},
        tables=[_search_table(searched, searches, ("whole", "damaged", "rebuilt"))],
        index_bytes=len(rebuilt),
        differing=differing,
    )
    told.tell(
        "The index, read from its file",
        values={
            "index bytes": len(rebuilt),
            "same bytes as before": "true" if rebuilt == before else "false",
            "log end offset": scan.next_offset,
        },
        tables=[entries_table("The index, read from its file", base_offset, rebuilt_entries)],
    )
    return told.document()


def _damaged(entries: Sequence[IndexEntry], slot: int, damage: str) -> bytes | None:
    """Return the bytes of an index whose entry `slot` is damaged; None if the file is missing."""
    if damage == "missing":
        return None
    if damage == "short":
        return b"".join(map(encode_entry, entries))[: slot * ENTRY_SIZE_BYTES + _TORN_BYTES]
    entry = entries[slot]
    false = entry._replace(position=entry.position + _SHIFT_BYTES)
    return b"".join(map(encode_entry, [*entries[:slot], false, *entries[slot + 1 :]]))


def _search_table(searched: int, searches: Mapping[str, Found], names: Sequence[str]) -> Table:
    """Return the searches with these states of the index; the last one is marked."""
    rows: list[tuple[Value, ...]] = []
    for name in names:
        one = searches[name]
        entry = entry_cell(one.index_entry)
        rows.append((name, entry, one.scanned_messages, one.scanned_bytes, one.position))
    columns = ("index", "entry used", "messages read", "bytes read", "found at byte")
    title = f"The search for message {searched}"
    return Table(title, columns, tuple(rows), (len(rows) - 1,))
