"""A cluster that is left and found again: who is live, who leads, and what readers see."""

import json
import os
from pathlib import Path

import pytest

from kminilog.clock import ManualClock
from kminilog.cluster.broker import HIGH_WATERMARK_FILE
from kminilog.cluster.cluster_files import ClusterFiles
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.cluster.state_file import MAX_BROKERS, STATE_FILE, read_state
from kminilog.consumer.readers import ClusterFilesSource
from kminilog.errors import (
    LeaderNotAvailableError,
    LogDirError,
    LogDirLockedError,
    NoClusterError,
    UnknownTopicOrPartitionError,
)
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.names import TopicPartition
from kminilog.storage.checkpoint import CHECKPOINT_FILE
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.topics import Topic
from tests.support.cluster.clusters import (
    ORDERS,
    open_cluster,
    pairs_on,
    produce,
    replicate_until_quiet,
    request,
    values_on,
)
from tests.support.damage import flip_byte
from tests.support.invariants import check_cluster

pytestmark = pytest.mark.usefixtures("without_fsync")


def reopen(path: Path) -> MiniCluster:
    return MiniCluster.reopen(path, clock=ManualClock())


def leader(cluster: MiniCluster | ClusterFiles) -> int | None:
    node = cluster.metadata().leader_for(*ORDERS)
    return node.id if node else None


def live(path: Path) -> dict[int, bool]:
    return dict(read_state(path).brokers)


@pytest.mark.parametrize("end", ["crash", "stop"])
def test_reopen_leaves_brokers_down_that_were_down(tmp_path, end):
    cluster = open_cluster(tmp_path)
    getattr(cluster, end)(0)
    cluster.close()
    assert live(tmp_path) == {0: False, 1: True, 2: True}
    again = reopen(tmp_path)
    assert [node.id for node in again.metadata().nodes] == [1, 2]
    assert leader(again) == 1
    check_cluster(again)
    again.start(0)
    again.close()
    assert live(tmp_path) == {0: True, 1: True, 2: True}


def test_reopen_with_a_partition_without_leader_serves_the_others(tmp_path):
    cluster = open_cluster(tmp_path, brokers=2, replicas=1, partitions=2)
    cluster.crash(0)
    cluster.close()
    again = reopen(tmp_path)
    check_cluster(again)
    with pytest.raises(LeaderNotAvailableError):
        produce(again, b"x")
    again.start(0)
    assert produce(again, b"x").leader == 0


def test_reopen_and_crash_loses_what_only_the_leader_had(tmp_path):
    cluster = open_cluster(tmp_path)
    produce(cluster, b"copied")
    replicate_until_quiet(cluster)
    produce(cluster, b"not copied")
    cluster.close()
    again = reopen(tmp_path)
    again.crash(0)
    again.close()
    again = reopen(tmp_path)
    produce(again, b"next")
    again.start(0)
    replicate_until_quiet(again)
    check_cluster(again)
    again.close()
    assert values_on(tmp_path, 0) == values_on(tmp_path, 1) == [b"copied", b"next"]
    assert pairs_on(tmp_path, 0) == pairs_on(tmp_path, 1) == pairs_on(tmp_path, 2)


def test_open_with_a_number_starts_all_brokers_again(tmp_path):
    cluster = open_cluster(tmp_path)
    cluster.crash(1)
    cluster.close()
    MiniCluster.open(tmp_path, brokers=3, clock=ManualClock()).close()
    assert live(tmp_path) == {0: True, 1: True, 2: True}


def test_add_broker_takes_the_next_number_and_is_used_by_new_topics(tmp_path):
    cluster = open_cluster(tmp_path, brokers=2, replicas=2)
    assert cluster.add_broker() == 2
    cluster.create_topic(Topic("wide"), 3)
    check_cluster(cluster)
    cluster.close()
    again = reopen(tmp_path)
    assert again.in_sync_replicas(TopicPartition("wide", 0)) == (0, 1, 2)
    assert again.in_sync_replicas(ORDERS) == (0, 1)


def test_add_broker_has_a_bound(tmp_path):
    cluster = MiniCluster.open(tmp_path, brokers=1, clock=ManualClock())
    cluster._brokers |= dict.fromkeys(range(1, MAX_BROKERS), cluster._brokers[0])
    with pytest.raises(ValueError, match="at most 100 brokers"):
        cluster.add_broker()


