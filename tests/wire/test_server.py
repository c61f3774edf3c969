"""Sockets: frames that are none, clients that are slow or gone, and what that costs the others."""

import asyncio
import socket
import struct

import pytest

from kminilog.wire import messages
from kminilog.wire.errors import Code
from kminilog.wire.schemas import decode
from tests.support.processes import wait_until
from tests.support.wire.client import WireClient
from tests.support.wire.exchange import fetched, frame, produced, short
from tests.support.wire.in_thread import InThread
from tests.support.wire.loops import run_apart
from tests.support.wire.record_sets import set_of


@pytest.fixture
def serving(tmp_path):
    with InThread(tmp_path / "log-dir") as found:
        yield found


def with_orders(serving: InThread) -> WireClient:
    """Return a client that has created the topic `orders`."""
    client = serving.client()
    topic = {"name": "orders", "num_partitions": 1, "replication_factor": 1}
    client.ask("CreateTopics", 1, {"topics": [topic]})
    return client


def assert_served(serving: InThread) -> None:
    """Assert that another client is served."""
    with serving.client() as client:
        assert client.ask("ApiVersions", 0)["error_code"] == 0


def sized(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


# ---- frames


def test_answers_come_in_the_order_of_the_requests(serving):
    with serving.client() as client:
        data = [frame("Heartbeat", 0, {"group_id": "g"}, correlation_id=n) for n in range(50)]
        client.send_bytes(b"".join(map(sized, data)))
        for number in range(50):
            answer = client._bytes(int.from_bytes(client._bytes(4)))
            assert int.from_bytes(answer[:4]) == number


def test_request_that_comes_byte_by_byte_is_answered(serving):
    with serving.client() as client:
        for byte in sized(frame("ApiVersions", 0, correlation_id=0)):
            client.send_bytes(bytes([byte]))
        assert client.receive("ApiVersions", 0)["error_code"] == 0


@pytest.mark.parametrize("version", [3, 4, 77, -1])
def test_versions_that_are_not_spoken_are_answered_with_those_that_are(serving, version):
    with serving.client() as client:
        data = bytearray(frame("ApiVersions", 0, correlation_id=0))
        data[2:4] = version.to_bytes(2, signed=True)
        client.send_bytes(sized(bytes(data) + b"\0\x03abc\0"))
        answer = client.receive("ApiVersions", 0)
        assert answer["error_code"] == Code.UNSUPPORTED_VERSION
        assert {each["api_key"] for each in answer["api_keys"]} >= {0, 1, 3, 18}
        assert client.ask("ApiVersions", 2)["error_code"] == 0


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (struct.pack(">i", 0), "a size of 0 bytes"),
        (struct.pack(">i", -1), "a size of -1 bytes"),
        (struct.pack(">i", (16 << 20) + 1), "a size of 16777217 bytes, and 16777216 are the most"),
        (struct.pack(">i", (1 << 31) - 1), "a size of 2147483647 bytes"),
        (b"GET / HTTP/1.1\r\n\r\n", "a size of 1195725856 bytes"),
        (b"\x16\x03\x01\x02\x00", "a size of 369295618 bytes"),  # TLS
        (sized(b"a"), "api_key"),
        (sized(frame("Heartbeat", 0)[:-1]), "member_id: the bytes end"),
        (sized(frame("Heartbeat", 0) + b"x"), "1 bytes after Heartbeat"),
        (sized(struct.pack(">hhih", 77, 0, 1, -1)), "API 77 is not spoken here"),
        (sized(struct.pack(">hhih", 0, 99, 1, -1)), "version 99 of Produce is not spoken here"),
        (sized(struct.pack(">hhih", 0, -1, 1, -1)), "version -1 of Produce"),
        (sized(struct.pack(">hhih", 18, 0, 1, -2)), "client_id: a length of -2"),
        (sized(struct.pack(">hhihB", 18, 0, 1, 1, 255)), "client_id: no UTF-8"),
    ],
    ids=short,
)
def test_what_is_no_request_ends_its_connection_in_one_line(serving, data, said):
    with serving.client() as other, serving.client() as client:
        client.send_bytes(data)
        assert client.is_ended()
        assert other.ask("ApiVersions", 0)["error_code"] == 0
    (line,) = serving.refused
    assert said in line
    assert "no request" in line
    assert "\n" not in line


