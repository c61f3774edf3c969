# exercise: 3
# differs: a queue of records for each group, served by its messages
from collections import defaultdict, deque


def partners(groups, is_record):
    waiting = defaultdict(deque)
    found = [-1] * len(groups)
    for place in range(len(groups)):
        group = int(groups[place])
        if is_record[place]:
            waiting[group].append(place)
        elif waiting[group]:
            found[waiting[group].popleft()] = place
    return found