def test_broker_that_is_damaged_is_down_after_reopen_and_others_lead(tmp_path):
    cluster = open_cluster(tmp_path)
    produce(cluster, b"a", b"b", b"c")
    replicate_until_quiet(cluster)
    cluster._end_all(cleanly=False)
    flip_byte(next((tmp_path / "broker-0" / "orders-0").glob("*.log")), 15, mask=1)
    again = reopen(tmp_path)
    (line,) = again.take_warnings()
    assert line.startswith("broker 0 cannot start, so it is down now: ")
    assert again.take_warnings() == []
    assert leader(again) == 1
    assert live(tmp_path) == {0: False, 1: True, 2: True}
    with pytest.raises(Exception, match="damaged"):
        again.start(0)
    check_cluster(again)


def lose_end(path: Path, node: int, kept_bytes: int = 0, partition: str = "orders-0") -> None:
    """Cut the one `.log` of a copy, as somebody does who does not know what it is."""
    (log,) = (path / f"broker-{node}" / partition).glob("*.log")
    os.truncate(log, kept_bytes)


def with_four_messages(path: Path, *, replicas: int = 2, dialect: Dialect = DOCUMENTED) -> None:
    cluster = open_cluster(path, brokers=2, replicas=replicas, dialect=dialect)
    produce(cluster, b"a", b"b", b"c", b"d", acks=-1)
    replicate_until_quiet(cluster)
    cluster.close()


@pytest.mark.parametrize("dialect", [DOCUMENTED, KAFKA])
@pytest.mark.parametrize("kept_bytes", [0, 40])
def test_leader_that_lost_its_end_follows_and_copies_from_an_in_sync_replica(
    tmp_path, dialect, kept_bytes
):
    with_four_messages(tmp_path, dialect=dialect)
    lose_end(tmp_path, 0, kept_bytes)
    again = reopen(tmp_path)
    first = 1 if kept_bytes else 0
    told = f"broker 0: it has lost offsets {first}..3 of orders-0, so it copies them from"
    assert [line for line in again.take_warnings() if line.startswith(told)]
    assert (leader(again), again.in_sync_replicas(ORDERS)) == (1, (1,))
    assert live(tmp_path) == {0: True, 1: True}
    check_cluster(again)
    produce(again, b"e")
    replicate_until_quiet(again)
    assert again.in_sync_replicas(ORDERS) == (0, 1)
    again.crash(1)
    assert again.take_warnings() == []
    assert leader(again) == 0
    check_cluster(again)
    again.close()
    assert values_on(tmp_path, 0) == values_on(tmp_path, 1) == [b"a", b"b", b"c", b"d", b"e"]
    assert pairs_on(tmp_path, 0) == pairs_on(tmp_path, 1)


def test_loss_below_the_high_watermark_alone_is_noticed(tmp_path):
    with_four_messages(tmp_path)
    (tmp_path / "broker-0" / CHECKPOINT_FILE).unlink()
    lose_end(tmp_path, 0)
    assert leader(reopen(tmp_path)) == 1


def test_loss_below_the_recovery_point_alone_is_noticed(tmp_path):
    with_four_messages(tmp_path)
    (tmp_path / "broker-0" / HIGH_WATERMARK_FILE).unlink()
    (tmp_path / "broker-0" / CLEAN_SHUTDOWN_FILE).unlink()
    lose_end(tmp_path, 0)
    assert leader(reopen(tmp_path)) == 1


def test_follower_that_lost_its_end_leaves_the_in_sync_replicas_until_it_has_copied(tmp_path):
    with_four_messages(tmp_path)
    lose_end(tmp_path, 1)
    again = reopen(tmp_path)
    assert (leader(again), again.in_sync_replicas(ORDERS)) == (0, (0,))
    replicate_until_quiet(again)
    assert again.in_sync_replicas(ORDERS) == (0, 1)


