# exercise: 12
# differs: a leader fails or stays, one comes back, and the last in-sync replicas go.
from kminilog.cluster.leadership import Leadership

EXPOSE_LEADER = [
    (Leadership((0, 2, 1), 0, 5, (0, 2, 1)), {1, 2}),
    (Leadership((0, 2, 1), 2, 5, (0, 2, 1)), {0, 2}),
    (Leadership((0, 2, 1), 0, 5, (0, 2)), {1}),
    (Leadership((0, 2, 1), 2, 5, (0, 2, 1)), {0, 1}),
    (Leadership((0, 2, 1), 0, 5, (0, 2)), {0, 1}),
]
