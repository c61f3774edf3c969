# exercise: 8
# reason: leader-moves-back
from kminilog.cluster.leadership import Leadership


def settle(leadership, running):
    alive = tuple(node for node in leadership.in_sync if node in running)
    if not alive:
        return leadership._replace(leader=None)
    leader = next(node for node in leadership.replicas if node in alive)
    epoch = leadership.leader_epoch + (leader != leadership.leader)
    return Leadership(leadership.replicas, leader, epoch, alive)