def test_each_of_two_copies_with_losses_leads_where_it_has_more(tmp_path):
    cluster = open_cluster(tmp_path, brokers=2, replicas=2, partitions=2)
    other = TopicPartition("orders", 1)
    for partition in (ORDERS, other):
        cluster.produce(partition, request(b"a", b"b", b"c"), acks=1)
    replicate_until_quiet(cluster)
    cluster.close()
    lose_end(tmp_path, 0, 0, "orders-0")
    lose_end(tmp_path, 1, 40, "orders-0")
    lose_end(tmp_path, 0, 40, "orders-1")
    lose_end(tmp_path, 1, 0, "orders-1")
    again = reopen(tmp_path)
    assert [again.metadata().leader_for("orders", p).id for p in (0, 1)] == [1, 0]
    told = [line for line in again.take_warnings() if "it has lost" in line]
    assert sorted(line.partition(", ")[0] for line in told if "they are gone" in line) == [
        "broker 0: it has lost offsets 1..2 of orders-1",
        "broker 1: it has lost offsets 1..2 of orders-0",
    ]
    replicate_until_quiet(again)
    again.close()
    for partition in (ORDERS, other):
        assert values_on(tmp_path, 0, partition) == values_on(tmp_path, 1, partition) == [b"a"]


def test_only_copy_that_lost_its_end_leads_and_says_what_is_gone(tmp_path):
    with_four_messages(tmp_path, replicas=1)
    lose_end(tmp_path, 0, 40)
    again = reopen(tmp_path)
    assert leader(again) == 0
    gone = "and no other live broker that is in sync has them: they are gone"
    assert f"broker 0: it has lost offsets 1..3 of orders-0, {gone}" in again.take_warnings()
    assert produce(again, b"x").first_offset == 1
    again.close()
    again = reopen(tmp_path)
    assert again.take_warnings() == []
    again.close()


def test_broker_that_comes_back_with_losses_copies_from_the_leader(tmp_path):
    with_four_messages(tmp_path)
    cluster = reopen(tmp_path)
    cluster.stop(0)
    lose_end(tmp_path, 0)
    cluster.start(0)
    assert not [line for line in cluster.take_warnings() if "it has lost" in line]
    replicate_until_quiet(cluster)
    assert (leader(cluster), cluster.in_sync_replicas(ORDERS)) == (1, (0, 1))
    cluster.crash(1)
    assert cluster.take_warnings() == []
    cluster.close()
    assert values_on(tmp_path, 0) == [b"a", b"b", b"c", b"d"]


def test_broker_whose_files_are_gone_says_so(tmp_path):
    cluster = open_cluster(tmp_path)
    cluster.close()
    (tmp_path / "broker-1").rename(tmp_path / "away")
    again = reopen(tmp_path)
    (line,) = again.take_warnings()
    assert "it has no topic orders, but should hold orders-0; put its files back" in line
    with pytest.raises(LogDirError, match="put its files back"):
        again.start(1)


def test_broker_whose_log_dir_is_in_use_is_not_down(tmp_path):
    open_cluster(tmp_path).close()
    with LogDirWriter.open(tmp_path / "broker-1"), pytest.raises(LogDirLockedError):
        reopen(tmp_path)
    assert live(tmp_path)[1]
    reopen(tmp_path).close()


