"""P4: round robin, with and without its bug."""

import pytest

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.config import complete_config
from kminilog.partitioners.dry_run import OpenBatches
from kminilog.partitioners.placement import Placement
from kminilog.partitioners.round_robin import RoundRobin
from kminilog.producer_settings import PRODUCER_SETTINGS
from tests.support.partitioners.situations import SITUATIONS, TOPIC, Exactly, ask, assert_rule

IN_LISTED_ORDER = Exactly([2, 0, 2, 0])
RULES = {
    "none available": Exactly([0, 1, 2, 0]),
    "exactly one available": Exactly([1, 1, 1]),
    "several available": Exactly([0, 2, 3, 0]),
    "listed 1 without leader, 2, 0": IN_LISTED_ORDER,
    "empty key": IN_LISTED_ORDER,
    "null key": Exactly([0, 1, 2, 0]),
    "key with a negative hash": IN_LISTED_ORDER,
    "key with hash -2**31": IN_LISTED_ORDER,
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_round_robin_in_each_situation_keeps_its_rule(situation):
    assert_rule(lambda chance: RoundRobin(), SITUATIONS[situation], RULES[situation])


def made(has_bug: bool) -> RoundRobin:
    partitioner = RoundRobin()
    config = complete_config({"round-robin.double-call-bug": has_bug}, PRODUCER_SETTINGS)
    partitioner.configure(config)
    return partitioner


def placed(has_bug: bool, partitions: int, records: int, batch_size_bytes: int) -> list[int]:
    """Place records of 10 bytes as a producer that never sends does."""
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(partitions))
    batches = OpenBatches(batch_size_bytes)
    placement = Placement(made(has_bug), batches.has_room)
    answers = []
    for _ in range(records):
        answers.append(placement.place(TOPIC, None, None, None, b"", cluster, 10))
        batches.append(TOPIC, answers[-1], 10)
    return answers


@pytest.mark.parametrize(
    ("partitions", "buggy"), [(4, [1, 3, 1, 3, 1, 3]), (3, [1, 0, 2, 1, 0, 2]), (1, [0] * 6)]
)
def test_double_call_bug_skips_every_other_turn_when_each_record_begins_a_batch(partitions, buggy):
    assert placed(True, partitions, 6, batch_size_bytes=10) == buggy
    assert placed(False, partitions, 6, batch_size_bytes=10) == [n % partitions for n in range(6)]


def test_double_call_bug_with_open_batches_starves_those_that_have_none():
    # Of three, too: the turn that partition 2 loses is always the one that would open its batch.
    assert placed(True, 3, 8, batch_size_bytes=100) == [1, 0, 1, 0, 1, 0, 1, 0]
    assert placed(True, 4, 8, batch_size_bytes=20) == [1, 3, 1, 3, 1, 3, 1, 3]
    assert placed(False, 4, 8, batch_size_bytes=20) == [0, 1, 2, 3, 0, 1, 2, 3]


def test_answer_after_a_new_batch_is_the_previous_one_once():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(3))
    partitioner = made(False)
    answers = []
    for begins_batch in (True, False, False, True):
        answers.append(ask(partitioner, None, cluster))
        if begins_batch:
            partitioner.on_new_batch(TOPIC, cluster, answers[-1])
            answers.append(ask(partitioner, None, cluster))
    assert answers == [0, 0, 1, 2, 0, 0]


def test_repeated_answer_is_for_its_own_topic():
    one, two = (ClusterMetadata.of_one_topic(name, range(3)) for name in ("one", "two"))
    partitioner = made(False)

    def ask_for(name, cluster):
        return partitioner.partition(name, None, None, None, b"", cluster)

    assert [ask_for("one", one), ask_for("one", one)] == [0, 1]
    partitioner.on_new_batch("one", one, 1)
    assert [ask_for("two", two), ask_for("one", one)] == [0, 2]


def test_counters_are_one_for_each_topic_from_0():
    one, two = (ClusterMetadata.of_one_topic(name, range(3)) for name in ("one", "two"))
    partitioner = RoundRobin()
    for turn in range(5):
        for name, cluster in (("one", one), ("two", two)):
            answer = partitioner.partition(name, None, None, None, b"", cluster)
            assert answer == turn % 3


def test_counter_goes_on_when_a_round_is_over():
    three, two = (ClusterMetadata.of_one_topic(TOPIC, range(count)) for count in (3, 2))
    partitioner = RoundRobin()
    assert [ask(partitioner, None, three) for _ in range(3)] == [0, 1, 2]
    assert [ask(partitioner, None, two) for _ in range(2)] == [1, 0], "3 % 2, and not from 0"


def test_counter_that_wraps_goes_on_within_range():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(3))
    partitioner = RoundRobin()
    # Nobody can wait for two thousand million turns.
    partitioner._counters[TOPIC] = 2**31 - 2
    assert [ask(partitioner, None, cluster) for _ in range(4)] == [0, 1, 0, 1]
    assert partitioner._counters[TOPIC] == -(2**31) + 2
