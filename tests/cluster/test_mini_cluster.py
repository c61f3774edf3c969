import random
import shutil
import threading
from pathlib import Path

import pytest

from kminilog.clock import ManualClock
from kminilog.cluster import mini_cluster
from kminilog.cluster.broker import HIGH_WATERMARK_FILE
from kminilog.cluster.cluster_files import ClusterFiles, expired_in_copies
from kminilog.cluster.mini_cluster import HIGH_WATERMARK_CHECKPOINT_MS, MiniCluster
from kminilog.cluster.requests import Cluster, Produced
from kminilog.errors import (
    ClientClosedError,
    CorruptBytesError,
    LeaderNotAvailableError,
    LogDirLockedError,
    NotLeaderForPartitionError,
    NullValueError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
    WriteFailedError,
)
from kminilog.format.names import TopicPartition
from kminilog.producer.delivery import DeliveryReport
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.record import ProducerRecord
from kminilog.storage.checkpoint import LOG_START_FILE, read_checkpoint
from kminilog.storage.files import append_to
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.notices import KMiniLogWarning
from kminilog.storage.segment import segment
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
from tests.support.invariants import check_cluster
from tests.support.storage.full_disk import fill

LARGE = TopicPartition("large", 0)
pytestmark = pytest.mark.usefixtures("without_fsync")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def cluster(tmp_path: Path, clock: ManualClock) -> MiniCluster:
    return open_cluster(tmp_path, clock=clock)


# ---- what acks mean


def test_produce_acks_1_is_on_the_leader_at_once(tmp_path, cluster):
    assert produce(cluster, b"a", b"b") == Produced(0, 2, 0, 0)
    assert [values_on(tmp_path, node) for node in range(3)] == [[b"a", b"b"], [], []]


def test_produce_acks_all_is_replicated_one_round_after_the_copies_are_there(tmp_path, cluster):
    produced = produce(cluster, b"a", acks=-1)
    assert not cluster.is_replicated(ORDERS, produced)
    assert cluster.replicate() == 2
    assert [values_on(tmp_path, node) for node in range(3)] == [[b"a"]] * 3
    assert not cluster.is_replicated(ORDERS, produced)
    assert cluster.replicate() == 0
    assert cluster.is_replicated(ORDERS, produced)


def test_produce_acks_0_tells_the_producer_neither_offsets_nor_errors(tmp_path, cluster):
    with pytest.warns(KMiniLogWarning, match="unfinished"):
        cluster.produce(ORDERS, b"?", acks=0)
    cluster.on_unheard = (unheard := []).append
    assert produce(cluster, b"a", acks=0) == Produced(-1, -1, 0, 0)
    assert unheard == []
    assert cluster.produce(ORDERS, request(b"b")[:-1], acks=0) == Produced(-1, -1, 0, 0)
    assert [type(error) for error in unheard] == [CorruptBytesError]
    assert values_on(tmp_path, 0) == [b"a"]


def test_produce_without_followers_is_replicated_at_once(tmp_path):
    cluster = open_cluster(tmp_path, brokers=1, replicas=1)
    produced = produce(cluster, b"a", acks=-1)
    assert cluster.is_replicated(ORDERS, produced)


@pytest.mark.parametrize("acks", [-2, 2])
def test_produce_other_acks_are_refused(cluster, acks):
    with pytest.raises(ValueError, match="acks"):
        produce(cluster, b"a", acks=acks)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (request(b"fine") + request(b"cut")[:-1], CorruptBytesError),
        (request(b"fine") + request(b"changed")[:-1] + b"!", CorruptBytesError),
        (request(b"fine") + request(None), NullValueError),
    ],
    ids=["unfinished", "bad crc", "null value"],
)
def test_produce_with_one_bad_message_appends_none(tmp_path, cluster, data, error):
    with pytest.raises(error):
        cluster.produce(ORDERS, data, acks=1)
    assert values_on(tmp_path, 0) == []


def test_produce_to_a_partition_that_is_not_there_is_an_error(cluster):
    for partition in (TopicPartition("orders", 1), TopicPartition("bills", 0)):
        with pytest.raises(UnknownTopicOrPartitionError):
            cluster.produce(partition, request(b"a"), acks=1)


