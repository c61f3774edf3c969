"""Lab 2, a segment on disk: your answers. README.md says what to do."""

from kminilog.settings import TopicSettings
from kminilog.storage.segment.segment import Segment


# 2.1  The name of a segment
def segment_name(base_offset: int) -> str:
    """Return the name of a segment: its base offset in 20 digits.

    >>> segment_name(368769)
    '00000000000000368769'
    """
    raise NotImplementedError


# 2.2  Append gives a message its place
def add(self, offset: int, data: bytes) -> None:
    """Place an encoded message after the last one, in memory; add an index entry if it is due.

    `size_bytes` and the index include it at once; a reader sees it after `write`. O(1).
    """
    raise NotImplementedError


# 2.3  Roll before the message that does not fit
def must_roll(
    settings: TopicSettings, *, size_bytes: int, incoming_bytes: int, entry_count: int, age_ms: int
) -> bool:
    """Tell if the log must begin a new segment before a message of `incoming_bytes`. O(1).

    `size_bytes`, `entry_count` and `age_ms`, the time since its first append, are those of the last
    segment. It must roll if the message does not fit, if one more index entry does not fit, or if
    it is too old. An empty segment never rolls.

    >>> settings = TopicSettings(segment_bytes=1000, segment_ms=60_000)
    >>> facts = dict(size_bytes=900, entry_count=0, age_ms=0)
    >>> must_roll(settings, incoming_bytes=100, **facts)
    False
    >>> must_roll(settings, incoming_bytes=101, **facts)
    True
    """
    raise NotImplementedError


# 2.4  Reopen a segment from the disk
def next_offset(segment: Segment) -> int:
    """Return the offset that a writer gives to the next message of a segment.

    Reads from the last index entry on. Raises CorruptLogError for a fault there.
    """
    raise NotImplementedError


# 2.5  Two rules for the number in the name
def base_offset_for(self, next_offset: int) -> int:
    """Return the base offset of a segment whose first message will have `next_offset`.

    >>> DOCUMENTED.base_offset_for(368770), KAFKA.base_offset_for(368770)
    (368769, 368770)
    >>> DOCUMENTED.base_offset_for(0)
    0
    """
    raise NotImplementedError


# 2.6  Read the files of a partition
FIRST_OFFSET = ...
LAST_POSITION = ...
NEXT_OFFSET = ...
NEXT_SEGMENT = ...


# 2.9  What is wrong with these segments?
DIAGNOSIS = ...


# 2.10  What retention deletes
def expired_segments(
    segments: list[Segment], settings: TopicSettings, now_ms: int
) -> list[Segment]:
    """Return the segments that retention deletes: a prefix of `segments`, which ascend."""
    raise NotImplementedError


# 2.12  Inputs that expose a wrong roll
EXPOSE_ROLL = ...
