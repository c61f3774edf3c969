"""kill -9 of `kminilog serve` while three clients produce: what it has acknowledged is there."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from kminilog.wire.errors import Code
from tests.support.cli.command_line import CommandLine
from tests.support.processes import cpu_seconds, wait_until
from tests.support.wire.client import Serving, WireClient
from tests.support.wire.record_sets import NOBODY, Producer, batch_of, set_of

pytestmark = pytest.mark.processes

PARTITIONS = 2
BATCH_SIZES = (1, 2, 5, 50, 400)


class Sender:
    """Produces numbered messages from a thread of its own, until the broker is gone.

    `acks`: what it asks for. One with a producer id sends a batch again, after a restart, until it
    is acknowledged: it knows no other way to lose nothing.
    """

    def __init__(self, name: str, *, acks: int, seed: int, producer: int | None = None) -> None:
        self.name, self.acks = name, acks
        self.acknowledged: list[bytes] = []
        self._chance = random.Random(seed)
        self._producer = producer
        self._sequences = [0] * PARTITIONS
        self._unsure: tuple[int, list[bytes]] | None = None
        self._count = 0
        self.resent = 0

    def run(self, port: int) -> None:
        """Produce until the broker is gone."""
        try:
            while True:
                self.send(port)
        except ConnectionError:
            pass

    def send(self, port: int, batches: int = 50) -> None:
        """Produce some batches, each to the leader of its partition, which any broker names."""
        with ExitStack() as stack:
            client = stack.enter_context(WireClient(port, client_id=self.name))
            answer = client.ask("Metadata", 1, {"topics": ["orders"]})
            ports = {each["node_id"]: each["port"] for each in answer["brokers"]}
            partitions = answer["topics"][0]["partitions"]
            leaders = {each["partition_index"]: each["leader_id"] for each in partitions}
            clients = {
                number: stack.enter_context(WireClient(ports[leader], client_id=self.name))
                for number, leader in leaders.items()
                if leader in ports
            }
            if len(clients) < PARTITIONS:
                return  # some are not up yet
            for _ in range(batches):
                if not self._send_one(clients):
                    return

    def _send_one(self, clients: dict[int, WireClient]) -> bool:
        """Produce a batch; False if it is not known whether it is stored."""
        if self._unsure and self._producer is not None:
            partition, values = self._unsure
            self.resent += 1
        else:
            partition = self._chance.randrange(PARTITIONS)
            values = [self._next_value() for _ in range(self._chance.choice(BATCH_SIZES))]
        self._unsure = partition, values
        records = self._records(partition, values)
        answer = clients[partition].produce(records, acks=self.acks, partition=partition)
        if answer["error_code"] in (Code.NOT_LEADER_OR_FOLLOWER, Code.REQUEST_TIMED_OUT):
            return False
        assert answer["error_code"] == 0, answer
        self.acknowledged += values
        self._sequences[partition] += len(values)
        self._unsure = None
        return True

    def _records(self, partition: int, values: list[bytes]) -> bytes:
        messages = [(None, value) for value in values]
        if self._producer is None:
            return set_of(messages) if self.acks == 1 else batch_of(messages, producer=NOBODY)
        producer = Producer(self._producer, 0, self._sequences[partition])
        return batch_of(messages, producer=producer)

    def _next_value(self) -> bytes:
        self._count += 1
        return f"{self.name} {self._count}".encode() + b"." * self._chance.randrange(60)


@pytest.mark.first
@pytest.mark.parametrize(
    "rounds", [2, pytest.param(20, marks=pytest.mark.soak)], ids=["quick", "long"]
)
def test_kill_while_three_clients_produce_loses_nothing_acknowledged(
    tmp_path, rounds, record_property
):
    kminilog = CommandLine(tmp_path / "log-dir")
    config = ["--config", "segment.bytes=200000", "--partitions", PARTITIONS]
    kminilog.ok("topic", "create", "orders", "--dialect", "kafka", *config)
    senders = produce_and_kill(rounds, lambda: Serving(kminilog, said=tmp_path / "said"))
    consumed = kminilog.ok("consume", "orders", "--until-end", "--json")
    assert_nothing_lost(senders, consumed.records, record_property)
    assert "verdict: ok" in kminilog.ok("verify").out


@pytest.mark.parametrize(
    "rounds", [1, pytest.param(20, marks=pytest.mark.soak)], ids=["quick", "long"]
)
def test_kill_of_a_whole_cluster_loses_nothing_acknowledged(tmp_path, rounds, record_property):
    cluster, said = tmp_path / "cluster", tmp_path / "said"

    def start() -> Serving:
        return Serving(CommandLine(cluster, "--cluster"), "--brokers", "3", said=said)

    with start() as serving, serving.client() as client:
        topic = {"name": "orders", "num_partitions": PARTITIONS, "replication_factor": 3}
        (answer,) = client.ask("CreateTopics", 1, {"topics": [topic]})["topics"]
        assert answer["error_code"] == 0
    senders = produce_and_kill(rounds, start)
    consumed = CommandLine(cluster, "--cluster")("consume", "orders", "--until-end", "--json")
    assert_nothing_lost(senders, consumed.records, record_property)


def produce_and_kill(rounds: int, start: Callable[[], Serving]) -> list[Sender]:
    """Kill the broker in each round while it appends; let the idempotent producer end its work."""
    chance = random.Random(rounds)
    senders = [
        Sender("one", acks=1, seed=1),
        Sender("all", acks=-1, seed=2),
        Sender("idempotent", acks=-1, seed=3, producer=10**6),
    ]

    def acknowledged() -> int:
        return sum(len(each.acknowledged) for each in senders)

    for _ in range(rounds):
        before = acknowledged()
        with start() as serving:
            process = serving.process
            threads = [threading.Thread(target=each.run, args=(serving.port,)) for each in senders]
            for thread in threads:
                thread.start()
            wait_until(lambda before=before: acknowledged() > before + 2000, alive=process)
            moment = cpu_seconds(process.pid) + chance.uniform(0, 0.3)
            wait_until(
                lambda moment=moment, pid=process.pid: cpu_seconds(pid) >= moment, alive=process
            )
            process.kill()
            for thread in threads:
                thread.join()
            process.wait()
    with start() as serving:
        wanted = len(senders[-1].acknowledged) + 1
        while len(senders[-1].acknowledged) < wanted:
            senders[-1].send(serving.port, batches=1)
    return senders


def assert_nothing_lost(
    senders: list[Sender],
    records: list[dict[str, Any]],
    record_property: Callable[[str, object], None],
) -> None:
    """Find all that was acknowledged, and once what the idempotent producer sent."""
    stored = Counter(each["value"].encode() for each in records)
    acknowledged = [value for each in senders for value in each.acknowledged]
    lost = [value for value in acknowledged if not stored[value]]
    twice = [value for value, times in stored.items() if times > 1]
    record_property(
        "counted",
        f"{len(acknowledged)} acknowledged, {len(lost)} lost, "
        f"{senders[-1].resent} batches sent again, {len(twice)} messages twice",
    )
    assert lost == []
    assert twice == []  # the other two never send anything again
    assert senders[-1].resent
