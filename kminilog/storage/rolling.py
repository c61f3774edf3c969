"""When a log begins a new segment. Source: S1 5.1; Kafka: Log.maybeRoll.

Differs: Kafka asks once for each appended set, kminilog for each message (docs/differences.md).
"""

from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.settings import TopicSettings


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
    index_bytes = (entry_count + 1) * ENTRY_SIZE_BYTES
    return size_bytes > 0 and (
        size_bytes + incoming_bytes > settings.segment_bytes
        or age_ms > settings.segment_ms
        or index_bytes > settings.segment_index_bytes
    )
