# exercise: 3
# reason: ignores-settings


def must_roll(settings, *, size_bytes, incoming_bytes, entry_count, age_ms):
    is_full = size_bytes + incoming_bytes > 1000
    return size_bytes > 0 and (is_full or age_ms > 60_000 or entry_count >= 10)