def test_mini_cluster_is_a_cluster(cluster):
    answers: Cluster = cluster
    assert answers.metadata() is cluster.metadata()


# ---- the high watermark


def test_high_watermark_is_that_of_the_slowest_in_sync_replica(cluster):
    produce(cluster, b"a", b"b")
    replicate_until_quiet(cluster)
    cluster.pause(2)
    produce(cluster, b"c")
    replicate_until_quiet(cluster)
    assert cluster.high_watermark(ORDERS) == 2
    cluster.resume(2)
    replicate_until_quiet(cluster)
    assert cluster.high_watermark(ORDERS) == 3


def test_fetch_returns_messages_below_the_high_watermark_only(cluster):
    produce(cluster, b"a", b"b")
    replicate_until_quiet(cluster)
    cluster.pause(1)
    produce(cluster, b"c", b"d")
    replicate_until_quiet(cluster)
    fetched = cluster.fetch(ORDERS, 0, 10_000)
    assert [message.value for message in fetched.messages] == [b"a", b"b"]
    assert fetched.high_watermark == 2
    assert [message.value for message in cluster.fetch(ORDERS, 1).messages] == [b"b"]
    for offset in (2, 3, 4):
        assert cluster.fetch(ORDERS, offset).messages == []
    with pytest.raises(OffsetOutOfRangeError):
        cluster.fetch(ORDERS, 5)


def test_fetch_keeps_to_max_bytes_but_returns_one_message(cluster):
    produce(cluster, b"a", b"b", b"c")
    replicate_until_quiet(cluster)
    assert len(cluster.fetch(ORDERS, 0, 1).messages) == 1
    assert len(cluster.fetch(ORDERS, 0, 60).messages) == 2


# ---- in-sync replicas


@pytest.mark.parametrize("end", ["stop", "crash"])
def test_in_sync_replicas_lose_a_broker_that_ends_and_get_it_back(tmp_path, cluster, end):
    getattr(cluster, end)(1)
    assert cluster.in_sync_replicas(ORDERS) == (0, 2)
    produced = produce(cluster, b"a", acks=-1)
    cluster.replicate()
    cluster.replicate()
    assert cluster.is_replicated(ORDERS, produced)
    cluster.start(1)
    assert cluster.in_sync_replicas(ORDERS) == (0, 2)
    replicate_until_quiet(cluster)
    assert cluster.in_sync_replicas(ORDERS) == (0, 1, 2)
    assert values_on(tmp_path, 1) == [b"a"]


def test_in_sync_replicas_lose_a_follower_that_lags_for_too_long(cluster, clock):
    replicate_until_quiet(cluster)
    cluster.pause(1)
    produce(cluster, b"a")
    clock.sleep_ms(10_000)
    cluster.replicate()
    assert cluster.in_sync_replicas(ORDERS) == (0, 1, 2)
    clock.sleep_ms(1)
    cluster.replicate()
    assert cluster.in_sync_replicas(ORDERS) == (0, 2)
    assert cluster.high_watermark(ORDERS) == 1
    cluster.resume(1)
    cluster.replicate()
    assert cluster.in_sync_replicas(ORDERS) == (0, 2)
    cluster.replicate()
    assert cluster.in_sync_replicas(ORDERS) == (0, 1, 2)


def test_in_sync_replicas_keep_a_paused_follower_that_has_everything(cluster, clock):
    produce(cluster, b"a")
    replicate_until_quiet(cluster)
    cluster.pause(1)
    clock.sleep_ms(60_000)
    cluster.replicate()
    assert cluster.in_sync_replicas(ORDERS) == (0, 1, 2)


def test_in_sync_replicas_without_followers_let_what_waited_be_committed(cluster):
    cluster.pause(1)
    cluster.pause(2)
    produced = produce(cluster, b"a", acks=-1)
    cluster.stop(1)
    assert not cluster.is_replicated(ORDERS, produced)
    cluster.stop(2)
    assert cluster.is_replicated(ORDERS, produced)


# ---- leaders


