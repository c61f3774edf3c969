# exercise: 12
# differs: each limit is met exactly, and exceeded by one; the settings are not the usual ones.
from kminilog.settings import TopicSettings

_SMALL = TopicSettings(segment_bytes=500, segment_ms=9_000, segment_index_bytes=84)
_GREATEST = TopicSettings(segment_bytes=2**31 - 1, segment_ms=9_000)
_WHOLE = TopicSettings(segment_bytes=500, segment_ms=9_000, segment_index_bytes=80)

# settings, size_bytes, incoming_bytes, entry_count, age_ms
EXPOSE_ROLL = [
    (_SMALL, 400, 100, 0, 9_000),
    (_GREATEST, 2**31 - 101, 101, 0, 0),
    (_SMALL, 0, 900, 0, 0),
    (_SMALL, 1, 1, 0, 9_001),
    (_WHOLE, 1, 1, 9, 0),
    (_SMALL, 1, 1, 10, 0),
]
