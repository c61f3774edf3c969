"""Keys go to the partitions to which librdkafka and kafka-python send them."""

import random

import pytest

from kminilog.clock import ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.format.hashing import murmur2
from kminilog.partitioners.registry import make_partitioner
from tests.support.conformance.wheel_oracles import (
    kafka_python_murmur2,
    librdkafka_murmur2_partition,
    require,
)

pytestmark = pytest.mark.conformance

_CHANCE = random.Random(0x9747B28C)
KEYS = [_CHANCE.randbytes(_CHANCE.randrange(65)) for _ in range(10_000)]


def test_keys_have_all_lengths_from_0_to_64_and_hashes_of_both_signs():
    assert {len(key) for key in KEYS} == set(range(65))
    negative = sum(murmur2(key) < 0 for key in KEYS)
    assert 4_000 < negative < 6_000


def test_murmur2_equals_kafka_python():
    theirs = require("kafka-python", kafka_python_murmur2)
    wrong = [key for key in KEYS if murmur2(key) & 0xFFFFFFFF != theirs(key)]
    assert wrong == []


@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 12, 50, 1000])
def test_default_2_4_places_keys_as_librdkafka_does(partitions):
    theirs = require("librdkafka", librdkafka_murmur2_partition)
    cluster = ClusterMetadata.of_one_topic("orders", range(partitions))
    chosen = make_partitioner("default-2.4", {}, chance=random.Random(1), clock=ManualClock())
    wrong = [
        key
        for key in KEYS
        if chosen.partition("orders", key, key, None, None, cluster) != theirs(key, partitions)
    ]
    assert wrong == []
    assert len({theirs(key, partitions) for key in KEYS}) > 0.99 * partitions  # the oracle answers
