# exercise: 10
# reason: retain-changes-list
def expired_segments(segments, settings, now_ms):
    by_age = []
    for segment in segments:
        age_ms = now_ms - segment.log_path.stat().st_mtime_ns // 1_000_000
        if settings.retention_ms < 0 or age_ms <= settings.retention_ms:
            break
        by_age.append(segment)
    by_size = []
    rest = sum(segment.file_bytes for segment in segments)
    for segment in segments:
        rest -= segment.file_bytes
        if settings.retention_bytes < 0 or rest < settings.retention_bytes:
            break
        by_size.append(segment)
    expired = max(by_age, by_size, key=len)
    del segments[: len(expired)]
    return expired
