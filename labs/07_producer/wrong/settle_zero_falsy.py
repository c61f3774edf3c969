# exercise: 8
# reason: leader-zero-falsy
from kminilog.cluster.leadership import Leadership


def settle(leadership, running):
    alive = tuple(n for n in leadership.in_sync if n in running)
    if not alive:
        return leadership._replace(leader=None)
    if leadership.leader and leadership.leader in alive:
        return leadership._replace(in_sync=alive)
    leader = next(n for n in leadership.replicas if n in alive)
    return Leadership(leadership.replicas, leader, leadership.leader_epoch + 1, alive)
