"""How segments are named: both dialects side by side, for `step append-roll`.

    last offset before  first offset  documented            kafka
                     3             4  00000000000000000003  00000000000000000004
                     0             1  (taken: it waits)     00000000000000000001

Every name comes from `Dialect.base_offset_for`, or from real files. Source: S1 5.2; Kafka:
Log.roll.
"""

from collections.abc import Sequence

from kminilog.course.steps.document import Ask, Table, Value
from kminilog.course.steps.recording import Recording, ask
from kminilog.course.steps.segment.partition import (
    SEGMENT_COLUMNS,
    listed_segments,
    reader_of,
    temporary_log,
    without_keys,
)
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA, Dialect
from kminilog.format.message import encoded_bytes
from kminilog.format.names import segment_name
from kminilog.settings import TopicSettings

_DOCUMENTS_OFFSET = 368_770  # the first message of S1's second segment
_SHOWN_ROLLS = 8


def ask_name(dialect: Dialect, next_offset: int, first_offset_before: int) -> Ask:
    """Ask for the name of a segment that begins with an offset, after another segment."""
    right = segment_name(dialect.base_offset_for(next_offset))
    other = KAFKA if dialect.named_by_previous else DOCUMENTED
    named_after = "its own first offset"
    others_rule = f"That is the rule of the {other.name} dialect"
    if dialect.named_by_previous:
        named_after = "the last offset of the segment before"
        others_rule += ", or to roll only after the message that does not fit"
    return ask(
        f"The segment before holds the offsets {first_offset_before} to {next_offset - 1}; message "
        f"{next_offset} begins a new one. What is its name in the {dialect.name} dialect?",
        right,
        f"It is {named_after}, in 20 digits.",
        {
            segment_name(dialect.base_offset_for(next_offset + 1)): "That is to roll only after "
            "the message that does not fit. The log rolls before it.",
            segment_name(next_offset - first_offset_before): "That is the number of messages in "
            "the segment before. A name is an offset, not a count.",
            segment_name(other.base_offset_for(next_offset)): f"{others_rule}.",
            str(int(right)): "The number is right. But without the zeros, names do not sort as "
            "text: 10 would stand before 9.",
        },
    )


def tell_names(recording: Recording, first_offsets: Sequence[int]) -> None:
    """Tell how both dialects name segments that begin with these offsets; the last few of them."""
    both = DIALECTS.values()
    rows: list[tuple[Value, ...]] = [
        (start - 1, start, *(segment_name(one.base_offset_for(start)) for one in both))
        for start in [*first_offsets[-_SHOWN_ROLLS:], _DOCUMENTS_OFFSET]
    ]
    columns = ("last offset before", "first offset", *(one.name for one in both))
    recording.step(
        "The two rules side by side: the documented dialect takes the last offset of the segment "
        "before, Kafka the segment's own first offset. The marked row is the documents' own "
        "example. Names are filled up to 20 digits with zeros, so that they sort as text as they "
        "sort as numbers.",
        tables=[Table("Names of segments", columns, tuple(rows), (len(rows) - 1,))],
    )


def tell_collision(recording: Recording) -> None:
    """Tell why a documented first segment with one message does not roll, by two real logs."""
    rows: list[tuple[Value, ...]] = []
    for one in DIALECTS.values():
        size_bytes = encoded_bytes(one, None, b"one")
        with temporary_log(one, TopicSettings(segment_bytes=size_bytes)) as log:
            log.append(without_keys([b"one", b"two", b"six"]))
            rows += [(one.name, *row) for row in listed_segments(reader_of(log))]
    question = ask(
        "Another log: its first segment is full, and holds only offset 0. Where does message 1 go "
        "in the documented dialect?",
        "into segment 0, which then is too large",
        "The new segment would be named after offset 0, too. So the first segment waits until it "
        "holds two messages.",
        {
            "into a new segment, named 0": "There is a segment 0 already, and a directory has each "
            "name once.",
            "into a new segment, named 1": "That is Kafka's rule. In the documented dialect, a "
            "segment named 1 begins with offset 2.",
            "nowhere, it is refused": "The message is not too large for a segment, so the log "
            "takes it.",
        },
    )
    columns = ("dialect", *SEGMENT_COLUMNS)
    recording.step(
        "Three messages, each as large as segment.bytes, in both dialects. Kafka gives each its "
        "own segment. The documented dialect cannot: the second segment would be named 0 again. So "
        "its first segment takes two messages, and is larger than segment.bytes.",
        ask=question,
        tables=[Table("One message fills a segment", columns, tuple(rows), (0,))],
    )
