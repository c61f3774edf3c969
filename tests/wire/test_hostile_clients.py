"""`kminilog serve` among clients that want it no good: alive, small, and others are served."""

import resource
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli.command_line import CommandLine
from tests.support.process_memory import peak_bytes
from tests.support.processes import wait_until
from tests.support.wire.client import Serving, WireClient
from tests.support.wire.exchange import fetched, frame, produced
from tests.support.wire.hostile import frames
from tests.support.wire.record_sets import batch_of, set_of

pytestmark = pytest.mark.processes

MOST_BYTES = 300 << 20
LARGEST = 16 << 20  # socket.request.max.bytes by default


class Watched:
    """A broker, and an honest client whose messages must all be there."""

    def __init__(self, serving: Serving, said: Path) -> None:
        self.serving, self._said = serving, said
        self.client = serving.client()
        create(self.client, "honest")
        self.count = 0

    def assert_served(self) -> None:
        """Assert that the honest client and a new one get right answers."""
        records = set_of([(None, b"%d" % self.count)])
        answer = self.client.produce(records, topic="honest")
        assert (answer["error_code"], answer["base_offset"]) == (0, self.count)
        self.count += 1
        with self.serving.client() as new:
            found = new.ask("Fetch", 4, fetched([("honest", 0, self.count - 1)]))
            assert records[8:] in found["responses"][0]["partitions"][0]["records"]

    def peak(self) -> int:
        """Return the most bytes of memory that the broker has held."""
        return peak_bytes(self.serving.process.pid)

    def said(self) -> str:
        """Return what it has written to stderr."""
        return self._said.read_text()


def create(client: WireClient, name: str) -> None:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1}
    client.ask("CreateTopics", 1, {"topics": [topic]})


@contextmanager
def watched(directory: Path, *arguments: str, **options: Any) -> Iterator[Watched]:
    kminilog, said = CommandLine(directory / "log-dir"), directory / "said"
    with Serving(kminilog, *arguments, said=said, **options) as serving:
        found = Watched(serving, said)
        yield found
        found.assert_served()
        assert found.peak() < MOST_BYTES
        assert "error of this program" not in found.said()
        assert "Traceback" not in found.said()
        found.client.socket.close()
        assert serving.end(signal.SIGTERM)[0] == 143
    run = kminilog.ok("consume", "honest", "--until-end", "--json")
    assert [each["value"] for each in run.records] == [str(n) for n in range(found.count)]
    assert "verdict: ok" in kminilog.ok("verify").out


