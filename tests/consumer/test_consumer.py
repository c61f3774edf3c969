"""The consumer, alone and in groups, on real files, with a clock that is moved by hand."""

import shutil
from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from random import Random

import pytest

from kminilog.clock import ManualClock
from kminilog.cluster.cluster_files import ClusterFiles
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.consumer.consumer import Consumer
from kminilog.consumer.coordinator import Coordinator, forget_topic
from kminilog.consumer.errors import NoOffsetError, UnknownMemberError, UnknownTopicIdError
from kminilog.consumer.fetching import OffsetReset
from kminilog.consumer.interface import ConsumerRecord
from kminilog.consumer.readers import ClusterFilesSource, ClusterSource, LogDirSource
from kminilog.errors import (
    ClientClosedError,
    CorruptLogError,
    LeaderNotAvailableError,
    LogDirError,
    OffsetOutOfRangeError,
    SettingError,
    TopicDeletedError,
)
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.cuts import truncate_log
from kminilog.storage.partition.log_ends import Loss
from kminilog.storage.partition.notices import Gap, KMiniLogWarning
from kminilog.storage.partition.retention import delete_expired
from kminilog.storage.topics import Topic
from tests.support.storage.losses import first_segment, last_segment

pytestmark = pytest.mark.usefixtures("without_fsync")


def orders(partition: int) -> TopicPartition:
    return TopicPartition("orders", partition)


class Place:
    """A log dir with the topic `orders`, and consumers of it that share one clock."""

    def __init__(self, path: Path, *, partitions: int = 4, dialect=KAFKA) -> None:
        self.path = path
        self.clock = ManualClock(1_000_000)
        self.chance = Random(1)
        self.written: Counter[int] = Counter()
        settings = TopicSettings(segment_bytes=300)
        self.topic = Topic("orders", partitions, dialect, settings)
        with LogDirWriter.open(path, create=True) as writer:
            writer.create_topic(self.topic)

    def delete(self) -> None:
        with LogDirWriter.open(self.path) as writer:
            writer.delete_topic("orders")

    def create(self, count: int = 0, **changes) -> None:
        """Create the topic again, with messages in partition 0 that say that they are new."""
        with LogDirWriter.open(self.path) as writer:
            writer.create_topic(replace(self.topic, **changes), chance=self.chance)
            writer.log(orders(0)).append([(None, b"new %d" % n) for n in range(count)])

    def replace(self, count: int, **changes) -> None:
        self.delete()
        self.create(count, **changes)

    def write(self, partition: int, count: int = 1) -> None:
        with LogDirWriter.open(self.path) as writer:
            begin = self.written[partition]
            values = [(b"key", b"%d" % (begin + number)) for number in range(count)]
            writer.log(orders(partition)).append(values)
        self.written[partition] += count

    def consumer(self, group: str = "", *, reset: str = "earliest", **options) -> Consumer:
        config = {
            name.replace("_", "."): value for name, value in options.pop("config", {}).items()
        }
        config = {"group.id": group, "auto.offset.reset": reset, **config}
        source = LogDirSource(LogDir(self.path))
        coordinator = Coordinator(
            self.path, source.topics, source.topic_id, clock=self.clock, chance=self.chance
        )
        return Consumer(source, config, clock=self.clock, coordinator=coordinator, **options)

    def member(self, group: str = "readers", **options) -> Consumer:
        consumer = self.consumer(group, **options)
        consumer.subscribe(["orders"])
        return consumer

    def poll_all(self, *members: Consumer, rounds: int = 4) -> list[list[ConsumerRecord]]:
        """Let members poll in turn, with some time in between; return what each got."""
        got: list[list[ConsumerRecord]] = [[] for _ in members]
        for _ in range(rounds):
            for slot, member in enumerate(members):
                got[slot] += member.poll()
            self.clock.sleep_ms(3_000)
        return got


@pytest.fixture(params=DIALECTS.values(), ids=lambda dialect: dialect.name)
def place(tmp_path, request) -> Place:
    return Place(tmp_path / "log-dir", dialect=request.param)


def offsets(records: list[ConsumerRecord], partition: int = 0) -> list[int]:
    return [record.offset for record in records if record.partition == partition]


# ---- assigned by hand


def test_poll_returns_what_is_there_and_what_comes(place):
    place.write(0, 2)
    consumer = place.consumer()
    consumer.assign([orders(0)])
    assert consumer.poll() == [
        ConsumerRecord("orders", 0, 0, b"key", b"0"),
        ConsumerRecord("orders", 0, 1, b"key", b"1"),
    ]
    assert consumer.poll() == []
    place.write(0)
    assert offsets(consumer.poll()) == [2]


def test_poll_waits_for_its_time_and_no_longer(place):
    consumer = place.consumer()
    consumer.assign([orders(0)])
    began_ms = place.clock.now_ms()
    assert consumer.poll(timeout_ms=250) == []
    assert place.clock.now_ms() - began_ms == 250


