"""What `step torn-tail` asks, and how it names the outcomes of decoding.

The right answers come from what recovery did to a real log. The wrong ones are usual mistakes: cut
to nothing, trust the size of the unfinished message, leave the bytes, skip an offset. Source: ours.
"""

from kminilog.course.steps.document import Ask, Table
from kminilog.course.steps.recording import ask
from kminilog.course.steps.segment.crash import Crash
from kminilog.format.message import (
    SIZE_END,
    CorruptMessage,
    Message,
    NeedMoreBytes,
    Outcome,
)
from kminilog.text import count

_OUTCOMES = (
    (Message, "Message", "a whole message; its crc is right"),
    (NeedMoreBytes, "NeedMoreBytes", "the file ends inside a message"),
    (CorruptMessage, "CorruptMessage", "no message; more bytes would not help"),
)


def outcome_table(outcome: Outcome) -> Table:
    """Return the three outcomes; the present one is marked."""
    marked = next(n for n, (kind, *_) in enumerate(_OUTCOMES) if isinstance(outcome, kind))
    rows = tuple((name, meaning) for _, name, meaning in _OUTCOMES)
    return Table("Outcomes of decoding", ("outcome", "meaning"), rows, (marked,))


def said_of_torn(outcome: Outcome, position: int, end: int) -> str:
    """Return what is said of the bytes that begin no whole message."""
    here = f"The rest, from byte {position} on, has {count(end - position, 'byte')}"
    if isinstance(outcome, NeedMoreBytes) and end - position >= SIZE_END:
        return (
            f"{here}, but the size field asks for {outcome.needed_bytes}. The file ends inside the "
            "message. That is not damage yet: a reader beside the writer sees the same for a "
            "moment, and waits."
        )
    return (
        f"{here}: not even offset and size, which take {SIZE_END}. So nobody knows how long the "
        "message would be. More bytes are needed."
    )


def ask_what_to_read(first: str, recovery_point: int) -> Ask:
    """Ask what a recovery reads; `first` is the segment that holds the recovery point."""
    return ask(
        f"The log is opened again. The recovery point is {recovery_point}. What must recovery "
        "read?",
        f"{first}.log and all later ones",
        "Before the segment with the recovery point, all is on the disk for certain.",
        {
            "all .log files": "What was flushed cannot be torn. Else every start after a crash "
            "would read the whole log.",
            "only the last message": "Where the last message begins is known only to those who "
            "read what stands before it.",
            "no .log, the index says where it ends": "The index is sparse, and may lag behind. The "
            ".log is the truth.",
        },
    )


def ask_outcome(file: str, position: int, end: int) -> Ask:
    """Ask what the decoding of a torn message gives."""
    return ask(
        f"From byte {position} on, {file} has {count(end - position, 'byte')} more: the beginning "
        "of a message. What is the outcome of decoding them?",
        "more bytes needed",
        "It is the third outcome, beside a message and damage.",
        {
            "a message with a short value": "A message is as long as its size field says. What is "
            "shorter is none, and its crc would not fit.",
            "damage, the crc is wrong": "No crc is computed before all bytes of a message are "
            "there. Unfinished is not damaged.",
            "the end of the log, without any bytes after it": "The bytes are there. Who overlooks "
            "them writes the next message after them, where nobody finds it.",
        },
    )


def ask_decision(crash: Crash, valid_bytes: int) -> Ask:
    """Ask where recovery cuts a log with a torn tail."""
    wrong = {
        "nowhere, the next message goes after these bytes": "Then every reader would stop in "
        "front of them, and never come to the next message.",
        f"at byte {crash.torn_start + crash.message_bytes}, where the message would end": "That is "
        "to trust the size of a message that is not whole. The file would grow by zeros.",
    }
    if valid_bytes:
        wrong["at byte 0, the file is broken"] = (
            "That throws away whole messages, which were acknowledged."
        )
    return ask(
        f"No whole message stands after the torn one in {crash.torn_name}.log. Where does "
        "recovery cut the file?",
        f"at byte {valid_bytes}, where the last whole message ends",
        "All in front of it is valid, nothing after it was acknowledged.",
        wrong,
    )


def ask_next_offset(crash: Crash) -> Ask:
    """Ask for the offset of the message that is sent again."""
    right = crash.next_offset
    thoughts = {
        right + 1: "No offset is used up by a message that was never whole. A gap would be damage.",
        right - 1: "That is the last message of the log. The next one gets the log end offset, one "
        "more.",
        0: "Offsets go on where the log ends. They never begin again, or an offset would name two "
        "messages.",
    }
    if crash.cut_bytes == crash.message_bytes:
        thoughts[right + 1] = "One whole message was found after the others, not two."
    return ask(
        "The producer sends the message again. Which offset does it get?",
        str(right),
        "It is one more than the last whole message has.",
        {str(offset): thought for offset, thought in thoughts.items() if offset >= 0},
    )
