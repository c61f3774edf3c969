"""Kafka 3.3 and later, KIP-794."""

from collections import Counter
from random import Random

import pytest

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.config import complete_config
from kminilog.errors import UnknownTopicOrPartitionError
from kminilog.partitioners.built_in import BuiltIn, Load
from kminilog.producer_settings import PRODUCER_SETTINGS
from tests.support.partitioners.situations import (
    SEEDS,
    SITUATIONS,
    TOPIC,
    Drawn,
    Exactly,
    ask,
    assert_rule,
)

LISTED = Drawn({2, 0}, again="same", renewed="any")
RULES = {
    "none available": Drawn({0, 1, 2}, again="same", renewed="any"),
    "exactly one available": Exactly([1, 1, 1]),
    "several available": Drawn({0, 2, 3}, again="same", renewed="any"),
    "listed 1 without leader, 2, 0": LISTED,
    "empty key": Exactly([0, 0]),
    "null key": Drawn({0, 1, 2}, again="same", renewed="any"),
    "key with a negative hash": Exactly([0, 0]),
    "key with hash -2**31": Exactly([0, 0]),
}
# Those that differ with partitioner.ignore.keys.
RULES_IGNORING_KEYS = {
    "empty key": LISTED,
    "key with a negative hash": LISTED,
    "key with hash -2**31": LISTED,
}
BATCH = 100
FOUR = ClusterMetadata.of_one_topic(TOPIC, range(4))


def made(chance: Random, **config: object) -> BuiltIn:
    partitioner = BuiltIn(chance)
    dotted = {name.replace("_", "."): value for name, value in config.items()}
    partitioner.configure(complete_config({"batch.size": BATCH, **dotted}, PRODUCER_SETTINGS))
    return partitioner


def many_bytes(partitioner, cluster, previous):
    append(partitioner, cluster, previous, 2 * BATCH)


def append(partitioner, cluster, partition, size_bytes, *, is_full=False, has_key=False):
    partitioner.on_appended(
        TOPIC, partition, size_bytes, has_key=has_key, is_batch_full=is_full, cluster=cluster
    )


@pytest.mark.parametrize("situation", SITUATIONS)
def test_built_in_in_each_situation_keeps_its_rule(situation):
    assert_rule(made, SITUATIONS[situation], RULES[situation], many_bytes)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_built_in_ignoring_keys_in_each_situation_keeps_its_rule(situation):
    rule = RULES_IGNORING_KEYS.get(situation, RULES[situation])

    def ignoring(chance):
        return made(chance, partitioner_ignore_keys=True)

    assert_rule(ignoring, SITUATIONS[situation], rule, many_bytes)


# ---- when to switch


@pytest.mark.parametrize(
    ("appends", "has_switched"),
    [
        ([(99, True)], False),
        ([(100, True)], True),
        ([(100, False)], False),
        ([(199, False)], False),
        ([(200, False)], True),
        ([(60, False), (40, True)], True),
        ([(60, True), (39, True)], False),
        ([(100, False), (0, True)], True),
        ([(150, False), (49, False)], False),
        ([(150, False), (50, False)], True),
    ],
)
def test_switch_comes_with_a_full_batch_after_batch_size_or_after_twice_that(appends, has_switched):
    # Of so many partitions, a draw never gives the same one again here.
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(10_000))
    for seed in range(5):
        partitioner = made(Random(seed))
        first = ask(partitioner, None, cluster)
        for slot, (size_bytes, is_full) in enumerate(appends):
            if slot:
                ask(partitioner, None, cluster)
            append(partitioner, cluster, first, size_bytes, is_full=is_full)
        assert (ask(partitioner, None, cluster) != first) == has_switched


@pytest.mark.parametrize(
    ("size_bytes", "key", "has_switched"),
    [(100, None, True), (99, None, False), (100, b"k", False)],
    ids=["batch.size reached", "a byte less", "of a record with a key"],
)
def test_postponed_switch_comes_when_the_last_batch_takes_no_more(size_bytes, key, has_switched):
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(10_000))
    partitioner = made(Random(0))
    first = ask(partitioner, None, cluster)
    append(partitioner, cluster, first, size_bytes)
    assert ask(partitioner, None, cluster) == first, "the batch may have room"
    partitioner.on_new_batch(TOPIC, cluster, first)
    ask(partitioner, key, cluster)
    assert (ask(partitioner, None, cluster) != first) == has_switched


def test_batch_size_of_0_counts_as_1():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(10_000))
    partitioner = made(Random(0), batch_size=0)
    first = ask(partitioner, None, cluster)
    append(partitioner, cluster, first, 0, is_full=True)
    assert ask(partitioner, None, cluster) == first
    append(partitioner, cluster, first, 1, is_full=True)
    assert ask(partitioner, None, cluster) != first


def test_bytes_of_keys_do_not_count():
    cluster = ClusterMetadata.of_one_topic(TOPIC, [0])
    many = ClusterMetadata.of_one_topic(TOPIC, range(10_000))
    partitioner = made(Random(0))
    first = ask(partitioner, None, many)
    append(partitioner, many, first, 10)
    for _ in range(5):
        assert ask(partitioner, b"k", cluster) == 0
        append(partitioner, many, first, 10 * BATCH, is_full=True, has_key=True)
    assert ask(partitioner, None, many) == first


