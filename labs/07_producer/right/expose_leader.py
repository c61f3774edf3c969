# exercise: 12
# differs: a leader fails, one comes back, and the last in-sync replica goes.
from kminilog.cluster.leadership import Leadership

EXPOSE_LEADER = [
    (Leadership((0, 2, 1), 0, 5, (0, 2, 1)), {1, 2}),
    (Leadership((0, 2, 1), 2, 5, (0, 2, 1)), {0, 2}),
    (Leadership((0, 2, 1), 2, 5, (2,)), {0, 1}),
    (Leadership((0, 2, 1), 2, 5, (2,)), set()),
]
