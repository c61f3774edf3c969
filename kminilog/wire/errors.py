"""The error codes of Kafka's protocol, and the one that stands for each of our errors.

Source: Kafka: org.apache.kafka.common.protocol.Errors.
"""

from enum import IntEnum

from kminilog.consumer.errors import (
    DuplicateInstanceError,
    GroupInUseError,
    IllegalGenerationError,
    InconsistentStrategyError,
    InvalidGroupError,
    UnknownGroupError,
    UnknownMemberError,
    UnknownTopicIdError,
)
from kminilog.errors import (
    CompressedMessageError,
    CorruptBytesError,
    CorruptLogError,
    InvalidTopicError,
    LeaderNotAvailableError,
    LogClosedError,
    MessageTooLargeError,
    NotLeaderForPartitionError,
    NullValueError,
    OffsetOutOfRangeError,
    RequestTimedOutError,
    SettingError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
    WriteFailedError,
    in_words,
)


class Code(IntEnum):
    """An error code by its name in Kafka."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    COORDINATOR_NOT_AVAILABLE = 15
    INVALID_TOPIC_EXCEPTION = 17
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    INVALID_PRODUCER_EPOCH = 47
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    KAFKA_STORAGE_ERROR = 56
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    TOPIC_DELETION_DISABLED = 73
    UNSUPPORTED_COMPRESSION_TYPE = 76
    FENCED_INSTANCE_ID = 82
    INVALID_RECORD = 87


_CODES: dict[type[Exception], Code] = {
    CompressedMessageError: Code.UNSUPPORTED_COMPRESSION_TYPE,
    CorruptBytesError: Code.CORRUPT_MESSAGE,
    CorruptLogError: Code.KAFKA_STORAGE_ERROR,
    DuplicateInstanceError: Code.FENCED_INSTANCE_ID,
    GroupInUseError: Code.NON_EMPTY_GROUP,
    IllegalGenerationError: Code.ILLEGAL_GENERATION,
    InconsistentStrategyError: Code.INCONSISTENT_GROUP_PROTOCOL,
    InvalidGroupError: Code.INVALID_GROUP_ID,
    InvalidTopicError: Code.INVALID_TOPIC_EXCEPTION,
    LeaderNotAvailableError: Code.LEADER_NOT_AVAILABLE,
    LogClosedError: Code.KAFKA_STORAGE_ERROR,
    MessageTooLargeError: Code.MESSAGE_TOO_LARGE,
    NotLeaderForPartitionError: Code.NOT_LEADER_OR_FOLLOWER,
    NullValueError: Code.INVALID_RECORD,
    OffsetOutOfRangeError: Code.OFFSET_OUT_OF_RANGE,
    RequestTimedOutError: Code.REQUEST_TIMED_OUT,
    SettingError: Code.INVALID_CONFIG,
    TopicExistsError: Code.TOPIC_ALREADY_EXISTS,
    UnknownGroupError: Code.GROUP_ID_NOT_FOUND,
    UnknownMemberError: Code.UNKNOWN_MEMBER_ID,
    UnknownTopicIdError: Code.UNKNOWN_TOPIC_OR_PARTITION,
    UnknownTopicOrPartitionError: Code.UNKNOWN_TOPIC_OR_PARTITION,
    WriteFailedError: Code.KAFKA_STORAGE_ERROR,
}
_MOST_CHARACTERS = 1_000


class RefusedError(Exception):
    """A request, or a part of it, that gets this error code."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def code_of(error: Exception) -> Code:
    """Return the code that tells a client of an error.

    >>> code_of(TopicExistsError("orders"))
    <Code.TOPIC_ALREADY_EXISTS: 36>
    """
    if isinstance(error, RefusedError):
        return error.code
    found = (code for kind in type(error).mro() if (code := _CODES.get(kind)))
    if isinstance(error, OSError):
        return Code.KAFKA_STORAGE_ERROR
    return next(found, Code.UNKNOWN_SERVER_ERROR)


def message_of(error: Exception) -> str:
    """Return the text that tells a client of an error, short enough for any answer."""
    return in_words(error)[:_MOST_CHARACTERS]
