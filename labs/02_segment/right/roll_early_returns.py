# exercise: 3
# differs: one return for each reason, with subtractions and a whole division.


def must_roll(settings, *, size_bytes, incoming_bytes, entry_count, age_ms):
    if size_bytes == 0:
        return False
    if incoming_bytes > settings.segment_bytes - size_bytes:
        return True
    if entry_count >= settings.segment_index_bytes // 8:
        return True
    return age_ms > settings.segment_ms
