"""The names of directories and files, and the numbers in them.

    orders-0/                      topic, hyphen, partition: the partition follows the LAST hyphen
      00000000000000368769.log     base offset in 20 digits, then the suffix
      00000000000000368769.index

Source: S1 5.1 and 5.2 (the text says 19 digits, its examples show 20); Kafka: Log, Topic.
"""

import re
from typing import NamedTuple

from kminilog.errors import InvalidTopicError

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
DELETED_SUFFIX = ".deleted"  # retention's: waits for its removal
CUT_SUFFIX = ".cut"  # recovery's: bytes that it cut off, kept for a human eye
MAX_TOPIC_LENGTH = 249
MAX_OFFSET = 2**63 - 1

_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
_SEGMENT_FILE = re.compile(r"([0-9]{20})(\.log|\.index)")
_PARTITION_DIR = re.compile(r"([a-zA-Z0-9._-]+)-(0|[1-9][0-9]{0,8})")


class TopicPartition(NamedTuple):
    """A partition of a topic; as text it is the name of its directory.

    >>> str(TopicPartition("page-views", 7))
    'page-views-7'
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def check_topic(topic: str) -> None:
    """Raise InvalidTopicError if Kafka would not allow this name.

    >>> check_topic("page-views")
    >>> check_topic("page/views")
    Traceback (most recent call last):
    ...
    kminilog.errors.InvalidTopicError: illegal topic name 'page/views': use letters, digits, '.', \
'_' and '-' only
    """
    if topic in {"", ".", ".."}:
        raise InvalidTopicError(topic, reason="empty, '.' and '..' are not names")
    if len(topic) > MAX_TOPIC_LENGTH:
        raise InvalidTopicError(topic, reason=f"longer than {MAX_TOPIC_LENGTH} characters")
    if not _TOPIC.fullmatch(topic):
        raise InvalidTopicError(topic, reason="use letters, digits, '.', '_' and '-' only")


def parse_topic_partition(name: str) -> TopicPartition | None:
    """Return the topic and partition that a directory is named for, None if it is no such name.

    >>> parse_topic_partition("page-views-7")
    TopicPartition(topic='page-views', partition=7)
    >>> parse_topic_partition("page") is parse_topic_partition("page-07") is None
    True
    """
    match = _PARTITION_DIR.fullmatch(name)
    return TopicPartition(match[1], int(match[2])) if match else None


def segment_name(base_offset: int) -> str:
    """Return the 20 digits that name a segment.

    >>> segment_name(368769)
    '00000000000000368769'
    """
    return f"{base_offset:020d}"


def parse_segment_file(name: str) -> tuple[int, str] | None:
    """Return base offset and suffix of a segment's file, None if it is no such name.

    >>> parse_segment_file("00000000000000368769.index")
    (368769, '.index')
    >>> parse_segment_file("368769.log") is parse_segment_file("notes.txt") is None
    True
    """
    match = _SEGMENT_FILE.fullmatch(name)
    if not match or int(match[1]) > MAX_OFFSET:
        return None
    return int(match[1]), match[2]


def cut_file(log_file: str, position: int, copy: int = 0) -> str:
    """Return the name of the file that keeps what was cut off a `.log` at a position.

    >>> cut_file("00000000000000368769.log", 497), cut_file("00000000000000368769.log", 497, 1)
    ('00000000000000368769.log.497.cut', '00000000000000368769.log.497-1.cut')
    """
    number = f"{position}-{copy}" if copy else str(position)
    return f"{log_file}.{number}{CUT_SUFFIX}"
