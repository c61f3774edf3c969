"""`step sparse-index`: which messages get an index entry, and what stands in it.

    position   0        248      497        600 …     interval 248
    message    368770   368771   368772     368773
    after      0        248      497 > 248  103       the last entry, else the beginning
    entry                        3, 497               documented: offset - 368769, position

The sizes of the first messages are such that the documents' entry `3,497` comes out, and then their
6,1407 and 8,1686. A real log is written; `is_due` says of each message why it gets an entry or not,
and the real index says if it got one. Source: S1 5.2; Kafka: LogSegment.append, OffsetIndex.
"""

from collections.abc import Sequence

from kminilog.course.steps.indexed_segment import (
    FIRST_OFFSET,
    Placed,
    Written,
    write_segment,
)
from kminilog.course.steps.temporary_partition import PARTITION, add_index, add_log
from kminilog.explain.document import Ask, ByteRange, Document, Table, Value
from kminilog.explain.documents_log import INTERVAL_BYTES, message_sizes
from kminilog.explain.recording import Recording, ask, question_with_enough_choices
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA, Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, due_entries
from kminilog.format.message import SIZE_END
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX
from kminilog.text import count

MESSAGE_COUNT = 14
MOST_MESSAGES = 100  # with more, a document has too many fields
_SHOWN_ROWS = 20
_ENTRY_COLUMNS = ("entry", "relative offset", "position", "offset")


def document(
    dialect: Dialect = DOCUMENTED,
    interval_bytes: int = INTERVAL_BYTES,
    message_count: int = MESSAGE_COUNT,
) -> Document:
    """Return the step-through; its last table has the entries that `OffsetIndex` reads.

    Raises SettingError for an impossible interval, ValueError for no messages or too many.
    """
    if not 1 <= message_count <= MOST_MESSAGES:
        raise ValueError(f"{message_count} messages: give 1 to {MOST_MESSAGES}")
    sizes = message_sizes(message_count)
    recording = Recording("sparse-index", "Which messages get an index entry")
    written = write_segment(dialect, interval_bytes, sizes)
    add_log(recording, written.name + LOG_SUFFIX, dialect, written.log_data, is_shown=False)
    add_index(recording, written.name + INDEX_SUFFIX, written.index_data, is_shown=False)
    _tell_files(recording, written, interval_bytes)
    for slot in range(len(written.placed)):
        _tell_message(recording, dialect, written, slot, interval_bytes)
    _tell_dialects(recording, interval_bytes, sizes)
    _tell_result(recording, written, interval_bytes)
    return recording.document()


def _tell_files(recording: Recording, written: Written, interval_bytes: int) -> None:
    recording.show(written.name + LOG_SUFFIX, 0)
    recording.show(written.name + INDEX_SUFFIX, 0)
    recording.step(
        "The index of a segment says where some of its messages begin. So a search does not have "
        "to read the .log from byte 0. The index is sparse. A message gets an entry only if it "
        "begins more than index.interval.bytes after the last entry, or after the beginning. That "
        f"is {count(interval_bytes, 'byte')} here, and 4096 by default.",
        values={"index.interval.bytes": interval_bytes, "partition": str(PARTITION)},
    )


def _tell_message(
    recording: Recording, dialect: Dialect, written: Written, slot: int, interval_bytes: int
) -> None:
    one = written.placed[slot]
    log_name, index_name = written.name + LOG_SUFFIX, written.name + INDEX_SUFFIX
    end = written.placed[slot + 1].position if slot + 1 < len(written.placed) else None
    entry_end = one.entry_count * ENTRY_SIZE_BYTES
    recording.show(log_name, end)
    recording.show(index_name, entry_end)
    focus = [ByteRange(log_name, one.position, one.position + SIZE_END)]
    question = None
    if one.entry:
        focus.append(ByteRange(index_name, entry_end - ENTRY_SIZE_BYTES, entry_end))
        if one.entry_count == 1:
            question = _ask_entry(dialect, written, one, end or len(written.log_data))
    elif one.position and one.distance_bytes == interval_bytes:
        question = _ask_exact(one)
    recording.step(
        _said(written, one, interval_bytes),
        ask=question,
        focus=focus,
        values={
            "position": one.position,
            "position of the last entry": one.last_indexed,
            "difference": one.distance_bytes,
            "gets an entry": "yes" if one.is_due else "no",
        },
        tables=[_message_table(written, slot)],
    )


def _said(written: Written, one: Placed, interval_bytes: int) -> str:
    said = f"Message {one.offset} begins at byte {one.position}"
    if not one.position:
        return (
            f"{said}. The first message never gets an entry, because a search without an entry "
            "begins there anyway."
        )
    said += f", {_far(one)}. That is "
    if one.entry:
        return (
            f"{said}more than {interval_bytes}, so it gets an entry of {ENTRY_SIZE_BYTES} bytes. "
            f"The entry holds the relative offset, {one.offset} - {written.base_offset} = "
            f"{one.entry.relative_offset}, and the position, {one.position}."
        )
    exactly = "exactly" if one.distance_bytes == interval_bytes else "not more than"
    return f"{said}{exactly} {interval_bytes}, so it gets no entry."


