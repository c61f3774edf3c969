# exercise: 8
# reason: epoch-always
from kminilog.cluster.leadership import Leadership


def settle(leadership, running):
    alive = tuple(node for node in leadership.in_sync if node in running)
    epoch = leadership.leader_epoch + 1
    if not alive:
        return leadership._replace(leader=None, leader_epoch=epoch)
    if leadership.leader in alive:
        return leadership._replace(in_sync=alive, leader_epoch=epoch)
    leader = next(node for node in leadership.replicas if node in alive)
    return Leadership(leadership.replicas, leader, epoch, alive)