@pytest.mark.parametrize("end", ["stop", "crash"])
def test_leader_that_ends_is_followed_by_the_next_in_sync_replica(cluster, end):
    produced = produce(cluster, b"a", acks=-1)
    replicate_until_quiet(cluster)
    assert cluster.is_replicated(ORDERS, produced)
    getattr(cluster, end)(0)
    info = cluster.metadata().partition("orders", 0)
    assert info is not None
    assert (info.leader, info.in_sync_replicas, info.offline_replicas) == (
        info.replicas[1],
        info.replicas[1:],
        info.replicas[:1],
    )
    assert [node.id for node in cluster.metadata().nodes] == [1, 2]
    with pytest.raises(NotLeaderForPartitionError):
        cluster.is_replicated(ORDERS, produced)
    assert produce(cluster, b"b") == Produced(1, 2, 1, 1)


def test_leader_that_is_back_follows(tmp_path, cluster):
    cluster.crash(0)
    produce(cluster, b"a")
    cluster.start(0)
    replicate_until_quiet(cluster)
    assert cluster.metadata().leader_for("orders", 0) == cluster.metadata().nodes[1]
    assert values_on(tmp_path, 0) == [b"a"]


def test_leader_is_none_until_an_in_sync_replica_is_back(cluster):
    produce(cluster, b"a")
    replicate_until_quiet(cluster)
    cluster.crash(1)
    produce(cluster, b"b")
    replicate_until_quiet(cluster)
    cluster.crash(2)
    cluster.crash(0)
    assert cluster.in_sync_replicas(ORDERS) == (0,)
    assert cluster.metadata().leader_for("orders", 0) is None
    for call in (
        lambda: produce(cluster, b"c", acks=0),
        lambda: cluster.fetch(ORDERS, 0),
        lambda: cluster.high_watermark(ORDERS),
    ):
        with pytest.raises(LeaderNotAvailableError):
            call()
    cluster.start(1)  # it does not have b
    cluster.start(2)
    assert cluster.metadata().leader_for("orders", 0) is None
    assert cluster.replicate() == 0
    cluster.start(0)
    assert [message.value for message in cluster.fetch(ORDERS, 0).messages] == [b"a", b"b"]


def test_leader_that_crashes_and_leads_again_has_another_epoch(tmp_path):
    cluster = open_cluster(tmp_path, brokers=1, replicas=1)
    produced = produce(cluster, b"a", acks=-1)
    cluster.crash(0)
    cluster.start(0)
    with pytest.raises(NotLeaderForPartitionError):
        cluster.is_replicated(ORDERS, produced)
    assert produce(cluster, b"b") == Produced(1, 2, 0, 1)


def test_unacknowledged_messages_of_an_old_leader_are_cut_off(tmp_path, cluster):
    produce(cluster, b"a")
    replicate_until_quiet(cluster)
    cluster.pause(1)
    cluster.pause(2)
    produce(cluster, b"lost", b"lost too")
    cluster.crash(0)
    cluster.resume(1)
    cluster.resume(2)
    produce(cluster, b"b")
    cluster.start(0)
    replicate_until_quiet(cluster)
    assert [values_on(tmp_path, node) for node in range(3)] == [[b"a", b"b"]] * 3


def test_follower_that_is_ahead_of_its_new_leader_is_cut_off(tmp_path, cluster):
    produce(cluster, b"a")
    replicate_until_quiet(cluster)
    cluster.pause(1)
    produce(cluster, b"lost")
    cluster.replicate()
    assert values_on(tmp_path, 2) == [b"a", b"lost"]
    cluster.crash(0)
    produce(cluster, b"b")
    replicate_until_quiet(cluster)
    assert values_on(tmp_path, 2) == [b"a", b"b"]


