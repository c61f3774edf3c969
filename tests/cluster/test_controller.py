from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.clock import ManualClock
from kminilog.cluster.controller import place_replicas
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.errors import TopicExistsError
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.topics import Topic, new_topic_id
from tests.support.cluster.clusters import open_cluster
from tests.support.invariants import check_cluster

pytestmark = pytest.mark.usefixtures("without_fsync")


def placed(cluster: MiniCluster, topic: str) -> list[list[int]]:
    infos = cluster.metadata().partitions_for_topic(topic)
    return [[node.id for node in info.replicas] for info in infos]


def test_create_topic_places_replicas_and_the_first_ones_lead(tmp_path):
    cluster = open_cluster(tmp_path, brokers=4, partitions=5, replicas=3)
    assert placed(cluster, "orders") == [[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1], [0, 2, 3]]
    infos = cluster.metadata().partitions_for_topic("orders")
    assert [info.leader for info in infos] == [info.replicas[0] for info in infos]
    assert [info.in_sync_replicas for info in infos] == [info.replicas for info in infos]


def test_create_topic_uses_brokers_that_run(tmp_path):
    cluster = open_cluster(tmp_path, brokers=3)
    cluster.stop(1)
    cluster.create_topic(Topic("bills", 2), 2)
    assert placed(cluster, "bills") == [[0, 2], [2, 0]]
    with pytest.raises(ValueError, match="2 available brokers"):
        cluster.create_topic(Topic("notes"), 3)
    cluster.start(1)
    check_cluster(cluster)


def test_create_topic_on_some_brokers_leaves_none_on_the_others(tmp_path):
    cluster = open_cluster(tmp_path, brokers=3)
    cluster.create_topic(Topic("bills", 2))
    assert placed(cluster, "bills") == [[0], [1]]
    assert (tmp_path / "broker-1" / "bills.json").exists()
    assert not (tmp_path / "broker-2" / "bills.json").exists()


def test_log_dir_of_a_broker_has_directories_of_all_partitions_of_its_topics(tmp_path):
    open_cluster(tmp_path, brokers=2, partitions=2, replicas=1)
    names = sorted(path.name for path in (tmp_path / "broker-0").glob("orders-*"))
    assert names == ["orders-0", "orders-1"]


def test_create_topic_gives_the_topic_one_id_which_all_brokers_store(tmp_path):
    with open_cluster(tmp_path, brokers=3) as cluster:
        first = cluster.create_topic(Topic("notes"), 3)
        second = cluster.create_topic(Topic("bills"), 3, chance=Random(1))
        for made in (first, second):
            assert cluster.topic_id(made.name) == made.topic_id
            found = {LogDir(tmp_path / f"broker-{n}").topic_id(made.name) for n in range(3)}
            assert found == {made.topic_id}
    assert first.topic_id not in (None, second.topic_id)
    assert second.topic_id == new_topic_id(Random(1))


def test_create_topic_that_exists_is_refused(tmp_path):
    cluster = open_cluster(tmp_path)
    with pytest.raises(TopicExistsError):
        cluster.create_topic(Topic("orders"))


def test_create_topic_of_which_a_crash_left_a_part_is_taken_over(tmp_path):
    cluster = open_cluster(tmp_path)
    cluster._brokers[1].create_topic(Topic("bills", 2), [])  # and then the process died
    cluster._end_all(cleanly=False)
    reopened = MiniCluster.open(tmp_path, clock=ManualClock())
    assert reopened.metadata().topics == ("orders",)
    reopened.create_topic(Topic("bills", 2), 3)
    assert len(placed(reopened, "bills")) == 2
    check_cluster(reopened)


@pytest.mark.parametrize("call", ["start", "stop", "crash", "pause", "resume"])
def test_broker_that_does_not_exist_is_refused(tmp_path, call):
    cluster = open_cluster(tmp_path, brokers=2, replicas=1)
    with pytest.raises(ValueError, match="no broker 7"):
        getattr(cluster, call)(7)


def test_broker_that_runs_cannot_start_and_one_that_is_down_cannot_end(tmp_path):
    cluster = open_cluster(tmp_path)
    with pytest.raises(ValueError, match="broker 1 is running"):
        cluster.start(1)
    cluster.crash(1)
    for call in (cluster.stop, cluster.crash):
        with pytest.raises(ValueError, match="broker 1 is down"):
            call(1)


def test_returning_broker_gets_no_leadership_back(tmp_path):
    cluster = open_cluster(tmp_path)
    cluster.stop(0)
    cluster.start(0)
    leader = cluster.metadata().leader_for("orders", 0)
    assert leader is not None
    assert leader.id == 1


def test_nodes_have_ports_of_their_own(tmp_path):
    cluster = open_cluster(tmp_path)
    assert [(node.id, node.port) for node in cluster.metadata().nodes] == [
        (0, 9092),
        (1, 9093),
        (2, 9094),
    ]


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
