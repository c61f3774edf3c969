# exercise: 8
# differs: the library's with_in_sync shortens the list, and match chooses
from kminilog.cluster.leadership import with_in_sync


def settle(leadership, running):
    alive = [node for node in leadership.replicas if node in running]
    alive = [node for node in alive if node in leadership.in_sync]
    match alive:
        case []:
            return leadership._replace(leader=None)
        case [first, *_] if leadership.leader not in alive:
            leadership = leadership._replace(leader=first, leader_epoch=leadership.leader_epoch + 1)
    return with_in_sync(leadership, alive)
