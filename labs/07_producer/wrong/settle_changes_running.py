# exercise: 8
# reason: running-changed
from kminilog.cluster.leadership import Leadership


def settle(leadership, running):
    alive = tuple(n for n in leadership.in_sync if n in running)
    if isinstance(running, (set, list)):
        for node in [n for n in running if n not in leadership.replicas]:
            running.remove(node)
    if not alive:
        return leadership._replace(leader=None)
    if leadership.leader in alive:
        return leadership._replace(in_sync=alive)
    leader = next(n for n in leadership.replicas if n in alive)
    return Leadership(leadership.replicas, leader, leadership.leader_epoch + 1, alive)
