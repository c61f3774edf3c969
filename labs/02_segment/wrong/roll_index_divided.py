# exercise: 3
# reason: index-entry-in-part


def must_roll(settings, *, size_bytes, incoming_bytes, entry_count, age_ms):
    if not size_bytes:
        return False
    room = settings.segment_index_bytes / 8
    is_full = size_bytes + incoming_bytes > settings.segment_bytes
    return is_full or age_ms > settings.segment_ms or entry_count >= room
