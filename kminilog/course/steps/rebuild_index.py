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

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from kminilog.course.steps.temporary_partition import (
    add_index,
    add_log,
    reader_of,
    temporary_log,
    without_keys,
)
from kminilog.explain.document import Ask, ByteRange, Document, Table, Value
from kminilog.explain.recording import Recording, ask, question_with_enough_choices
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, IndexEntry, encode_entry
from kminilog.format.message import SIZE_END
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.recovery import carry_out, plan_recovery
from kminilog.storage.segment.scan import SegmentScan, scan_segment
from kminilog.storage.segment.search import Found
from kminilog.storage.segment.segment import Segment
from kminilog.text import agreeing, count

# ---- damage, a search, and recovery


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
    searches: list[Found]


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
        fresh.index.load()
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


def _search(log: PartitionLog, offset: int) -> Found:
    return reader_of(log).find(offset)


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


# ---- the steps


MESSAGES = (
    *(b"one apple", b"two pears", b"three plums", b"four dates", b"five lemons"),
    *(b"six limes", b"seven figs", b"eight nuts", b"nine grapes", b"ten cherries"),
)
DAMAGE = "wrong"
_COMPARED = ("entry", "in the file", "by the rule")
_TOLD = {
    "missing": "The .index file is gone. It was deleted, or never copied.",
    "short": "The .index ends inside an entry. A process died while it wrote the file.",
    "wrong": "One position in the .index is wrong. The entry points into the middle of a message. "
    "The file is as long as before, and its entries still rise.",
}


def document(
    dialect: Dialect = DOCUMENTED,
    damage: str = DAMAGE,
    messages: Sequence[bytes] = MESSAGES,
) -> Document:
    """Return the step-through; its last table has the entries that `OffsetIndex` reads.

    `damage` is one of DAMAGES. Raises ValueError for another one, and if the messages are too few
    for an index entry.
    """
    rebuilt = damage_and_rebuild(dialect, messages, damage)
    recording = Recording("rebuild-index", "How an index is rebuilt from its log")
    add_log(recording, rebuilt.name + LOG_SUFFIX, dialect, rebuilt.log_data)
    story = _Story(recording, rebuilt)
    story.begin(damage)
    story.search()
    story.scan()
    story.compare()
    story.write()
    story.end()
    return recording.document()


