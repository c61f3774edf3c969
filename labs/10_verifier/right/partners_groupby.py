# exercise: 3
# differs: groups are cut out, and both halves of each are zipped
from itertools import groupby


def partners(groups, is_record):
    found = []
    for _, rows in groupby(range(len(groups)), key=lambda row: groups[row]):
        rows = list(rows)
        records = sum(1 for row in rows if is_record[row])
        messages = rows[records:]
        found += (messages[:records] + [-1] * len(rows))[:records] + [-1] * len(messages)
    return found
