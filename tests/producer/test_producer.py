"""The producer, driven by hand, on a real cluster."""

import socket
import sys
from collections import Counter
from random import Random
from typing import ClassVar

import pytest

from kminilog.clock import ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.cluster.requests import Produced
from kminilog.errors import (
    BufferExhaustedError,
    ClientClosedError,
    LeaderNotAvailableError,
    NullValueError,
    PartitionOfRecordError,
    PluginError,
    RequestTimedOutError,
    SerializationError,
    SettingError,
    UnknownTopicOrPartitionError,
)
from kminilog.format.dialect import DIALECTS, DOCUMENTED
from kminilog.format.names import TopicPartition
from kminilog.partitioners.interface import Partitioner
from kminilog.producer.interceptors import ProducerInterceptor
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.record import ProducerRecord, RecordMetadata
from tests.support.invariants import check_producer
from tests.support.producer.small_cluster import TOPIC, SmallCluster, small_cluster

pytestmark = pytest.mark.usefixtures("without_fsync")
LONG_MS = 10**9


@pytest.fixture(params=DIALECTS.values(), ids=lambda dialect: dialect.name)
def single(tmp_path, request):
    """One partition, one copy, in each dialect."""
    with small_cluster(tmp_path, dialect=request.param) as small:
        yield small


@pytest.fixture
def copied(tmp_path):
    """One partition on all three brokers."""
    with small_cluster(tmp_path, replication_factor=3) as small:
        yield small


@pytest.fixture
def spread(tmp_path):
    """Three partitions, one copy each, on three brokers."""
    with small_cluster(tmp_path, partitions=3) as small:
        yield small


def send_all(producer, count: int, **fields):
    return [
        producer.send(ProducerRecord(TOPIC, value=b"%d" % number, **fields))
        for number in range(count)
    ]


def numbers(*ranges: range) -> list[bytes]:
    return [b"%d" % number for numbers in ranges for number in numbers]


# ---- the way of a record


def test_send_says_where_each_record_is(single):
    with single.producer() as producer:
        futures = send_all(producer, 5)
        assert not any(future.done() for future in futures)
        assert producer.flush()
        assert [future.result() for future in futures] == [
            RecordMetadata(TOPIC, 0, offset) for offset in range(5)
        ]
    assert single.values() == numbers(range(5))


def test_producer_is_ready_for_a_step_once_a_batch_has_begun_or_got_full(single):
    with single.producer() as producer:
        assert not producer.is_ready
        producer.send(ProducerRecord(TOPIC, None, b"first"))
        assert producer.is_ready
        producer.step()
        assert not producer.is_ready
        producer.send(ProducerRecord(TOPIC, None, b"second"))
        assert producer.is_ready


def test_send_calls_back_in_order_before_the_future_is_done(single):
    heard, futures = [], []

    def hear(place, error):
        heard.append((place.offset, error, futures[place.offset].done()))

    with single.producer() as producer:
        futures += [producer.send(ProducerRecord(TOPIC, value=b"x"), hear) for _ in range(3)]
        producer.flush()
    assert heard == [(0, None, False), (1, None, False), (2, None, False)]


def test_callback_that_raises_harms_nobody(single):
    with single.producer() as producer:
        bad = producer.send(ProducerRecord(TOPIC, value=b"0"), lambda place, error: 1 / 0)
        good = producer.send(ProducerRecord(TOPIC, value=b"1"))
        producer.flush()
        assert (bad.result().offset, good.result().offset) == (0, 1)