class _Story:
    """Tells of one index; its three states are three files."""

    def __init__(self, recording: Recording, rebuilt: Rebuilt) -> None:
        self._recording = recording
        self._rebuilt = rebuilt
        self._log = rebuilt.name + LOG_SUFFIX
        self._index = rebuilt.name + INDEX_SUFFIX
        self._before = f"{self._index} before"
        self._damaged = f"{self._index} damaged"

    def begin(self, damage: str) -> None:
        """Tell of the index before and after the damage."""
        rebuilt, recording = self._rebuilt, self._recording
        add_index(recording, self._before, rebuilt.before)
        whole = [ByteRange(self._before, 0, len(rebuilt.before))]
        recording.step(
            "A segment and its index. The index is derived from the .log. Each entry repeats what "
            "the .log says: the offset of a message, and where it begins.",
            focus=whole,
            values={"log bytes": len(rebuilt.log_data), "index bytes": len(rebuilt.before)},
            tables=[self._entry_table("The index", rebuilt.entries)],
        )
        recording.hide(self._before)
        if rebuilt.damaged is not None:
            add_index(recording, self._damaged, rebuilt.damaged)
            recording.damaged = self._changed(rebuilt.damaged)
        index_bytes = None if rebuilt.damaged is None else len(rebuilt.damaged)
        recording.step(
            _TOLD[damage],
            focus=recording.damaged,
            values={"log bytes": len(rebuilt.log_data), "index bytes": index_bytes},
            tables=[self._entry_table("What is left of the index", rebuilt.present)],
        )

    def _changed(self, damaged: bytes) -> list[ByteRange]:
        """Return the entry of the damaged file that differs first; torn bytes are one, too."""
        for start in range(0, len(damaged), ENTRY_SIZE_BYTES):
            end = min(start + ENTRY_SIZE_BYTES, len(damaged))
            if damaged[start:end] != self._rebuilt.before[start : start + ENTRY_SIZE_BYTES]:
                return [ByteRange(self._damaged, start, end)]
        return []

    def _entry_table(
        self, title: str, entries: Sequence[IndexEntry], marked: Sequence[int] = ()
    ) -> Table:
        rows = tuple(
            (slot, *entry, self._rebuilt.base_offset + entry.relative_offset)
            for slot, entry in enumerate(entries)
        )
        columns = ("entry", "relative offset", "position", "offset")
        return Table(title, columns, rows, tuple(marked))

    def search(self) -> None:
        """Tell what a reader finds while the index is damaged."""
        rebuilt = self._rebuilt
        whole, now, _ = rebuilt.searches
        end = now.position + now.message.length_bytes
        said = "begins at byte 0"
        if now.index_entry:
            said = f"begins at entry {', '.join(map(str, now.index_entry))}"
        self._recording.step(
            f"A reader looks for message {rebuilt.searched_offset}, and finds it at byte "
            f"{now.position}. It uses an entry only if the message of the entry is really there. "
            f"So the damage gives no wrong answer, but the way is longer. The reader {said}, and "
            f"reads {count(now.scanned_bytes, 'byte')} instead of {whole.scanned_bytes}.",
            ask=_ask_search(rebuilt.searched_offset),
            focus=[ByteRange(self._log, now.position, end)],
            tables=[self._search_table(("whole", "damaged"))],
        )

    def _search_table(self, names: Sequence[str]) -> Table:
        rows: list[tuple[Value, ...]] = []
        for name, found in zip(names, self._rebuilt.searches, strict=False):
            entry = found.index_entry and f"{', '.join(map(str, found.index_entry))}"
            rows.append((name, entry, found.scanned_messages, found.scanned_bytes, found.position))
        columns = ("index", "entry used", "messages read", "bytes read", "found at byte")
        title = f"The search for message {self._rebuilt.searched_offset}"
        return Table(title, columns, tuple(rows), (len(rows) - 1,))

    def scan(self) -> None:
        """Tell which entries are due for the messages of the `.log`, in turn."""
        entries = self._rebuilt.scan.entries
        before = 0
        for slot, entry in enumerate(entries):
            self._recording.spend(bytes=entry.position - before)
            last = f"the last entry (at {before})" if slot else "the beginning"
            first = "Recovery reads the .log from byte 0 on, and applies the rule to each message. "
            self._recording.step(
                f"{'' if slot else first}The next message that begins more than {INTERVAL_BYTES} "
                f"bytes after {last} is {self._offset(entry)}, at byte {entry.position}. So it "
                f"must have the entry {entry.relative_offset}, {entry.position}.",
                focus=[ByteRange(self._log, entry.position, entry.position + SIZE_END)],
                values={"position of the last entry": before, "position": entry.position},
                tables=[
                    self._entry_table("Entries that the rule asks for", entries[: slot + 1], [slot])
                ],
            )
            before = entry.position
        self._recording.spend(bytes=len(self._rebuilt.log_data) - before)

    def _offset(self, entry: IndexEntry) -> int:
        return self._rebuilt.base_offset + entry.relative_offset

    def compare(self) -> None:
        """Tell that the index does not have exactly the due entries, and what follows."""
        rebuilt = self._rebuilt
        pairs = list(zip_longest(rebuilt.present, rebuilt.scan.entries))
        rows = [
            (slot, *(one and f"{one.relative_offset}, {one.position}" for one in pair))
            for slot, pair in enumerate(pairs)
        ]
        marked = tuple(slot for slot, (present, due) in enumerate(pairs) if present != due)
        self._recording.step(
            f"Recovery compares the file with these entries: "
            f"{count(len(marked), 'entry', 'differ')}. It does not ask why. It plans to "
            "write the whole index again.",
            ask=_ASK_PLAN,
            values={"to be rebuilt": "false" if rebuilt.planned is None else "true"},
            tables=[
                Table(
                    "The index and the rule",
                    ("entry", "in the file", "by the rule"),
                    tuple(rows),
                    marked,
                )
            ],
        )

    def write(self) -> None:
        """Tell of the rebuilt file."""
        rebuilt, recording = self._rebuilt, self._recording
        if rebuilt.damaged is not None:
            recording.hide(self._damaged)
        name = f"{self._index} rebuilt"
        add_index(recording, name, rebuilt.rebuilt)
        recording.show(self._before)
        differing = sum(one != other for one, other in zip_longest(rebuilt.before, rebuilt.rebuilt))
        recording.step(
            f"The new index has {count(len(rebuilt.rebuilt), 'byte')}, and {differing} of them "
            f"{agreeing('differ', differing)} from "
            "the index before the damage. The messages are the same, and the rule is the same.",
            ask=_ask_difference(rebuilt, differing),
            focus=[ByteRange(name, 0, len(rebuilt.rebuilt))],
            values={"index bytes": len(rebuilt.rebuilt), "bytes that differ": differing},
            tables=[self._search_table(("whole", "damaged", "rebuilt"))],
        )

    def end(self) -> None:
        """Tell what the index holds now."""
        rebuilt = self._rebuilt
        same = "true" if rebuilt.rebuilt == rebuilt.before else "false"
        self._recording.step(
            "The index, read from its file. You can rebuild an index from its log, never a log "
            "from its index.",
            values={
                "index bytes": len(rebuilt.rebuilt),
                "same bytes as before": same,
                "log end offset": rebuilt.scan.next_offset,
            },
            tables=[self._entry_table("The index, read from its file", rebuilt.entries)],
        )


