# exercise: 3
# reason: ignores-index-size


def must_roll(settings, *, size_bytes, incoming_bytes, entry_count, age_ms):
    is_full = size_bytes + incoming_bytes > settings.segment_bytes
    return size_bytes > 0 and (is_full or age_ms > settings.segment_ms)
