import pytest

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.errors import UnknownTopicOrPartitionError
from kminilog.partitioners.interface import (
    Partitioner,
    ask_partitioner,
    check_partition,
    partitions_of,
)

CLUSTER = ClusterMetadata.of_one_topic("orders", [1, 2, 0], unavailable=[1])


class Answering(Partitioner):
    def __init__(self, answer: int) -> None:
        self.answer = answer

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        return self.answer


@pytest.mark.parametrize("answer", [0, 1, 2])
def test_answer_within_range_is_taken_with_or_without_leader(answer):
    assert ask_partitioner(Answering(answer), "orders", None, None, None, b"", CLUSTER) == answer


@pytest.mark.parametrize("answer", [-1, 3, 2**31 - 2, -(2**31)])
def test_answer_out_of_range_names_number_topic_and_range(answer):
    with pytest.raises(UnknownTopicOrPartitionError) as caught:
        ask_partitioner(Answering(answer), "orders", None, None, None, b"", CLUSTER)
    assert str(caught.value) == (
        f"Invalid partition id: {answer} for topic orders; "
        "Valid values are in the inclusive range of [0, 2]"
    )
    assert caught.value.partition == answer


def test_unknown_topic_is_found_before_the_partitioner_is_asked():
    with pytest.raises(UnknownTopicOrPartitionError, match="Topic bills doesn't exist"):
        ask_partitioner(Partitioner(), "bills", None, None, None, b"", CLUSTER)
    with pytest.raises(UnknownTopicOrPartitionError, match="Topic bills doesn't exist"):
        check_partition("bills", 0, CLUSTER)


def test_partitions_of_keep_the_order_of_the_metadata():
    assert [info.partition for info in partitions_of("orders", CLUSTER)] == [1, 2, 0]