def acknowledge_six_large_messages(cluster: MiniCluster, *, knows_last: int) -> list[bytes]:
    """Two of them fit into one fetch; only follower `knows_last` hears that they are committed."""
    values = [b"%d" % n * 400_000 for n in range(6)]
    cluster.create_topic(Topic("large"), len(cluster.metadata().nodes))
    produced = cluster.produce(LARGE, request(*values), acks=-1)
    cluster.pause(knows_last)
    replicate_until_quiet(cluster)
    others = [node.id for node in cluster.metadata().nodes if node.id not in (0, knows_last)]
    for node in others:
        cluster.pause(node)
    cluster.resume(knows_last)
    replicate_until_quiet(cluster)
    for node in others:
        cluster.resume(node)
        assert cluster._brokers[node].replica(LARGE).high_watermark == 0
    assert cluster.is_replicated(LARGE, produced)
    return values


def test_follower_keeps_what_its_new_leader_has_where_kafka_cuts(tmp_path):
    """KIP-101: cut at its own high watermark, the follower has too little when it leads itself."""
    cluster = open_cluster(tmp_path)
    acknowledged = acknowledge_six_large_messages(cluster, knows_last=1)
    cluster.crash(0)
    assert cluster.replicate() == 0  # 2 agrees with 1, its new leader, and fetches once
    cluster.crash(1)
    info = cluster.metadata().partition("large", 0)
    assert info is not None
    assert info.leader == info.replicas[2]
    assert values_on(tmp_path, 2, LARGE) == acknowledged


def test_follower_joins_only_with_all_that_the_leader_had_when_its_epoch_began(tmp_path):
    """KAFKA-7128: a new leader's high watermark is stale; a follower just that far must wait."""
    cluster = open_cluster(tmp_path, brokers=4, replicas=4)
    acknowledged = acknowledge_six_large_messages(cluster, knows_last=3)
    cluster.crash(0)
    cluster.crash(1)
    assert cluster.high_watermark(LARGE) == 0
    shutil.rmtree(tmp_path / "broker-1" / "large-0")  # a new disk
    (tmp_path / "broker-1" / "large-0").mkdir()
    cluster.pause(3)
    cluster.start(1)
    for copied in (2, 4, 6):
        assert cluster.replicate() == 2
        assert len(values_on(tmp_path, 1, LARGE)) == copied
        assert cluster.in_sync_replicas(LARGE) == (2, 3)
    cluster.replicate()
    assert cluster.in_sync_replicas(LARGE) == (1, 2, 3)
    assert values_on(tmp_path, 1, LARGE) == acknowledged


# ---- metadata, and the directory


def test_metadata_is_the_same_object_until_something_changes(cluster, clock):
    first = cluster.metadata()
    produce(cluster, b"a")
    replicate_until_quiet(cluster)
    cluster.pause(1)
    assert cluster.metadata() is first
    produce(cluster, b"b")
    clock.sleep_ms(10_001)
    cluster.replicate()
    second = cluster.metadata()
    assert second is not first
    cluster.stop(2)
    assert cluster.metadata() is not second


def test_replicas_have_the_same_files_in_both_dialects(tmp_path, dialect):
    cluster = open_cluster(tmp_path, dialect=dialect)
    for n in range(30):
        produce(cluster, *(b"%d" % m for m in range(n)))
        if n % 4 == 0:
            cluster.replicate()
    replicate_until_quiet(cluster)
    files = [pairs_on(tmp_path, node) for node in range(3)]
    assert len(files[0]) > 20
    assert files[0] == files[1] == files[2]
    check_cluster(cluster)


def test_retain_before_followers_know_what_is_committed_raises_their_high_watermarks(
    tmp_path, clock
):
    cluster = open_cluster(tmp_path, clock=clock)
    for _ in range(60):
        produce(cluster, b"value")
    while cluster.replicate():
        pass  # followers have all, and wait for the answer to their next request
    expired = expired_in_copies(ClusterFiles(tmp_path), ORDERS, 2**50)
    assert [len(segments) > 2 for segments in expired.values()] == [True] * 3
    cluster.retain(ORDERS, expired, 2**50)
    check_cluster(cluster)


