# exercise: 8
# reason: elects-any-replica
from kminilog.cluster.leadership import Leadership


def settle(leadership, running):
    alive = tuple(node for node in leadership.in_sync if node in running) or leadership.in_sync
    if leadership.leader in running:
        return leadership._replace(in_sync=alive)
    up = [node for node in leadership.replicas if node in running]
    if not up:
        return leadership._replace(leader=None)
    return Leadership(leadership.replicas, up[0], leadership.leader_epoch + 1, alive)
