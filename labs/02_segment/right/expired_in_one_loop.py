# exercise: 10
# differs: one loop counts for both rules at once
def expired_segments(segments, settings, now_ms):
    rest = sum(segment.log_path.stat().st_size for segment in segments)
    counts = {"age": 0, "size": 0}
    for place, segment in enumerate(segments):
        status = segment.log_path.stat()
        rest -= status.st_size
        if 0 <= settings.retention_bytes <= rest:
            counts["size"] = place + 1
        is_old = now_ms - int(status.st_mtime_ns / 1e6) > settings.retention_ms >= 0
        if is_old and counts["age"] == place:
            counts["age"] += 1
    return list(segments)[: max(counts.values())]
