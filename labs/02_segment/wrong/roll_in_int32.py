# exercise: 3
# reason: sum-in-int32
from ctypes import c_int32


def must_roll(settings, *, size_bytes, incoming_bytes, entry_count, age_ms):
    if size_bytes == 0:
        return False
    return (
        c_int32(size_bytes + incoming_bytes).value > settings.segment_bytes
        or 8 * entry_count + 8 > settings.segment_index_bytes
        or age_ms > settings.segment_ms
    )