def test_poll_takes_partitions_in_turn_and_no_more_than_max_poll_records(place):
    for partition in (0, 1, 2):
        place.write(partition, 5)
    consumer = place.consumer(config={"max_poll_records": 4})
    consumer.assign([orders(0), orders(1), orders(2)])
    polls = [consumer.poll() for _ in range(5)]
    assert [len(records) for records in polls] == [4, 4, 4, 3, 0]
    assert {record.partition for records in polls[:2] for record in records} >= {0, 1}
    for partition in (0, 1, 2):
        assert offsets(list(chain(*polls)), partition) == [0, 1, 2, 3, 4]


def test_poll_with_a_small_fetch_still_gets_on(place):
    place.write(0, 5)
    consumer = place.consumer(config={"fetch_max_bytes": 1})
    consumer.assign([orders(0)])
    assert [offsets(consumer.poll()) for _ in range(6)] == [[0], [1], [2], [3], [4], []]


@pytest.mark.parametrize(("reset", "expected"), [("earliest", [0, 1, 2]), ("latest", [])])
def test_poll_without_an_offset_begins_where_reset_says(place, reset, expected):
    place.write(0, 3)
    consumer = place.consumer(reset=reset)
    consumer.assign([orders(0)])
    assert offsets(consumer.poll()) == expected
    assert consumer.position(orders(0)) == 3


def test_poll_without_an_offset_and_without_reset_is_an_error(place):
    consumer = place.consumer(reset="none")
    consumer.assign([orders(0)])
    with pytest.raises(NoOffsetError, match=r"orders-0: .*auto\.offset\.reset"):
        consumer.poll()


@pytest.mark.parametrize(("reset", "first"), [("earliest", "start"), ("latest", "end")])
def test_poll_at_an_offset_that_retention_took_begins_where_reset_says(place, reset, first):
    place.write(0, 40)
    consumer = place.consumer(reset=reset)
    consumer.assign([orders(0)])
    consumer.seek(orders(0), 0)
    with LogDirWriter.open(place.path) as writer:
        log = writer.log(orders(0))
        log.settings = TopicSettings(segment_bytes=300, retention_bytes=300)
        delete_expired(log, now_ms=place.clock.now_ms())
        start = log.log_start_offset
    assert 0 < start < 40
    with pytest.warns(KMiniLogWarning, match=f"offset 0 is below the log start {start}; reading"):
        got = offsets(consumer.poll())
    assert got == (list(range(start, 40)) if first == "start" else [])


def test_poll_out_of_range_without_reset_is_an_error(place):
    place.write(0, 3)
    consumer = place.consumer(reset="none")
    consumer.assign([orders(0)])
    consumer.seek(orders(0), 4)
    with pytest.raises(OffsetOutOfRangeError):
        consumer.poll()


def test_seek_drops_what_was_fetched_and_goes_on_there(place):
    place.write(0, 9)
    consumer = place.consumer(config={"max_poll_records": 2})
    consumer.assign([orders(0)])
    assert offsets(consumer.poll()) == [0, 1]
    consumer.seek(orders(0), 7)
    assert consumer.position(orders(0)) == 7
    assert offsets(consumer.poll()) == [7, 8]
    with pytest.raises(ValueError, match="orders-1 is not read"):
        consumer.seek(orders(1), 0)
    with pytest.raises(ValueError, match="orders-1 is not read"):
        consumer.position(orders(1))


def test_assigned_consumer_with_a_group_id_commits_and_goes_on_there(place):
    place.write(0, 5)
    with place.consumer("alone", config={"max_poll_records": 3}) as consumer:
        consumer.assign([orders(0)])
        consumer.poll()
    with place.consumer("alone") as consumer:
        assert consumer.committed() == {orders(0): 3}
        consumer.assign([orders(0)])
        assert offsets(consumer.poll()) == [3, 4]


def test_consumer_that_fails_commits_nothing_so_that_all_comes_again(place):
    place.write(0, 5)

    def read_and_fail() -> None:
        with place.consumer("alone") as consumer:
            consumer.assign([orders(0)])
            consumer.poll()
            raise KeyError

    with pytest.raises(KeyError):
        read_and_fail()
    assert place.consumer("alone").committed() == {}


def test_closed_consumer_does_not_poll(place):
    consumer = place.consumer()
    consumer.close()
    consumer.close()
    with pytest.raises(ClientClosedError):
        consumer.poll()


@pytest.mark.parametrize(
    ("act", "part"),
    [
        (lambda consumer: consumer.subscribe(["orders"]), "group.id"),
        (lambda consumer: consumer.commit(), "group.id"),
        (lambda consumer: consumer.committed(), "group.id"),
        (lambda consumer: consumer.subscribe(), "topics or to a pattern"),
        (lambda consumer: consumer.subscribe(["a"], pattern="b"), "topics or to a pattern"),
        (lambda consumer: consumer.subscribe(pattern="("), "pattern '('"),
    ],
)
def test_consumer_without_a_group_or_with_a_wrong_subscription_says_so(place, act, part):
    with pytest.raises(ValueError, match=part.replace("(", r"\(")):
        act(place.consumer())


