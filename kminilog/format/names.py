"""The names of topics, directories and files, and the numbers in them.

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
DELETED_SUFFIX = ".deleted"  # retention has renamed this file, and removes it later
CUT_SUFFIX = ".cut"  # a side file of recovery: it keeps the bytes that were cut off
MAX_OFFSET = 2**63 - 1
MAX_TOPIC_LENGTH = 249  # 0.8.2 allows 255: too long for a directory, which adds "-<partition>"
_MAX_FILE_NAME_BYTES = 255  # of the usual file systems

_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
_PARTITION_DIR = re.compile(r"([a-zA-Z0-9._-]+)-(0|[1-9][0-9]{0,8})")
_SEGMENT_FILE = re.compile(r"([0-9]{20})(\.log|\.index)")


class TopicPartition(NamedTuple):
    """A partition of a topic; its text is the name of its directory.

    >>> str(TopicPartition("page-views", 7))
    'page-views-7'
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


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


def segment_name(base_offset: int) -> str:
    """Return the name of a segment: its base offset in 20 digits.

    >>> segment_name(368769)
    '00000000000000368769'
    """
    return f"{base_offset:020d}"


def parse_segment_file(name: str) -> tuple[int, str] | None:
    """Return base offset and suffix of a segment's file name; None for any other name.

    >>> parse_segment_file("00000000000000368769.index")
    (368769, '.index')
    >>> parse_segment_file("368769.log") is parse_segment_file("notes.txt") is None
    True
    """
    match = _SEGMENT_FILE.fullmatch(name)
    if not match or int(match[1]) > MAX_OFFSET:
        return None
    return int(match[1]), match[2]


def suffixed(name: str, suffix: str) -> str:
    """Return name + suffix; the name loses its end if both have more than 255 bytes.

    >>> suffixed("orders.json", ".tmp"), len(suffixed("x" * 255, ".tmp"))
    ('orders.json.tmp', 255)
    """
    kept_bytes = _MAX_FILE_NAME_BYTES - len(suffix.encode())
    kept = name.encode("utf-8", "surrogateescape")[:kept_bytes]
    return kept.decode("utf-8", "surrogateescape") + suffix


def cut_file(log_file: str, position: int, copy: int = 0) -> str:
    """Return the name of the side file for the bytes that recovery cuts off a `.log`.

    If an earlier cut at this position has left a side file, the next one is `copy` 1, then 2.

    >>> cut_file("00000000000000368769.log", 497), cut_file("00000000000000368769.log", 497, 1)
    ('00000000000000368769.log.497.cut', '00000000000000368769.log.497-1.cut')
    """
    number = f"{position}-{copy}" if copy else str(position)
    return f"{log_file}.{number}{CUT_SUFFIX}"