def test_records_appended_after_a_switch_by_another_thread_do_not_count():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(10_000))
    partitioner = made(Random(0))
    first = ask(partitioner, None, cluster)
    assert ask(partitioner, None, cluster) == first
    append(partitioner, cluster, first, 2 * BATCH)
    second = ask(partitioner, None, cluster)
    append(partitioner, cluster, first, 2 * BATCH)
    assert ask(partitioner, None, cluster) == second != first


def test_topics_have_a_partition_each():
    one, two = (ClusterMetadata.of_one_topic(name, range(10_000)) for name in ("one", "two"))
    partitioner = made(Random(0))
    answers = [
        partitioner.partition(name, None, None, None, b"", cluster)
        for name, cluster in (("one", one), ("two", two), ("one", one))
    ]
    assert answers[0] == answers[2] != answers[1]


def test_current_partition_is_kept_even_if_its_leader_is_gone():
    partitioner = made(Random(0))
    first = ask(partitioner, None, FOUR)
    without = ClusterMetadata.of_one_topic(TOPIC, range(4), unavailable=[first])
    assert ask(partitioner, None, without) == first
    append(partitioner, without, first, 2 * BATCH)
    assert ask(partitioner, None, without) != first


# ---- adaptive draws


def draws(queue_sizes, cluster=FOUR, stalled=(), count=4000, **config):
    """Count the partitions of many draws while the queues are so long."""
    partitioner = made(Random(7), **config)
    partitioner.on_queues(TOPIC, queue_sizes, cluster, stalled=stalled)
    counts = Counter()
    for _ in range(count):
        chosen = ask(partitioner, None, cluster)
        counts[chosen] += 1
        append(partitioner, cluster, chosen, 2 * BATCH)
    return {partition: round(counts[partition] / count, 1) for partition in sorted(counts)}


EVEN = {0: 0.2, 1: 0.2, 2: 0.2, 3: 0.3}
AVAILABILITY = {"partitioner_availability_timeout_ms": 10}


@pytest.mark.parametrize(
    ("queue_sizes", "stalled", "config", "expected"),
    [
        # weights 4, 1, 3, 2 of 10
        ({0: 0, 1: 3, 2: 1, 3: 2}, (), {}, {0: 0.4, 1: 0.1, 2: 0.3, 3: 0.2}),
        ({0: 5, 1: 5, 2: 5, 3: 5}, (), {}, EVEN),
        ({0: 0, 1: 3, 2: 1}, (), {}, EVEN),
        ({0: 0, 1: 3, 2: 1, 3: 2}, (), {"partitioner_adaptive_partitioning_enable": False}, EVEN),
        ({0: 2, 1: 2, 2: 2, 3: 2}, (1, 2), AVAILABILITY, {0: 0.5, 3: 0.5}),
        ({0: 2, 1: 2, 2: 2, 3: 2}, (0, 1, 2), AVAILABILITY, {3: 1.0}),
        ({0: 2, 1: 2, 2: 2, 3: 2}, (0, 1, 2, 3), AVAILABILITY, EVEN),
        ({0: 2, 1: 2, 2: 2, 3: 2}, (0, 1, 2), {}, EVEN),
    ],
    ids=[
        "shorter queues are likelier",
        "equal queues are even",
        "a partition without queue: even",
        "not adaptive: even",
        "stalled ones are left out",
        "one that is not stalled gets all",
        "all stalled: even",
        "stalled ones count without the setting",
    ],
)
def test_draws_follow_the_queues(queue_sizes, stalled, config, expected):
    found = draws(queue_sizes, stalled=stalled, **config)
    assert found.keys() == expected.keys()
    assert all(abs(found[partition] - expected[partition]) <= 0.1 for partition in expected)


def test_draws_leave_out_a_partition_without_leader():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(3), unavailable=[1])
    for queue_sizes in ({0: 3, 1: 0, 2: 3}, {0: 1, 1: 1, 2: 1}):
        assert draws(queue_sizes, cluster) == {0: 0.5, 2: 0.5}


def test_draws_of_the_only_partition_are_it_whatever_its_queue():
    one = ClusterMetadata.of_one_topic(TOPIC, [0])
    assert draws({0: 5}, one, count=10) == {0: 1.0}
    assert draws({0: 5}, one, stalled=[0], count=10, **AVAILABILITY) == {0: 1.0}


def test_draws_are_even_again_once_the_queues_are():
    partitioner = made(Random(0))
    partitioner.on_queues(TOPIC, {0: 9, 1: 9, 2: 9, 3: 0}, FOUR)
    partitioner.on_queues(TOPIC, dict.fromkeys(range(4), 9), FOUR)
    counts = Counter()
    for _ in range(400):
        chosen = ask(partitioner, None, FOUR)
        counts[chosen] += 1
        append(partitioner, FOUR, chosen, 2 * BATCH)
    assert min(counts.values()) > 60
    assert len(counts) == 4


def test_load_of_the_documented_example():
    load = Load.of_queues({0: 0, 1: 3, 2: 1})
    assert load.sums == (4, 5, 8)
    assert [load.pick(drawn) for drawn in range(8)] == [0, 0, 0, 0, 1, 2, 2, 2]


def test_first_draw_reaches_every_available_partition():
    assert {ask(made(Random(seed)), None, FOUR) for seed in SEEDS} == {0, 1, 2, 3}


def test_unknown_topic_is_an_error_with_or_without_key():
    for key in (None, b"k"):
        with pytest.raises(UnknownTopicOrPartitionError, match="Topic orders doesn't exist"):
            made(Random(0)).partition(TOPIC, key, key, None, b"", ClusterMetadata([], []))
