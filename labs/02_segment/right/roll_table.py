# exercise: 3
# differs: a table of amounts and limits, and any().


def must_roll(settings, **facts):
    pairs = [
        (facts["size_bytes"] + facts["incoming_bytes"], settings.segment_bytes),
        (facts["age_ms"], settings.segment_ms),
        (8 * facts["entry_count"] + 8, settings.segment_index_bytes),
    ]
    return facts["size_bytes"] > 0 and any(amount > limit for amount, limit in pairs)
