# exercise: 8
# reason: in-sync-emptied
from kminilog.cluster.leadership import Leadership


def settle(leadership, running):
    alive = tuple(n for n in leadership.in_sync if n in running)
    if not alive:
        return leadership._replace(leader=None, in_sync=leadership.in_sync[:1])
    if leadership.leader in alive:
        return leadership._replace(in_sync=alive)
    leader = next(n for n in leadership.replicas if n in alive)
    return Leadership(leadership.replicas, leader, leadership.leader_epoch + 1, alive)