@pytest.mark.parametrize("is_in_order", [False, True])
def test_follower_that_was_down_takes_the_log_start_before_it_can_lead(
    tmp_path, clock, dialect, is_in_order
):
    cluster = open_cluster(tmp_path, clock=clock, dialect=dialect)
    for _ in range(60):
        produce(cluster, b"value")
    replicate_until_quiet(cluster)
    for _ in range(2):  # the high watermarks are put on record
        clock.sleep_ms(HIGH_WATERMARK_CHECKPOINT_MS)
        cluster.replicate()
    cluster.stop(2) if is_in_order else cluster.crash(2)
    produce(cluster, b"later")
    replicate_until_quiet(cluster)
    files = ClusterFiles(tmp_path)
    cluster.retain(ORDERS, expired_in_copies(files, ORDERS, 2**50), 2**50)
    start = files.reader(ORDERS).log_start_offset
    assert start > 20
    cluster.start(2)
    assert cluster.replicate() == 1
    replicate_until_quiet(cluster)
    assert pairs_on(tmp_path, 2) == pairs_on(tmp_path, 1)
    assert read_checkpoint(tmp_path / "broker-2", LOG_START_FILE)[ORDERS] == start
    cluster.crash(0)
    cluster.crash(1)
    assert cluster.metadata().partition("orders", 0).leader.id == 2
    with pytest.raises(OffsetOutOfRangeError):
        cluster.fetch(ORDERS, start - 1)
    assert cluster.fetch(ORDERS, start).messages[-1].value == b"later"
    check_cluster(cluster)
    cluster.start(0)
    cluster.start(1)
    replicate_until_quiet(cluster)
    cluster.close()
    assert {LogDir(tmp_path / f"broker-{n}").reader(ORDERS).log_start_offset for n in range(3)} == {
        start
    }


def test_follower_that_ends_below_the_log_start_begins_anew_there(tmp_path, clock, dialect):
    """Its files were put back from an old copy: there is nothing that it could fetch."""
    cluster = open_cluster(tmp_path, clock=clock, dialect=dialect)
    produce(cluster, b"first", b"second")
    replicate_until_quiet(cluster)
    cluster.stop(2)
    shutil.copytree(tmp_path / "broker-2", tmp_path / "old")
    cluster.start(2)
    for _ in range(60):
        produce(cluster, b"value")
    replicate_until_quiet(cluster)
    files = ClusterFiles(tmp_path)
    cluster.retain(ORDERS, expired_in_copies(files, ORDERS, 2**50), 2**50)
    produce(cluster, b"later")
    cluster.stop(2)
    shutil.rmtree(tmp_path / "broker-2")
    (tmp_path / "old").rename(tmp_path / "broker-2")
    cluster.start(2)
    replicate_until_quiet(cluster)
    assert cluster.in_sync_replicas(ORDERS) == (0, 1, 2)
    assert pairs_on(tmp_path, 2) == pairs_on(tmp_path, 0)
    starts = [read_checkpoint(tmp_path / f"broker-{n}", LOG_START_FILE) for n in range(3)]
    assert starts[0] == starts[1] == starts[2]
    check_cluster(cluster)
    cluster.crash(2)
    cluster.start(2)
    produce(cluster, b"last")
    replicate_until_quiet(cluster)
    assert pairs_on(tmp_path, 2) == pairs_on(tmp_path, 0)


def test_retain_of_a_cluster_whose_disk_is_full_frees_it(mount, clock, dialect):
    """Followers are down then; retention keeps what they may lack, so they say what they have."""
    disk = mount("size=1m")
    cluster = open_cluster(disk, clock=clock, dialect=dialect)
    for _ in range(9):
        produce(cluster, b"x" * 400)
        replicate_until_quiet(cluster)
    produce(cluster, b"x" * 400)
    fill(disk)
    cluster.replicate()
    files = ClusterFiles(disk)
    assert files.state().live == [0]
    expired = expired_in_copies(files, ORDERS, 2**50)
    assert len(expired[0]) > 5
    cluster.retain(ORDERS, expired, 2**50, free_bytes=0)
    for _ in range(5):
        produce(cluster, b"x" * 400)
    cluster.start(1)
    cluster.start(2)
    replicate_until_quiet(cluster)
    check_cluster(cluster)
    assert {*pairs_on(disk, 1)} == {*pairs_on(disk, 0)}


def test_open_with_more_brokers_than_the_state_may_name_is_refused(tmp_path, clock):
    with pytest.raises(ValueError, match="at most 100 brokers"):
        MiniCluster.open(tmp_path / "new", brokers=101, clock=clock)
    assert not (tmp_path / "new").exists()


