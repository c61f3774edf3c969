# exercise: 10
# reason: retain-one-rule
def expired_segments(segments, settings, now_ms):
    by_size = []
    rest = sum(segment.file_bytes for segment in segments)
    for segment in segments:
        rest -= segment.file_bytes
        if settings.retention_bytes < 0 or rest < settings.retention_bytes:
            break
        by_size.append(segment)
    return by_size