def test_member_whose_heartbeats_would_come_too_late_is_refused(place):
    with pytest.raises(SettingError, match=r"heartbeat\.interval\.ms: 5000 is not below"):
        place.member(config={"heartbeat_interval_ms": 5000, "session_timeout_ms": 5000})


def test_subscribed_consumer_cannot_be_assigned(place):
    with pytest.raises(ValueError, match="is subscribed"):
        place.member().assign([orders(0)])


# ---- in a group


def test_single_member_gets_all_partitions_and_their_records(place):
    for partition in range(4):
        place.write(partition, 2)
    member = place.member()
    (got,) = place.poll_all(member)
    assert [offsets(got, partition) for partition in range(4)] == [[0, 1]] * 4
    assert member.assignment == tuple(map(orders, range(4)))


def test_two_members_share_and_each_record_is_read_once(place):
    assigned: list[str] = []
    first, second = (
        place.member(on_assigned=lambda new, name=name: assigned.append(f"{name} {len(new)}"))
        for name in ("first", "second")
    )
    place.poll_all(first, second)
    assert sorted(map(len, (first.assignment, second.assignment))) == [2, 2]
    assert set(first.assignment) | set(second.assignment) == set(map(orders, range(4)))
    for partition in range(4):
        place.write(partition, 3)
    got = list(chain(*place.poll_all(first, second)))
    assert Counter(got) == Counter(set(got))
    assert len(got) == 12
    assert sorted(assigned[-2:]) == ["first 2", "second 2"]


def test_member_that_joins_takes_over_where_the_first_one_was(place):
    for partition in range(4):
        place.write(partition, 5)
    revoked: list[TopicPartition] = []
    first = place.member(on_revoked=revoked.extend)
    (before,) = place.poll_all(first)
    second = place.member()
    for partition in range(4):
        place.write(partition, 2)
    after = place.poll_all(first, second)
    assert Counter(before + after[0] + after[1]).most_common(1)[0][1] == 1, "none twice"
    assert len(before + after[0] + after[1]) == 28, "none skipped"
    assert sorted(revoked) == list(map(orders, range(4)))


def test_member_that_leaves_hands_over_at_once(place):
    first, second = place.member(), place.member()
    place.poll_all(first, second)
    second.close()
    place.poll_all(first, rounds=2)
    assert len(first.assignment) == 4


def test_member_that_falls_silent_loses_its_share_and_comes_back_as_a_new_one(place):
    lost: list[TopicPartition] = []
    first, second = place.member(), place.member(on_lost=lost.extend)
    place.poll_all(first, second)
    silent = second.assignment
    place.poll_all(first, rounds=6)
    assert len(first.assignment) == 4
    place.poll_all(first, second)
    assert tuple(lost) == silent
    assert sorted(map(len, (first.assignment, second.assignment))) == [2, 2]


def test_commit_after_the_share_went_to_others_is_refused_and_loses_nothing(place):
    place.write(0, 3)
    first = place.member(config={"enable_auto_commit": False})
    place.poll_all(first)
    second = place.member()
    place.poll_all(second, rounds=6)
    with pytest.raises(UnknownMemberError):
        first.commit()
    assert orders(0) in second.assignment


def test_records_after_the_last_commit_of_a_dead_member_come_again_and_no_others(place):
    place.write(0, 10)
    dead = place.member(config={"max_poll_records": 4, "enable_auto_commit": False})
    while not offsets(got := dead.poll()):
        pass
    assert offsets(got) == [0, 1, 2, 3]
    dead.commit()
    assert offsets(dead.poll()) == [4, 5, 6, 7]
    heir = place.member()
    (got,) = place.poll_all(heir, rounds=7)
    assert offsets(got) == list(range(4, 10))


def test_automatic_commit_comes_in_its_interval_and_covers_earlier_polls_only(place):
    place.write(0, 4)
    config = {"max_poll_records": 2, "auto_commit_interval_ms": 1000}
    member = place.member(config=config)
    while not offsets(member.poll()):
        pass
    assert member.committed() == {}
    place.clock.sleep_ms(1000)
    assert offsets(member.poll()) == [2, 3]
    assert member.committed()[orders(0)] == 2


def test_pattern_follows_topics_that_come_later(place):
    member = place.consumer("readers")
    member.subscribe(pattern="or.*")
    place.poll_all(member)
    with LogDirWriter.open(place.path) as writer:
        writer.create_topic(Topic("orchids", 1, KAFKA))
        writer.create_topic(Topic("bills", 1, KAFKA))
        writer.log(TopicPartition("orchids", 0)).append([(None, b"white")])
    (got,) = place.poll_all(member)
    assert [(record.topic, record.value) for record in got] == [("orchids", b"white")]
    assert TopicPartition("bills", 0) not in member.assignment


