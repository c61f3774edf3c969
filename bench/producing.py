"""Messages per second through the producer, and a million of them while a broker is lost.

Three brokers, six partitions, three copies, keys of 10 and values of 100 bytes; the producer with
its thread, the followers with theirs.
"""

import random
import tempfile
from pathlib import Path

from bench.timing import seconds_of_each
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.format.dialect import KAFKA
from kminilog.producer.record import ProducerRecord
from kminilog.producer.sender import Producer, replicating
from kminilog.storage.topics import Topic
from kminilog.system import SystemClock
from tests.support.producer.under_fire import send_under_fire

MESSAGES = 20_000
ROUNDS = 3
MILLION = 1_000_000


def measure() -> None:
    rng = random.Random(1)
    pairs = [(rng.randbytes(10), rng.randbytes(100)) for _ in range(MESSAGES)]
    all_acks = (0, 1, -1)
    works = [lambda acks=acks: send_all(pairs, acks) for acks in all_acks]
    taken = seconds_of_each(works, ROUNDS)
    print(f"\nproducer: {MESSAGES} messages to 3 brokers, 6 partitions, 3 copies")
    for acks, duration in zip(all_acks, taken, strict=True):
        speed = MESSAGES / duration
        print(f"acks {acks:2}{speed:12,.0f} messages/s{duration / taken[0]:10.2f} x acks 0")
    under_fire()


def send_all(pairs: list[tuple[bytes, bytes]], acks: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        clock = SystemClock()
        cluster = MiniCluster.open(directory, brokers=3, clock=clock)
        cluster.create_topic(Topic("orders", 6, KAFKA), replication_factor=3)
        with (
            replicating(cluster.replicate),
            Producer(cluster, {"acks": acks}, clock=clock, chance=random.Random(1)) as producer,
        ):
            for key, value in pairs:
                producer.send(ProducerRecord("orders", key, value))
        assert producer.report.acknowledged == len(pairs)
        cluster.close()


def under_fire() -> None:
    with tempfile.TemporaryDirectory() as directory:
        outcome = send_under_fire(Path(directory), MILLION, KAFKA)
    print(f"\n{MILLION:,} keyed messages, acks -1; one of 3 brokers crashes and returns")
    print(f"{MILLION / outcome.seconds:,.0f} messages/s, {outcome.seconds:.0f} s")
    report = outcome.report
    print(f"acknowledged {report.acknowledged:,}; not in the files: {len(outcome.lost)}")
    print(
        f"in doubt and sent again {report.in_doubt}; in the files twice: "
        f"{outcome.repeated.total()}, all of them sent again: "
        f"{outcome.repeated.keys() <= outcome.sent_again.keys()}"
    )
    print(f"out of order in their key: {outcome.out_of_order}")
    print(f"files in which copies differ: {len(outcome.differing)}")
