# exercise: 3
# differs: one task after the other, each with its own events
def may_commit(events):
    found = []
    for number in sorted({task for _, task, _ in events}):
        holder, bad = None, []
        for what, task, attempt in events:
            if task != number:
                continue
            if what == "asks" and holder is None and attempt not in bad:
                holder = attempt
            if what == "fails":
                bad.append(attempt)
                holder = None if holder == attempt else holder
        if holder is not None:
            found.append((number, holder))
    return found
