"""P8, P9: the documents' custom classes, named by their paths as a user names them."""

from random import Random

import pytest

from kminilog.clock import ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.config import complete_config
from kminilog.errors import (
    LeaderNotAvailableError,
    PluginError,
    UnknownTopicOrPartitionError,
)
from kminilog.partitioners.examples import AlwaysTwo, DocumentedExample
from kminilog.partitioners.registry import make_partitioner
from kminilog.producer_settings import PRODUCER_SETTINGS
from tests.support.partitioners.situations import (
    JAVA_SITUATIONS,
    SITUATIONS,
    TOPIC,
    Drawn,
    Exactly,
    Refused,
    ask,
    assert_rule,
)

PATH = "kminilog.partitioners.examples."


def maker(name, **config):
    def make(chance):
        return make_partitioner(PATH + name, config, chance=chance, clock=ManualClock())

    return make


def refreshed(partitioner, cluster, previous):
    partitioner.on_metadata_refresh()


# ---- P8: what it says of records without key is 0.8's rule, for those never reach it

ALWAYS_TWO_RULES = {
    "none available": Refused(LeaderNotAvailableError, "No leader for any partition"),
    "exactly one available": Exactly([1, 1, 1]),
    "several available": Drawn({0, 2, 3}, again="same", renewed="any"),
    "listed 1 without leader, 2, 0": Drawn({2, 0}, again="same", renewed="any"),
    "empty key": Exactly([2, 2]),
    "null key": Drawn({0, 1, 2}, again="same", renewed="any"),
    "key with a negative hash": Exactly([2, 2]),
    "key with hash -2**31": Exactly([2, 2]),
}


@pytest.mark.parametrize("situation", JAVA_SITUATIONS)
def test_always_two_in_each_situation_keeps_its_rule(situation):
    rule = ALWAYS_TWO_RULES[situation]
    assert_rule(maker("AlwaysTwo"), JAVA_SITUATIONS[situation], rule, refreshed)


@pytest.mark.parametrize("partitions", [1, 2])
def test_always_two_of_two_partitions_or_fewer_is_out_of_range(partitions):
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(partitions))
    with pytest.raises(UnknownTopicOrPartitionError, match=rf"id: 2 .* \[0, {partitions - 1}\]"):
        ask(maker("AlwaysTwo")(Random(0)), "zhang", cluster)


def test_always_two_out_of_range_is_an_error_before_failover_can_help():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(2))
    switched = maker("AlwaysTwo", **{"send.switch.broker.enable": True})(Random(0))
    with pytest.raises(UnknownTopicOrPartitionError, match=r"id: 2 .* \[0, 1\]"):
        ask(switched, "zhang", cluster)


def test_always_two_without_leader_goes_elsewhere_if_failover_is_on():
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(4), unavailable=[2])
    switched = maker("AlwaysTwo", **{"send.switch.broker.enable": True})(Random(0))
    assert {ask(switched, "zhang", cluster) for _ in range(60)} == {0, 1, 3}


def test_always_two_is_made_with_all_the_settings():
    config = complete_config({"batch.size": 7}, PRODUCER_SETTINGS)
    assert AlwaysTwo(config).properties["batch.size"] == 7


# ---- P9 to the letter: the answer is a place in the list, or far out of range

NOTHING_TO_DIVIDE_BY = Refused(PluginError, "partition raised ZeroDivisionError")
DOCUMENTED_RULES = {
    "none available": NOTHING_TO_DIVIDE_BY,
    "exactly one available": Exactly([0, 0, 0]),
    "several available": Exactly([0, 1, 2, 0]),
    "listed 1 without leader, 2, 0": Exactly([0, 1, 0, 1]),
    "empty key": Exactly([1, 1]),
    "null key": Exactly([0, 1, 2, 0]),
    "key with a negative hash": Exactly([0, 0]),
    "key with hash -2**31": Exactly([0, 0]),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_documented_example_in_each_situation_does_as_documented(situation):
    assert_rule(maker("DocumentedExample"), SITUATIONS[situation], DOCUMENTED_RULES[situation])


@pytest.mark.parametrize("key", ["key with a negative hash", "key with hash -2**31"])
def test_documented_example_with_a_negative_remainder_is_out_of_range(key):
    three = ClusterMetadata.of_one_topic(TOPIC, range(3))
    with pytest.raises(UnknownTopicOrPartitionError, match=r"id: 2147483646 .* \[0, 2\]"):
        ask(maker("DocumentedExample")(Random(0)), SITUATIONS[key].key, three)


def test_documented_example_without_any_leader_is_an_error_for_keys_too():
    none = SITUATIONS["none available"].cluster
    with pytest.raises(PluginError, match=r"examples\.DocumentedExample: partition raised"):
        ask(maker("DocumentedExample")(Random(0)), b"21", none)


def test_documented_example_answers_a_partition_without_leader_or_never_the_one_with():
    cluster = SITUATIONS["exactly one available"].cluster
    assert ask(maker("DocumentedExample")(Random(0)), None, cluster) == 0
    assert cluster.leader_for(TOPIC, 0) is None


def test_documented_example_moves_a_key_when_a_broker_goes_and_the_corrected_one_does_not():
    clusters = [ClusterMetadata.of_one_topic(TOPIC, range(5), down) for down in ([], [4])]
    moving, staying = (maker(name)(Random(0)) for name in ("DocumentedExample", "CorrectedExample"))
    # The hash of b"abc" is 479470107.
    assert [ask(moving, b"abc", cluster) for cluster in clusters] == [2, 3]
    assert [ask(staying, b"abc", cluster) for cluster in clusters] == [2, 2]


def test_documented_example_whose_counter_wraps_answers_negative_numbers():
    example = DocumentedExample()
    example._counter = 2**31 - 1
    three = ClusterMetadata.of_one_topic(TOPIC, range(3))
    answers = [example.partition(TOPIC, None, None, None, b"", three) for _ in range(3)]
    assert answers == [1, -2, -1]


# ---- P9 as it was meant

IN_TURN = Exactly([2, 0, 2, 0])
CORRECTED_RULES = {
    "none available": Exactly([0, 1, 2, 0]),
    "exactly one available": Exactly([1, 1, 1]),
    "several available": Exactly([0, 2, 3, 0]),
    "listed 1 without leader, 2, 0": IN_TURN,
    "empty key": Exactly([0, 0]),
    "null key": Exactly([0, 1, 2, 0]),
    "key with a negative hash": Exactly([0, 0]),
    "key with hash -2**31": Exactly([0, 0]),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_corrected_example_in_each_situation_keeps_its_rule(situation):
    assert_rule(maker("CorrectedExample"), SITUATIONS[situation], CORRECTED_RULES[situation])


# ---- by the time of a record


@pytest.mark.parametrize(
    ("at_ms", "partition"),
    [(0, 0), (3_599_999, 0), (3_600_000, 1), (7_200_000, 2), (10_800_000, 0), (-1, 2)],
)
def test_by_time_places_each_hour_in_its_partition_whatever_the_key(at_ms, partition):
    by_time = maker("ByTime")(Random(0))
    three = ClusterMetadata.of_one_topic(TOPIC, [2, 0, 1], unavailable=[partition])
    by_time.on_timestamp(at_ms)
    assert {ask(by_time, key, three) for key in (None, b"", b"21")} == {partition}


def test_by_time_that_hears_of_no_time_says_so():
    with pytest.raises(PluginError, match=r"ByTime: partition raised .*have no time"):
        ask(maker("ByTime")(Random(0)), None, ClusterMetadata.of_one_topic(TOPIC, range(3)))
