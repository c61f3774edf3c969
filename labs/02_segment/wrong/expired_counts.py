# exercise: 10
# reason: retain-counts
def expired_segments(segments, settings, now_ms):
    by_age = by_size = 0
    rest = sum(segment.file_bytes for segment in segments)
    for segment in segments:
        age_ms = now_ms - segment.log_path.stat().st_mtime_ns // 1_000_000
        by_age += 0 <= settings.retention_ms < age_ms
        if 0 <= settings.retention_bytes <= rest - segment.file_bytes:
            by_size += 1
            rest -= segment.file_bytes
    return segments[: max(by_age, by_size)]
