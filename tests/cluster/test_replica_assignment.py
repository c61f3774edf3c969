import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.cluster.replica_assignment import place_replicas

# The table in the comment of Kafka's AdminUtils: which partitions each of five brokers gets, for
# ten partitions with three replicas; two rounds for each replica.
PUBLISHED = [
    ["p0 p1 p2 p3 p4", "p5 p6 p7 p8 p9"],
    ["p4 p0 p1 p2 p3", "p8 p9 p5 p6 p7"],
    ["p3 p4 p0 p1 p2", "p7 p8 p9 p5 p6"],
]


def test_place_replicas_makes_the_published_table():
    placed = place_replicas(10, 3, range(5))
    for replica, rounds in enumerate(PUBLISHED):
        for row in rounds:
            for broker, partition in enumerate(row.split()):
                assert placed[int(partition[1:])][replica] == broker


@pytest.mark.parametrize(
    ("start", "shift", "expected"),
    [
        (0, 0, [(0, 1, 2), (1, 2, 3), (2, 3, 0), (3, 0, 1), (0, 2, 3)]),
        (1, 0, [(1, 2, 3), (2, 3, 0), (3, 0, 1), (0, 1, 2), (1, 3, 0)]),
        (0, 1, [(0, 2, 3), (1, 3, 0), (2, 0, 1), (3, 1, 2), (0, 3, 1)]),
    ],
)
def test_place_replicas_begins_where_it_is_told(start, shift, expected):
    assert place_replicas(5, 3, range(4), start=start, shift=shift) == expected


def test_place_replicas_on_one_broker_puts_all_there():
    assert place_replicas(2, 1, [7]) == [(7,), (7,)]


@pytest.mark.parametrize("replication_factor", [0, 4, -1])
def test_place_replicas_that_cannot_be_placed_are_refused(replication_factor):
    with pytest.raises(ValueError, match="available brokers"):
        place_replicas(1, replication_factor, range(3))


@given(
    brokers=st.lists(st.integers(0, 99), min_size=1, max_size=8, unique=True),
    partitions=st.integers(1, 40),
    start=st.integers(0, 9),
    shift=st.integers(0, 9),
    data=st.data(),
)
def test_place_replicas_spreads_them_evenly_over_different_brokers(
    brokers, partitions, start, shift, data
):
    replication_factor = data.draw(st.integers(1, len(brokers)))
    placed = place_replicas(partitions, replication_factor, brokers, start=start, shift=shift)
    assert all(len(set(replicas)) == replication_factor for replicas in placed)
    leads = [[replicas[0] for replicas in placed].count(broker) for broker in brokers]
    assert max(leads) - min(leads) <= 1