def test_partitions_that_are_added_are_read_too(place):
    member = place.member()
    place.poll_all(member)
    with LogDirWriter.open(place.path) as writer:
        writer.alter_topic("orders", partitions=6)
        writer.log(orders(5)).append([(None, b"new")])
    (got,) = place.poll_all(member)
    assert [record.value for record in got] == [b"new"]


def test_groups_do_not_disturb_each_other(place):
    place.write(0, 3)
    got = place.poll_all(place.member("one"), place.member("two"))
    assert [offsets(records) for records in got] == [[0, 1, 2], [0, 1, 2]]


def test_members_beyond_the_partitions_are_idle(tmp_path):
    place = Place(tmp_path / "log-dir", partitions=1)
    first, second = place.member(), place.member()
    place.poll_all(first, second)
    assert sorted(map(len, (first.assignment, second.assignment))) == [0, 1]


@pytest.mark.parametrize("name", ["consumer_id", "client_id"])
def test_members_are_in_the_order_of_the_ids_that_their_consumers_have(place, name):
    shared = {"partition_assignment_strategy": "multiple"}
    members = [place.member(config={**shared, name: f"C{number}"}) for number in (2, 0, 1)]
    place.poll_all(*members)
    runs = [[each.partition for each in member.assignment] for member in members]
    assert runs == [[], [0, 1], [2, 3]]


def test_cooperative_member_keeps_reading_what_it_keeps(place):
    revoked: list[TopicPartition] = []
    config = {"partition_assignment_strategy": "cooperative-sticky"}
    first = place.member(config=config, on_revoked=revoked.extend)
    place.poll_all(first)
    second = place.member(config=config)
    for partition in range(4):
        place.write(partition, 3)
    got = list(chain(*place.poll_all(first, second, rounds=8)))
    assert len(revoked) == 2
    assert sorted(map(len, (first.assignment, second.assignment))) == [2, 2]
    assert Counter(got) == Counter(set(got))
    assert len(got) == 12


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_member_whose_on_revoked_raises_joins_again_and_leaves_its_group_all_the_same(place, error):
    def fail(partitions):
        raise error

    first, second = place.member(on_revoked=fail), place.member()
    with pytest.raises(error):
        place.poll_all(first, second)
    place.poll_all(first, second)
    assert len(first.assignment) == len(second.assignment) == 2
    with pytest.raises(error):
        first.close()
    second.poll()  # joins again
    second.poll()
    assert second.assignment == tuple(map(orders, range(4)))


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_cooperative_member_whose_on_revoked_raises_gives_up_what_others_get(place, error):
    def fail(partitions):
        raise error

    config = {"partition_assignment_strategy": "cooperative-sticky"}
    first = place.member(config=config, on_revoked=fail)
    place.poll_all(first)
    second = place.member(config=config)
    with pytest.raises(error):
        place.poll_all(first, second)
    place.poll_all(first, second)
    assert sorted([*first.assignment, *second.assignment]) == list(map(orders, range(4)))
    assert len(first.assignment) == 2


def test_static_member_that_returns_in_time_gets_its_share_without_a_rebalance(place):
    revoked: list[TopicPartition] = []
    first = place.member(on_revoked=revoked.extend)
    static = place.member(config={"group_instance_id": "till-1"})
    place.poll_all(first, static)
    share, so_far = static.assignment, len(revoked)
    static.close()
    static = place.member(config={"group_instance_id": "till-1"})
    place.poll_all(first, static, rounds=2)
    assert static.assignment == share
    assert len(revoked) == so_far


# ---- a cluster


def test_cluster_is_read_up_to_the_high_watermark_only(tmp_path):
    clock = ManualClock()
    cluster = MiniCluster.open(tmp_path, brokers=2, clock=clock)
    cluster.create_topic(Topic("orders", 1), replication_factor=2)
    source = ClusterSource(cluster)
    consumer = Consumer(source, {"auto.offset.reset": "earliest"}, clock=clock)
    consumer.assign([orders(0)])
    cluster.produce(orders(0), encode(KAFKA, 0, None, b"x"), acks=1)
    assert consumer.poll() == []
    cluster.replicate()
    assert consumer.poll() == []
    cluster.replicate()
    assert [record.value for record in consumer.poll()] == [b"x"]
    assert source.topics() == {"orders": 1}
    assert (source.beginning(orders(0)), source.end(orders(0))) == (0, 1)
    cluster.stop(0)
    cluster.stop(1)
    assert consumer.poll() == [], "nobody leads: wait"
    cluster.close()


# ---- what must not cost others anything


def damage(place: Place, partition: int) -> None:
    log = place.path / f"orders-{partition}" / ("0" * 20 + ".log")
    log.write_bytes(b"\xff" * 30 + log.read_bytes()[30:])


