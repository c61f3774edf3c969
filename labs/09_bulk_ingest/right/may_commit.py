# exercise: 3
# differs: the course's own, because the library has no such function: one pass, a dict
def may_commit(events):
    """Return which attempts may commit after some events, as (task, attempt), ascending.

    An event is ("asks", task, attempt) or ("fails", task, attempt), in the order in which the
    driver hears of them. Numbers begin at 0.

    >>> may_commit([("asks", 0, 0), ("asks", 1, 0), ("fails", 0, 0), ("asks", 0, 1)])
    [(0, 1), (1, 0)]
    """
    holders, failed = {}, set()
    for what, task, attempt in events:
        if what == "fails":
            failed.add((task, attempt))
            if holders.get(task) == attempt:
                del holders[task]
        elif (task, attempt) not in failed:
            holders.setdefault(task, attempt)
    return sorted(holders.items())