def test_cluster_as_a_context_manager_closes_itself_whatever_happens(tmp_path, clock):
    opened = MiniCluster.open(tmp_path, brokers=2, clock=clock)
    opened.create_topic(Topic("orders"), 2)
    with pytest.raises(RuntimeError), opened:
        raise RuntimeError
    with MiniCluster.open(tmp_path, clock=clock) as reopened:  # each log dir is free again
        assert reopened.metadata().topics == ("orders",)
    assert all((tmp_path / f"broker-{n}" / ".clean-shutdown").exists() for n in range(2))


def test_open_again_gives_the_same_leaders_and_messages(tmp_path, cluster, clock):
    cluster.create_topic(Topic("bills", 3), 2)
    produce(cluster, b"a")
    replicate_until_quiet(cluster)
    cluster.crash(0)
    before = cluster.metadata().partition("orders", 0)
    cluster.close()
    cluster.close()
    reopened = MiniCluster.open(tmp_path, clock=clock)
    assert reopened.metadata().topics == ("orders", "bills")
    after = reopened.metadata().partition("orders", 0)
    assert before is not None
    assert after == before._replace(offline_replicas=())
    replicate_until_quiet(reopened)
    assert reopened.in_sync_replicas(ORDERS) == (0, 1, 2)
    assert [message.value for message in reopened.fetch(ORDERS, 0).messages] == [b"a"]
    check_cluster(reopened)


def test_open_again_without_followers_commits_what_the_leader_has(tmp_path):
    cluster = open_cluster(tmp_path, brokers=1, replicas=1)
    produce(cluster, b"a")
    cluster._end_all(cleanly=False)
    reopened = MiniCluster.open(tmp_path, brokers=1, clock=ManualClock())
    assert [message.value for message in reopened.fetch(ORDERS, 0).messages] == [b"a"]


@pytest.mark.parametrize("is_missing", [True, False])
def test_open_again_with_a_missing_or_old_high_watermark_is_safe(tmp_path, cluster, is_missing):
    checkpoints = [tmp_path / f"broker-{node}" / HIGH_WATERMARK_FILE for node in range(3)]
    produce(cluster, b"a")
    cluster.stop(2)  # its high watermark on record is 0
    old = checkpoints[2].read_bytes()
    cluster.start(2)
    replicate_until_quiet(cluster)
    cluster.close()
    assert read_checkpoint(tmp_path / "broker-2", HIGH_WATERMARK_FILE) == {ORDERS: 1}
    for checkpoint in checkpoints:
        if is_missing:
            checkpoint.unlink()
        else:
            checkpoint.write_bytes(old)
    reopened = MiniCluster.open(tmp_path, clock=ManualClock())
    replicate_until_quiet(reopened)
    assert [message.value for message in reopened.fetch(ORDERS, 0).messages] == [b"a"]


def test_high_watermarks_are_put_on_record_every_five_seconds(tmp_path, cluster, clock):
    produce(cluster, b"a")
    replicate_until_quiet(cluster)
    clock.sleep_ms(4_999)
    cluster.replicate()
    assert read_checkpoint(tmp_path / "broker-1", HIGH_WATERMARK_FILE) == {}
    clock.sleep_ms(1)
    cluster.replicate()
    assert read_checkpoint(tmp_path / "broker-1", HIGH_WATERMARK_FILE) == {ORDERS: 1}


def test_open_of_an_open_cluster_is_refused(tmp_path, cluster, clock):
    for node in range(3):
        cluster.crash(node)
    with pytest.raises(LogDirLockedError):
        MiniCluster.open(tmp_path, clock=clock)


def test_open_with_too_few_brokers_is_refused_and_lets_go(tmp_path, cluster, clock):
    cluster.close()
    with pytest.raises(ValueError, match="replicas on brokers"):
        MiniCluster.open(tmp_path, brokers=2, clock=clock)
    MiniCluster.open(tmp_path, brokers=4, clock=clock).close()


