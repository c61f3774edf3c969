"""P5, P6: sticking to a partition, and the cache."""

from random import Random

import pytest

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.errors import UnknownTopicOrPartitionError
from kminilog.partitioners.sticky import StickyCache, StickyPartitionCache, UniformSticky
from tests.support.partitioners.situations import (
    SEEDS,
    SITUATIONS,
    TOPIC,
    Drawn,
    Exactly,
    ask,
    assert_rule,
)

LISTED = Drawn({2, 0}, again="same", renewed="other")
RULES = {
    "none available": Drawn({0, 1, 2}, again="same", renewed="any"),
    "exactly one available": Exactly([1, 1, 1]),
    "several available": Drawn({0, 2, 3}, again="same", renewed="other"),
    "listed 1 without leader, 2, 0": LISTED,
    "empty key": LISTED,
    "null key": Drawn({0, 1, 2}, again="same", renewed="other"),
    "key with a negative hash": LISTED,
    "key with hash -2**31": LISTED,
}


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("partitioner", [UniformSticky, StickyCache])
def test_sticky_in_each_situation_keeps_its_rule(partitioner, situation):
    assert_rule(partitioner, SITUATIONS[situation], RULES[situation])


def test_the_only_available_partition_is_kept_by_a_new_batch():
    cluster = SITUATIONS["exactly one available"].cluster
    partitioner = UniformSticky(Random(0))
    for _ in range(5):
        partitioner.on_new_batch(TOPIC, cluster, 1)
        assert ask(partitioner, None, cluster) == 1


@pytest.mark.parametrize("seed", range(5))
def test_sticky_cache_answers_as_uniform_sticky_with_the_same_seed(seed):
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(7))
    both = UniformSticky(Random(seed)), StickyCache(Random(seed))
    for _ in range(20):
        one, two = (ask(partitioner, b"k", cluster) for partitioner in both)
        assert one == two
        for partitioner in both:
            partitioner.on_new_batch(TOPIC, cluster, one)


# ---- the cache by itself


def test_cache_draws_on_the_first_question_and_then_answers_that():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(5))
    firsts = set()
    for seed in SEEDS:
        cache = StickyPartitionCache(Random(seed))
        first = cache.partition(TOPIC, cluster)
        assert [cache.partition(TOPIC, cluster) for _ in range(3)] == [first] * 3
        firsts.add(first)
    assert firsts == set(range(5))


def test_next_partition_with_another_previous_does_nothing():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(5))
    for seed in SEEDS:
        cache = StickyPartitionCache(Random(seed))
        first = cache.partition(TOPIC, cluster)
        for other in {-1, 0, 1, 2, 3, 4} - {first}:
            assert cache.next_partition(TOPIC, cluster, other) == first
        assert cache.partition(TOPIC, cluster) == first


def test_next_partition_with_nothing_cached_draws_whatever_the_previous_was():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(3))
    drawn = set()
    for seed in SEEDS:
        cache = StickyPartitionCache(Random(seed))
        chosen = cache.next_partition(TOPIC, cluster, 1)
        assert cache.partition(TOPIC, cluster) == chosen
        drawn.add(chosen)
    assert drawn == {0, 1, 2}


def test_next_partition_of_one_whose_leader_is_gone_is_any_available_one():
    all_up = ClusterMetadata.of_one_topic(TOPIC, range(4))
    seen = set()
    for seed in SEEDS:
        cache = StickyPartitionCache(Random(seed))
        first = cache.partition(TOPIC, all_up)
        without = ClusterMetadata.of_one_topic(TOPIC, range(4), unavailable=[first])
        assert cache.partition(TOPIC, without) == first
        seen.add((first, cache.next_partition(TOPIC, without, first)))
    assert seen == {(one, two) for one in range(4) for two in range(4) if one != two}


def test_cache_keeps_topics_apart():
    one, two = (ClusterMetadata.of_one_topic(name, range(100)) for name in ("one", "two"))
    cache = StickyPartitionCache(Random(0))
    first, second = cache.partition("one", one), cache.partition("two", two)
    assert first != second
    cache.next_partition("one", one, first)
    assert cache.partition("two", two) == second


def test_cache_of_an_unknown_topic_is_an_error():
    with pytest.raises(UnknownTopicOrPartitionError, match="Topic bills doesn't exist"):
        StickyPartitionCache(Random(0)).partition("bills", ClusterMetadata([], []))


class Interrupted:
    """Chance that lets somebody else go first, once, in the middle of a draw."""

    def __init__(self) -> None:
        self.chance = Random(3)
        self.meanwhile = None

    def randrange(self, stop):
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        return self.chance.randrange(stop)

    def getrandbits(self, count):
        return self.chance.getrandbits(count)


@pytest.mark.parametrize("has_cached", [False, True])
def test_of_two_that_draw_at_once_the_first_to_store_wins(has_cached):
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(1000))
    chance = Interrupted()
    cache = StickyPartitionCache(chance)
    previous = cache.partition(TOPIC, cluster) if has_cached else -1
    others = []
    chance.meanwhile = lambda: others.append(cache.next_partition(TOPIC, cluster, previous))
    answer = cache.next_partition(TOPIC, cluster, previous)
    assert [answer] == others
    assert cache.partition(TOPIC, cluster) == answer != previous
