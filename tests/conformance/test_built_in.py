"""The built-in partitioner switches where the accumulator of Kafka's own Java client does.

Random producers: records with and without key, waits and rounds of the sender. The two formats give
a record and a batch a few bytes more or less. So values are multiples of UNIT_BYTES, and a batch is
half a unit longer than a multiple: these bytes together are less.
"""

from collections import deque
from pathlib import Path
from random import Random

import pytest

from kminilog.config import complete_config
from kminilog.partitioners.built_in import BuiltIn
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.producer.record import ProducerRecord
from kminilog.producer_settings import PRODUCER_SETTINGS
from tests.support.conformance.wheel_oracles import require, run_java
from tests.support.producer.small_cluster import TOPIC, SmallCluster, small_cluster

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("without_fsync")]

PROGRAM = Path(__file__).parents[1] / "support" / "conformance" / "AccumulatorOracle.java"
UNIT_BYTES = 2000
PARTITIONS = 3
LINGER_MS = 10
KEYS = {murmur2_partition(key, PARTITIONS): key for key in (b"a", b"b", b"c", b"d", b"e", b"f")}


class DrawnByJava(BuiltIn):
    """Draws the partition to which Java sends the next record without key."""

    def __init__(self, javas: list[int]) -> None:
        super().__init__(self)
        self.javas = deque(javas)
        self.has_drawn = False
        self.place = 0

    def randrange(self, stop):
        self.has_drawn = True
        return self.javas[0] if self.javas else 0

    def getrandbits(self, count):
        raise NotImplementedError

    def on_appended(self, topic, partition, size_bytes, *, has_key, **more):
        self.place = partition
        if not has_key:
            self.javas.popleft()
        super().on_appended(topic, partition, size_bytes, has_key=has_key, **more)


def random_events(chance: Random, units_of_a_batch: int) -> list[str]:
    """Return what happens to a producer, as AccumulatorOracle.java reads it."""
    events = []
    for _ in range(60):
        size_bytes = UNIT_BYTES * chance.randint(1, units_of_a_batch)
        partition = chance.randrange(PARTITIONS)
        key = f"k{size_bytes}:{partition}"
        rare = [key, "r", f"w{chance.randint(1, LINGER_MS)}"]
        events.append(chance.choice([f"n{size_bytes}", f"n{UNIT_BYTES}", chance.choice(rare)]))
    return events


def ours(small: SmallCluster, batch_size: int, events: list[str], theirs: str) -> str:
    """Return what our producer does with the same events and draws, in Java's words."""
    words = zip(events, theirs.split(" "), strict=True)
    partitioner = DrawnByJava([int(word.rstrip("+")) for event, word in words if event[0] == "n"])
    config = {
        "batch.size": batch_size,
        "linger.ms": LINGER_MS,
        "partitioner.adaptive.partitioning.enable": False,
    }
    partitioner.configure(complete_config(config, PRODUCER_SETTINGS))
    said = []
    with small.producer(config=config, partitioner=partitioner) as producer:
        for event in events:
            number, _, partition = event[1:].partition(":")
            if event[0] == "w":
                small.clock.sleep_ms(int(number))
                said.append("-")
            elif event[0] == "r":
                sent = producer.step().sent
                shown = (f"{b.topic_partition.partition}:{len(b.records)}" for b in sent)
                said.append("|" + ",".join(sorted(shown)))
            else:
                key = KEYS[int(partition)] if partition else None
                partitioner.has_drawn = False
                producer.send(ProducerRecord(TOPIC, key=key, value=bytes(int(number))))
                said.append(f"{partitioner.place}{'+' if partitioner.has_drawn else ''}")
    return " ".join(said)


def test_built_in_switches_where_the_java_client_does(tmp_path):
    chance = Random(5)
    sizes = [chance.randint(1, 4) for _ in range(150)]
    traces = [random_events(chance, units) for units in sizes]
    batch_sizes = [UNIT_BYTES * units + UNIT_BYTES // 2 for units in sizes]
    lines = [
        " ".join([str(batch_size), str(LINGER_MS), str(PARTITIONS), *events])
        for batch_size, events in zip(batch_sizes, traces, strict=True)
    ]
    answered = require(
        "Kafka's Java client", lambda: run_java(PROGRAM, "".join(f"{line}\n" for line in lines))
    )
    theirs = answered.splitlines()
    assert sum(answer.count("+") for answer in theirs) > 1_000
    with small_cluster(tmp_path, partitions=PARTITIONS) as small:
        for batch_size, events, expected in zip(batch_sizes, traces, theirs, strict=True):
            assert ours(small, batch_size, events, expected) == expected, (batch_size, events)
