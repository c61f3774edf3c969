# exercise: 8
# reason: leader-in-turn
from kminilog.cluster.leadership import Leadership


def settle(leadership, running):
    alive = tuple(n for n in leadership.in_sync if n in running)
    if not alive:
        return leadership._replace(leader=None)
    if leadership.leader in alive:
        return leadership._replace(in_sync=alive)
    replicas = leadership.replicas
    at = replicas.index(leadership.leader) + 1 if leadership.leader is not None else 0
    turn = replicas[at:] + replicas[:at]
    leader = next(n for n in turn if n in alive)
    return Leadership(replicas, leader, leadership.leader_epoch + 1, alive)
