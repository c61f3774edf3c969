# exercise: 8
# differs: sets and a loop in place of comprehensions
def settle(leadership, running):
    alive = set(leadership.in_sync) & set(running)
    if not alive:
        return leadership._replace(leader=None)
    in_sync = tuple(sorted(alive, key=leadership.in_sync.index))
    leader, epoch = leadership.leader, leadership.leader_epoch
    if leader not in alive:
        leader = min(alive, key=leadership.replicas.index)
        epoch += 1
    return leadership._replace(leader=leader, leader_epoch=epoch, in_sync=in_sync)
