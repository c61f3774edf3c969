# exercise: 8
# reason: in-sync-of-all-replicas
from kminilog.cluster.leadership import Leadership


def settle(leadership, running):
    alive = tuple(n for n in leadership.in_sync if n in running)
    if not alive:
        return leadership._replace(leader=None)
    joined = tuple(n for n in leadership.replicas if n in running)
    if leadership.leader in alive:
        return leadership._replace(in_sync=joined)
    leader = next(n for n in leadership.replicas if n in alive)
    return Leadership(leadership.replicas, leader, leadership.leader_epoch + 1, joined)
