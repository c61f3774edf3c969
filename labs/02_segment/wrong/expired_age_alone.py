# exercise: 10
# reason: retain-one-rule
def expired_segments(segments, settings, now_ms):
    by_age = []
    for segment in segments:
        age_ms = now_ms - segment.log_path.stat().st_mtime_ns // 1_000_000
        if settings.retention_ms < 0 or age_ms <= settings.retention_ms:
            break
        by_age.append(segment)
    return by_age
