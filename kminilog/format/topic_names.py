"""The names of topics, and of the directories of their partitions.

    orders-0/    topic, hyphen, partition: the partition follows the LAST hyphen

Source: S1 5.1; Kafka: Topic.
"""

import re

from kminilog.errors import InvalidTopicError
from kminilog.format.names import TopicPartition

MAX_TOPIC_LENGTH = 249

_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
_PARTITION_DIR = re.compile(r"([a-zA-Z0-9._-]+)-(0|[1-9][0-9]{0,8})")


def check_topic(topic: str) -> None:
    """Raise InvalidTopicError if Kafka's rules do not allow this name.

    >>> check_topic("page-views")
    >>> check_topic("page/views")
    Traceback (most recent call last):
    ...
    kminilog.errors.InvalidTopicError: illegal topic name 'page/views': \
use letters, digits, '.', '_' and '-' only
    """
    if topic in {"", ".", ".."}:
        raise InvalidTopicError(topic, reason="empty, '.' and '..' are not names")
    if len(topic) > MAX_TOPIC_LENGTH:
        raise InvalidTopicError(topic, reason=f"longer than {MAX_TOPIC_LENGTH} characters")
    if not _TOPIC.fullmatch(topic):
        raise InvalidTopicError(topic, reason="use letters, digits, '.', '_' and '-' only")


def parse_topic_partition(name: str) -> TopicPartition | None:
    """Return topic and partition of a directory's name; None for any other name.

    >>> parse_topic_partition("page-views-7")
    TopicPartition(topic='page-views', partition=7)
    >>> parse_topic_partition("page") is parse_topic_partition("page-07") is None
    True
    """
    match = _PARTITION_DIR.fullmatch(name)
    return TopicPartition(match[1], int(match[2])) if match else None