def _ask_search(offset: int) -> Ask:
    return ask(
        f"A reader looks for message {offset} while the index is like this. What does it get?",
        "the message, after a longer way",
        "The index only makes the way shorter. Without the entry, a reader begins to walk at an "
        "earlier byte.",
        {
            "an error, the index is damaged": "The message is in the .log, and the .log is valid. "
            "A reader does not stop because of an index.",
            "bytes that are no message": "That trusts the index. But a reader uses an entry only "
            "if the message of the entry is really there.",
            "nothing, the message has no entry": "A message needs no entry. A search walks on from "
            "the nearest entry before it, or from the beginning.",
        },
    )


_ASK_PLAN = ask(
    "The file does not have exactly the entries that the rule asks for. What does recovery do?",
    "it writes the whole index again, from the .log",
    "The index is derived from the .log, so it can be rebuilt at any time.",
    {
        "it mends only the entries that are wrong": "Then it would have to know which other "
        "entries are wrong. To write all entries is simpler, and gives the same index.",
        "it cuts the .log where the index ends": "That trusts the index. But only the .log has "
        "the messages, and none of them may be lost because of an index.",
        "it refuses, as for damage in a .log": "A message that is lost in a .log cannot come "
        "back. But all that an index says is still in the .log.",
    },
)


def _ask_difference(rebuilt: Rebuilt, differing: int) -> Ask | None:
    question = ask(
        "How many bytes of the rebuilt index differ from the index before the damage?",
        str(differing),
        "Both indexes are made from the same messages by the same rule.",
        {
            str(ENTRY_SIZE_BYTES): "That is one entry. But the rule does not depend on what was in "
            "the damaged file.",
            str(len(rebuilt.rebuilt)): "That is all of them. But for the same messages, the rule "
            "always gives the same entries.",
        },
    )
    return question_with_enough_choices(question)
