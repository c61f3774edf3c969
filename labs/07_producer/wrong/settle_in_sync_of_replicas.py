# exercise: 8
# reason: in-sync-of-all-replicas
from kminilog.cluster.leadership import Leadership


def settle(leadership, running):
    alive = tuple(node for node in leadership.replicas if node in running)
    if not alive:
        return leadership._replace(leader=None)
    if leadership.leader in alive:
        return leadership._replace(in_sync=alive)
    return Leadership(leadership.replicas, alive[0], leadership.leader_epoch + 1, alive)
