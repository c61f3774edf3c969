"""What holds of every partitioner, whatever the cluster, the key and the seed."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.clock import ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.errors import LeaderNotAvailableError
from kminilog.format.hashing import murmur2
from kminilog.partitioners.dry_run import OpenBatches
from kminilog.partitioners.interface import ask_partitioner
from kminilog.partitioners.placement import Placement
from kminilog.partitioners.registry import PARTITIONERS, make_partitioner

TOPIC = "orders"
MURMUR2 = ["default-0.9", "default-2.4", "built-in"]
keys = st.none() | st.binary(max_size=12) | st.text(max_size=6)


@st.composite
def clusters(draw, least_available=0):
    """Up to eight partitions in any order, any of them without leader."""
    order = draw(st.permutations(range(draw(st.integers(max(1, least_available), 8)))))
    down = draw(st.sets(st.sampled_from(order), max_size=len(order) - least_available))
    return ClusterMetadata.of_one_topic(TOPIC, order, down)


def make(name, seed=0, **config):
    return make_partitioner(name, config, chance=Random(seed), clock=ManualClock())


def place_all(partitioner, records, batch_size_bytes):
    """Place (key, cluster) by (key, cluster) as a producer does; None where nobody leads."""
    batches = OpenBatches(batch_size_bytes)
    placement = Placement(partitioner, batches.has_room)
    answers = []
    for key, cluster in records:
        key_bytes = key.encode() if isinstance(key, str) else key
        try:
            chosen = placement.place(TOPIC, key, key_bytes, None, b"", cluster, 10)
        except LeaderNotAvailableError:
            answers.append(None)
            continue
        is_full = batches.append(TOPIC, chosen, 10)
        partitioner.on_appended(
            TOPIC, chosen, 10, has_key=key is not None, is_batch_full=is_full, cluster=cluster
        )
        answers.append(chosen)
    return answers


@pytest.mark.parametrize("name", PARTITIONERS)
@given(data=st.data(), seed=st.integers(0, 2**32), batch_size=st.integers(0, 40))
def test_answer_is_in_range_and_the_same_for_a_seed(name, data, seed, batch_size):
    order = data.draw(st.permutations(range(data.draw(st.integers(1, 8)))))
    downs = st.sets(st.sampled_from(order))
    cluster = st.builds(lambda down: ClusterMetadata.of_one_topic(TOPIC, order, down), downs)
    records = data.draw(st.lists(st.tuples(keys, cluster), min_size=1, max_size=25))
    config = {"batch.size": batch_size}
    answers = place_all(make(name, seed, **config), records, batch_size)
    assert all(answer is None or 0 <= answer < len(order) for answer in answers)
    assert answers == place_all(make(name, seed, **config), records, batch_size)
    if name != "default-0.8":
        assert None not in answers


@pytest.mark.parametrize("name", MURMUR2)
@given(data=st.data(), key_bytes=st.binary(max_size=70), partitions=st.integers(1, 1000))
def test_key_is_placed_by_its_bytes_alone(name, data, key_bytes, partitions):
    down = data.draw(st.sets(st.integers(0, partitions - 1), max_size=5))
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(partitions), down)
    placed = set()
    for seed, key in enumerate(("one object", b"another", 3)):
        chooser = make(name, seed)
        chooser.partition(TOPIC, None, None, None, b"", cluster)
        placed.add(ask_partitioner(chooser, TOPIC, key, key_bytes, seed, b"v", cluster))
    # Adding 2**31 to a negative hash does what to_positive does, in other words.
    hashed = murmur2(key_bytes)
    assert placed == {(hashed + 2**31 if hashed < 0 else hashed) % partitions}


@pytest.mark.parametrize("name", ["uniform-sticky", "sticky-cache", "default-2.4"])
@given(cluster=clusters(least_available=2), seed=st.integers(0, 2**32), count=st.integers(1, 10))
def test_sticky_must_change_with_a_new_batch_if_two_are_available(name, cluster, seed, count):
    chooser = make(name, seed)
    available = {info.partition for info in cluster.available_partitions_for_topic(TOPIC)}
    for _ in range(count):
        before = chooser.partition(TOPIC, None, None, None, b"", cluster)
        assert chooser.partition(TOPIC, None, None, None, b"", cluster) == before
        chooser.on_new_batch(TOPIC, cluster, before)
        after = chooser.partition(TOPIC, None, None, None, b"", cluster)
        assert after != before
        assert after in available
        chooser.on_new_batch(TOPIC, cluster, before)
        assert chooser.partition(TOPIC, None, None, None, b"", cluster) == after


@pytest.mark.parametrize("name", ["round-robin", "default-0.9"])
@given(cluster=clusters(), seed=st.integers(0, 2**32), count=st.integers(0, 60), size=st.integers())
def test_in_turn_is_even_whatever_the_batches(name, cluster, seed, count, size):
    available = cluster.available_partitions_for_topic(TOPIC) or cluster.partitions_for_topic(TOPIC)
    answers = place_all(make(name, seed), [(None, cluster)] * count, size % 50)
    counts = Counter({info.partition: 0 for info in available})
    counts.update(answers)
    assert len(counts) == len(available)
    spread = max(counts.values()) - min(counts.values())
    # Two turns may meet where the counter of 0.9 wraps; no seed of these tests starts near that.
    assert spread <= 1


@given(cluster=clusters(least_available=1), key=keys, seed=st.integers(0, 2**32))
def test_default_0_8_with_failover_never_answers_a_partition_without_leader(cluster, key, seed):
    chooser = make("default-0.8", seed, **{"send.switch.broker.enable": True})
    answer = ask_partitioner(chooser, TOPIC, key, b"", None, b"", cluster)
    assert cluster.leader_for(TOPIC, answer) is not None
