"""Streams: a thread fetches ahead, the iteration waits, and only what it has gone past is read."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.errors import ConsumerTimeoutError, NoOffsetError
from kminilog.consumer.members import JoinRequest, Membership
from kminilog.consumer.readers import LogDirSource
from kminilog.consumer.stream import KafkaStream, open_streams
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.cuts import truncate_log
from kminilog.storage.partition.notices import KMiniLogWarning
from kminilog.storage.topics import Topic
from kminilog.system import SystemClock
from tests.support.processes import wait_until

pytestmark = pytest.mark.usefixtures("without_fsync")
PARTITIONS, EACH = 4, 50
ALL = [b"%d %d" % (p, n) for p in range(PARTITIONS) for n in range(EACH)]
FAST = {
    "group.id": "readers",
    "consumer.id": "till",
    "auto.offset.reset": "earliest",
    "heartbeat.interval.ms": 10,
    "auto.commit.interval.ms": 10,
    "session.timeout.ms": 600_000,  # a busy machine must not end it
    "consumer.timeout.ms": 50,
}


@pytest.fixture
def path(tmp_path) -> Path:
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", PARTITIONS))
        for partition in range(PARTITIONS):
            values = [(None, b"%d %d" % (partition, number)) for number in range(EACH)]
            writer.log(TopicPartition("orders", partition)).append(values)
    return tmp_path


def streams(
    path: Path,
    count: int = 1,
    before_joining: Callable[[], object] = int,
    make_source: Callable[[LogDir], LogDirSource] = LogDirSource,
    **settings: object,
) -> list[KafkaStream]:
    clock = SystemClock()

    class LateCoordinator(Coordinator):
        def join(self, group: str, request: JoinRequest) -> Membership:
            before_joining()
            return super().join(group, request)

    def make_coordinator(source: LogDirSource) -> Coordinator:
        return LateCoordinator(path, source.topics, source.topic_id, clock=clock, chance=Random())

    return open_streams(
        count,
        lambda consumer: consumer.subscribe(["orders"]),
        lambda: make_source(LogDir(path)),
        make_coordinator,
        FAST | {name.replace("_", "."): value for name, value in settings.items()},
        clock,
    )


def read_until_timeout(stream: KafkaStream) -> list[bytes | None]:
    values = []
    while True:
        try:
            values.append(next(stream).value)
        except ConsumerTimeoutError:
            return values


def committed(path: Path) -> int:
    source = LogDirSource(LogDir(path))
    coordinator = Coordinator(
        path, source.topics, source.topic_id, clock=SystemClock(), chance=Random()
    )
    return sum(coordinator.committed("readers").values())


def test_stream_hands_out_all_there_is_and_times_out_when_nothing_comes(path):
    (stream,) = streams(path)
    with stream:
        assert sorted(read_until_timeout(stream)) == sorted(ALL)
        with LogDirWriter.open(path) as writer:
            writer.log(TopicPartition("orders", 0)).append([(None, b"late")])
        assert next(stream).value == b"late", "after a time-out one may go on"
    assert committed(path) == len(ALL) + 1


def test_stream_does_not_count_the_time_until_it_has_its_share(path):
    may_join = threading.Event()
    (stream,) = streams(path, before_joining=may_join.wait, consumer_timeout_ms=100)
    threading.Timer(0.3, may_join.set).start()
    with stream:
        assert next(stream).value in ALL


def test_stream_does_not_count_the_time_while_another_member_keeps_the_group_waiting(path):
    source = LogDirSource(LogDir(path))
    coordinator = Coordinator(
        path, source.topics, source.topic_id, clock=SystemClock(), chance=Random()
    )
    other = coordinator.join("readers", JoinRequest(("orders",)))
    assert coordinator.sync("readers", other)
    (stream,) = streams(path, consumer_timeout_ms=100)
    threading.Timer(0.3, coordinator.leave, ["readers", other]).start()
    with stream:
        assert next(stream).value in ALL


def test_stream_with_nothing_to_read_times_out_after_it_has_its_share(tmp_path):
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", PARTITIONS))
    clock, joining = SystemClock(), []

    def be_slow() -> None:
        clock.sleep_ms(200)
        joining.append(clock.now_ms())

    (stream,) = streams(tmp_path, before_joining=be_slow, consumer_timeout_ms=100)
    with stream, pytest.raises(ConsumerTimeoutError):
        next(stream)
    assert clock.now_ms() - joining[0] >= 100


def test_stream_that_is_slow_to_look_does_not_count_what_came_after_its_look_as_nothing(tmp_path):
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 1))
    looks = []

    class SlowSource(LogDirSource):
        def fetch(self, topic_partition, offset, max_bytes):
            looks.append(offset)
            if len(looks) == 2:  # so the iteration sees what came of the first look
                SystemClock().sleep_ms(200)
            found = super().fetch(topic_partition, offset, max_bytes)
            if len(looks) == 1:
                with LogDirWriter.open(tmp_path) as writer:
                    writer.log(topic_partition).append([(None, b"late")])
                SystemClock().sleep_ms(200)
            return found

    (stream,) = streams(tmp_path, make_source=SlowSource, consumer_timeout_ms=150)
    with stream:
        assert next(stream).value == b"late"


def test_stream_waits_without_end_if_no_timeout_is_set(path):
    (stream,) = streams(path, consumer_timeout_ms=-1)
    values: list[bytes | None] = []
    reader = threading.Thread(target=lambda: values.extend(record.value for record in stream))
    reader.start()
    with LogDirWriter.open(path) as writer:
        writer.log(TopicPartition("orders", 0)).append([(None, b"late")])
    stream.stop()
    reader.join()
    assert not reader.is_alive()
    stream.close()


def test_streams_of_one_consumer_are_named_by_number_and_share_the_partitions(path):
    both = streams(path, 2)
    assert [stream.name for stream in both] == ["till-0", "till-1"]
    got: list[list[bytes | None]] = [[], []]

    def read(slot: int) -> None:
        got[slot] = read_until_timeout(both[slot])

    threads = [threading.Thread(target=read, args=[slot]) for slot in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for stream in both:
        stream.close()
    assert sorted(set(got[0] + got[1])) == sorted(ALL)
    assert committed(path) == len(ALL)


def test_stream_stopped_hands_out_what_is_in_the_queue_and_ends(path):
    (stream,) = streams(path)
    first = next(stream)
    stream.stop()
    rest = [record.value for record in stream]
    assert Counter([first.value, *rest]).most_common(1)[0][1] == 1
    stream.close()
    assert committed(path) == 1 + len(rest)


def test_stream_closed_drops_the_queue_and_commits_what_was_gone_past(path):
    (stream,) = streams(path)
    read = [record.value for record in islice(stream, 7)]
    stream.close()
    assert committed(path) == 7
    (stream,) = streams(path)
    with stream:
        assert sorted(read + read_until_timeout(stream)) == sorted(ALL), "none skipped, none twice"


def test_stream_of_a_short_queue_fetches_no_further(path):
    (stream,) = streams(path, queued_max_messages=5)
    with stream:
        next(stream)
        assert stream.queued_count <= 5
        assert len(read_until_timeout(stream)) == len(ALL) - 1


def test_stream_whose_fetcher_fails_says_why(path):
    (stream,) = streams(path, auto_offset_reset="none")
    with pytest.raises(NoOffsetError):
        next(stream)
    with pytest.raises(NoOffsetError):
        stream.close()


def test_stream_with_a_committed_offset_above_the_log_end_begins_by_reset_and_says_so(path):
    topic_id = LogDir(path).topic_id
    coordinator = Coordinator(path, dict, topic_id, clock=SystemClock(), chance=Random())
    coordinator.commit("readers", {TopicPartition("orders", 0): 1 << 40})

    def read_all() -> int:
        with streams(path)[0] as stream:
            return len(read_until_timeout(stream))

    with pytest.warns(KMiniLogWarning, match=f"orders-0: the committed offset {1 << 40} is above"):
        assert read_all() == len(ALL)
    assert committed(path) == len(ALL)


def test_stream_of_a_log_that_is_cut_commits_no_offset_above_its_end(path):
    def cut_and_read(stream: KafkaStream) -> None:
        with LogDirWriter.open(path) as writer:
            truncate_log(writer.log(TopicPartition("orders", 0)), 20)
        assert read_until_timeout(stream) == []

    with streams(path, auto_offset_reset="latest")[0] as stream:
        assert read_until_timeout(stream) == []
        with pytest.warns(KMiniLogWarning, match=f"offset {EACH} is above the log end 20; reading"):
            cut_and_read(stream)
    assert committed(path) == 20 + (PARTITIONS - 1) * EACH


def test_stream_hands_out_nothing_more_of_what_it_gives_up_while_it_commits(path):
    """Else the next owner reads those records again: the commit does not name them."""
    is_revoked, handed_out = threading.Event(), []

    def look(_: object = None) -> None:
        handed_out.append(stream._next_queued())
        is_revoked.set()

    (stream,) = streams(path, auto_commit_interval_ms=600_000)
    source = LogDirSource(LogDir(path))
    other = Coordinator(path, source.topics, source.topic_id, clock=SystemClock(), chance=Random())
    with stream:
        assert next(stream).value in ALL
        wait_until(lambda: stream.queued_count == len(ALL) - 1)
        commit = stream._consumer.commit
        stream._consumer.commit = lambda offsets: (look(), commit(offsets))
        membership = other.join("readers", JoinRequest(("orders",)))
        assert is_revoked.wait()
        other.leave("readers", membership)
        assert handed_out == [None]
        assert len(read_until_timeout(stream)) >= len(ALL) - 1


def test_stream_of_a_topic_that_is_replaced_drops_what_is_queued_of_the_old_one(path):
    new = [b"new %d" % number for number in range(EACH * 2)]
    (stream,) = streams(path)
    with stream:
        assert next(stream).value in ALL
        wait_until(lambda: stream.queued_count == len(ALL) - 1)
        with pytest.warns(KMiniLogWarning, match="deleted and created again") as told:  # noqa: PT031
            with LogDirWriter.open(path) as writer:
                writer.delete_topic("orders")
                writer.create_topic(Topic("orders", PARTITIONS))
                writer.log(TopicPartition("orders", 0)).append([(None, value) for value in new])
            wait_until(lambda: len(told) == PARTITIONS)
        assert read_until_timeout(stream) == new
    assert committed(path) == len(new)


def test_stream_left_with_an_error_gives_the_record_at_hand_again(path):
    read: list[bytes | None] = []

    def work_and_fail() -> None:
        with streams(path)[0] as stream:
            for record in stream:
                read.append(record.value)
                if len(read) == 3:
                    raise KeyError

    with pytest.raises(KeyError):
        work_and_fail()
    assert committed(path) == 2


def test_stream_does_not_count_a_record_whose_partition_was_taken_away(path):
    (stream,) = streams(path, auto_commit_interval_ms=10**9)
    with stream:
        held = next(stream)
        place = TopicPartition(held.topic, held.partition)
        stream._on_revoked([place])  # others have it now, and may have read further
        stream._consumer.commit({place: 40})
        stream._note_read()
        stream._commit()
        assert stream._consumer.committed()[place] == 40


def test_stream_of_latest_begins_where_the_one_before_it_did(path):
    (stream,) = streams(path, auto_offset_reset="latest")
    with pytest.raises(ConsumerTimeoutError):
        next(stream)
    stream.close()
    with LogDirWriter.open(path) as writer:
        writer.log(TopicPartition("orders", 0)).append([(None, b"late")])
    (stream,) = streams(path, auto_offset_reset="latest")
    with stream:
        assert next(stream).value == b"late"


def test_stream_closed_hands_out_no_more(path):
    (stream,) = streams(path)
    next(stream)
    stream.close()
    with pytest.raises(StopIteration):
        next(stream)


# ---- without a group


def without_group(path: Path, **settings: object) -> KafkaStream:
    everything = [TopicPartition("orders", number) for number in range(PARTITIONS)]
    config = {"auto.offset.reset": "earliest", "consumer.timeout.ms": 50}
    config |= {name.replace("_", "."): value for name, value in settings.items()}
    (stream,) = open_streams(
        1,
        lambda consumer: consumer.assign(everything),
        lambda: LogDirSource(LogDir(path)),
        None,
        config,
        SystemClock(),
    )
    return stream


@pytest.mark.parametrize("group", ["", "readers"], ids=["no group", "no coordinator"])
def test_stream_without_a_group_reads_all_closes_and_commits_nothing(path, group):
    for _ in range(2):
        with without_group(path, group_id=group, auto_commit_interval_ms=0) as stream:
            assert stream.config["enable.auto.commit"], "which is the default"
            assert sorted(read_until_timeout(stream)) == sorted(ALL)
    assert committed(path) == 0


def test_stream_left_early_without_a_group_closes(path):
    stream = without_group(path)
    assert next(stream).value in ALL
    stream.close()


# ---- how long there was nothing


def test_silent_ms_counts_only_while_it_has_its_share_and_nothing_is_at_hand(path):
    may_join = threading.Event()
    (stream,) = streams(path, before_joining=may_join.wait, consumer_timeout_ms=-1)
    with stream:
        time.sleep(0.1)
        assert stream.silent_ms == -1, "no share yet"
        may_join.set()
        for number in range(len(ALL)):
            assert stream.silent_ms == -1, number
            next(stream)
        time.sleep(0.1)
        assert stream.silent_ms == -1, "the last record is still at hand"
        reader = threading.Thread(target=lambda: next(stream, None))
        reader.start()
        wait_until(lambda: stream.silent_ms >= 100)
        stream.stop()
        reader.join()
