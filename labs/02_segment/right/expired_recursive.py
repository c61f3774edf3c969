# exercise: 10
# differs: the first segment goes, then the rest is asked again
def expired_segments(segments, settings, now_ms):
    return segments[: max(_old(segments, settings, now_ms), _many(segments, settings))]


def _old(segments, settings, now_ms):
    if not segments or settings.retention_ms < 0:
        return 0
    written_ms = segments[0].log_path.stat().st_mtime_ns // 10**6
    is_old = now_ms - written_ms > settings.retention_ms
    return 1 + _old(segments[1:], settings, now_ms) if is_old else 0


def _many(segments, settings):
    rest = sum(segment.file_bytes for segment in segments[1:])
    if not segments or not 0 <= settings.retention_bytes <= rest:
        return 0
    return 1 + _many(segments[1:], settings)