def test_reopen_where_no_cluster_is_makes_nothing(tmp_path):
    with pytest.raises(NoClusterError, match="not a cluster"):
        reopen(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
    with pytest.raises(NoClusterError):
        reopen(tmp_path)
    assert list(tmp_path.iterdir()) == []


# ---- readers without the lock


@pytest.mark.parametrize("dialect", [DOCUMENTED, KAFKA])
def test_files_are_read_while_the_cluster_is_open(tmp_path, dialect):
    cluster = open_cluster(tmp_path, dialect=dialect)
    files = ClusterFiles(tmp_path)
    produce(cluster, b"a", b"b")
    assert [message.value for message in files.reader(ORDERS).read(0, 1000)] == [b"a", b"b"]
    assert (leader(files), files.high_watermark(ORDERS)) == (0, 0)
    assert [found.name for found in files.topics()] == ["orders"]
    assert [one.topic_partition for one in files.readers(files.topic("orders"))] == [ORDERS]
    assert files.directory(ORDERS) == tmp_path / "broker-0" / "orders-0"
    replicate_until_quiet(cluster)
    cluster.stop(0)
    assert (leader(files), files.high_watermark(ORDERS)) == (1, 0)
    cluster.close()
    assert files.high_watermark(ORDERS) == 2


def test_files_answer_as_the_cluster_does(tmp_path):
    cluster = open_cluster(tmp_path, partitions=3, replicas=2)
    files = ClusterFiles(tmp_path)
    for act in (cluster.crash, cluster.start):
        act(1)
        mine, theirs = files.metadata(), cluster.metadata()
        assert mine.nodes == theirs.nodes
        assert mine.partitions_for_topic("orders") == theirs.partitions_for_topic("orders")


def test_files_without_leader_topic_or_partition_say_so(tmp_path):
    cluster = open_cluster(tmp_path, brokers=1, replicas=1)
    cluster.crash(0)
    files = ClusterFiles(tmp_path)
    for ask in (files.reader, files.high_watermark, files.directory):
        with pytest.raises(LeaderNotAvailableError, match="No leader for partition 0"):
            ask(ORDERS)
    with pytest.raises(UnknownTopicOrPartitionError):
        files.topic("others")
    with pytest.raises(UnknownTopicOrPartitionError, match=r"inclusive range of \[0, 0\]"):
        files.reader(TopicPartition("orders", 1))


def test_files_read_the_state_again_only_if_it_was_replaced(tmp_path):
    cluster = open_cluster(tmp_path)
    files = ClusterFiles(tmp_path)
    first = files.state()
    assert files.state() is first
    cluster.crash(2)
    assert files.state().live == [0, 1]
    (tmp_path / STATE_FILE).write_text(json.dumps({"brokers": 7}))
    with pytest.raises(LogDirError, match="holds no state of a cluster"):
        files.state()


def test_source_reads_up_to_the_high_watermark_and_lets_followers_copy(tmp_path):
    cluster = open_cluster(tmp_path)
    produce(cluster, b"a", b"b")
    replicate_until_quiet(cluster)
    produce(cluster, b"c")
    for broker in cluster._brokers.values():
        broker.checkpoint()
    asked = []
    source = ClusterFilesSource(ClusterFiles(tmp_path), let_copy=lambda: asked.append(1))
    assert [message.value for message in source.fetch(ORDERS, 0, 1000)] == [b"a", b"b"]
    assert source.fetch(ORDERS, 2, 1000) == source.fetch(ORDERS, 3, 1000) == []
    assert (source.topics(), source.beginning(ORDERS)) == ({"orders": 1}, 0)
    assert (source.end(ORDERS), source.log_end(ORDERS)) == (2, 3)
    assert asked == [1, 1, 1, 1]

    def copy() -> None:
        replicate_until_quiet(cluster)
        cluster._brokers[0].checkpoint()

    source = ClusterFilesSource(ClusterFiles(tmp_path), let_copy=copy)
    assert [message.value for message in source.fetch(ORDERS, 2, 1000)] == [b"c"]
    produce(cluster, b"only on the leader")
    assert source.log_end(ORDERS) == 4
    cluster.crash(0)
    cluster._brokers[1].checkpoint()
    assert (source.end(ORDERS), source.log_end(ORDERS)) == (3, 3)
    cluster.crash(1)
    cluster.crash(2)
    with pytest.raises(LeaderNotAvailableError):
        source.fetch(ORDERS, 0, 1000)


def test_source_behind_a_gap_still_ends_at_the_high_watermark(tmp_path, monkeypatch):
    cluster = open_cluster(tmp_path)
    produce(cluster, b"a", b"b", b"c")
    source = ClusterFilesSource(ClusterFiles(tmp_path), let_copy=lambda: None)
    behind_a_gap = source._reader(ORDERS).read(1, 1000)
    monkeypatch.setattr(PartitionReader, "read", lambda *_: behind_a_gap)
    monkeypatch.setattr(ClusterFiles, "high_watermark", lambda *_: 2)
    assert [message.offset for message in source.fetch(ORDERS, 0, 1000)] == [1]


@pytest.mark.parametrize("kept_bytes", [0, 40])
def test_source_of_a_leader_that_lost_its_end_says_so_behind_what_is_left(tmp_path, kept_bytes):
    with_four_messages(tmp_path)
    lose_end(tmp_path, 0, kept_bytes)
    source = ClusterFilesSource(ClusterFiles(tmp_path), let_copy=lambda: None)
    end = source.end(ORDERS)
    assert end == source.log_end(ORDERS) == (1 if kept_bytes else 0)
    if kept_bytes:
        assert [message.value for message in source.fetch(ORDERS, 0, 1000)] == [b"a"]
    lost = rf"broker-0: the leader of orders-0 has lost offsets {end}\.\.3, .* let broker 1 lead"
    with pytest.raises(LogDirError, match=lost):
        source.fetch(ORDERS, end, 1000)
