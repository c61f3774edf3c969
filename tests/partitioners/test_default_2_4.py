"""P7: Kafka 2.4 to 3.2."""

from random import Random

import pytest

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.errors import UnknownTopicOrPartitionError
from kminilog.partitioners.default_2_4 import Default24
from kminilog.partitioners.dry_run import OpenBatches
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.partitioners.placement import Placement
from tests.support.partitioners.situations import (
    SEEDS,
    SITUATIONS,
    TOPIC,
    Drawn,
    Exactly,
    ask,
    assert_rule,
)

RULES = {
    "none available": Drawn({0, 1, 2}, again="same", renewed="any"),
    "exactly one available": Exactly([1, 1, 1]),
    "several available": Drawn({0, 2, 3}, again="same", renewed="other"),
    "listed 1 without leader, 2, 0": Drawn({2, 0}, again="same", renewed="other"),
    "empty key": Exactly([0, 0]),
    "null key": Drawn({0, 1, 2}, again="same", renewed="other"),
    "key with a negative hash": Exactly([0, 0]),
    "key with hash -2**31": Exactly([0, 0]),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_default_2_4_in_each_situation_keeps_its_rule(situation):
    assert_rule(Default24, SITUATIONS[situation], RULES[situation])


def test_key_goes_to_a_partition_without_leader_as_well():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(15), unavailable=[10])
    assert ask(Default24(Random(0)), b"TT0124", cluster) == 10


def test_first_record_without_key_already_moves_on():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(4))
    for seed in SEEDS:
        first = ask(Default24(Random(seed)), None, cluster)
        placement = Placement(Default24(Random(seed)), OpenBatches(100).has_room)
        assert placement.place(TOPIC, None, None, None, b"", cluster, 10) != first


def test_key_that_begins_a_batch_moves_the_sticky_partition_on():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(3))
    for seed in SEEDS:
        partitioner = Default24(Random(seed))
        sticky = ask(partitioner, None, cluster)
        partitioner.on_new_batch(TOPIC, cluster, ask(partitioner, b"21", cluster))
        assert (ask(partitioner, None, cluster) != sticky) == (sticky == 0)


def test_unknown_topic_is_an_error_with_or_without_key():
    for key in (None, b"k"):
        with pytest.raises(UnknownTopicOrPartitionError, match="Topic orders doesn't exist"):
            Default24(Random(0)).partition(TOPIC, key, key, None, b"", ClusterMetadata([], []))


@pytest.mark.parametrize("number_of_partitions", [1, 2, 15, 1000])
def test_given_number_of_partitions_counts_for_keys_whatever_the_topic_has(number_of_partitions):
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(3))
    for key in (b"", b"TT0124", b"21"):
        asked = (TOPIC, None, key, None, b"", cluster, number_of_partitions)
        expected = murmur2_partition(key, number_of_partitions)
        assert Default24(Random(0)).partition(*asked) == expected


def test_given_number_of_partitions_does_not_count_without_a_key():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(9))
    one, other = Default24(Random(1)), Default24(Random(1))
    asked = (TOPIC, None, None, None, b"", cluster)
    found = [one.partition(*asked, 1), one.partition(*asked, number_of_partitions=1)]
    assert found == [other.partition(*asked)] * 2
    assert found[0] > 0