def test_damaged_partition_takes_nothing_from_the_others(place):
    for partition in (0, 1, 2):
        place.write(partition, 3)
    damage(place, 1)
    consumer = place.consumer()
    consumer.assign([orders(0), orders(1), orders(2)])
    got: list[ConsumerRecord] = []
    errors = 0
    for _ in range(6):
        try:
            got += consumer.poll()
        except CorruptLogError:
            errors += 1
    assert [offsets(got, partition) for partition in range(3)] == [[0, 1, 2], [], [0, 1, 2]]
    assert errors >= 2


def test_latest_is_decided_once_and_not_by_each_owner_anew(place):
    first = place.member(reset="latest")
    place.poll_all(first)
    first.close()
    place.write(0, 2)
    (got,) = place.poll_all(place.member(reset="latest"))
    assert offsets(got) == [0, 1]


def test_member_that_was_forgotten_cannot_commit_past_the_fence(place):
    place.write(0, 3)
    first = place.member(config={"enable_auto_commit": False})
    place.poll_all(first)
    second = place.member()
    place.poll_all(second, rounds=6)
    second.close()
    first._member.forget()
    with pytest.raises(UnknownMemberError):
        first.commit({orders(0): 1})
    assert first.committed()[orders(0)] == 3


@pytest.mark.parametrize(
    "offsets",
    [
        {orders(0): 5.0},
        {orders(0): True},
        {orders(0): -1},
        {TopicPartition("bad name", 0): 1},
        {TopicPartition("orders", -1): 1},
    ],
)
def test_commit_of_what_is_no_offset_of_a_partition_is_refused(place, offsets):
    consumer = place.consumer("alone")
    with pytest.raises(ValueError, match="is no"):
        consumer.commit(offsets)
    assert consumer.committed() == {}


def test_poll_for_no_records_commits_nothing_that_is_being_worked_on(place):
    place.write(0, 4)
    member = place.member(config={"auto_commit_interval_ms": 10})
    while not offsets(member.poll()):
        pass
    place.clock.sleep_ms(1000)
    member.poll(max_records=0)
    assert member.committed().get(orders(0), 0) == 0
    member.poll()
    assert member.committed()[orders(0)] == 4


def test_settings_of_a_topic_that_are_broken_are_told_as_such(place):
    place.write(0, 2)
    place.consumer("readers").commit({orders(0): 1})
    consumer = place.consumer("readers")
    (place.path / "orders.json").write_text("{")
    consumer.assign([orders(0)])
    for _ in range(2):
        with pytest.raises(LogDirError, match=r"orders\.json"):
            consumer.poll()


def test_topic_that_is_deleted_does_not_stop_the_others(place):
    with LogDirWriter.open(place.path) as writer:
        writer.create_topic(Topic("views", 1, KAFKA))
    member = place.consumer("readers")
    member.subscribe(["orders", "views"])
    place.poll_all(member)
    with LogDirWriter.open(place.path) as writer:
        writer.delete_topic("views")
    place.write(0, 2)
    got = member.poll()  # before the next heartbeat is due
    got += list(chain(*place.poll_all(member)))
    assert offsets(got) == [0, 1]
    assert TopicPartition("views", 0) not in member.assignment


def test_join_that_fails_is_tried_again(place, monkeypatch):
    member = place.member()
    place.poll_all(member)
    place.write(0, 2)
    member.subscribe(["orders", "views"])
    join, failures = Coordinator.join, [OSError("no space")]

    def fail_once(self, *arguments):
        if failures:
            raise failures.pop()
        return join(self, *arguments)

    monkeypatch.setattr(Coordinator, "join", fail_once)
    with pytest.raises(OSError, match="no space"):
        member.poll()
    (got,) = place.poll_all(member)
    assert offsets(got) == [0, 1]


def test_cooperative_member_that_closes_while_it_waits_commits_what_it_read(place):
    place.write(0, 5)
    config = {"partition_assignment_strategy": "cooperative-sticky"}
    first = place.member(config=config)
    place.poll_all(first)
    place.write(0, 2)
    place.member(config=config).poll()
    place.clock.sleep_ms(3_000)
    assert offsets(first.poll()) == [5, 6]
    first.close()
    assert first.committed()[orders(0)] == 7


# ---- a topic that is deleted, and perhaps created again


def new(count: int) -> list[bytes]:
    return [b"new %d" % number for number in range(count)]


def values(records: list[ConsumerRecord]) -> list[bytes | None]:
    return [record.value for record in records]


@pytest.fixture(params=[True, False], ids=["has an id", "has no id"])
def old(place, request) -> Place:
    """A log dir whose topic has 3 messages; without an id, as one of an earlier release."""
    if request.param:
        place.replace(0)
    place.write(0, 3)
    return place


REPLACED = "orders-0: topic orders was deleted and created again; "


