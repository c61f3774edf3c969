# exercise: 3
# reason: refused-one-waits
def may_commit(events):
    queues, failed = {}, set()
    for what, task, attempt in events:
        if what == "fails":
            failed.add((task, attempt))
        else:
            queues.setdefault(task, []).append(attempt)
    left = {task: [a for a in queue if (task, a) not in failed] for task, queue in queues.items()}
    return sorted((task, queue[0]) for task, queue in left.items() if queue)
