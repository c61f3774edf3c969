"""`step torn-tail`: a process dies in the middle of an append, and the log is opened again.

    00000000000000000003.log   [m4 m5 m6 ~~~~~~   ]    m7 is unfinished
    recovery                   [m4 m5 m6]              the rest goes to a side file
    next append                [m4 m5 m6 m7      ]     m7 again, with the same offset

The log is a real one; only its end is cut by hand. Its index had not been written yet, because the
writer writes the .log first. Recovery is the engine's own, and the right answers come from what it
did.

Decoding has three outcomes: a message, more bytes needed, damage. The second one at the end of the
log is a torn tail, unless a valid message stands after it:

    [m0  m1~~~~~~~~~~~~~~~~~  m2]     the size of m1 was changed: it seems to end past the file

Kafka 0.8.2 cuts there, whatever follows, and so loses m2. Source: S1 5.2; ours; Kafka 0.8.2:
LogSegment.recover.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

from kminilog.course.steps.temporary_partition import (
    PARTITION,
    add_index,
    add_log,
    listed_segments,
    message_ends,
    reader_of,
    segments_table,
    temporary_log,
    without_keys,
)
from kminilog.errors import CorruptLogError
from kminilog.explain.document import ByteRange, Document, Table, Value
from kminilog.explain.script import Script
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import (
    SIZE_END,
    CorruptMessage,
    KeyValue,
    Message,
    NeedMoreBytes,
    Outcome,
    decode,
    encoded_bytes,
)
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.recovery import Decision, carry_out, plan_recovery
from kminilog.storage.segment.lookup import segment_slot
from kminilog.storage.segment.scan import scan_segment
from kminilog.storage.segment.segment import Segment
from kminilog.storage.segment.whole_messages import whole_messages
from kminilog.text import count

SETTINGS = TopicSettings(segment_bytes=128, index_interval_bytes=50)
MESSAGES = (
    *(b"one apple", b"two pears", b"three plums", b"four dates"),
    *(b"five lemons", b"six limes", b"seven figs", b"eight nuts"),
)
CUT_BYTES = 20
STEPS = (
    *("The log before the crash", "The crash", "What recovery reads"),
    *("A whole message", "An unfinished message", "The decision", "The cut", "Nothing to cut"),
    *("The next append", "Damage that looks like a torn tail", "It is refused"),
    "A reader lists the log",
)
_FILE = "another .log"
_SIZE_AT = 8  # of a message


def document(
    dialect: Dialect = DOCUMENTED,
    cut_bytes: int = CUT_BYTES,
    messages: Sequence[bytes] = MESSAGES,
) -> Document:
    """Return the step-through; its last table has the segments of the log after the next append.

    All messages are appended, the last one only up to its byte `cut_bytes`. Two thirds of the
    others were flushed before, or more: all that stands before the last segment.

    Raises ValueError for fewer than two messages, and if the last one has not so many bytes as
    `cut_bytes`.
    """
    if len(messages) < 2:
        raise ValueError(f"{count(len(messages), 'message')}: give at least 2")
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
        torn, torn_start, torn_entries = _die_while_appending(log, last, cut_bytes)
        torn_data = torn.log_path.read_bytes()
        reader = reader_of(log)
        first = segment_slot(dialect, [s.base_offset for s in reader.segments()], recovery_point)
        scanned = [(segment.name, list(segment.scan())) for segment in reader.segments()[first:]]
        valid = scan_segment(reader.segments()[-1])
        plan = plan_recovery(reader, scan_from=recovery_point, recovery_point=recovery_point)
        side_file = next((path.name for path in carry_out(plan)), None)
        recovered = listed_segments(reader_of(log))
        log = PartitionLog.open(
            log.directory, PARTITION, dialect, SETTINGS, recovery_point=recovery_point
        )
        (next_offset,) = log.append([last])
        reader = reader_of(log)
        after, log_end_offset = listed_segments(reader), reader.log_end_offset
        files = {path.name: path.read_bytes() for path in sorted(log.directory.iterdir())}

    torn_before = torn_after = torn.log_path.name
    if side_file:  # recovery cuts the file: it is shown as two
        torn_before, torn_after = f"{torn.log_path.name} before", f"{torn.log_path.name} after"
    told = Script(
        __file__,
        "torn-tail",
        STEPS,
        torn=torn.log_path.name,
        torn_start=torn_start,
        cut_bytes=cut_bytes,
        message_bytes=message_bytes,
        recovery_point=recovery_point,
        first=scanned[0][0],
        has_earlier=before[0][0] != scanned[0][0],
        valid_bytes=valid.valid_bytes,
        has_size=cut_bytes >= SIZE_END,
        is_whole=cut_bytes == message_bytes,
        log_end=before[-1][2],
    )
    recording = told.recording
    for name, data in files.items():
        if name.endswith(INDEX_SUFFIX):
            add_index(recording, name, data, is_shown=False)
        elif side_file and name == torn.log_path.name:
            add_log(recording, torn_before, dialect, torn_data, is_shown=False)
            add_log(recording, torn_after, dialect, data, is_shown=False)
        else:
            add_log(recording, name, dialect, data, is_shown=False)

    for segment, *_, log_bytes, entries in before:
        name = torn_before if segment == torn.name else f"{segment}{LOG_SUFFIX}"
        recording.show(name, int(log_bytes or 0))
        recording.show(f"{segment}{INDEX_SUFFIX}", int(entries or 0) * ENTRY_SIZE_BYTES)
    told.tell(
        "The log before the crash",
        values={"recovery point": recovery_point, "log end offset": before[-1][2]},
        tables=[segments_table("Segments", before)],
    )
    recording.show(torn_before, torn_start + cut_bytes)
    recording.show(torn.index.path.name, torn_entries * ENTRY_SIZE_BYTES)
    unfinished = [ByteRange(torn_before, torn_start, torn_start + cut_bytes)] if cut_bytes else []
    told.tell(
        "The crash",
        focus=unfinished,
        values={
            "recovery point": recovery_point,
            "message bytes": message_bytes,
            "written bytes": cut_bytes,
        },
    )
    names = dict.fromkeys([*(segment for segment, *_ in before), torn.name])
    read = {segment for segment, _ in scanned}
    rows = [(name, "whole" if name in read else "only its end") for name in names]
    told.tell(
        "What recovery reads",
        values={"recovery point": recovery_point},
        tables=[Table("What recovery reads", ("segment", "read"), tuple(rows))],
    )
    for segment, outcomes in scanned:
        name = torn_before if segment == torn.name else f"{segment}{LOG_SUFFIX}"
        for position, outcome in outcomes:
            step, end, valid_end = "An unfinished message", len(torn_data), position
            if isinstance(outcome, Message):
                step, end = "A whole message", position + outcome.length_bytes
                valid_end = end
            recording.spend(bytes=end - position)
            told.tell(
                step,
                focus=[ByteRange(name, position, end)],
                values={"position": position, "valid up to byte": valid_end},
                tables=[_outcome_table(outcome)],
                position=position,
                left=end - position,
                outcome=outcome,
            )
    values: dict[str, Value] = {
        "fault": valid.reason,
        "valid up to byte": valid.valid_bytes,
        "log end offset": plan.log_end_offset,
        "decision": (Decision.CUT if plan.cut else Decision.KEEP).value,
    }
    cut: list[ByteRange] = []
    if side_file and plan.cut:
        cut = [ByteRange(side_file, 0, len(files[side_file]))]
        values |= {"lost bytes": cut[0].end, "lost whole messages": plan.cut.lost.message_count}
        told.tell("The decision", focus=unfinished, values=values)
        recording.hide(torn_before)
        recording.show(torn_after, valid.valid_bytes)
        recording.show(side_file)
    for segment, *_, entries in recovered:
        recording.show(f"{segment}{INDEX_SUFFIX}", int(entries or 0) * ENTRY_SIZE_BYTES)
    told.tell(
        "The cut" if cut else "Nothing to cut",
        focus=cut,
        values=values,
        tables=[segments_table("Segments", recovered)],
        side_file=side_file,
        is_rebuilt=bool(plan.rebuilt_indexes),
    )

    shown = [torn_after if name == torn.log_path.name else name for name in files]
    for name in shown:
        recording.show(name)
    segment, *_, log_bytes, _ = after[-1]
    end = int(log_bytes or 0)
    name = torn_after if segment == torn.name else f"{segment}{LOG_SUFFIX}"
    told.tell(
        "The next append",
        focus=[ByteRange(name, end - message_bytes, end)],
        values={"next offset": next_offset + 1},
        tables=[segments_table("Segments", after)],
        next_offset=next_offset,
        file=f"{segment}{LOG_SUFFIX}",
        position=end - message_bytes,
    )
    _tell_false_torn_tail(told, dialect)
    for name in shown:
        recording.show(name)
    told.tell(
        "A reader lists the log",
        values={
            "decision": values["decision"],
            "log end offset after recovery": plan.log_end_offset,
            "log end offset": log_end_offset,
            "side file": side_file,
        },
        tables=[segments_table("What a reader lists", after)],
    )
    return told.document()


def _die_while_appending(
    log: PartitionLog, message: KeyValue, cut_bytes: int
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


def _outcome_table(outcome: Outcome) -> Table:
    """Return the three outcomes of decoding; the present one is marked."""
    kinds = (Message, NeedMoreBytes, CorruptMessage)
    rows = (
        ("message", "a whole message, whose CRC matches"),
        ("more bytes needed", "the file ends inside a message"),
        ("damage", "no message, and more bytes would not help"),
    )
    marked = (kinds.index(type(outcome)),)
    return Table("What decoding can give", ("outcome", "meaning"), rows, marked)


def _tell_false_torn_tail(told: Script, dialect: Dialect) -> None:
    """Tell in two steps why a fault with valid messages after it is no torn tail."""
    with temporary_log(dialect, TopicSettings()) as log:
        log.append(without_keys([b"first", b"second", b"third"]))
        (segment,) = log.segments()
        data = bytearray(segment.log_path.read_bytes())
        starts = [0, *message_ends(dialect, bytes(data))[:-1]]
        position = starts[1]
        data[position + _SIZE_AT] = 1
        segment.log_path.write_bytes(data)
        plan = plan_recovery(reader_of(log))
        found = next(whole_messages(segment.log_path, position, plan.log_end_offset), None)
        assert found, "the last message is whole"
        is_refused = True
        with suppress(CorruptLogError):
            carry_out(plan)
            is_refused = False
    damage, recording = plan.damage, told.recording
    recording.hide()
    add_log(recording, _FILE, dialect, bytes(data), starts=starts)
    recording.damaged = [ByteRange(_FILE, position + _SIZE_AT, position + _SIZE_AT + 4)]
    values: dict[str, Value] = {
        "fault": damage and damage.reason,
        "valid up to byte": position,
        "log end offset": plan.log_end_offset,
    }
    told.tell(
        "Damage that looks like a torn tail",
        focus=recording.damaged,
        values=values,
        tables=[_outcome_table(decode(dialect, bytes(data), position))],
    )
    lost = damage.lost.message_count if damage else 0
    told.tell(
        "It is refused",
        focus=[ByteRange(_FILE, found[0], len(data))],
        values={
            **values,
            "decision": "refuse" if is_refused else "cut",
            "lost whole messages": lost,
        },
        position=position,
        found_at=found[0],
        found_offset=found[1].offset,
        lost=lost,
    )
    recording.hide(_FILE)
    recording.damaged = []
