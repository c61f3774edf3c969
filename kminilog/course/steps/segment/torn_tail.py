"""`step torn-tail`: a process dies in the middle of an append, and the log is opened again.

    scan from the recovery point → the first byte that begins no whole message → decide → cut
                                                          keep the bytes → append again

Decoding has three outcomes: a message, more bytes needed, damage. The second one at the end of the
log is a torn tail, unless a whole message stands after it. Source: ours; Kafka 0.8.2:
LogSegment.recover, which cuts whatever follows.
"""

from collections.abc import Sequence

from kminilog.course.steps.document import Document, Range, Table, Value
from kminilog.course.steps.recording import Recording
from kminilog.course.steps.segment.crash import Crash, Scanned, crash_and_recover
from kminilog.course.steps.segment.false_torn_tail import tell_false_torn_tail
from kminilog.course.steps.segment.partition import add_index, add_log, segments_table
from kminilog.course.steps.segment.torn_questions import (
    ask_decision,
    ask_next_offset,
    ask_outcome,
    ask_what_to_read,
    outcome_table,
    said_of_torn,
)
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import Message
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX
from kminilog.storage.recovery import Decision
from kminilog.text import count

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
    recording = Recording("torn-tail", "torn-tail: a process dies in the middle of an append")
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
            f"The log holds the offsets 0 to {end - 1}. Up to offset {crash.recovery_point - 1} "
            "it was flushed: that is on the disk for certain, and the recovery point says so. The "
            "messages after it may be in the memory of the operating system only.",
            values={"recovery point": crash.recovery_point, "log end offset": end},
            tables=[segments_table("Segments", crash.before)],
        )
        name = self._shown_name(crash.torn_name)
        recording.show(name, crash.torn_start + crash.cut_bytes)
        recording.show(crash.torn_name + INDEX_SUFFIX, crash.torn_entries * ENTRY_SIZE_BYTES)
        recording.step(
            f"The writer appends message {end}, of {crash.message_bytes} bytes, and dies: "
            f"{crash.cut_bytes} of them are in the file. Nobody was told that the message is "
            "stored. (The log is real; its last message was cut here by hand.)",
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

    def _torn_range(self) -> list[Range]:
        crash = self.crash
        start, end = crash.torn_start, crash.torn_start + crash.cut_bytes
        return [Range(self._shown_name(crash.torn_name), start, end)] if start < end else []

    def _tell_where_to_scan(self) -> None:
        scanned = {one.name for one in self.crash.recovered.scanned}
        first = self.crash.recovered.scanned[0].name
        known = [*self.crash.before]
        if self.crash.torn_name not in {row[0] for row in known}:
            known.append((self.crash.torn_name, None, None, None, None))
        rows = [(row[0], "whole" if row[0] in scanned else "its end only") for row in known]
        point = self.crash.recovery_point
        self.recording.step(
            f"The log is opened again, and there is no mark of an orderly end. So recovery scans "
            f"from the segment that holds the recovery point, {first}, to the end. Of earlier "
            "segments it checks only the ends.",
            ask=ask_what_to_read(first, point),
            values={"recovery point": point},
            tables=[Table("What is read", ("segment", "read"), tuple(rows))],
        )

    def scan(self, scanned: Scanned) -> None:
        """Tell what decoding gives at each position of a segment."""
        name = self._shown_name(scanned.name)
        for position, outcome in scanned.outcomes:
            end = position
            if isinstance(outcome, Message):
                end += outcome.length_bytes
                said = (
                    f"At byte {position} a whole message begins: its crc is right, and its offset "
                    f"{outcome.offset} is the one that belongs there."
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
                focus=[Range(name, position, end)],
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
        fault = recovered.scanned[-1].scan.fault
        values: dict[str, Value] = {
            "fault": fault,
            "valid up to byte": valid_bytes,
            "log end offset": recovered.log_end_offset,
            "decision": recovered.decision.value,
        }
        if recovered.decision is not Decision.CUT or not recovered.side_file:
            said = "The file ends where a message ends. So there is nothing to cut."
            if recovered.rebuilt:
                said += " But the index lacks the entry of the last message; it is rebuilt."
            self._step_after(said, values)
            return
        name, data = recovered.side_file
        values |= {"lost bytes": len(data), "lost whole messages": recovered.lost_messages}
        self.recording.step(
            "Is that a torn tail? Recovery looks for a whole message after the fault, at every "
            "byte, here and in later segments. There is none. So nothing that was ever "
            "acknowledged can be lost: the tail is torn, and may be cut.",
            ask=ask_decision(crash, valid_bytes),
            focus=self._torn_range(),
            values=values,
        )
        self.recording.hide(self._shown_name(crash.torn_name))
        self.recording.show(f"{crash.torn_name}{LOG_SUFFIX} after", valid_bytes)
        self.recording.show(name)
        self._step_after(
            f"The .log is cut to {count(valid_bytes, 'byte')}. The {count(len(data), 'byte')} that "
            f"were cut off stay in a side file, {name}.",
            values,
            [Range(name, 0, len(data))],
        )

    def _step_after(self, said: str, values: dict[str, Value], focus: Sequence[Range] = ()) -> None:
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
            said += " The first copy was whole: so the log now holds the message twice."
        else:
            said += " The files are now those of a log that never crashed."
        self.recording.step(
            said,
            ask=ask_next_offset(crash),
            focus=[Range(name, end - crash.message_bytes, end)],
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
        self.recording.step(
            "The recovered log, as a reader lists it: all messages that were acknowledged, and "
            "the one that was sent again.",
            values={
                "decision": recovered.decision.value,
                "log end offset after recovery": recovered.log_end_offset,
                "log end offset": self.crash.log_end_offset,
                "side file": recovered.side_file and recovered.side_file[0],
            },
            tables=[segments_table("What a reader lists", self.crash.after)],
        )
