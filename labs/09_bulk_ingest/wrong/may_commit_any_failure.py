# exercise: 3
# reason: any-failure-frees
def may_commit(events):
    holders, failed = {}, set()
    for what, task, attempt in events:
        if what == "fails":
            failed.add((task, attempt))
            holders.pop(task, None)
        elif (task, attempt) not in failed:
            holders.setdefault(task, attempt)
    return sorted(holders.items())
