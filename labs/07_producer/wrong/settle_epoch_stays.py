# exercise: 8
# reason: epoch-stays
from kminilog.cluster.leadership import Leadership


def settle(leadership, running):
    alive = tuple(node for node in leadership.in_sync if node in running)
    if not alive:
        return leadership._replace(leader=None)
    if leadership.leader in alive:
        return leadership._replace(in_sync=alive)
    leader = next(node for node in leadership.replicas if node in alive)
    return Leadership(leadership.replicas, leader, leadership.leader_epoch, alive)
