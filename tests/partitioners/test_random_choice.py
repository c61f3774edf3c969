"""P10: any partition."""

from collections import Counter
from random import Random

import pytest

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.errors import UnknownTopicOrPartitionError
from kminilog.partitioners.random_choice import RandomChoice
from tests.support.partitioners.situations import (
    SITUATIONS,
    TOPIC,
    Drawn,
    Exactly,
    ask,
    assert_rule,
)

LISTED = Drawn({2, 0}, again="any", renewed="any")
RULES = {
    "none available": Drawn({0, 1, 2}, again="any", renewed="any"),
    "exactly one available": Exactly([1, 1, 1]),
    "several available": Drawn({0, 2, 3}, again="any", renewed="any"),
    "listed 1 without leader, 2, 0": LISTED,
    "empty key": LISTED,
    "null key": Drawn({0, 1, 2}, again="any", renewed="any"),
    "key with a negative hash": LISTED,
    "key with hash -2**31": LISTED,
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_random_in_each_situation_keeps_its_rule(situation):
    assert_rule(RandomChoice, SITUATIONS[situation], RULES[situation])


def test_random_is_even_in_the_long_run():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(4))
    partitioner = RandomChoice(Random(0))
    counts = Counter(ask(partitioner, b"k", cluster) for _ in range(4000))
    assert all(abs(count - 1000) < 150 for count in counts.values())
    assert len(counts) == 4


def test_unknown_topic_is_an_error():
    with pytest.raises(UnknownTopicOrPartitionError, match="Topic orders doesn't exist"):
        RandomChoice(Random(0)).partition(TOPIC, None, None, None, b"", ClusterMetadata([], []))
