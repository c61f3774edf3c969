# exercise: 3
# differs: copies are numbered: then a dictionary pairs them
from collections import Counter


def partners(groups, is_record):
    seen, messages, records = Counter(), {}, {}
    for place, (group, record) in enumerate(zip(groups, is_record, strict=False)):
        side = group, bool(record)
        seen[side] += 1
        (records if record else messages)[group, seen[side]] = place
    found = [-1 for _ in groups]
    for copy in records.keys() & messages.keys():
        found[records[copy]] = messages[copy]
    return found
