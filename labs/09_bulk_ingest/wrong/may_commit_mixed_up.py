# exercise: 3
# reason: attempts-are-mixed-up
def may_commit(events):
    holders, failed = {}, set()
    for what, task, attempt in events:
        if what == "fails":
            failed.add(attempt)
            if holders.get(task) == attempt:
                del holders[task]
        elif attempt not in failed:
            holders.setdefault(task, attempt)
    return sorted(holders.items())
