"""The errors of clients and of the cluster that they talk to: a branch of the tree in `errors`.

The cause of a `RetriableError` may go away, so the producer retries. All other errors are final.

Source: S1 3, S4; Kafka: Errors (LEADER_NOT_AVAILABLE, NOT_LEADER_FOR_PARTITION, REQUEST_TIMED_OUT).
"""

from kminilog.errors import KMiniLogError


class RetriableError(KMiniLogError):
    """A request failed, but may succeed later: the producer sends it again."""


class LeaderNotAvailableError(RetriableError):
    """No in-sync replica of the partition is up; without `partition`: of any of the topic's."""

    def __init__(self, topic: str, *, partition: int | None = None) -> None:
        which = "any partition in topic" if partition is None else f"partition {partition} of topic"
        super().__init__(f"No leader for {which} {topic}; start a broker that has an in-sync copy")
        self.topic = topic
        self.partition = partition


class NotLeaderForPartitionError(RetriableError):
    """The broker that took the request is no longer the leader; what it took may be lost."""

    def __init__(self, topic: str, *, partition: int, node: int) -> None:
        super().__init__(
            f"node {node} does not lead partition {partition} of topic {topic} any more; "
            "ask for the metadata again and send to the leader that it names"
        )
        self.topic = topic
        self.partition = partition
        self.node = node


class RequestTimedOutError(RetriableError):
    """Not all in-sync replicas have copied the messages in time; they may still do so."""

    def __init__(self, topic: str, *, partition: int, waited_ms: int) -> None:
        super().__init__(
            f"partition {partition} of topic {topic}: not on all in-sync replicas after "
            f"{waited_ms} ms; see if the followers fetch, or raise request.timeout.ms"
        )
        self.topic = topic
        self.partition = partition
        self.waited_ms = waited_ms


class PluginError(KMiniLogError):
    """A setting names a class that cannot be imported, created or used; nothing was done."""

    def __init__(self, setting: str, *, path: str, reason: str) -> None:
        super().__init__(f"{setting} {path}: {reason.removesuffix('.')}; nothing was done")
        self.setting = setting
        self.path = path
        self.reason = reason


class SerializationError(KMiniLogError):
    """The serialiser refuses a key or a value; the message was not written."""

    def __init__(self, what: str, *, serializer: str, reason: str) -> None:
        said = f"{serializer} serialiser: {reason.removesuffix('.')}"
        super().__init__(f"{what}: {said}; the message was not written")
        self.what = what
        self.reason = reason


class BufferExhaustedError(KMiniLogError):
    """No buffer memory became free within max.block.ms; the message was not written."""

    def __init__(self, *, blocked_ms: int) -> None:
        super().__init__(
            f"Failed to allocate memory within the configured max blocking time {blocked_ms} ms; "
            "send slower, or raise buffer.memory or max.block.ms"
        )
        self.blocked_ms = blocked_ms


class ClientClosedError(KMiniLogError):
    """The client was closed before the call, or while the call waited."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the {what} is closed; open another one")


class UnknownTopicOrPartitionError(KMiniLogError):
    """The topic does not exist, or has no partition of this number."""

    _absent = "Topic {} doesn't exist; `kminilog topic list` shows those that do"
    _outside = (
        "Invalid partition id: {} for topic {}; Valid values are in the inclusive range of [0, {}]"
    )

    def __init__(self, topic: str, *, partition: int | None = None, partitions: int = 0) -> None:
        text = self._absent.format(topic)
        if partition is not None:
            text = self._outside.format(partition, topic, partitions - 1)
        super().__init__(text)
        self.topic = topic
        self.partition = partition


class TopicBeingDeletedError(UnknownTopicOrPartitionError):
    """The topic is marked for deletion: somebody deletes it, or a crash has interrupted that."""

    _absent = (
        "Topic {0} is being deleted; after a crash, `kminilog topic delete {0} --yes` deletes the "
        "rest"
    )


class TopicDeletedError(UnknownTopicOrPartitionError):
    """The topic was there before; it was deleted since, or is marked for deletion."""

    _absent = "Topic {} was deleted while it was read: nothing is left of it"


class PartitionOfRecordError(UnknownTopicOrPartitionError):
    """A record names a partition that its topic does not have (S2)."""

    _outside = "Invalid partition given with record: {0} is not in the range [0...{2}]."