@pytest.mark.parametrize("count", [600, pytest.param(10_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_random_and_changed_frames_do_no_harm(tmp_path, count, seed, record_property):
    with watched(tmp_path, "--auto-create-topics") as broker:
        clients: dict[int, WireClient] = {}
        for number, data in enumerate(frames(count, seed)):
            slot = number % 8
            if slot not in clients:
                clients[slot] = broker.serving.client()
                clients[slot].socket.setblocking(False)
            if not is_sent(clients[slot], data) or number % 97 < 8:
                clients.pop(slot).socket.close()
            if number % 100 == 99:
                broker.assert_served()
        for client in clients.values():
            client.socket.close()
        lines = broker.said().count("\n")
        told = f"{count} frames, {lines} refused, {broker.peak() >> 20} MiB"
        record_property("counted", told)
    assert lines > count / 20


def is_sent(client: WireClient, data: bytes) -> bool:
    """Send all, and read what is there; False if the broker takes no more or has ended it."""
    try:
        if client.socket.send(data) < len(data):
            return False
        while client.socket.recv(1 << 20):
            pass
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    return False


def test_idle_and_half_open_connections_do_no_harm(tmp_path, record_property):
    with watched(tmp_path) as broker:
        idle = [broker.serving.client() for _ in range(500)]
        half = [broker.serving.client() for _ in range(200)]
        part = frame("Metadata", 1, {"topics": ["t" * 50]})
        for number, client in enumerate(half):
            whole = [b"\0\0", len(part).to_bytes(4) + part[:-5], LARGEST.to_bytes(4) + bytes(9000)]
            client.send_bytes(whole[number % 3])
        broker.assert_served()
        claimed = [broker.serving.client() for _ in range(50)]
        for client in claimed:
            client.send_bytes(((1 << 31) - 1).to_bytes(4) + bytes(100))
        assert all(client.is_ended() for client in claimed)
        broker.assert_served()
        for client in idle[::7]:
            assert client.ask("ApiVersions", 0)["error_code"] == 0
        for client in (*idle, *half, *claimed):
            client.socket.close()
        record_property("counted", f"{broker.peak() >> 20} MiB")


def allowing_files(soft: int, hard: int) -> dict[str, Callable[[], None]]:
    """Return the option of a process that may have so many open files."""
    limits = resource.RLIMIT_NOFILE, (soft, hard)
    return {"preexec_fn": lambda: resource.setrlimit(*limits)}


def test_more_connections_are_taken_than_a_shell_allows_files(tmp_path):
    with watched(tmp_path, **allowing_files(100, 1000)) as broker:
        clients = [broker.serving.client() for _ in range(200)]
        assert clients[-1].ask("ApiVersions", 0)["error_code"] == 0
        for client in clients:
            client.socket.close()
        assert broker.said() == ""


def test_too_many_connections_are_refused_and_leave_files_for_the_logs(tmp_path):
    with watched(tmp_path, **allowing_files(100, 100)) as broker:
        clients = [broker.serving.client() for _ in range(150)]
        assert clients[-1].is_ended()
        records = set_of([(None, b"0")])
        assert broker.client.produce(records, topic="honest")["base_offset"] == 0
        broker.count = 1
        for client in clients:
            client.socket.close()
        wait_until(lambda: is_taken(broker.serving))
        assert "there are 50 connections already; this one is closed" in broker.said()


def is_taken(serving: Serving) -> bool:
    """Tell if a new connection is served."""
    try:
        with serving.client() as client:
            return client.ask("ApiVersions", 0)["error_code"] == 0
    except ConnectionError:
        return False


def test_frames_just_below_the_limit_that_come_slowly_do_no_harm(tmp_path, record_property):
    size = LARGEST - 1
    with watched(tmp_path) as broker:
        clients = [broker.serving.client() for _ in range(40)]
        for client in clients:
            client.send_bytes(size.to_bytes(4))
            client.socket.setblocking(False)
        sent = dict.fromkeys(clients, 0)
        while sent:
            for client in list(sent):
                try:
                    sent[client] += client.socket.send(bytes(min(1 << 18, size - sent[client])))
                except BlockingIOError:
                    continue
                except ConnectionError:
                    del sent[client]
                else:
                    if sent[client] == size:
                        del sent[client]
            if len(sent) % 5 == 0:
                broker.assert_served()
        assert "its request is not whole yet" in broker.said()
        for client in clients:
            client.socket.close()
        record_property("counted", f"{broker.peak() >> 20} MiB")


def test_clients_that_ask_for_much_and_read_nothing_do_no_harm(tmp_path, record_property):
    with watched(tmp_path) as broker:
        create(broker.client, "large")
        records = set_of([(None, bytes(100_000))] * 80)
        for _ in range(5):
            assert broker.client.produce(records, topic="large")["error_code"] == 0
        large = fetched([("large", 0, 0)] * 3, 1 << 30) | {"max_bytes": 1 << 30}
        clients = []
        for _ in range(60):
            client = broker.serving.client()
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            for _ in range(3):
                client.send("Fetch", 4, large)
            clients.append(client)
            broker.assert_served()
        for client in clients:
            client.socket.close()
        record_property("counted", f"{broker.peak() >> 20} MiB")


def test_large_requests_that_wait_do_no_harm(tmp_path, record_property):
    with watched(tmp_path) as broker:
        broker.assert_served()
        waiting = {"max_wait_ms": 600_000, "min_bytes": 1 << 30}
        large = fetched([("honest", 0, 0)] * 4_900) | waiting
        clients = [broker.serving.client() for _ in range(30)]
        for client in clients:
            client.send("Fetch", 4, large)
        broker.assert_served()
        for client in clients:
            client.socket.close()
        record_property("counted", f"{broker.peak() >> 20} MiB")


SMALLEST = [(None, b"")]
LARGE = {
    "one message": lambda: set_of([(None, bytes(LARGEST - 200))]),
    "messages of 26 bytes": lambda: set_of(SMALLEST) * ((LARGEST - 200) // 26),
    "records of 7 bytes": lambda: batch_of(SMALLEST, times=2_000_000),
    "records of 7 bytes, packed": lambda: batch_of(SMALLEST, codec="gzip", times=4_000_000),
    "as many records as are allowed": lambda: batch_of(SMALLEST, codec="gzip", times=250_000),
    "one record, packed": lambda: batch_of([(None, bytes(63 << 20))], codec="gzip"),
    "a batch of 16 MB": lambda: batch_of([(None, bytes(16_000))] * 1000),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_record_set_is_taken_or_refused(tmp_path, name, record_property):
    data = LARGE[name]()
    with watched(tmp_path) as broker:
        create(broker.client, "orders")
        for _ in range(2):
            code = broker.client.produce(data)["error_code"]
            broker.assert_served()
        assert code in (0, 10)
        record_property("counted", f"{name}: code {code}, {broker.peak() >> 20} MiB")


@pytest.mark.parametrize(
    ("api", "request_of"),
    [
        ("Metadata", lambda n: {"topics": [f"t{each}" for each in range(n)]}),
        ("DescribeGroups", lambda n: {"groups": [f"g{each}" for each in range(n)]}),
        ("Fetch", lambda n: fetched([("honest", 0, 0)] * (n // 2))),
        ("Fetch", lambda n: fetched([("nothing", 0, 0)] * (n // 2))),
        (
            "Produce",
            lambda n: produced(b"") | {"topic_data": produced(b"")["topic_data"] * (n // 2)},
        ),
        ("DeleteTopics", lambda n: {"topic_names": ["t" * 1000] * n}),
    ],
)
def test_request_of_as_many_elements_as_are_allowed_is_answered(
    tmp_path, api, request_of, record_property
):
    with watched(tmp_path) as broker:
        broker.assert_served()
        version = {"Metadata": 1, "DescribeGroups": 0, "DeleteTopics": 1}.get(api, 4)
        for _ in range(3):
            assert broker.client.ask(api, version, request_of(10_000))
        record_property("counted", f"{broker.peak() >> 20} MiB")
        wait_until(lambda: broker.serving.process.poll() is None)
