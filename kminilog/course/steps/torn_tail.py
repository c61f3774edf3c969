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
from pathlib import Path
from typing import NamedTuple

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
from kminilog.explain.document import Ask, ByteRange, Document, Table, Value
from kminilog.explain.recording import Recording, ask, question_with_enough_choices
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import (
    SIZE_END,
    CorruptMessage,
    Message,
    NeedMoreBytes,
    Outcome,
    decode,
    encoded_bytes,
)
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX
from kminilog.settings import TopicSettings
from kminilog.storage.log_file import whole_messages
from kminilog.storage.lookup import segment_slot
from kminilog.storage.partition_log import PartitionLog
from kminilog.storage.recovery import Decision, RecoveryPlan, carry_out, plan_recovery
from kminilog.storage.segment import Segment
from kminilog.storage.segment_scan import SegmentScan, scan_segment
from kminilog.text import agreeing, count, numbered

# ---- a process dies in an append


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

    Two thirds of the others were flushed before, or more: all that stands before the last segment.
    Raises ValueError if the last message has not so many bytes.
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


# ---- the questions


_OUTCOMES = (
    (Message, "message", "a whole message, whose CRC matches"),
    (NeedMoreBytes, "more bytes needed", "the file ends inside a message"),
    (CorruptMessage, "damage", "no message, and more bytes would not help"),
)


def outcome_table(outcome: Outcome) -> Table:
    """Return the three outcomes; the present one is marked."""
    marked = next(n for n, (kind, *_) in enumerate(_OUTCOMES) if isinstance(outcome, kind))
    rows = tuple((name, meaning) for _, name, meaning in _OUTCOMES)
    return Table("What decoding can give", ("outcome", "meaning"), rows, (marked,))


def said_of_torn(outcome: Outcome, position: int, end: int) -> str:
    """Return what is said of the bytes that begin no valid message."""
    here = f"The rest, from byte {position} on, has {count(end - position, 'byte')}"
    if isinstance(outcome, NeedMoreBytes) and end - position >= SIZE_END:
        return (
            f"{here}, but the message needs {outcome.needed_bytes}. The file ends inside the "
            "message. Decoding alone cannot call that damage: while a writer writes, a reader sees "
            "the same for a moment, and waits."
        )
    return (
        f"{here}. Offset and size alone take {SIZE_END} bytes, so nobody knows how long the "
        "message is. More bytes are needed."
    )


def ask_what_to_read(first: str, recovery_point: int, *, has_earlier: bool) -> Ask:
    """Ask what a recovery reads; `first` is the segment that holds the recovery point."""
    wrong = {
        "only the last message": "To know where the last message begins, recovery must read "
        "the messages before it.",
        "no .log, the index says where it ends": "The index is sparse, so it may have no "
        "entry for the last messages. Only the .log has all of them.",
    }
    if has_earlier:
        wrong["all .log files"] = (
            "Messages that were flushed cannot be torn. So recovery does not have to read the "
            "whole log after a crash."
        )
    return ask(
        f"The log is opened again. The recovery point is {recovery_point}. What must recovery "
        "read?",
        f"{first}.log and all later ones",
        "All messages before the segment with the recovery point are on the disk for certain.",
        wrong,
    )


def ask_outcome(file: str, position: int, end: int) -> Ask:
    """Ask what the decoding of a torn message gives."""
    return ask(
        f"From byte {position} on, {file} has {count(end - position, 'byte')} more. They are the "
        "beginning of a message. What does decoding them give?",
        "more bytes needed",
        "Decoding can give three things: a message, damage, or that more bytes are needed.",
        {
            "a message with a short value": "A message is as long as its size says. Fewer bytes "
            "are no message, and the CRC would not match.",
            "damage, because the CRC is wrong": "No CRC is computed before all bytes of a message "
            "are there. Unfinished is an outcome of its own.",
            "the end of the log, without any bytes after it": "The bytes are there. If the writer "
            "ignored them, it would write the next message after them, where no reader finds it.",
        },
    )


def ask_decision(crash: Crash, valid_bytes: int) -> Ask | None:
    """Ask where recovery cuts a log with a torn tail."""
    wrong = {
        "nowhere, the next message goes after these bytes": "Then every reader would stop before "
        "these bytes, and never reach the next message.",
    }
    if crash.cut_bytes >= SIZE_END:  # else nobody knows the size
        end = crash.torn_start + crash.message_bytes
        wrong[f"at byte {end}, where the message would end"] = (
            "That trusts the size of a message that is not whole. The file would become longer, "
            "with zeros at its end."
        )
    if valid_bytes:
        wrong["at byte 0, the file is broken"] = (
            "That loses whole messages, which were acknowledged."
        )
    question = ask(
        f"No whole message follows the torn message in {crash.torn_name}.log. Where does recovery "
        "cut the file?",
        f"at byte {valid_bytes}, where the last whole message ends",
        "All messages before this byte are valid. Nothing after it was acknowledged.",
        wrong,
    )
    return question_with_enough_choices(question)