@pytest.mark.parametrize("stop", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("place", ["callback", "interceptor", "on_error", "future"])
def test_stop_of_the_program_is_raised_once_every_record_of_the_batch_has_its_result(
    single, stop, place
):
    def raise_stop(*_):
        raise stop

    def fail(*_):
        raise RuntimeError

    class Stopping(ProducerInterceptor):
        def on_acknowledgement(self, metadata, error):
            if not error:
                raise stop

    heard = []
    chain = [Stopping()] if place == "interceptor" else []
    callback = {"callback": raise_stop, "on_error": fail}.get(place)
    producer = single.producer(interceptors=chain, on_error=raise_stop)
    futures = [
        producer.send(ProducerRecord(TOPIC, value=b"0"), callback),
        producer.send(ProducerRecord(TOPIC, value=b"1"), lambda at, _: heard.append(at.offset)),
    ]
    if place == "future":
        futures[0].add_done_callback(raise_stop)
    with pytest.raises(stop):
        producer.flush()
    assert [future.result(timeout=0).offset for future in futures] == [0, 1]
    assert heard == [1]
    later = producer.send(ProducerRecord(TOPIC, value=b"2"))
    producer.close(timeout_ms=0)
    assert isinstance(later.exception(timeout=0), ClientClosedError)


def test_stop_while_the_last_attempt_fails_or_while_closing_leaves_no_future_undone(spread):
    class Stopping(Partitioner):
        def partition(self, *asked):
            return 0

        def on_metadata_refresh(self):
            raise KeyboardInterrupt

    def raise_stop(*_):
        raise SystemExit

    producer = spread.producer(partitioner=Stopping(), config={"retries": 0})
    spread.cluster.stop(spread.leader(0))
    (lost,) = send_all(producer, 1)
    with pytest.raises(KeyboardInterrupt):
        producer.flush()
    assert isinstance(lost.exception(timeout=0), LeaderNotAvailableError)
    waiting = [
        producer.send(ProducerRecord(TOPIC, value=b"x", partition=partition), raise_stop)
        for partition in range(3)
    ]
    with pytest.raises(SystemExit):
        producer.close(timeout_ms=0)
    assert {type(future.exception(timeout=0)) for future in waiting} == {ClientClosedError}


def test_stop_while_the_leader_writes_fails_the_batch_in_doubt_and_lets_the_next_go(single):
    class Stopped(Breaking):
        error = KeyboardInterrupt

    with single.producer() as producer:
        producer._delivery._cluster = Stopped(single.cluster)
        (doubtful,) = send_all(producer, 1)
        with pytest.raises(KeyboardInterrupt):
            producer.flush()
        assert isinstance(doubtful.exception(timeout=0), InterruptedError)
        assert doubtful.in_doubt == (TOPIC, 0, -1)
        (later,) = send_all(producer, 1)
        assert producer.flush()
        assert later.result(timeout=0).offset == 0


def test_stop_while_a_record_is_made_ready_is_told_to_interceptors(single):
    class Stopping(Partitioner):
        def partition(self, *asked):
            raise KeyboardInterrupt

    class Hearing(ProducerInterceptor):
        def on_acknowledgement(self, metadata, error):
            heard.append(type(error))

    heard = []
    producer = single.producer(partitioner=Stopping(), interceptors=[Hearing()])
    with producer, pytest.raises(KeyboardInterrupt):
        send_all(producer, 1)
    assert heard == [KeyboardInterrupt]


def test_future_cannot_be_cancelled(single):
    with single.producer() as producer:
        future = producer.send(ProducerRecord(TOPIC, value=b"x"))
        assert not future.cancel()
        producer.flush()
        assert future.result().offset == 0


@pytest.mark.parametrize(("acks", "offset"), [(0, -1), (1, 0)])
def test_acks_0_and_1_do_not_wait_for_followers(copied, acks, offset):
    with copied.producer(is_replicating=False, config={"acks": acks}) as producer:
        future = producer.send(ProducerRecord(TOPIC, value=b"x"))
        producer.step()
        assert future.result(timeout=0) == RecordMetadata(TOPIC, 0, offset)
    assert copied.values() == [b"x"]


def test_acks_all_waits_until_every_in_sync_replica_was_seen_to_have_it(copied):
    with copied.producer(is_replicating=False, config={"acks": -1}) as producer:
        future = producer.send(ProducerRecord(TOPIC, value=b"x"))
        producer.step()
        assert not future.done()
        copied.cluster.replicate()  # the followers copy it ...
        producer.step()
        assert not future.done()
        copied.cluster.replicate()  # ... and show it by what they ask for next
        producer.step()
        assert future.result(timeout=0).offset == 0


def test_record_that_names_its_partition_goes_there_and_no_partitioner_is_asked(spread):
    class Never(Partitioner):
        def partition(self, *asked):
            raise AssertionError("asked")

        def on_appended(self, *told, **more):
            raise AssertionError("told")

    with spread.producer(partitioner=Never()) as producer:
        future = producer.send(ProducerRecord(TOPIC, b"key", b"x", partition=2))
        producer.flush()
        assert future.result().partition == 2


def test_sticky_partitioner_moves_on_with_each_batch_and_once_at_the_start(spread):
    with spread.producer(config={"batch_size": 60, "linger_ms": LONG_MS}) as producer:
        futures = send_all(producer, 12)
        producer.flush()
        partitions = [future.result().partition for future in futures]
    assert partitions[0::2] == partitions[1::2], "two records a batch"
    assert all(a != b for a, b in zip(partitions[0::2], partitions[2::2], strict=False))


def test_seed_repeats_every_choice(tmp_path):
    def run(name: str) -> list[list[bytes | None]]:
        with small_cluster(tmp_path / name, partitions=3) as small:
            with small.producer(config={"batch_size": 60}) as producer:
                send_all(producer, 50)
            return small.all_values()

    assert run("a") == run("b")


class InTurn(Random):
    """Draws 0, 1, 2 and so on."""

    drawn = -1

    def randrange(self, stop):
        self.drawn += 1
        return self.drawn % stop


@pytest.mark.parametrize(
    ("rounds", "value_bytes", "expected"),
    [
        # 3 messages of 100 bytes: the linger time ends each batch, 300 < 512 <= 600 bytes.
        ([3] * 6, 74, [(0, 3), (0, 3), (1, 3), (1, 3), (2, 3), (2, 3)]),
        # Messages of 200 bytes: the third does not fit, and 400 < 512 <= 800 bytes.
        ([12], 174, [(0, 2), (1, 2), (2, 2), (0, 2), (1, 2), (2, 2)]),
        # Messages of 128 bytes: the fourth fills its batch.
        ([12], 102, [(0, 4), (1, 4), (2, 4)]),
        # 5 messages of 100 bytes leave room for 12 bytes: the batch is not full before the sixth.
        ([5, 5, 5], 74, [(0, 5), (0, 5), (1, 5)]),
    ],
    ids=["lingered", "no room", "full", "sent with room"],
)
def test_built_in_partitioner_switches_between_batches(tmp_path, rounds, value_bytes, expected):
    config = {"partitioner_class": "built-in", "batch_size": 512, "linger_ms": 10}
    config["partitioner_adaptive_partitioning_enable"] = False
    with (
        small_cluster(tmp_path, partitions=3) as small,
        small.producer(config=config, chance=InTurn()) as producer,
    ):
        sent = []
        for count in rounds:
            for _ in range(count):
                producer.send(ProducerRecord(TOPIC, value=bytes(value_bytes)))
            small.clock.sleep_ms(10)
            while batches := producer.step().sent:
                sent += batches
        found = [(batch.topic_partition.partition, len(batch.records)) for batch in sent]
        assert found == expected


@pytest.mark.parametrize(("timeout_ms", "is_left_out"), [(50, True), (0, False)])
def test_built_in_partitioner_leaves_out_a_leader_that_takes_nothing(
    tmp_path, timeout_ms, is_left_out
):
    config = {
        "partitioner_class": "built-in",
        "partitioner_availability_timeout_ms": timeout_ms,
        "acks": -1,
        "batch_size": 30,  # a record fills a batch
    }
    with (
        small_cluster(tmp_path, partitions=3, replication_factor=2) as small,
        small.producer(config=config) as producer,
    ):
        for partition in (0, 1, 2):
            producer.send(ProducerRecord(TOPIC, value=b"all have had one", partition=partition))
        producer.flush()
        follower = small.cluster.metadata().partition(TOPIC, 0).replicas[1].id
        small.cluster.pause(follower)
        for _ in range(2):
            producer.send(ProducerRecord(TOPIC, value=b"one in flight", partition=0))
        producer.step()
        small.clock.sleep_ms(51)
        producer.step()  # notes that the leader took nothing
        producer.step()  # tells the partitioner
        chosen = send_all(producer, 30)
        small.cluster.resume(follower)
        producer.flush()
        assert (0 not in {future.result().partition for future in chosen}) == is_left_out


# ---- what is wrong at once


class Failing(Partitioner):
    def partition(self, *asked):
        raise ZeroDivisionError("by zero")


class Outside(Partitioner):
    def partition(self, *asked):
        return 3


class Half:
    """Not a subclass, and answers no whole number."""

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        return 0.5


OUTSIDE = r"^Invalid partition given with record: {} is not in the range \[0...2\]\.$"


def test_bootstrap_servers_are_accepted_and_no_socket_is_opened(spread, monkeypatch):
    monkeypatch.setattr(socket, "socket", None)
    for name in ("bootstrap.servers", "metadata.broker.list"):
        producer = spread.producer(config={name: "10.65.132.2:9093", "acks": -1})
        future = producer.send(ProducerRecord(TOPIC, None, b"a", 0))
        producer.close()
        assert future.result().partition == 0


@pytest.mark.parametrize(
    ("config", "record", "error", "part"),
    [
        ({}, ProducerRecord("bills"), UnknownTopicOrPartitionError, "Topic bills"),
        ({}, ProducerRecord(TOPIC, partition=3), PartitionOfRecordError, OUTSIDE.format(3)),
        ({}, ProducerRecord(TOPIC, partition=-1), PartitionOfRecordError, OUTSIDE.format(-1)),
        ({}, ProducerRecord(TOPIC, partition="1"), PartitionOfRecordError, OUTSIDE.format(1)),
        ({}, ProducerRecord(TOPIC, partition=True), PartitionOfRecordError, OUTSIDE.format(True)),
        ({}, ProducerRecord("bills", partition=1), UnknownTopicOrPartitionError, "Topic bills"),
        ({}, ProducerRecord(TOPIC, key="text"), SerializationError, "key: bytes serialiser"),
        ({}, ProducerRecord(TOPIC, value=5), SerializationError, "value: bytes serialiser"),
        ({"buffer_memory": 100}, ProducerRecord(TOPIC, value=bytes(99)), ValueError, "hard limit"),
        (
            {"partitioner_class": "tests.producer.test_producer.Failing"},
            ProducerRecord(TOPIC),
            PluginError,
            "Failing: .*ZeroDivisionError",
        ),
        (
            {"partitioner_class": "tests.producer.test_producer:Outside"},
            ProducerRecord(TOPIC),
            UnknownTopicOrPartitionError,
            "id: 3",
        ),
        (
            {"partitioner_class": "tests.producer.test_producer.Half"},
            ProducerRecord(TOPIC),
            PluginError,
            "Half",
        ),
    ],
)
def test_send_what_is_wrong_at_once_raises_and_writes_nothing(spread, config, record, error, part):
    heard = []

    class Listener(ProducerInterceptor):
        def on_acknowledgement(self, metadata, error):
            heard.append((metadata, type(error)))

    with spread.producer(config=config, interceptors=[Listener()]) as producer:
        with pytest.raises(error, match=part):
            producer.send(record, lambda place, error: heard.append("called back"))
        check_producer(producer)
    partition = -1 if record.partition is None else record.partition
    assert heard == [(RecordMetadata(record.topic, partition, -1), error)]
    assert spread.all_values() == [[], [], []]


@pytest.mark.parametrize(
    ("config", "error", "part"),
    [
        ({"batch_bytes": 5}, SettingError, r"did you mean batch\.size"),
        ({"batch_size": "many"}, SettingError, "not a whole number"),
        ({"partitioner_class": "stiky"}, SettingError, "there is: default-0.8"),
        ({"partitioner_class": "no.such.Class"}, PluginError, "cannot import"),
        ({"interceptor_classes": "no.such.Class"}, PluginError, "cannot import"),
        ({"key_serializer": "no.such.Class"}, PluginError, "cannot import"),
    ],
)
def test_producer_with_broken_settings_is_not_made(spread, config, error, part):
    with pytest.raises(error, match=part):
        spread.producer(config=config)


# ---- interceptors


class Counting(ProducerInterceptor):
    made: ClassVar[list["Counting"]] = []

    def __init__(self) -> None:
        self.made.append(self)
        self.calls: list[object] = []

    def configure(self, config):
        self.calls.append(config["acks"])

    def on_send(self, record):
        self.calls.append("send")
        return record._replace(value=record.value + b"!")

    def on_acknowledgement(self, metadata, error):
        self.calls.append((metadata.offset, error))

    def close(self):
        self.calls.append("close")


def test_interceptor_changes_the_record_before_all_else_and_hears_of_it(single):
    config = {"interceptor_classes": "tests.producer.test_producer.Counting"}
    with single.producer(config=config) as producer:
        producer.send(ProducerRecord(TOPIC, value=b"x"))
    assert single.values() == [b"x!"]
    assert Counting.made.pop().calls == [1, "send", (0, None), "close"]


# ---- failures


def test_batch_without_a_leader_is_tried_four_times_and_then_lost(single):
    single.cluster.stop(0)
    began_ms = single.clock.now_ms()
    with single.producer() as producer:
        future = send_all(producer, 3)[2]
        producer.flush()
        assert isinstance(future.exception(), LeaderNotAvailableError)
        assert single.clock.now_ms() - began_ms == 300
        assert producer.report._asdict() == {
            "acknowledged": 0, "lost": 3, "retries": 3, "in_doubt": 0,
        }  # fmt: skip
    single.cluster.start(0)
    assert single.values() == []


def test_leader_that_returns_in_time_gets_all_records_in_their_order(single):
    with single.producer(config={"batch_size": 100, "linger_ms": LONG_MS}) as producer:
        send_all(producer, 10)
        single.cluster.stop(0)
        producer.step()
        producer.step()
        send_all(producer, 5)
        single.cluster.start(0)
        producer.flush()
        assert producer.report._asdict() == {
            "acknowledged": 15, "lost": 0, "retries": 1, "in_doubt": 0,
        }  # fmt: skip
    assert single.values() == numbers(range(10), range(5))


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_retries_are_as_many_as_set(single, retries):
    single.cluster.stop(0)
    config = {"message_send_max_retries": retries, "retry_backoff_ms": 7}
    began_ms = single.clock.now_ms()
    with single.producer(config=config) as producer:
        send_all(producer, 1)
        producer.flush()
        assert producer.report.retries == retries
    assert single.clock.now_ms() - began_ms == 7 * retries


def test_batch_in_doubt_is_sent_again_and_may_be_there_twice(copied):
    with copied.producer(is_replicating=False, config={"acks": -1}) as producer:
        futures = send_all(producer, 3)
        producer.step()
        copied.cluster.replicate()  # the followers have it, the leader does not know
        copied.cluster.crash(copied.leader())
        producer.step()
        assert producer.report._asdict() == {
            "acknowledged": 0, "lost": 0, "retries": 1, "in_doubt": 3,
        }  # fmt: skip
        copied.clock.sleep_ms(100)
        producer.step()
        while copied.cluster.replicate():
            pass
        copied.cluster.replicate()
        producer.step()
        assert [future.result(timeout=0).offset for future in futures] == [3, 4, 5]
    assert copied.values() == numbers(range(3), range(3))


def test_acks_all_gives_up_after_the_request_timeout_and_tries_again(copied):
    config = {"acks": -1, "request_timeout_ms": 500, "retries": 1}
    with copied.producer(is_replicating=False, config=config) as producer:
        (future,) = send_all(producer, 1)
        producer.flush()
        assert isinstance(future.exception(), RequestTimedOutError)
        assert future.in_doubt == (TOPIC, 0, 1)  # where the second attempt has left it
        assert producer.report._asdict() == {
            "acknowledged": 0, "lost": 1, "retries": 1, "in_doubt": 2,
        }  # fmt: skip


def test_error_of_the_leader_reaches_every_record_of_the_batch_and_no_other(tmp_path):
    with small_cluster(tmp_path, partitions=2, dialect=DOCUMENTED) as small:
        with small.producer() as producer:
            bad = [producer.send(ProducerRecord(TOPIC, value=v, partition=0)) for v in (b"x", None)]
            good = producer.send(ProducerRecord(TOPIC, value=b"x", partition=1))
            producer.flush()
            assert [type(future.exception()) for future in bad] == [NullValueError] * 2
            assert good.result().offset == 0
            assert producer.report.lost == 2
        assert small.all_values() == [[], [b"x"]]


def test_failure_empties_the_cache_of_the_0_8_partitioner(spread):
    with spread.producer(config={"partitioner_class": "default-0.8", "retries": 0}) as producer:
        first = producer.send(ProducerRecord(TOPIC, value=b"x"))
        producer.flush()
        place = first.result().partition
        spread.cluster.crash(spread.leader(place))
        lost = producer.send(ProducerRecord(TOPIC, value=b"x"))
        producer.flush()
        assert isinstance(lost.exception(), LeaderNotAvailableError)
        after = producer.send(ProducerRecord(TOPIC, value=b"x"))
        producer.flush()
        assert after.result().partition != place


# ---- memory and time


def test_send_out_of_memory_takes_steps_until_there_is_some(single):
    config = {"buffer_memory": 200, "batch_size": 100, "linger_ms": LONG_MS}
    with single.producer(config=config) as producer:
        send_all(producer, 50)
        check_producer(producer)
    assert single.values() == numbers(range(50))


def test_send_out_of_memory_for_too_long_raises_and_loses_nothing_else(copied):
    config = {"buffer_memory": 200, "batch_size": 100, "acks": -1, "max_block_ms": 1000}
    with copied.producer(is_replicating=False, config=config) as producer:
        began_ms = copied.clock.now_ms()
        with pytest.raises(BufferExhaustedError, match="blocking time 1000 ms"):
            send_all(producer, 50)
        assert copied.clock.now_ms() - began_ms >= 1000
        check_producer(producer)
        while copied.cluster.replicate():
            pass
        copied.cluster.replicate()
        producer.step()
        assert producer.report.acknowledged > 0


def test_flush_in_vain_returns_false_when_its_time_is_over(copied):
    with copied.producer(is_replicating=False, config={"acks": -1}) as producer:
        send_all(producer, 1)
        began_ms = copied.clock.now_ms()
        assert producer.flush(timeout_ms=50) is False
        assert copied.clock.now_ms() - began_ms == 50
        producer.close(timeout_ms=0)


def test_linger_lets_a_batch_wait_for_more(single):
    with single.producer(config={"linger_ms": 20}) as producer:
        send_all(producer, 1)
        assert not producer.step().sent
        single.clock.sleep_ms(20)
        assert producer.step().sent


# ---- the end


def test_close_sends_what_waits(single):
    producer = single.producer(config={"linger_ms": LONG_MS})
    futures = send_all(producer, 3)
    producer.close()
    assert [future.result(timeout=0).offset for future in futures] == [0, 1, 2]
    producer.close()


def test_close_without_time_fails_what_waits_and_takes_no_more(single):
    producer = single.producer()
    futures = send_all(producer, 3)
    producer.close(timeout_ms=0)
    assert [type(future.exception()) for future in futures] == [ClientClosedError] * 3
    with pytest.raises(ClientClosedError):
        send_all(producer, 1)
    assert producer.report.lost == 3
    assert single.values() == []


def test_error_inside_of_with_does_not_wait_for_what_cannot_be_sent(single):
    single.cluster.stop(0)
    began_ms = single.clock.now_ms()
    futures = []

    def send_and_fail():
        with single.producer() as producer:
            futures.extend(send_all(producer, 1))
            raise KeyError

    with pytest.raises(KeyError):
        send_and_fail()
    assert isinstance(futures[0].exception(), ClientClosedError)
    assert single.clock.now_ms() == began_ms


def test_partitions_for_tells_the_metadata(spread: SmallCluster):
    with spread.producer() as producer:
        assert [info.partition for info in producer.partitions_for(TOPIC)] == [0, 1, 2]
        assert producer.partitions_for("bills") == ()


# ---- what must not stop the others


class Breaking:
    """A cluster whose first answer to a produce request is a bug."""

    error: type[BaseException] = TypeError

    def __init__(self, cluster):
        self._cluster = cluster
        self._is_broken = True
        self.metadata = cluster.metadata
        self.is_replicated = cluster.is_replicated

    def produce(self, topic_partition, data, *, acks):
        if self._is_broken:
            self._is_broken = False
            raise self.error("a bug")
        return self._cluster.produce(topic_partition, data, acks=acks)


def test_unexpected_error_fails_the_batch_that_met_it_and_no_other(spread):
    with spread.producer() as producer:
        producer._delivery._cluster = Breaking(spread.cluster)
        futures = [
            producer.send(ProducerRecord(TOPIC, value=b"x", partition=partition))
            for partition in range(3)
        ]
        producer.flush()
        assert sorted(type(future.exception()).__name__ for future in futures) == [
            "NoneType", "NoneType", "TypeError",
        ]  # fmt: skip
        assert producer.report.lost == 1


def test_cluster_that_is_closed_first_fails_what_waits_for_it(copied):
    producer = copied.producer(is_replicating=False, config={"acks": -1})
    (future,) = send_all(producer, 1)
    producer.step()
    copied.cluster.close()
    producer.close()
    assert isinstance(future.exception(timeout=0), ClientClosedError)
    assert future.in_doubt == (TOPIC, 0, 0)
    assert producer.report.in_doubt == producer.report.lost == 1


class BadListener(Partitioner):
    """Answers, and raises whenever it is only told something."""

    def __init__(self):
        self.heard = []

    def partition(self, *asked):
        return 0

    def _hear(self, what):
        self.heard.append(what)
        raise RuntimeError(what)

    def on_appended(self, *told, **more):
        self._hear("appended")

    def on_queues(self, *told, **more):
        self._hear("queues")

    def on_metadata_refresh(self):
        self._hear("refresh")

    def close(self):
        self._hear("close")


def test_partitioner_that_fails_when_it_is_told_something_harms_no_record(single):
    errors, listener = [], BadListener()
    with single.producer(partitioner=listener, on_error=errors.append) as producer:
        future = producer.send(ProducerRecord(TOPIC, value=b"x"))
        producer.flush()
        assert future.result().offset == 0
    assert listener.heard[0] == "appended"
    assert listener.heard[-1] == "close"
    assert set(errors) == {f"partitioner: {what}" for what in ("appended", "queues", "close")}


def test_partitioner_hears_of_every_failure_that_is_tried_again_and_of_the_last(single):
    single.cluster.stop(0)
    listener = BadListener()
    with single.producer(partitioner=listener, config={"retries": 2}) as producer:
        send_all(producer, 1)
        producer.flush()
    assert listener.heard.count("refresh") == 3


def test_errors_of_callbacks_and_interceptors_are_told(single):
    class Broken(ProducerInterceptor):
        def on_send(self, record):
            raise RuntimeError("out of order")

    errors = []
    with single.producer(interceptors=[Broken()], on_error=errors.append) as producer:
        producer.send(ProducerRecord(TOPIC, value=b"x"), lambda place, error: 1 / 0)
    assert errors == [
        "interceptor Broken: on_send: RuntimeError: out of order",
        "callback: ZeroDivisionError: division by zero",
    ]


@pytest.mark.parametrize("acks", [1, -1])
def test_callback_may_flush_and_send(tmp_path, acks):
    with small_cluster(tmp_path, partitions=3, replication_factor=2) as small:
        with small.producer(config={"acks": acks}) as producer:

            def send_another(place, error):
                if place.offset == 0:
                    again = ProducerRecord(TOPIC, value=b"again", partition=place.partition)
                    producer.send(again)
                assert producer.flush()

            for partition in range(3):
                record = ProducerRecord(TOPIC, value=b"x", partition=partition)
                producer.send(record, send_another)
            assert producer.flush(timeout_ms=LONG_MS)
        assert small.all_values() == [[b"x", b"again"]] * 3


def test_flush_does_not_wait_for_what_is_sent_meanwhile(copied):
    def work_and_send():
        copied.cluster.replicate()
        producer.send(ProducerRecord(TOPIC, value=b"more"))
        return True

    producer = copied.producer(config={"acks": -1}, alongside=work_and_send)
    (future,) = send_all(producer, 1)
    assert producer.flush()
    assert future.done()
    producer.close(timeout_ms=0)


def test_send_out_of_memory_has_batches_sent_that_are_not_full_yet(spread):
    config = {"buffer_memory": 200, "batch_size": 100, "linger_ms": LONG_MS, "max_block_ms": 50}
    with spread.producer(config=config) as producer:
        for partition in range(3):
            producer.send(ProducerRecord(TOPIC, value=b"x", partition=partition))
    assert spread.all_values() == [[b"x"]] * 3


def test_flush_after_close_returns(copied):
    producer = copied.producer(is_replicating=False, config={"acks": -1})
    send_all(producer, 1)
    producer.step()
    producer.close(timeout_ms=0)
    assert producer.flush()


def test_close_ends_all_parts_even_if_one_fails(single):
    class Closing(Partitioner):
        is_closed = False

        def partition(self, *asked):
            return 0

        def close(self):
            self.is_closed = True

    partitioner = Closing()
    config = {"value_serializer": "tests.producer.test_producer.BadEnd"}
    producer = single.producer(partitioner=partitioner, config=config)
    with pytest.raises(RuntimeError, match="no end"):
        producer.close()
    assert partitioner.is_closed


class BadEnd:
    def serialize(self, topic, data):
        return data

    def close(self):
        raise RuntimeError("no end")


# ---- the time of a record


def test_record_is_placed_by_its_timestamp_and_without_one_by_the_time_of_send(spread):
    hour_ms = 3_600_000
    spread.clock.sleep_ms(hour_ms * 2 - spread.clock.now_ms() % (3 * hour_ms))
    path = "kminilog.partitioners.examples.ByTime"
    with spread.producer(config={"partitioner.class": path}) as producer:
        sent = [
            producer.send(ProducerRecord(TOPIC, timestamp_ms=at_ms))
            for at_ms in (0, hour_ms, 5 * hour_ms - 1, None)
        ]
        sent.append(producer.send(ProducerRecord(TOPIC, partition=1, timestamp_ms=0)))
        producer.flush()
    assert [future.result().partition for future in sent] == [0, 1, 1, 2, 1]


def test_interceptor_may_set_the_timestamp(spread):
    class Yesterday(ProducerInterceptor):
        def on_send(self, record):
            assert record.timestamp_ms is None, "the time of `send` is not set before"
            return record._replace(timestamp_ms=3_600_000)

    path = "kminilog.partitioners.examples.ByTime"
    config = {"partitioner.class": path}
    with spread.producer(config=config, interceptors=[Yesterday()]) as producer:
        producer.send(ProducerRecord(TOPIC))
        assert producer.flush()
    assert producer.batch_counts.of(TopicPartition(TOPIC, 1)).records == 1


# ---- what a record costs


class Acknowledging:
    """A cluster that acknowledges each batch at once, and keeps nothing."""

    def __init__(self):
        self._metadata = ClusterMetadata.of_one_topic(TOPIC, range(3))

    def metadata(self):
        return self._metadata

    def produce(self, topic_partition, data, *, acks):
        return Produced(0, 0, leader=0, leader_epoch=0)


def test_record_on_its_way_to_its_future_calls_few_functions():
    config = {"linger.ms": LONG_MS}
    producer = ManualProducer(Acknowledging(), config, clock=ManualClock(1), chance=Random(1))
    events = Counter()
    sys.setprofile(lambda frame, event, argument: events.update([event]))
    try:
        for number in range(1_000):
            producer.send(ProducerRecord(TOPIC, b"%d" % number, bytes(100)))
        producer.flush()
    finally:
        sys.setprofile(None)
    assert producer.report.acknowledged == 1_000
    assert events["call"] < 60 * 1_000