def _far(one: Placed) -> str:
    """Return how far a message begins after the last entry, or after the beginning."""
    last = f"the last entry, at {one.last_indexed}" if one.last_indexed else "the beginning"
    return f"{count(one.distance_bytes, 'byte')} after {last}"


def _message_table(written: Written, slot: int) -> Table:
    first = max(slot + 1 - _SHOWN_ROWS, 0)
    rows: list[tuple[Value, ...]] = []
    for one in written.placed[first : slot + 1]:
        entry = f"{one.entry.relative_offset}, {one.entry.position}" if one.entry else None
        rows.append((one.offset, one.position, one.distance_bytes, entry))
    columns = ("offset", "position", "after the last entry", "entry")
    return Table("Messages", columns, tuple(rows), (len(rows) - 1,))


def _ask_entry(dialect: Dialect, written: Written, one: Placed, end: int) -> Ask:
    other = KAFKA if dialect.named_by_previous else DOCUMENTED
    relative = one.offset - written.base_offset
    others = one.offset - other.base_offset_for(FIRST_OFFSET)
    return ask(
        f"Message {one.offset} begins at byte {one.position} of {written.name}.log and gets an "
        "index entry. Which two numbers does the entry hold?",
        f"{relative}, {one.position}",
        "The offset is relative to the number in the file name. So 4 bytes are enough for it.",
        {
            f"{one.offset}, {one.position}": "That is the absolute offset. The entry holds "
            "the offset relative to the number in the file name.",
            f"{others}, {one.position}": f"That is the entry in the {other.name} dialect, in which "
            "the file has another name.",
            f"{relative}, {end}": "That is the byte where the message ends. A reader must know "
            "where it begins.",
            f"{relative}, {one.distance_bytes}": "That is the distance from the last entry. A "
            "position counts from the beginning of the file.",
        },
    )


def _ask_exact(one: Placed) -> Ask:
    return ask(
        f"Message {one.offset} begins exactly {_far(one)}. Does it get an index entry?",
        "no, it must be more",
        "The rule asks for more than index.interval.bytes.",
        {
            "yes, the interval is full": "That would be right if the rule were: at least the "
            "interval. But the rule is: more than the interval.",
            "yes, every message gets one": "Then the index would not be sparse.",
        },
    )


def _tell_dialects(recording: Recording, interval_bytes: int, sizes: Sequence[int]) -> None:
    rows: list[tuple[Value, ...]] = []
    for dialect in DIALECTS.values():
        written = write_segment(dialect, interval_bytes, sizes)
        if written.entries:
            relative, position = written.entries[0]
            offset = written.base_offset + relative
            rows.append((dialect.name, written.name, offset, relative, position))
    if rows:
        columns = ("dialect", "file name", "offset", "relative offset", "position")
        recording.step(
            "The same messages in both dialects. The positions are the same, because all messages "
            "have the same sizes here. The relative offsets differ by one, because the numbers in "
            "the file names differ by one. In the documented dialect it is the last offset before "
            "the segment.",
            tables=[Table("The first entry", columns, tuple(rows))],
        )


def _tell_result(recording: Recording, written: Written, interval_bytes: int) -> None:
    positions = [(one.offset, one.position) for one in written.placed]
    rebuilt = list(due_entries(positions, written.base_offset, interval_bytes))
    entries = written.entries
    agrees = "the same" if rebuilt == entries else "other"
    rows = [
        (slot, entry.relative_offset, entry.position, written.base_offset + entry.relative_offset)
        for slot, entry in enumerate(entries)
    ]
    recording.step(
        f"The .index has {count(len(entries), 'entry')} for {count(len(positions), 'message')}: "
        f"{count(len(written.index_data), 'byte')} for {len(written.log_data)} of .log. The same "
        f"rule, applied to the .log again, gives {agrees} entries. So a lost index can be rebuilt.",
        ask=_ask_size(written, interval_bytes),
        values={
            "messages": len(positions),
            "log bytes": len(written.log_data),
            "index bytes": len(written.index_data),
            "entries by the rule": len(rebuilt),
        },
        tables=[Table("The index, read from its file", _ENTRY_COLUMNS, tuple(rows))],
    )


def _ask_size(written: Written, interval_bytes: int) -> Ask | None:
    entry_count, message_count = len(written.entries), len(written.placed)
    log_bytes = len(written.log_data)
    thoughts = {
        entry_count + 1: "That is one entry too many. The first message of a segment has none.",
        message_count: "That is an entry for every message. The index is sparse.",
    }
    if interval_bytes:
        thoughts[log_bytes // interval_bytes] = (
            "That is one entry for each full interval. But the distance counts from the last "
            "entry, and a message does not end where an interval ends."
        )
    question = ask(
        f"The segment has {count(message_count, 'message')} in {log_bytes} bytes, and the interval "
        f"is {interval_bytes}. How many bytes does the .index have?",
        str(entry_count * ENTRY_SIZE_BYTES),
        f"{count(entry_count, 'entry')} of {ENTRY_SIZE_BYTES} bytes.",
        {str(number * ENTRY_SIZE_BYTES): thought for number, thought in thoughts.items()},
    )
    return question_with_enough_choices(question)