def ask_next_offset(crash: Crash) -> Ask:
    """Ask for the offset of the message that is sent again."""
    right = crash.next_offset
    thoughts = {
        right + 1: "A message that was never whole uses no offset. A gap in the offsets would be "
        "damage.",
        right - 1: "That is the offset of the last message in the log. The next message gets the "
        "log end offset, which is one more.",
        0: "Offsets go on where the log ends. They never begin again at 0, because then two "
        "messages would have the same offset.",
    }
    if crash.cut_bytes == crash.message_bytes:
        thoughts[right + 1] = "Recovery found one whole message after the others, not two."
    return ask(
        "The producer sends the message again. Which offset does it get?",
        str(right),
        "It is one more than the offset of the last whole message.",
        {str(offset): thought for offset, thought in thoughts.items() if offset >= 0},
    )


# ---- damage that looks like a torn tail


_FILE = "another .log"
_SIZE_AT = 8  # of a message


class _Damaged(NamedTuple):
    data: bytes
    starts: list[int]
    outcome: Outcome
    plan: RecoveryPlan
    found_at: int
    found_offset: int
    is_refused: bool


def _damage(dialect: Dialect) -> _Damaged:
    with temporary_log(dialect, TopicSettings()) as log:
        log.append(without_keys([b"first", b"second", b"third"]))
        (segment,) = log.segments()
        data = bytearray(segment.log_path.read_bytes())
        starts = [0, *message_ends(dialect, bytes(data))[:-1]]
        data[starts[1] + _SIZE_AT] = 1
        segment.log_path.write_bytes(data)
        plan = plan_recovery(reader_of(log))
        found = next(whole_messages(segment.log_path, starts[1], plan.log_end_offset), None)
        assert found, "the last message is whole"
        is_refused = True
        with suppress(CorruptLogError):
            carry_out(plan)
            is_refused = False
        outcome = decode(dialect, bytes(data), starts[1])
        return _Damaged(bytes(data), starts, outcome, plan, found[0], found[1].offset, is_refused)


def tell_false_torn_tail(recording: Recording, dialect: Dialect) -> None:
    """Tell in two steps why a fault with valid messages after it is no torn tail."""
    damaged = _damage(dialect)
    damage = damaged.plan.damage
    position = damaged.starts[1]
    recording.hide()
    add_log(recording, _FILE, dialect, damaged.data, starts=damaged.starts)
    recording.damaged = [ByteRange(_FILE, position + _SIZE_AT, position + _SIZE_AT + 4)]
    values: dict[str, Value] = {
        "fault": damage and damage.reason,
        "valid up to byte": position,
        "log end offset": damaged.plan.log_end_offset,
    }
    recording.step(
        "Another log has three messages. One byte in the size of the second message was changed, "
        "so this message seems to end far after the end of the file. Decoding gives the same as "
        "for a torn tail: more bytes are needed.",
        focus=recording.damaged,
        values=values,
        tables=[outcome_table(damaged.outcome)],
    )
    lost = damage.lost_messages if damage else 0
    recording.step(
        f"A search at every byte finds a whole message with offset {damaged.found_offset} at byte "
        f"{damaged.found_at}. So a writer has written more after this place. The tail is not torn: "
        "this is damage. The partition refuses all writes until a human forces the cut, which "
        f"loses {count(lost, 'whole message')}.",
        ask=_ask_what_is_done(damaged),
        focus=[ByteRange(_FILE, damaged.found_at, len(damaged.data))],
        values={
            **values,
            "decision": "refuse" if damaged.is_refused else "cut",
            "lost whole messages": lost,
        },
    )
    recording.hide(_FILE)
    recording.damaged = []


def _ask_what_is_done(damaged: _Damaged) -> Ask:
    position = damaged.starts[1]
    return ask(
        f"The log is valid up to byte {position}. Then a message seems unfinished. But at byte "
        f"{damaged.found_at} there is a whole message with offset {damaged.found_offset}. What "
        "does recovery do?",
        "it refuses, and changes nothing",
        "A writer that dies leaves no whole message after an unfinished one. So this is damage.",
        {
            f"it cuts the file at byte {position}": "Kafka 0.8.2 does that. It loses whole "
            "messages, which were acknowledged.",
            "it skips the bad message and reads on": "Then a message would be missing, and nobody "
            "would know. Also, recovery cannot trust its size to find the next message.",
        },
    )


# ---- the steps


MESSAGES = (
    *(b"one apple", b"two pears", b"three plums", b"four dates"),
    *(b"five lemons", b"six limes", b"seven figs", b"eight nuts"),
)
CUT_BYTES = 20


