# exercise: 3
# reason: failed-may-commit
def may_commit(events):
    holders = {}
    for what, task, attempt in events:
        if what == "fails":
            if holders.get(task) == attempt:
                del holders[task]
        else:
            holders.setdefault(task, attempt)
    return sorted(holders.items())
