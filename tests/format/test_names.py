import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.errors import InvalidTopicError
from kminilog.format.names import (
    TopicPartition,
    check_topic,
    parse_segment_file,
    parse_topic_partition,
    segment_name,
)

topics = st.from_regex(r"[a-zA-Z0-9._-]{1,30}", fullmatch=True)


@given(topics, st.integers(0, 99_999))
def test_topic_partition_name_parses_back_whatever_hyphens_the_topic_has(topic, partition):
    name = str(TopicPartition(topic, partition))
    assert parse_topic_partition(name) == TopicPartition(topic, partition)


@given(st.integers(0, 2**63 - 1), st.sampled_from([".log", ".index"]))
def test_segment_file_name_parses_back(base_offset, suffix):
    name = segment_name(base_offset) + suffix
    assert len(segment_name(base_offset)) == 20
    assert parse_segment_file(name) == (base_offset, suffix)


@pytest.mark.parametrize(
    "name",
    ["orders", "orders-", "orders-1a", "orders-01", "-1", "orders-0\n", "orders/x-0", "orders-٣"],
)
def test_topic_partition_of_another_name_is_none(name):
    assert parse_topic_partition(name) is None


@pytest.mark.parametrize(
    "name",
    ["0.log", "00000000000000000000.txt", "00000000000000000000.log.deleted", "9" * 20 + ".log"],
)
def test_segment_file_of_another_name_is_none(name):
    assert parse_segment_file(name) is None


@pytest.mark.parametrize("topic", ["", ".", "..", "a/b", "a b", "é", "a" * 250, "a\n"])
def test_topic_that_kafka_does_not_allow_is_refused(topic):
    with pytest.raises(InvalidTopicError):
        check_topic(topic)


def test_topic_of_the_longest_length_is_allowed():
    check_topic("a" * 249)