def document(
    dialect: Dialect = DOCUMENTED,
    cut_bytes: int = CUT_BYTES,
    messages: Sequence[bytes] = MESSAGES,
) -> Document:
    """Return the step-through; its last table has the segments of the log after the next append.

    Raises ValueError for fewer than two messages, and if the last one has not so many bytes as
    `cut_bytes`.
    """
    if len(messages) < 2:
        raise ValueError(f"{len(messages)} messages: give at least 2")
    crash = crash_and_recover(dialect, messages, cut_bytes)
    recording = Recording(
        "torn-tail", "What recovery does after a crash in the middle of an append"
    )
    _add_files(recording, dialect, crash)
    story = _Story(recording, crash)
    story.begin()
    for scanned in crash.recovered.scanned:
        story.scan(scanned)
    story.decide()
    story.append_again()
    tell_false_torn_tail(recording, dialect)
    story.end()
    return recording.document()


def _add_files(recording: Recording, dialect: Dialect, crash: Crash) -> None:
    for name, data in crash.files.items():
        is_cut = crash.recovered.side_file and name == crash.torn_name + LOG_SUFFIX
        if name.endswith(INDEX_SUFFIX):
            add_index(recording, name, data, is_shown=False)
        elif is_cut:
            add_log(recording, f"{name} before", dialect, crash.torn_data, is_shown=False)
            add_log(recording, f"{name} after", dialect, data, is_shown=False)
        else:
            add_log(recording, name, dialect, data, is_shown=False)


