# exercise: 8
# differs: candidates in order: the leader, then the replicas
from itertools import chain

from kminilog.cluster.leadership import Leadership


def settle(leadership, running):
    replicas, before, epoch, in_sync = leadership
    alive = [node for node in in_sync if node in running]
    candidates = (node for node in chain([before], replicas) if node in alive)
    leader = next(candidates, None)
    is_new = leader not in (None, before)
    return Leadership(replicas, leader, epoch + is_new, tuple(alive) or in_sync)
