# exercise: 3
# reason: rolls-at-age
from kminilog.format.index_entry import ENTRY_SIZE_BYTES


def must_roll(settings, *, size_bytes, incoming_bytes, entry_count, age_ms):
    is_full = size_bytes + incoming_bytes > settings.segment_bytes
    is_old = age_ms >= settings.segment_ms
    has_no_room = (entry_count + 1) * ENTRY_SIZE_BYTES > settings.segment_index_bytes
    return size_bytes > 0 and (is_full or is_old or has_no_room)