def test_request_as_large_as_is_allowed_is_taken_and_one_byte_more_is_not(tmp_path):
    data = frame("FindCoordinator", 0, {"key": "k" * 1000})
    settings = {"socket_request_max_bytes": len(data)}
    with InThread(tmp_path, **settings) as serving, serving.client() as client:
        client.send_bytes(sized(data))
        assert client._bytes(4)
        with serving.client() as larger:
            larger.send_bytes(sized(data + b"x"))
            assert larger.is_ended()
        assert str(len(data)) in serving.refused[0]


def test_large_request_in_pieces_is_taken(serving):
    with with_orders(serving) as client:
        assert client.produce(set_of([(None, b"v" * 500_000)] * 4))["base_offset"] == 0
        client.send_bytes((1 << 20).to_bytes(4) + bytes(1 << 19))
    assert_served(serving)
    assert serving.refused == []


# ---- errors of this program


@pytest.mark.parametrize("error", [ValueError, KeyError, RuntimeError, OSError, AssertionError])
def test_error_of_this_program_ends_only_the_connection_and_is_one_line(
    serving, monkeypatch, error
):
    def fails(*_):
        raise error("of this\nprogram")

    monkeypatch.setattr(serving.exchange.broker.groups, "heartbeat", fails)
    with serving.client() as other, serving.client() as client:
        client.send("Heartbeat", 0, {"group_id": "g"})
        assert client.is_ended()
        assert other.ask("ApiVersions", 0)["error_code"] == 0
    (line,) = serving.refused
    assert f"an error of this program, {error.__name__}" in line
    assert "the connection is closed" in line


def test_answer_that_cannot_be_encoded_is_an_error_of_this_program(serving, monkeypatch):
    answer = {"error_code": 1 << 20}
    monkeypatch.setattr(serving.exchange.broker.groups, "heartbeat", lambda request: answer)
    with serving.client() as client:
        client.send("Heartbeat", 0, {"group_id": "g"})
        assert client.is_ended()
    assert "an error of this program, error" in serving.refused[0]
    assert_served(serving)


def test_error_of_a_connection_that_asyncio_tells_is_one_line(serving):
    """As when there are too many open files."""
    for error in (OSError(24, "Too many open files"), None):
        context = {"message": "socket.accept() out of system resource", "exception": error}
        serving._loop.call_soon_threadsafe(serving._loop.call_exception_handler, context)
    wait_until(lambda: len(serving.refused) == 2)
    assert serving.refused == [
        "a connection failed: Too many open files",
        "a connection failed: socket.accept() out of system resource",
    ]


# ---- clients that are gone, silent or slow


def test_silent_and_half_open_connections_are_ended_in_time(tmp_path):
    with InThread(tmp_path, connections_max_idle_ms=100) as serving:
        with serving.client() as silent, serving.client() as half, serving.client() as large:
            half.send_bytes(b"\0\0\1")
            large.send_bytes((1 << 20).to_bytes(4) + bytes(1 << 18))
            for client in (silent, half, large):
                assert client.is_ended()
        assert_served(serving)
        assert serving.refused == []


def test_connection_that_waits_for_messages_is_not_silent(tmp_path):
    settings = {"connections_max_idle_ms": 100}
    with InThread(tmp_path, **settings) as serving, with_orders(serving) as client:
        client.send("Fetch", 4, fetched([("orders", 0, 0)]) | {"max_wait_ms": 400})
        assert client.receive("Fetch", 4)


def test_client_that_has_no_more_requests_gets_its_answers(serving):
    with serving.client() as client:
        for _ in range(3):
            client.send("ApiVersions", 0)
        client.socket.shutdown(socket.SHUT_WR)
        found = bytearray()
        while piece := client.socket.recv(1 << 16):
            found += piece
    sizes = 0
    while found:
        size = int.from_bytes(found[:4])
        assert decode("ApiVersionsResponse", 0, bytes(found), 8)[0]["error_code"] == 0
        del found[: 4 + size]
        sizes += 1
    assert sizes == 3
    assert serving.refused == []


def test_clients_that_are_reset_do_no_harm(serving):
    with with_orders(serving):
        pass
    for number in range(30):
        client = serving.client()
        client.send("Fetch", 4, fetched([("orders", 0, 0)]) | {"max_wait_ms": 50})
        if number % 3:
            client.send_bytes(b"\0\0\0\x09half")
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.socket.close()
    assert_served(serving)
    wait_until(lambda: not serving.server._tasks)
    assert serving.refused == []


