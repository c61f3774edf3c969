# exercise: 10
# differs: both rules are conditions of takewhile
from itertools import takewhile


def expired_segments(segments, settings, now_ms):
    sizes = [segment.file_bytes for segment in segments]
    rests = [sum(sizes[place + 1 :]) for place in range(len(sizes))]

    def is_old(segment):
        age_ms = now_ms - segment.log_path.stat().st_mtime_ns // 1_000_000
        return 0 <= settings.retention_ms < age_ms

    def is_too_much(pair):
        return 0 <= settings.retention_bytes <= pair[1]

    by_age = list(takewhile(is_old, segments))
    by_size = list(takewhile(is_too_much, zip(segments, rests, strict=True)))
    return segments[: max(len(by_age), len(by_size))]
