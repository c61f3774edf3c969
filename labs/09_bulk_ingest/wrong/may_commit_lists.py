# exercise: 3
# reason: lists-for-tuples
def may_commit(events):
    holders, failed = {}, set()
    for what, task, attempt in events:
        if what == "fails":
            failed.add((task, attempt))
            if holders.get(task) == attempt:
                del holders[task]
        elif (task, attempt) not in failed:
            holders.setdefault(task, attempt)
    return [[task, holders[task]] for task in sorted(holders)]