class _Story:
    """Tells of one crash; a `.log` that recovery cuts is two files, before and after."""

    def __init__(self, recording: Recording, crash: Crash) -> None:
        self.recording = recording
        self.crash = crash

    def _shown_name(self, segment: str) -> str:
        name = segment + LOG_SUFFIX
        is_cut = segment == self.crash.torn_name and self.crash.recovered.side_file
        return f"{name} before" if is_cut else name

    def begin(self) -> None:
        """Tell of the log before the crash, of the crash, and of the opening."""
        crash, recording = self.crash, self.recording
        self._show_before()
        end = int(crash.before[-1][2] or 0)
        recording.step(
            f"The log holds {numbered(range(end), 'offset')}. It was flushed up to offset "
            f"{crash.recovery_point - 1}. These messages are on the disk for certain, and the "
            "recovery point records that. The messages after them may be in the memory of the "
            "operating system only.",
            values={"recovery point": crash.recovery_point, "log end offset": end},
            tables=[segments_table("Segments", crash.before)],
        )
        name = self._shown_name(crash.torn_name)
        recording.show(name, crash.torn_start + crash.cut_bytes)
        recording.show(crash.torn_name + INDEX_SUFFIX, crash.torn_entries * ENTRY_SIZE_BYTES)
        recording.step(
            f"The writer appends message {end}, of {crash.message_bytes} bytes, and dies. "
            f"{crash.cut_bytes} of them {agreeing('are', crash.cut_bytes)} in the file. The "
            "producer got no answer. (The log is real. For this step-through, its last message was "
            "cut by hand.)",
            focus=self._torn_range(),
            values={
                "recovery point": crash.recovery_point,
                "message bytes": crash.message_bytes,
                "written bytes": crash.cut_bytes,
            },
        )
        self._tell_where_to_scan()

    def _show_before(self) -> None:
        for name, *_, log_bytes, entries in self.crash.before:
            self.recording.show(self._shown_name(str(name)), int(log_bytes or 0))
            self.recording.show(f"{name}{INDEX_SUFFIX}", int(entries or 0) * ENTRY_SIZE_BYTES)

    def _torn_range(self) -> list[ByteRange]:
        crash = self.crash
        start, end = crash.torn_start, crash.torn_start + crash.cut_bytes
        return [ByteRange(self._shown_name(crash.torn_name), start, end)] if start < end else []

    def _tell_where_to_scan(self) -> None:
        scanned = {one.name for one in self.crash.recovered.scanned}
        first = self.crash.recovered.scanned[0].name
        known = [*self.crash.before]
        if self.crash.torn_name not in {row[0] for row in known}:
            known.append((self.crash.torn_name, None, None, None, None))
        rows = [(row[0], "whole" if row[0] in scanned else "only its end") for row in known]
        point = self.crash.recovery_point
        self.recording.step(
            "The log is opened again, and no marker of a clean shutdown is there. So recovery "
            f"scans from the segment with the recovery point, {first}, to the end of the log."
            f"{' Of earlier segments it checks only the ends.' if known[0][0] != first else ''}",
            ask=ask_what_to_read(first, point, has_earlier=known[0][0] != first),
            values={"recovery point": point},
            tables=[Table("What recovery reads", ("segment", "read"), tuple(rows))],
        )

    def scan(self, scanned: Scanned) -> None:
        """Tell what decoding gives at each position of a segment."""
        name = self._shown_name(scanned.name)
        for position, outcome in scanned.outcomes:
            end = position
            if isinstance(outcome, Message):
                end += outcome.length_bytes
                said = (
                    f"At byte {position} a whole message begins. Its CRC matches, and its offset "
                    f"{outcome.offset} is the one that must come next."
                )
                question = None
            else:
                end = len(self.crash.torn_data)
                said = said_of_torn(outcome, position, end)
                question = ask_outcome(scanned.name + LOG_SUFFIX, position, end)
            self.recording.spend(bytes=end - position)
            self.recording.step(
                said,
                ask=question,
                focus=[ByteRange(name, position, end)],
                values={
                    "position": position,
                    "valid up to byte": end if isinstance(outcome, Message) else position,
                },
                tables=[outcome_table(outcome)],
            )

    def decide(self) -> None:
        """Tell what recovery decides, and what it does."""
        crash, recovered = self.crash, self.crash.recovered
        valid_bytes = recovered.scanned[-1].scan.valid_bytes
        fault = recovered.scanned[-1].scan.reason
        values: dict[str, Value] = {
            "fault": fault,
            "valid up to byte": valid_bytes,
            "log end offset": recovered.log_end_offset,
            "decision": recovered.decision.value,
        }
        if recovered.decision is not Decision.CUT or not recovered.side_file:
            said = "The file ends where a message ends. So there is nothing to cut."
            if recovered.rebuilt:
                said += (
                    " But the index does not have the entry of the last message, so it is rebuilt."
                )
            self._step_after(said, values)
            return
        name, data = recovered.side_file
        values |= {"lost bytes": len(data), "lost whole messages": recovered.lost_messages}
        self.recording.step(
            "Is that a torn tail? Recovery looks for a whole message after the fault, at every "
            "byte, in this segment and in later ones. There is none. So a cut loses nothing that "
            "was acknowledged. The tail is torn, and may be cut.",
            ask=ask_decision(crash, valid_bytes),
            focus=self._torn_range(),
            values=values,
        )
        self.recording.hide(self._shown_name(crash.torn_name))
        self.recording.show(f"{crash.torn_name}{LOG_SUFFIX} after", valid_bytes)
        self.recording.show(name)
        self._step_after(
            f"The .log is cut to {count(valid_bytes, 'byte')}. The {count(len(data), 'byte')} that "
            f"were cut off are kept in a side file, {name}.",
            values,
            [ByteRange(name, 0, len(data))],
        )

    def _step_after(
        self, said: str, values: dict[str, Value], focus: Sequence[ByteRange] = ()
    ) -> None:
        segments = self.crash.recovered.segments
        for segment, *_, entries in segments:
            name = f"{segment}{INDEX_SUFFIX}"
            self.recording.show(name, int(entries or 0) * ENTRY_SIZE_BYTES)
        table = segments_table("Segments", segments)
        self.recording.step(said, focus=focus, values=values, tables=[table])

    def append_again(self) -> None:
        """Tell of the append after the recovery."""
        crash = self.crash
        self._show_after()
        segment = str(crash.after[-1][0])
        is_cut = crash.recovered.side_file and segment == crash.torn_name
        end = int(crash.after[-1][3] or 0)
        name = f"{segment}{LOG_SUFFIX} after" if is_cut else segment + LOG_SUFFIX
        said = (
            f"The producer got no answer, so it sends the message again. It gets offset "
            f"{crash.next_offset}, the log end offset, and goes to byte "
            f"{end - crash.message_bytes} of {segment}{LOG_SUFFIX}."
        )
        if crash.cut_bytes == crash.message_bytes:
            said += " The first copy was whole, so the log now holds the message twice."
        else:
            said += " The files are now the same as without the crash."
        self.recording.step(
            said,
            ask=ask_next_offset(crash),
            focus=[ByteRange(name, end - crash.message_bytes, end)],
            values={"next offset": crash.next_offset + 1},
            tables=[segments_table("Segments", crash.after)],
        )

    def _show_after(self) -> None:
        for name in self.crash.files:
            is_cut = self.crash.recovered.side_file and name == self.crash.torn_name + LOG_SUFFIX
            self.recording.show(f"{name} after" if is_cut else name)

    def end(self) -> None:
        """Tell what a reader of the recovered log finds."""
        recovered = self.crash.recovered
        self._show_after()
        self.recording.step(
            "A reader lists the recovered log. It holds all messages that were acknowledged, and "
            "the message that was sent again.",
            values={
                "decision": recovered.decision.value,
                "log end offset after recovery": recovered.log_end_offset,
                "log end offset": self.crash.log_end_offset,
                "side file": recovered.side_file and recovered.side_file[0],
            },
            tables=[segments_table("What a reader lists", self.crash.after)],
        )
