"""P3: Kafka 0.9 to 2.3."""

from random import Random

import pytest

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.errors import UnknownTopicOrPartitionError
from kminilog.partitioners.default_0_9 import Default09
from tests.support.partitioners.situations import SITUATIONS, TOPIC, Exactly, ask, assert_rule

# With a counter that starts at 0.
RULES = {
    "none available": Exactly([0, 1, 2, 0]),
    "exactly one available": Exactly([1, 1, 1]),
    "several available": Exactly([0, 2, 3, 0]),
    "listed 1 without leader, 2, 0": Exactly([2, 0, 2, 0]),
    "empty key": Exactly([0, 0]),
    "null key": Exactly([0, 1, 2, 0]),
    "key with a negative hash": Exactly([0, 0]),
    "key with hash -2**31": Exactly([0, 0]),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_default_0_9_in_each_situation_keeps_its_rule(situation):
    assert_rule(lambda chance: Default09(chance, start=0), SITUATIONS[situation], RULES[situation])


def test_none_available_answers_numbers_and_not_places():
    cluster = ClusterMetadata.of_one_topic(TOPIC, [1, 2, 0], unavailable=[0, 1, 2])
    partitioner = Default09(Random(0), start=0)
    assert [ask(partitioner, None, cluster) for _ in range(4)] == [0, 1, 2, 0]


def test_counter_is_one_for_all_topics_and_keys_do_not_move_it():
    one, two = (ClusterMetadata.of_one_topic(name, range(2)) for name in ("one", "two"))
    partitioner = Default09(Random(0), start=0)
    answers = []
    for key_bytes in (None, b"key", None):
        for name, cluster in (("one", one), ("two", two)):
            answer = partitioner.partition(name, None, key_bytes, None, b"", cluster)
            answers += [] if key_bytes else [(name, answer)]
    assert answers == [("one", 0), ("two", 1), ("one", 0), ("two", 1)]


@pytest.mark.parametrize(
    ("start", "answers"),
    [(2**31 - 1, [1, 0, 1, 2]), (-1, [1, 0, 1, 2]), (-(2**31), [0, 1, 2, 0])],
)
def test_counter_that_wraps_or_is_negative_keeps_within_range(start, answers):
    # 2**31 - 1 is 1 modulo 3; then -2**31, and -1 after all the negative ones, count as 0.
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(3))
    partitioner = Default09(Random(0), start=start)
    assert [ask(partitioner, None, cluster) for _ in answers] == answers


def test_counter_starts_anywhere_by_chance_and_the_same_for_a_seed():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(50))
    firsts = [ask(Default09(Random(seed)), None, cluster) for seed in range(100)]
    assert len(set(firsts)) > 30
    assert firsts == [ask(Default09(Random(seed)), None, cluster) for seed in range(100)]


def test_unknown_topic_is_an_error_with_or_without_key():
    partitioner = Default09(Random(0))
    for key in (None, b"k"):
        with pytest.raises(UnknownTopicOrPartitionError, match="Topic orders doesn't exist"):
            partitioner.partition(TOPIC, key, key, None, b"", ClusterMetadata([], []))


def test_default_0_9_is_asked_once_only():
    assert not Default09.is_asked_again
