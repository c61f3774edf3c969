# exercise: 3
# differs: says when it must not roll; an empty segment gives 0, which is as good as False.
from kminilog.format.index_entry import ENTRY_SIZE_BYTES


def must_roll(settings, *, size_bytes, incoming_bytes, entry_count, age_ms):
    fits = size_bytes + incoming_bytes <= settings.segment_bytes
    is_young = age_ms <= settings.segment_ms
    has_room = (entry_count + 1) * ENTRY_SIZE_BYTES <= settings.segment_index_bytes
    return size_bytes and not (fits and is_young and has_room)