@pytest.mark.parametrize("count", [0, 2, 9])
@pytest.mark.parametrize("reset", ["earliest", "latest", "none"])
def test_topic_that_is_replaced_is_read_anew_from_its_beginning_and_told(old, count, reset):
    told: list[OffsetReset] = []
    consumer = old.consumer(on_reset=told.append, reset=reset)
    consumer.assign([orders(0)])
    consumer.seek(orders(0), 0)
    assert offsets(consumer.poll()) == [0, 1, 2]
    old.replace(count)
    assert values(consumer.poll()) == new(count)
    assert list(map(str, told)) == [
        f"{REPLACED}offset 3 was one of the old topic; reading begins anew at 0"
    ]
    assert consumer.poll() == []


@pytest.mark.parametrize("strategy", ["range", "sticky", "cooperative-sticky"])
@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_member_reads_a_topic_that_is_replaced_between_two_heartbeats(old, reset, strategy):
    """Every commit counts for the topic that was read, with an automatic one in between, too."""
    told: list[OffsetReset] = []
    config = {"partition_assignment_strategy": strategy, "auto_commit_interval_ms": 1}
    member = old.member(reset=reset, config=config, on_reset=told.append)
    old.poll_all(member)
    old.written[0] = 3
    old.write(0, 2)
    assert offsets(member.poll())[-2:] == [3, 4]
    old.replace(9)
    old.clock.sleep_ms(1)
    got = list(chain(*old.poll_all(member)))
    assert values(got) == new(9)
    assert [reset.offset for reset in told] == [5, 0, 0, 0]  # each partition once
    member.close()
    assert member.committed()[orders(0)] == 9
    assert old.member().committed() == member.committed()


@pytest.mark.parametrize("is_forgotten", [True, False])
@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_member_beside_a_deletion_waits_and_reads_the_new_topic_once_it_exists(
    old, reset, is_forgotten
):
    told: list[OffsetReset] = []
    member = old.member(reset=reset, on_reset=told.append)
    old.poll_all(member)
    old.delete()
    assert list(chain(*old.poll_all(member))) == []
    assert member.assignment == ()
    if is_forgotten:
        forget_topic(old.path, "orders")
    old.create(9, partitions=1)
    assert values(list(chain(*old.poll_all(member)))) == new(9)
    (reset,) = told
    assert (reset.offset, reset.is_replaced, reset.is_committed) == (3, True, not is_forgotten)
    assert member.committed() == {orders(0): 9}


@pytest.mark.parametrize("failing", ["beginning", "log_end"])
@pytest.mark.parametrize("is_same_member", [True, False])
def test_member_that_cannot_begin_in_a_new_topic_at_once_begins_there_later(
    old, monkeypatch, is_same_member, failing
):
    """Else `latest` would skip what the new topic has by then."""
    told: list[OffsetReset] = []
    member = old.member(reset="latest", on_reset=told.append)
    old.poll_all(member)
    old.delete()
    if is_same_member:
        old.poll_all(member)
        forget_topic(old.path, "orders")  # so only the member knows that there was another topic
    else:
        member.close()
        member = old.member(reset="latest", on_reset=told.append)
    old.create(9, partitions=1)
    ask, failures = getattr(LogDirSource, failing), [LeaderNotAvailableError("orders", partition=0)]

    def fail_once(self, partition):
        if failures:
            raise failures.pop()
        return ask(self, partition)

    monkeypatch.setattr(LogDirSource, failing, fail_once)
    assert values(list(chain(*old.poll_all(member)))) == new(9)
    assert not failures
    (reset,) = told
    assert (reset.offset, reset.is_replaced, reset.is_committed) == (3, True, not is_same_member)
    assert member.committed() == {orders(0): 9}


@pytest.mark.parametrize("count", [None, 0, 2, 9])
def test_commit_for_a_topic_that_is_gone_or_replaced_is_refused_and_others_count(old, count):
    with LogDirWriter.open(old.path) as writer:
        writer.create_topic(Topic("views", 1, KAFKA))
        writer.log(TopicPartition("views", 0)).append([(None, b"x")] * 4)
    member = old.consumer("readers", config={"enable_auto_commit": False})
    member.subscribe(["orders", "views"])
    assert len(list(chain(*old.poll_all(member)))) == 7
    old.delete() if count is None else old.replace(count)
    for number, committed in enumerate((None, {orders(0): 3, TopicPartition("views", 0): 2})):
        with pytest.raises(UnknownTopicIdError, match="offsets of topic orders were not committed"):
            member.commit(committed)
        assert member.committed() == {TopicPartition("views", 0): 4 - 2 * number}


def test_committed_offsets_of_an_earlier_topic_do_not_count_and_are_told(old):
    with old.member() as member:
        old.poll_all(member)
    old.replace(9)
    told: list[OffsetReset] = []
    member = old.member(on_reset=told.append, reset="latest")
    assert member.committed() == {}
    assert values(list(chain(*old.poll_all(member)))) == new(9)
    assert str(told[0]) == (
        f"{REPLACED}the committed offset 3 was one of the old topic; reading begins anew at 0"
    )
    assert member.committed()[orders(0)] == 9
    member.close()
    later: list[OffsetReset] = []
    old.poll_all(old.member(on_reset=later.append))
    assert later == [], "it is told once"


