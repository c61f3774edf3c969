"""The producer with its thread, and the thread itself."""

import threading
from collections import defaultdict
from concurrent.futures import wait

import pytest

from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.errors import ClientClosedError, LeaderNotAvailableError
from kminilog.format.names import TopicPartition
from kminilog.producer.record import ProducerRecord
from kminilog.producer.sender import Producer, replicating
from kminilog.storage.topics import Topic
from kminilog.system import Repeating, SystemClock
from tests.support.invariants import check_producer
from tests.support.processes import wait_until

pytestmark = pytest.mark.usefixtures("without_fsync")
THREADS = 4


@pytest.fixture
def cluster(tmp_path):
    cluster = MiniCluster.open(tmp_path, brokers=3, clock=SystemClock())
    cluster.create_topic(Topic("orders", 3), replication_factor=2)
    yield cluster
    cluster.close()


def stored(cluster: MiniCluster) -> list[list[bytes | None]]:
    found = []
    for partition in range(3):
        place, values = TopicPartition("orders", partition), []
        while messages := cluster.fetch(place, len(values)).messages:
            values += [message.value for message in messages]
        found.append(values)
    return found


def test_send_is_delivered_without_another_call(cluster):
    with Producer(cluster) as producer:
        future = producer.send(ProducerRecord("orders", value=b"x"))
        assert future.result().offset == 0


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_many_threads_send_and_each_keeps_its_order_in_a_partition(cluster, acks):
    per_thread = 500

    def send_all(thread: int) -> None:
        for number in range(per_thread):
            producer.send(ProducerRecord("orders", b"%d" % thread, b"%d %d" % (thread, number)))

    with (
        replicating(cluster.replicate),
        Producer(cluster, {"acks": acks, "batch.size": 500, "buffer.memory": 5_000}) as producer,
    ):
        threads = [threading.Thread(target=send_all, args=[number]) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert producer.report.acknowledged == THREADS * per_thread
    check_producer(producer)
    while cluster.replicate():
        pass
    cluster.replicate()
    seen = defaultdict(list)
    for values in stored(cluster):
        for value in values:
            thread, number = map(int, value.split())
            seen[thread].append(number)
    assert seen == {thread: list(range(per_thread)) for thread in range(THREADS)}


def test_flush_returns_when_all_is_done(cluster):
    with Producer(cluster, {"linger.ms": 10**9}) as producer:
        futures = [producer.send(ProducerRecord("orders", value=b"x")) for _ in range(100)]
        assert producer.flush()
        assert all(future.done() for future in futures)


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_flush_waits_for_callbacks_and_futures_that_are_slow(cluster, acks):
    heard, may_go_on = [], threading.Event()

    def callback(place, error):
        assert may_go_on.wait()
        heard.append(place)

    with (
        replicating(cluster.replicate),
        Producer(cluster, {"acks": acks}) as producer,
    ):
        future = producer.send(ProducerRecord("orders", value=b"x"), callback)
        wait_until(lambda: producer.report.acknowledged == 1)
        assert not producer.flush(timeout_ms=1)  # acknowledged, but nobody has heard of it
        threading.Timer(0.2, may_go_on.set).start()
        assert producer.flush()
        assert future.done()
        assert len(heard) == 1


def test_close_waits_for_what_was_sent_and_ends_the_thread(cluster):
    before = threading.active_count()
    producer = Producer(cluster, {"linger.ms": 10**9})
    futures = [producer.send(ProducerRecord("orders", value=b"x")) for _ in range(100)]
    producer.close()
    assert wait(futures, timeout=0).not_done == set()
    assert threading.active_count() == before
    with pytest.raises(ClientClosedError):
        producer.send(ProducerRecord("orders", value=b"x"))


def test_close_without_time_fails_what_nobody_acknowledges(cluster):
    producer = Producer(cluster, {"acks": -1})  # and nobody replicates
    future = producer.send(ProducerRecord("orders", value=b"x"))
    producer.close(timeout_ms=0)
    assert isinstance(future.exception(), ClientClosedError)


def test_repeating_works_until_it_is_stopped_and_raises_what_ended_it():
    done = threading.Event()

    def work() -> bool:
        done.set()
        raise OSError("no space")

    repeating = Repeating(work, name="test")
    assert done.wait()
    with pytest.raises(OSError, match="no space"):
        repeating.stop()


def test_system_clock_tells_the_time_and_never_goes_back():
    clock = SystemClock()
    first = clock.now_ms()
    clock.sleep_ms(2)
    assert first + 2 <= clock.now_ms()
    assert first > 1_700_000_000_000


def test_callback_that_waits_for_the_sender_is_told_that_it_cannot(cluster):
    errors = []
    with Producer(cluster, on_error=errors.append) as producer:
        future = producer.send(
            ProducerRecord("orders", value=b"x"), lambda place, error: producer.flush()
        )
        assert future.result().offset == 0
        producer.send(ProducerRecord("orders", value=b"y"), lambda place, error: producer.flush())
        other = producer.send(ProducerRecord("orders", value=b"z"))
        assert other.result()
    assert all("a callback cannot wait" in error for error in errors)


def test_close_without_time_does_not_wait_for_a_callback(cluster):
    has_begun, is_over = threading.Event(), threading.Event()

    def take_long(place, error):
        has_begun.set()
        is_over.wait()

    producer = Producer(cluster)
    producer.send(ProducerRecord("orders", value=b"x"), take_long)
    assert has_begun.wait()
    later = producer.send(ProducerRecord("orders", value=b"y", partition=1))
    producer.close(timeout_ms=0)
    assert later.done()
    is_over.set()


def test_thread_that_has_ended_with_an_error_is_told_to_who_flushes_and_who_closes(cluster):
    producer = Producer(cluster, {"linger.ms": 10**9})
    producer.send(ProducerRecord("orders", value=b"x"))
    producer._cluster = None  # a bug
    with pytest.raises(AttributeError):
        producer.flush()
    with pytest.raises(AttributeError):
        producer.close()


@pytest.mark.parametrize("stop", [SystemExit, KeyboardInterrupt])
def test_callback_that_stops_the_program_ends_the_thread_and_leaves_no_future_undone(cluster, stop):
    def raise_stop(place, error):
        raise stop

    producer = Producer(cluster, {"linger.ms": 10**9})
    first = producer.send(ProducerRecord("orders", value=b"x", partition=0), raise_stop)
    same = producer.send(ProducerRecord("orders", value=b"y", partition=0))
    for _ in range(2):
        with pytest.raises(stop):
            producer.flush()
    assert (first.result(timeout=0).offset, same.result(timeout=0).offset) == (0, 1)
    with pytest.raises(ClientClosedError):
        producer.send(ProducerRecord("orders", value=b"z", partition=1))
    with pytest.raises(stop):
        producer.close()


def test_thread_that_ends_fails_what_waits_though_nobody_closes(cluster):
    producer = Producer(cluster, {"linger.ms": 10**9})
    future = producer.send(ProducerRecord("orders", value=b"x"))
    producer._cluster = None  # a bug
    assert isinstance(future.exception(), ClientClosedError)
    with pytest.raises(AttributeError):
        producer.close()


class Slow:
    """A cluster whose answer to `produce` waits until it may come."""

    def __init__(self, cluster, error=None):
        self._cluster, self._error = cluster, error
        self.has_begun, self.may_answer = threading.Event(), threading.Event()
        self.metadata = cluster.metadata

    def produce(self, *request, acks):
        self.has_begun.set()
        assert self.may_answer.wait()
        if self._error:
            raise self._error
        return self._cluster.produce(*request, acks=acks)


@pytest.mark.parametrize("error", [None, ValueError("broken"), LeaderNotAvailableError("orders")])
def test_answer_that_comes_after_close_is_told_to_nobody_a_second_time(cluster, error):
    heard, slow = [], Slow(cluster, error)
    producer = Producer(cluster, {"retry.backoff.ms": 0})
    producer._delivery._cluster = slow
    future = producer.send(
        ProducerRecord("orders", value=b"x"), lambda place, error: heard.append(type(error))
    )
    assert slow.has_begun.wait()
    producer.close(timeout_ms=0)
    assert isinstance(future.exception(timeout=0), ClientClosedError)
    slow.may_answer.set()
    producer._sender.stop()  # raises what has ended the thread
    assert heard == [ClientClosedError]
    assert (producer.report.lost, producer.report.acknowledged) == (1, 0)
    assert producer.step() == ([], [])