def test_requests_that_are_half_sent_take_no_more_than_two_whole_ones(tmp_path):
    """The connection ends whose request has been coming longest; the newest is whole at last."""
    most = 1 << 20
    with InThread(tmp_path, socket_request_max_bytes=most) as serving, with_orders(serving):
        slow = [serving.client() for _ in range(5)]
        for client in slow:
            client.send_bytes(most.to_bytes(4) + bytes(most // 2))
        assert slow[0].is_ended()
        records = set_of([(None, b"v" * 900_000)])
        with serving.client() as client:
            assert client.produce(records)["base_offset"] == 0
        wait_until(lambda: serving.server._coming_bytes <= 2 * most)
        assert 1 <= len(serving.refused) < 5
        assert all("its request is not whole yet" in line for line in serving.refused)
        for client in slow:
            client.socket.close()
        wait_until(lambda: serving.server._coming_bytes == 0)
        assert_served(serving)


def test_client_that_reads_slowly_gets_smaller_answers_and_others_are_served(serving, monkeypatch):
    monkeypatch.setattr(messages, "MOST_UNREAD_BYTES", 5 << 20)
    with with_orders(serving) as client:
        for _ in range(10):
            client.produce(set_of([(None, b"v" * 100_000)] * 10))
        large = fetched([("orders", 0, 0)], 1 << 30) | {"max_bytes": 1 << 30}
        slow = [serving.client() for _ in range(6)]
        for each in slow:
            each.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            each.send("Fetch", 4, large)
        wait_until(lambda: sum(one.api == "Fetch" for one in serving.told) == 6)
        sizes = [
            len(one.answer["responses"][0]["partitions"][0]["records"])
            for one in serving.told
            if one.api == "Fetch"
        ]
        assert 5 << 20 in sizes
        assert sum(sizes) < 8 << 20
        answer = client.ask("Fetch", 4, large)["responses"][0]["partitions"][0]
        assert len(answer["records"]) >= 1 << 16
        for each in slow:
            each.receive("Fetch", 4)
            each.socket.close()
        wait_until(lambda: serving.exchange.broker.messages.unread_bytes == 0)
        answer = client.ask("Fetch", 4, large)["responses"][0]["partitions"][0]
        assert len(answer["records"]) == 5 << 20


def test_client_that_never_reads_is_ended_in_time(tmp_path):
    with InThread(tmp_path, connections_max_idle_ms=300) as serving:
        with with_orders(serving) as client:
            for _ in range(10):
                client.produce(set_of([(None, b"v" * 100_000)] * 10))
        client = serving.client()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        large = fetched([("orders", 0, 0)], 1 << 30) | {"max_bytes": 1 << 30}
        client.send("Fetch", 4, large)
        wait_until(lambda: any(one.api == "Fetch" for one in serving.told))
        wait_until(lambda: not serving.server._tasks)
        client.socket.close()
        assert serving.exchange.broker.messages.unread_bytes == 0


def test_clients_take_turns(serving):
    """One that has sent thousands of requests at once does not keep the others waiting."""
    many = sized(frame("FindCoordinator", 0, {"key": "many"})) * 1000

    async def story():
        _, first = await asyncio.open_connection("127.0.0.1", serving.port)
        _, second = await asyncio.open_connection("127.0.0.1", serving.port)
        held = asyncio.Event()
        serving._loop.call_soon_threadsafe(wait_for, held)
        first.write(many)
        second.write(sized(frame("ApiVersions", 0)))
        await asyncio.sleep(0.1)
        held.set()
        while len(serving.told) < 1001:
            await asyncio.sleep(0.001)
        first.close()
        second.close()

    def wait_for(event):  # in the broker's thread: both have sent all when it looks
        wait_until(event.is_set)

    run_apart(story())
    assert [one.api for one in serving.told].index("ApiVersions") < 500


def test_broker_that_ends_ends_all_connections(tmp_path):
    with InThread(tmp_path) as serving:
        client, waiting = with_orders(serving), serving.client()
        waiting.send("Fetch", 4, fetched([("orders", 0, 0)]) | {"max_wait_ms": 600_000})
        client.send("Produce", 3, produced(set_of([(None, b"a")])))
        client.receive("Produce", 3)
    assert client.is_ended()
    client.socket.close()
    waiting.socket.close()
