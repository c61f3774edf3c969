"""How long it takes to hash a key, and to choose a partition.

Keys are texts of 10 to 20 letters. The yardstick of the hash is kafka-python's, in Python as well;
it is fetched, and left out if it cannot be had.
"""

import random
import string
from collections.abc import Callable

from bench.timing import row, seconds_of_each
from kminilog.clock import ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.format.hashing import murmur2
from kminilog.partitioners.registry import PARTITIONERS, make_partitioner
from tests.support.conformance.wheel_oracles import OracleAbsentError, kafka_python_murmur2

CALLS = 10_000
PARTITIONS = 12
HASH_ROUNDS = 21


def make_keys() -> list[str]:
    chance = random.Random(1)
    return [
        "".join(chance.choices(string.ascii_letters, k=chance.randrange(10, 21)))
        for _ in range(CALLS)
    ]


def measure_murmur2(keys: list[bytes]) -> None:
    try:
        theirs = kafka_python_murmur2()
    except OracleAbsentError as error:
        print(f"murmur2 of a key: not compared with kafka-python's: {error}")
        return
    works = [lambda: [theirs(key) for key in keys], lambda: [murmur2(key) for key in keys]]
    their_time, our_time = seconds_of_each(works, HASH_ROUNDS)
    row("kafka-python's murmur2 of a key", their_time, CALLS, "itself", their_time)
    row("murmur2 of a key", our_time, CALLS, "kafka-python's", their_time)


def partition_all(name: str, keys: list[str] | list[None]) -> Callable[[], object]:
    """Return the work of choosing a partition for each key, by a partitioner that keeps its state.

    Every partition has a leader, and no batch ever ends: so a sticky one stays where it is.
    """
    cluster = ClusterMetadata.of_one_topic("orders", range(PARTITIONS))
    partitioner = make_partitioner(name, {}, chance=random.Random(1), clock=ManualClock())
    asked = [(key, None if key is None else key.encode()) for key in keys]

    def work() -> None:
        for key, key_bytes in asked:
            partitioner.partition("orders", key, key_bytes, None, None, cluster)

    return work


def measure() -> None:
    keys = make_keys()
    print(f"\npartitioning: keys of 10 to 20 letters, {PARTITIONS} partitions")
    measure_murmur2([key.encode() for key in keys])
    print(f"{'partition() calls per second':38}{'with key':>13}{'without key':>13}")
    taken = seconds_of_each(
        [partition_all(name, some) for name in PARTITIONERS for some in (keys, [None] * CALLS)]
    )
    for name, keyed, unkeyed in zip(PARTITIONERS, taken[::2], taken[1::2], strict=True):
        print(f"  {name:36}{CALLS / keyed:13,.0f}{CALLS / unkeyed:13,.0f}")
