"""P1, P2: Kafka 0.8 with and without failover."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.clock import ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.config import complete_config
from kminilog.errors import LeaderNotAvailableError, UnknownTopicOrPartitionError
from kminilog.format.java_hashing import ABS_RULES, java_hash
from kminilog.partitioners.default_0_8 import Default08
from kminilog.producer_settings import PRODUCER_SETTINGS
from tests.support.partitioners.situations import (
    JAVA_SITUATIONS,
    SEEDS,
    TOPIC,
    Drawn,
    Exactly,
    Refused,
    ask,
    assert_rule,
)

NO_LEADER = Refused(LeaderNotAvailableError, "No leader for any partition in topic orders")
RULES = {
    "none available": NO_LEADER,
    "exactly one available": Exactly([1, 1, 1]),
    "several available": Drawn({0, 2, 3}, again="same", renewed="any"),
    "listed 1 without leader, 2, 0": Drawn({2, 0}, again="same", renewed="any"),
    "empty key": Exactly([0, 0]),
    "null key": Drawn({0, 1, 2}, again="same", renewed="any"),
    "key with a negative hash": Exactly([2, 2]),
    "key with hash -2**31": Exactly([0, 0]),
}
# Where 0.8.2 differs; and what the failover switch changes in any case.
ABS_RULES_DIFFER = {"key with a negative hash": Exactly([0, 0])}


def made(chance: Random, clock: ManualClock | None = None, **config: object) -> Default08:
    partitioner = Default08(chance, clock or ManualClock())
    dotted = {name.replace("__", "-").replace("_", "."): value for name, value in config.items()}
    partitioner.configure(complete_config(dotted, PRODUCER_SETTINGS))
    return partitioner


def refreshed(partitioner, cluster, previous):
    partitioner.on_metadata_refresh()


@pytest.mark.parametrize("situation", JAVA_SITUATIONS)
def test_default_0_8_in_each_situation_keeps_its_rule(situation):
    assert_rule(made, JAVA_SITUATIONS[situation], RULES[situation], refreshed)


@pytest.mark.parametrize("situation", JAVA_SITUATIONS)
def test_default_0_8_as_of_0_8_2_in_each_situation_keeps_its_rule(situation):
    rule = ABS_RULES_DIFFER.get(situation, RULES[situation])

    def abs_made(chance):
        return made(chance, default__0_8_abs="abs")

    assert_rule(abs_made, JAVA_SITUATIONS[situation], rule, refreshed)


@pytest.mark.parametrize("situation", JAVA_SITUATIONS)
def test_default_0_8_with_failover_keeps_its_rule_where_there_is_a_leader(situation):
    def switched(chance):
        return made(chance, send_switch_broker_enable=True)

    assert_rule(switched, JAVA_SITUATIONS[situation], RULES[situation], refreshed)


@given(
    key=st.one_of(st.text(), st.binary(), st.integers(-(2**63), 2**63 - 1), st.floats()),
    partitions=st.integers(1, 50),
    rule=st.sampled_from(sorted(ABS_RULES)),
)
def test_default_0_8_places_a_key_by_its_hash_code_over_all_partitions(key, partitions, rule):
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(partitions), unavailable=range(partitions))
    partitioner = made(Random(0), default__0_8_abs=rule)
    chosen = partitioner.partition(TOPIC, key, b"is not looked at", None, b"", cluster)
    assert chosen == ABS_RULES[rule](java_hash(key)) % partitions
    assert 0 <= chosen < partitions


# ---- the cache


def first_answers(clock: ManualClock, moves_ms: list[int], **config: object) -> set[int]:
    """Return how many different answers a partitioner gives as time moves, over many seeds."""
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(50))
    counts = set()
    for seed in SEEDS:
        partitioner = made(Random(seed), clock, **config)
        answers = [ask(partitioner, None, cluster)]
        for move_ms in moves_ms:
            clock.sleep_ms(move_ms)
            answers.append(ask(partitioner, None, cluster))
        counts.add(len(set(answers)))
    return counts


@pytest.mark.parametrize(
    ("moves_ms", "config", "is_kept"),
    [
        ([600_000], {}, True),
        ([600_001], {}, False),
        ([300_000, 300_000], {}, True),
        ([600_001] + [1] * 5, {"topic_metadata_refresh_interval_ms": 10**9}, True),
        ([0], {"topic_metadata_refresh_interval_ms": 0}, True),
        ([1], {"topic_metadata_refresh_interval_ms": 0}, False),
        ([10**15], {"topic_metadata_refresh_interval_ms": -1}, True),
    ],
)
@pytest.mark.parametrize("start_ms", [0, 1_700_000_000_000])
def test_cache_is_kept_until_it_is_older_than_the_refresh_interval(
    moves_ms, config, is_kept, start_ms
):
    counts = first_answers(ManualClock(start_ms), moves_ms, **config)
    assert (counts == {1}) == is_kept


def test_cache_age_counts_from_the_last_time_it_was_emptied():
    clock = ManualClock()
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(1000))
    partitioner = made(Random(5), clock)
    answers = []
    for move_ms in (0, 600_001, 600_000, 1):
        clock.sleep_ms(move_ms)
        answers.append(ask(partitioner, None, cluster))
    assert answers[0] != answers[1] == answers[2] != answers[3]


def test_cache_is_one_for_each_topic_and_emptied_for_all():
    one, two = (ClusterMetadata.of_one_topic(name, range(1000)) for name in ("one", "two"))
    partitioner = made(Random(1))

    def answers():
        return [
            partitioner.partition(name, None, None, None, b"", cluster)
            for name, cluster in (("one", one), ("two", two))
        ]

    before = answers()
    assert before[0] != before[1]
    assert answers() == before
    partitioner.on_metadata_refresh()
    after = answers()
    assert after[0] != before[0]
    assert after[1] != before[1]


def test_cached_partition_is_answered_even_if_its_leader_is_gone():
    partitioner = made(Random(0))
    cached = ask(partitioner, None, ClusterMetadata.of_one_topic(TOPIC, range(3)))
    without = ClusterMetadata.of_one_topic(TOPIC, range(3), unavailable=[cached])
    assert ask(partitioner, None, without) == cached
    partitioner.on_metadata_refresh()
    assert ask(partitioner, None, without) != cached


def test_cached_partition_that_is_gone_is_out_of_range():
    partitioner = made(Random(0))
    only_two = ClusterMetadata.of_one_topic(TOPIC, range(3), unavailable=[0, 1])
    assert ask(partitioner, None, only_two) == 2
    with pytest.raises(UnknownTopicOrPartitionError, match=r"id: 2 .* \[0, 0\]"):
        ask(partitioner, None, ClusterMetadata.of_one_topic(TOPIC, range(1)))


# ---- failover


@pytest.mark.parametrize("is_on", [False, True])
def test_unknown_topic_comes_before_everything_else(is_on):
    partitioner = made(Random(0), send_switch_broker_enable=is_on)
    nothing = ClusterMetadata([], [])
    for key in (None, "k"):
        with pytest.raises(UnknownTopicOrPartitionError, match="Topic orders doesn't exist"):
            partitioner.partition(TOPIC, key, None, None, b"", nothing)


def test_failover_sends_keys_to_a_leader_drawn_anew_each_time():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(4), unavailable=[2])
    partitioner = made(Random(0), send_switch_broker_enable=True)
    assert {ask(partitioner, "polygenelubricants", cluster) for _ in range(60)} == {0}
    assert {ask(partitioner, "order4", cluster) for _ in range(60)} == {0, 1, 3}
    back = ClusterMetadata.of_one_topic(TOPIC, range(4))
    assert {ask(partitioner, "order4", back) for _ in range(60)} == {2}


def test_failover_of_a_cached_partition_is_never_cached():
    partitioner = made(Random(0), send_switch_broker_enable=True)
    all_up = ClusterMetadata.of_one_topic(TOPIC, range(4))
    cached = ask(partitioner, None, all_up)
    without = ClusterMetadata.of_one_topic(TOPIC, range(4), unavailable=[cached])
    assert {ask(partitioner, None, without) for _ in range(60)} == {0, 1, 2, 3} - {cached}
    assert ask(partitioner, None, all_up) == cached


def test_failover_without_any_leader_is_an_error_for_keys_too():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(3), unavailable=range(3))
    off, on = (made(Random(0), send_switch_broker_enable=is_on) for is_on in (False, True))
    assert ask(off, "order4", cluster) == 2
    with pytest.raises(LeaderNotAvailableError, match="No leader for any partition"):
        ask(on, "order4", cluster)


def test_failover_asks_the_metadata_of_every_topic_of_its_own():
    """S4's cache of leaders is filled by the first topic only; all others then scatter."""
    one, two = (ClusterMetadata.of_one_topic(name, range(9)) for name in ("one", "two"))
    partitioner = made(Random(0), send_switch_broker_enable=True)
    for name, cluster in (("one", one), ("two", two)):
        answers = {partitioner.partition(name, "k", b"", None, b"", cluster) for _ in range(40)}
        assert answers == {107 % 9}


def test_failover_is_not_deaf_to_leaders_that_come_and_go():
    partitioner = made(Random(0), send_switch_broker_enable=True)
    for down in ([], [2], [], [2]):
        cluster = ClusterMetadata.of_one_topic(TOPIC, range(3), unavailable=down)
        assert (ask(partitioner, "order4", cluster) == 2) == (not down)


def test_default_0_8_is_asked_once_only():
    assert not Default08.is_asked_again


def test_key_without_a_java_hash_code_is_refused():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(3))
    with pytest.raises(TypeError, match="no Java hash code for a key of type tuple"):
        made(Random(0)).partition(TOPIC, (1, 2), b"12", None, b"", cluster)