def test_topic_that_is_replaced_by_one_in_the_other_dialect_is_read_in_that(old):
    consumer = old.consumer(on_reset=str)
    consumer.assign([orders(0)])
    consumer.poll()
    (other,) = (found for found in DIALECTS.values() if found is not old.topic.dialect)
    old.replace(9, dialect=other)
    assert values(consumer.poll()) == new(9)


def test_topic_that_is_replaced_during_a_fetch_gives_none_of_its_messages_for_an_old_offset(old):
    class Late(LogDirSource):
        is_late = False

        def fetch(self, topic_partition, offset, max_bytes):
            if self.is_late:
                self.is_late = False
                old.replace(9)
            return super().fetch(topic_partition, offset, max_bytes)

    source, told = Late(LogDir(old.path)), []
    consumer = Consumer(
        source, {"auto.offset.reset": "earliest"}, clock=old.clock, on_reset=told.append
    )
    consumer.assign([orders(0)])
    consumer.poll()
    source.is_late = True
    assert values(consumer.poll()) == new(9)
    assert [reset.is_replaced for reset in told] == [True]


@pytest.mark.parametrize("is_created", [True, False])
def test_topic_whose_files_were_deleted_by_hand_is_gone_or_read_anew(old, is_created):
    consumer = old.consumer(on_reset=str)
    consumer.assign([orders(0)])
    consumer.poll()
    for path in old.path.glob("orders*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if is_created:
        old.create(9)
        assert values(consumer.poll()) == new(9)
    else:
        with pytest.raises(TopicDeletedError):
            consumer.poll()


def test_source_reads_the_topic_of_now_with_its_settings(old):
    source = LogDirSource(LogDir(old.path))
    (other,) = (found for found in DIALECTS.values() if found is not old.topic.dialect)
    assert (source.end(orders(0)), source.log_end(orders(0))) == (3, 3)
    old.replace(9, dialect=other)
    assert (source.end(orders(0)), source.log_end(orders(0))) == (9, 9)
    assert [message.value for message in source.fetch(orders(0), 0, 1 << 20)] == new(9)


def test_cluster_that_is_replaced_under_its_reader_is_read_anew(tmp_path):
    """The files of a cluster are read while nobody has it open."""
    clock, told = ManualClock(), []
    for name, count, dialect in (("old", 3, KAFKA), ("new", 9, DOCUMENTED)):
        with closing(MiniCluster.open(tmp_path / name, brokers=1, clock=clock)) as cluster:
            cluster.create_topic(Topic("orders", dialect=dialect), chance=Random(name))
            for value in new(count):
                cluster.produce(orders(0), encode(KAFKA, 0, None, value), acks=1)
    (tmp_path / "old").rename(tmp_path / "cluster")
    source = ClusterFilesSource(ClusterFiles(tmp_path / "cluster"), let_copy=lambda: None)
    config = {"auto.offset.reset": "earliest"}
    consumer = Consumer(source, config, clock=clock, on_reset=told.append)
    consumer.assign([orders(0)])
    assert values(consumer.poll()) == new(3)
    (tmp_path / "cluster").rename(tmp_path / "old")
    (tmp_path / "new").rename(tmp_path / "cluster")
    assert source.log_end(orders(0)) == 9
    assert [message.value for message in source.fetch(orders(0), 0, 1 << 20)] == new(9)
    assert values(consumer.poll()) == new(9)
    assert [reset.is_replaced for reset in told] == [True]


def test_reader_beside_a_deletion_ends_with_a_sentence_about_it_at_each_of_its_steps(tmp_path):
    place = Place(tmp_path / "log-dir", partitions=120)
    place.write(0, 3)
    consumer, said = place.consumer(), []
    consumer.assign([orders(0), orders(119)])
    assert offsets(consumer.poll()) == [0, 1, 2]

    def poll(step: str) -> None:
        with pytest.raises(TopicDeletedError) as caught:
            consumer.poll()
        said.append(str(caught.value))

    with LogDirWriter.open(place.path) as writer:
        writer.delete_topic("orders", progress=poll)
    poll("afterwards")
    assert said == ["Topic orders was deleted while it was read: nothing is left of it"] * 3


# ---- the end of the log


def cut_log(place: Place, offset: int) -> None:
    """Cut the log, as recovery does to one whose end is damaged."""
    with LogDirWriter.open(place.path) as writer:
        truncate_log(writer.log(orders(0)), offset)


def put_on_record(place: Place, offset: int) -> None:
    """Commit without asking if the log goes that far."""
    place.consumer()._coordinator.commit("readers", {orders(0): offset})


@pytest.mark.parametrize(("reset", "first"), [("earliest", 0), ("latest", 7)])
def test_committed_offset_above_the_log_end_is_reset_and_told(place, reset, first):
    place.write(0, 7)
    put_on_record(place, 1 << 40)
    told: list[OffsetReset] = []
    consumer = place.consumer("readers", reset=reset, on_reset=told.append)
    consumer.assign([orders(0)])
    assert offsets(consumer.poll()) == list(range(first, 7))
    consumer.close()
    assert consumer.committed() == {orders(0): 7}
    assert told == [OffsetReset(orders(0), 1 << 40, 0, 7, reset, first, True)]
    assert str(told[0]) == (
        f"orders-0: the committed offset {1 << 40} is above the log end 7; "
        f"reading goes on at {first}, as auto.offset.reset = {reset} says"
    )


def test_committed_offset_above_the_log_end_without_reset_is_an_error(place):
    place.write(0, 7)
    put_on_record(place, 8)
    consumer = place.consumer("readers", reset="none")
    consumer.assign([orders(0)])
    with pytest.raises(OffsetOutOfRangeError, match="offset 8 is out of range"):
        consumer.poll()
    consumer.close()
    assert consumer.committed() == {orders(0): 8}


def test_commit_above_the_log_end_is_refused_and_changes_nothing(place):
    place.write(0, 7)
    consumer = place.consumer("readers")
    consumer.assign([orders(0), orders(1)])
    consumer.commit({orders(0): 7})
    with pytest.raises(OffsetOutOfRangeError, match="nothing was committed: offset 8 is out of"):
        consumer.commit({orders(1): 0, orders(0): 8})
    assert consumer.committed() == {orders(0): 7}
    consumer.seek(orders(0), 8)
    consumer.commit()
    consumer.close()
    assert consumer.committed() == {orders(0): 7, orders(1): 0}


def test_log_that_is_cut_while_it_is_read_is_told_and_read_by_reset(place):
    place.write(0, 7)
    consumer = place.consumer("readers", reset="latest")
    consumer.assign([orders(0)])
    cut_log(place, 4)
    with pytest.warns(KMiniLogWarning, match="offset 7 is above the log end 4; reading goes on at"):
        assert consumer.poll() == []
    place.written[0] = 4
    place.write(0, 2)
    assert offsets(consumer.poll()) == [4, 5]


def test_cluster_offset_between_high_watermark_and_log_end_is_no_reset(tmp_path):
    """Under a new leader the high watermark can be below what was read before."""
    clock = ManualClock()
    with closing(MiniCluster.open(tmp_path, brokers=2, clock=clock)) as cluster:
        cluster.create_topic(Topic("orders", 1), replication_factor=2)
        cluster.produce(orders(0), encode(KAFKA, 0, None, b"x"), acks=1)
        source = ClusterSource(cluster)
        assert (source.end(orders(0)), source.log_end(orders(0))) == (0, 1)
        coordinator = Coordinator(
            tmp_path, source.topics, source.topic_id, clock=clock, chance=Random(1)
        )
        coordinator.commit("readers", {orders(0): 1})
        config = {"group.id": "readers", "auto.offset.reset": "earliest"}
        consumer = Consumer(source, config, clock=clock, coordinator=coordinator)
        consumer.assign([orders(0)])
        assert consumer.poll() == []
        assert consumer.position(orders(0)) == 1


def test_gap_is_damage_unless_gaps_are_allowed(place):
    place.write(0, 40)
    second = sorted((place.path / "orders-0").glob("*.log"))[1]
    third = sorted((place.path / "orders-0").glob("*.log"))[2]
    second.unlink()
    consumer = place.consumer()
    consumer.assign([orders(0)])
    first = offsets(consumer.poll())
    assert first == list(range(len(first)))
    with pytest.raises(CorruptLogError, match=f"but {len(first)} comes next") as caught:
        consumer.poll()
    assert (caught.value.path, caught.value.position) == (str(third), 0)
    assert consumer.position(orders(0)) == len(first)

    gaps: list[Gap] = []
    source = LogDirSource(LogDir(place.path), on_gap=gaps.append)
    consumer = Consumer(source, {"auto.offset.reset": "earliest"}, clock=place.clock)
    consumer.assign([orders(0)])
    got = offsets(consumer.poll()) + offsets(consumer.poll())
    (gap,) = gaps
    assert got == [o for o in range(40) if not gap.first_offset <= o < gap.next_offset]
    assert gap == Gap(orders(0), len(first), got[len(first)], str(third), 0)


def test_what_a_log_has_lost_is_a_warning_or_a_notice_once(place):
    place.write(0, 40)
    first_segment(place.path / "orders-0")
    last_segment(place.path / "orders-0")
    consumer = place.consumer()
    with pytest.warns(KMiniLogWarning) as told:
        consumer.assign([orders(0)])
    losses: list[Loss] = []
    source = LogDirSource(LogDir(place.path), on_loss=losses.append)
    for _ in range(2):
        ends = source.beginning(orders(0)), source.end(orders(0))
    assert [loss.missing for loss in losses] == [range(ends[0]), range(ends[1], 40)]
    assert [str(warning.message) for warning in told] == [*map(str, losses)]
