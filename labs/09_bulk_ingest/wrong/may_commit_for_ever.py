# exercise: 3
# reason: failed-keeps-the-right
def may_commit(events):
    holders, failed = {}, set()
    for what, task, attempt in events:
        if what == "fails":
            failed.add((task, attempt))
        elif (task, attempt) not in failed:
            holders.setdefault(task, attempt)
    return sorted(holders.items())
