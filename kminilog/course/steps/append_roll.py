"""`step append-roll`: messages are appended one by one, and a new segment begins when one is full.

    00000000000000000000.log   [m0 m1 m2 m3  ]   m4 does not fit, so it begins a new segment
    00000000000000000003.log   [m4 m5 …       ]   documented: named after m3, the last one before
    00000000000000000004.log                      kafka: named after m4, its own first one

`PartitionLog.append` writes real files. Why it rolls or not is asked of `must_roll` and
`Dialect.can_follow`, which it calls itself. Then both dialects stand side by side: every name comes
from `Dialect.base_offset_for`, or from real files. Source: S1 5.1 and 5.2; Kafka: Log.maybeRoll,
Log.roll.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kminilog.course.steps.temporary_partition import (
    SEGMENT_COLUMNS,
    add_index,
    add_log,
    listed_segments,
    reader_of,
    segments_table,
    temporary_log,
    without_keys,
)
from kminilog.explain.document import Ask, ByteRange, Document, Table, Value
from kminilog.explain.recording import Recording, ask
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA, Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import encoded_bytes
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX, segment_name
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog, must_roll
from kminilog.text import count, numbered

# ---- the names of segments


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
        others_rule += ", or of a log that rolls after the message that does not fit"
    return ask(
        f"The segment before holds {numbered(range(first_offset_before, next_offset), 'offset')}. "
        f"Message {next_offset} begins a new segment. What is the name of the new segment in the "
        f"{dialect.name} dialect?",
        right,
        f"It is {named_after}, in 20 digits.",
        {
            segment_name(dialect.base_offset_for(next_offset + 1)): "That is the name if the log "
            "rolls after the message that does not fit. But it rolls before it.",
            segment_name(next_offset - first_offset_before): "That is the number of messages in "
            "the segment before. But a name is an offset, not a count.",
            segment_name(other.base_offset_for(next_offset)): f"{others_rule}.",
            str(int(right)): "The number is right. But without the zeros, names do not sort as "
            "numbers do: 10 would stand before 9.",
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
        "The two rules side by side. The documented dialect names a segment after the last offset "
        "of the segment before. Kafka names it after its own first offset. The marked row is the "
        "example of the documents. Names have 20 digits, with zeros at the beginning. So they are "
        "in the same order as text and as numbers.",
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
        "In another log, the first segment is full and holds only offset 0. Where does message 1 "
        "go in the documented dialect?",
        "into segment 0, which then is too large",
        "The new segment would get the name 0, too. So the first segment takes two messages "
        "before the log rolls.",
        {
            "into a new segment, named 0": "A segment 0 exists already, and a directory cannot "
            "have two files of the same name.",
            "into a new segment, named 1": "That is Kafka's rule. In the documented dialect, a "
            "segment with the name 1 begins with offset 2.",
            "nowhere, it is refused": "The message is not too large for a segment, so the log "
            "accepts it.",
        },
    )
    columns = ("dialect", *SEGMENT_COLUMNS)
    recording.step(
        "Three messages, each as large as segment.bytes, in both dialects. In the kafka dialect "
        "each message gets a segment of its own. In the documented dialect, the second segment "
        "would have the name 0 again. So the first segment takes two messages, and is larger than "
        "segment.bytes.",
        ask=question,
        tables=[Table("One message fills a segment", columns, tuple(rows), (0,))],
    )


# ---- the steps


MESSAGES = (
    *(b"one apple", b"two pears", b"three plums", b"four dates", b"five lemons"),
    *(b"six limes", b"seven figs", b"eight nuts", b"nine grapes", b"ten cherries"),
)
SEGMENT_BYTES = 128
INTERVAL_BYTES = 50
_SHOWN_SEGMENTS = 4


class Append(NamedTuple):
    """One append: what the log was before it, what it decided, and its segments afterwards."""

    offset: int
    size_bytes: int  # of the message
    before_bytes: int  # of the last .log
    is_full: bool
    may_roll: bool
    has_rolled: bool
    has_entry: bool
    segments: list[tuple[Value, ...]]  # the last ones

    @property
    def base_name(self) -> str:
        """The name of the segment that holds the message."""
        return str(self.segments[-1][0])

    @property
    def log(self) -> ByteRange:
        """The bytes of the message."""
        end = int(self.segments[-1][3] or 0)
        return ByteRange(self.base_name + LOG_SUFFIX, end - self.size_bytes, end)

    @property
    def entry(self) -> list[ByteRange]:
        """The bytes of its index entry, if it has one."""
        end = int(self.segments[-1][4] or 0) * ENTRY_SIZE_BYTES
        entry = ByteRange(self.base_name + INDEX_SUFFIX, end - ENTRY_SIZE_BYTES, end)
        return [entry] if self.has_entry else []


def appends(log: PartitionLog, messages: Sequence[bytes]) -> Iterator[Append]:
    """Append messages one by one; yield what happened at each."""
    for key, value in without_keys(messages):
        segments = log.segments()
        active, entry_count = segments[-1], len(segments[-1].index)
        before_bytes, size_bytes = active.size_bytes, encoded_bytes(log.dialect, key, value)
        is_full = must_roll(
            log.settings,
            size_bytes=before_bytes,
            incoming_bytes=size_bytes,
            entry_count=entry_count,
            age_ms=0,
        )
        may_roll = log.dialect.can_follow(active.base_offset, log.log_end_offset)
        (offset,) = log.append([(key, value)])
        after = log.segments()
        has_rolled = len(after) > len(segments)
        yield Append(
            offset,
            size_bytes,
            before_bytes,
            is_full,
            may_roll,
            has_rolled,
            len(after[-1].index) > (0 if has_rolled else entry_count),
            _rows(log),
        )


def _rows(log: PartitionLog) -> list[tuple[Value, ...]]:
    segments = log.segments()[-_SHOWN_SEGMENTS:]
    ends = [*(segment.first_offset for segment in segments[1:]), log.log_end_offset]
    return [
        (segment.name, segment.first_offset, end, segment.size_bytes, len(segment.index))
        for segment, end in zip(segments, ends, strict=True)
    ]


def document(
    dialect: Dialect = DOCUMENTED,
    messages: Sequence[bytes] = MESSAGES,
    segment_bytes: int = SEGMENT_BYTES,
) -> Document:
    """Return the step-through; its last table has the segments that a reader lists.

    Raises MessageTooLargeError for a message that no segment can hold, SettingError for an
    impossible `segment_bytes`, ValueError for more bytes than can be shown.
    """
    settings = TopicSettings(segment_bytes=segment_bytes, index_interval_bytes=INTERVAL_BYTES)
    recording = Recording("append-roll", "How a log grows, and when a new segment begins")
    with temporary_log(dialect, settings) as log:
        done = list(appends(log, messages))
        for segment in log.segments():
            data = segment.log_path.read_bytes()
            add_log(recording, segment.name + LOG_SUFFIX, dialect, data, is_shown=False)
            data = segment.index.path.read_bytes()
            add_index(recording, segment.name + INDEX_SUFFIX, data, is_shown=False)
        reader = reader_of(log)
        listing, end = listed_segments(reader), reader.log_end_offset
    story = _Story(recording, dialect, settings)
    story.begin()
    for one in done:
        story.tell(one)
    tell_names(recording, [one.offset for one in done if one.has_rolled])
    tell_collision(recording)
    for name, *_ in listing:
        recording.show(f"{name}{LOG_SUFFIX}")
        recording.show(f"{name}{INDEX_SUFFIX}")
    recording.step(
        f"A reader lists {count(len(listing), 'segment')}, by the names of the files alone. The "
        f"log ends at offset {end}. Only the last segment, the active one, gets new messages.",
        values={"dialect": dialect.name, "log end offset": end},
        tables=[segments_table("What a reader lists", listing)],
    )
    return recording.document()


class _Story:
    """Tells the appends in turn; it remembers which questions it has asked."""

    def __init__(self, recording: Recording, dialect: Dialect, settings: TopicSettings) -> None:
        self._recording = recording
        self._dialect = dialect
        self._limit = settings.segment_bytes
        self._shown: list[str] = []
        self._asked: dict[str, int] = {}

    def begin(self) -> None:
        """Tell what an empty partition is."""
        first = segment_name(0)
        self._show(first, 0, 0)
        first_may = ""
        if self._dialect.named_by_previous:
            first_may = " Only the first .log may pass it, with its second message."
        self._recording.step(
            "A partition is a directory. At first it has one segment, which is a pair of empty "
            "files. The .log is for the messages, the .index for the positions of some of them. "
            f"The limit of a .log is segment.bytes, which is {self._limit} here.{first_may} The "
            f"index gets its next entry after more than {INTERVAL_BYTES} bytes.",
            values={"segment.bytes": self._limit, "next offset": 0},
            tables=[segments_table("Segments", [(first, 0, 0, 0, 0)])],
        )

    def tell(self, one: Append) -> None:
        """Tell one append in one step, or in two if a new segment begins."""
        total = one.before_bytes + one.size_bytes
        said = f"Message {one.offset} takes {one.size_bytes} bytes"
        where = f"byte {one.log.start} of {one.log.file}"
        question = None
        if one.has_rolled:
            self._tell_roll(one, total)
            return
        if one.is_full and not one.may_roll:
            said = (
                f"{said}. {one.before_bytes} + {one.size_bytes} = {total}, which is more than "
                f"{self._limit}. But this first segment holds only offset 0, and the next one "
                f"would get the name 0, too. So the message goes to {where} all the same."
            )
        elif total == self._limit:
            question = self._first("exact", _ask_exact_fit(one))
            said = (
                f"{said}. {one.before_bytes} + {one.size_bytes} = {total}, which is exactly the "
                f"limit, so it still fits. It goes to {where}. No other message fits after it."
            )
        else:
            said = f"{said}. {one.before_bytes} + {one.size_bytes} = {total}, so it fits. It "
            said += f"goes to {where}."
        self._step(said, one, question)

    def _tell_roll(self, one: Append, total: int) -> None:
        before = int(one.segments[-2][1] or 0)
        self._recording.step(
            f"Message {one.offset} takes {one.size_bytes} bytes. {one.before_bytes} + "
            f"{one.size_bytes} = {total}, which is more than {self._limit}. So the log begins a "
            "new segment before it writes the message.",
            ask=self._first("where", _ask_where(one, self._limit)),
            values=self._values(one.before_bytes, one.offset),
            tables=[segments_table("Segments", one.segments[:-1])],
        )
        rule = f"the offset of its own first message, {one.offset}"
        if self._dialect.named_by_previous:
            rule = f"the last offset of the segment before, {one.offset - 1}"
        self._step(
            f"The name of the new segment is {rule}, in 20 digits. Message {one.offset} goes to "
            f"byte 0 of {one.log.file}.",
            one,
            self._first("name", ask_name(self._dialect, one.offset, before), times=2),
        )

    def _step(self, said: str, one: Append, question: Ask | None) -> None:
        if one.has_entry:
            slot = int(one.segments[-1][4] or 0) - 1
            said += f" It gets an index entry, number {slot}."
        self._show(one.base_name, one.log.end, one.entry[0].end if one.entry else None)
        self._recording.step(
            said,
            ask=question,
            focus=[one.log, *one.entry],
            values=self._values(one.log.end, one.offset + 1),
            tables=[segments_table("Segments", one.segments)],
        )

    def _values(self, log_bytes: int, next_offset: int) -> dict[str, Value]:
        return {
            "segment.bytes": self._limit,
            "log bytes": log_bytes,
            "next offset": next_offset,
        }

    def _show(self, base_name: str, log_end: int, index_end: int | None) -> None:
        if base_name not in self._shown:
            self._shown.append(base_name)
            index_end = index_end or 0
        self._recording.show(base_name + LOG_SUFFIX, log_end)
        if index_end is not None:
            self._recording.show(base_name + INDEX_SUFFIX, index_end)
        if len(self._shown) > _SHOWN_SEGMENTS:
            gone = self._shown.pop(0)
            self._recording.hide(gone + LOG_SUFFIX)
            self._recording.hide(gone + INDEX_SUFFIX)

    def _first(self, kind: str, question: Ask, times: int = 1) -> Ask | None:
        self._asked[kind] = self._asked.get(kind, 0) + 1
        return question if self._asked[kind] <= times else None


def _ask_where(one: Append, limit: int) -> Ask:
    left = limit - one.before_bytes
    old = f"to byte {one.before_bytes} of the old .log"
    wrong = {
        old: "That is to roll after the limit is passed. But the log rolls before it writes what "
        "does not fit.",
        f"to byte {one.before_bytes} of a new .log": "Offsets go on from file to file. But "
        "positions count the bytes of one file, so they begin at 0 again.",
    }
    if left > 0:
        wrong[f"{count(left, 'byte')} to the old .log, the rest to a new one"] = (
            "A message is never split. The end of the old file stays unused."
        )
    return ask(
        f"{one.segments[-2][0]}.log has {count(one.before_bytes, 'byte')}, segment.bytes is "
        f"{limit}, and the next message takes {one.size_bytes}. Where does it go?",
        "to byte 0 of a new .log",
        "The log checks before each message. If the message does not fit, it begins a new segment.",
        wrong,
    )


def _ask_exact_fit(one: Append) -> Ask:
    old = one.segments[-1][0]
    return ask(
        f"{old}.log has {one.before_bytes} bytes. With the next message, of {one.size_bytes} "
        "bytes, it is exactly as large as segment.bytes. Where does the message go?",
        f"to byte {one.before_bytes} of this .log",
        "What makes a .log exactly as large as the limit still fits.",
        {
            "to byte 0 of a new .log": "That takes the limit for a size that is not allowed. But "
            "a .log may be exactly as large as the limit.",
            "to this .log, and a new empty segment begins at once": "That is to roll after a "
            "message. But a segment begins only when a message needs it.",
        },
    )