def test_closed_cluster_says_so(cluster):
    cluster.close()
    for call in (
        lambda: produce(cluster, b"a"),
        lambda: cluster.fetch(ORDERS, 0),
        lambda: cluster.start(0),
        lambda: cluster.create_topic(Topic("bills")),
    ):
        with pytest.raises(ClientClosedError):
            call()


def test_follower_whose_disk_refuses_a_write_ends_and_the_others_go_on(
    tmp_path, cluster, monkeypatch
):
    def full(path: Path, data: bytes) -> None:
        if "broker-1" in path.parts:
            raise OSError(28, "No space left on device", str(path))
        append_to(path, data)

    monkeypatch.setattr(segment, "append_to", full)
    produced = produce(cluster, b"a", acks=-1)
    cluster.replicate()
    cluster.replicate()
    assert cluster.in_sync_replicas(ORDERS) == (0, 2)
    assert [node.id for node in cluster.metadata().nodes] == [0, 2]
    assert cluster.is_replicated(ORDERS, produced)
    (told,) = cluster.take_warnings()
    assert told.startswith("broker 1: it is down now, because a write failed: ")
    assert "No space left" in told
    monkeypatch.undo()
    cluster.start(1)
    replicate_until_quiet(cluster)
    assert values_on(tmp_path, 1) == [b"a"]


def test_replicate_copies_about_one_mebibyte_of_a_partition_in_a_round(cluster):
    cluster.create_topic(Topic("large"), 2)
    value = b"x" * 400
    cluster.produce(LARGE, request(*[value] * 3000), acks=1)
    copied = cluster.replicate()
    assert (1 << 20) * 0.99 < copied * (22 + len(value)) <= 1 << 20
    replicate_until_quiet(cluster)
    assert cluster.high_watermark(LARGE) == 3000


def test_threads_may_produce_while_another_one_replicates(tmp_path):
    cluster = open_cluster(tmp_path)
    threads = [
        threading.Thread(target=lambda: [produce(cluster, b"x") for _ in range(50)])
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        cluster.replicate()
    for thread in threads:
        thread.join()
    replicate_until_quiet(cluster)
    assert cluster.high_watermark(ORDERS) == 150
    assert pairs_on(tmp_path, 0) == pairs_on(tmp_path, 2)


def test_lag_limit_is_that_of_kafka():
    assert mini_cluster.REPLICA_LAG_TIME_MAX_MS == 10_000


@pytest.mark.parametrize(("is_restored", "leader"), [(True, 0), (False, 1)])
def test_leader_whose_log_is_broken_ends_and_another_one_leads(
    tmp_path, cluster, monkeypatch, is_restored, leader
):
    produce(cluster, b"a")
    replicate_until_quiet(cluster)
    log = cluster._brokers[0].replica(ORDERS).log

    def refuse(messages, *, now_ms):
        raise WriteFailedError(str(log.directory), reason="no space", restored=is_restored)

    monkeypatch.setattr(log, "append", refuse)
    with pytest.raises(WriteFailedError if is_restored else NotLeaderForPartitionError):
        produce(cluster, b"b")
    assert cluster.metadata().leader_for("orders", 0).id == leader
    told = f"broker 0: it is down now, because a write failed: {log.directory}: no space"
    assert [line.split(";")[0] for line in cluster.take_warnings()] == [told][is_restored:]


def test_leader_whose_log_is_broken_leaves_what_it_took_in_doubt(tmp_path, cluster, monkeypatch):
    produce(cluster, b"a")
    replicate_until_quiet(cluster)
    log = cluster._brokers[0].replica(ORDERS).log

    def refuse(messages, *, now_ms):
        raise WriteFailedError("log", reason="no space", restored=False, in_doubt=range(1, 3))

    monkeypatch.setattr(log, "append", refuse)
    config = {"acks": 1, "retries": 0}
    with ManualProducer(cluster, config, clock=cluster._clock, chance=random.Random(1)) as producer:
        records = [producer.send(ProducerRecord("orders", None, value)) for value in (b"b", b"c")]
        producer.flush()
    assert [record.in_doubt.offset for record in records] == [1, 2]
    assert producer.report == DeliveryReport(lost=2, in_doubt=2)
