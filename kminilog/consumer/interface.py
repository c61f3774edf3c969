"""What a consumer needs from outside, as two interfaces, and the records that it returns.

    MessageSource  topics and messages: a log dir, a cluster
    Coordination   its group: the members, the owner of each partition, committed offsets

Source: S1, S3; Kafka: Fetcher, ConsumerCoordinator, ConsumerRecord.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, Protocol

from kminilog.consumer.members import Assigned, JoinRequest, Membership
from kminilog.format.message import Message
from kminilog.format.names import TopicPartition


class ConsumerRecord(NamedTuple):
    """A message and its place."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition it comes from."""
        return TopicPartition(self.topic, self.partition)


class MessageSource(Protocol):
    """What a consumer needs of a log dir or a cluster."""

    def topics(self) -> dict[str, int]:
        """Return how many partitions each topic has now."""
        ...

    def topic_id(self, topic: str) -> str | None:
        """Return the identity of the topic that has this name now; None is one, too.

        A later topic of the same name has another one. Raises UnknownTopicOrPartitionError if there
        is none. Fast, because it is asked after each fetch.
        """
        ...

    def fetch(self, topic_partition: TopicPartition, offset: int, max_bytes: int) -> list[Message]:
        """Return messages from `offset` on, about `max_bytes` of them; none at the end.

        Raises OffsetOutOfRangeError, UnknownTopicOrPartitionError, and LeaderNotAvailableError if
        the partition has no leader now.
        """
        ...

    def beginning(self, topic_partition: TopicPartition) -> int:
        """Return the first offset that can be read; raises as `fetch`."""
        ...

    def end(self, topic_partition: TopicPartition) -> int:
        """Return the offset that the next message to be read will have; raises as `fetch`."""
        ...

    def log_end(self, topic_partition: TopicPartition) -> int:
        """Return the offset that the next message to be written will have; raises as `fetch`.

        A committed offset above it means that the log has lost messages.
        """
        ...


class Coordination(Protocol):
    """What a consumer needs of the groups of its source, each by its id.

    Calls raise what the methods of `Group` with the same names raise.
    """

    def is_cooperative(self, strategy: str) -> bool:
        """Tell if members of this strategy keep reading during a rebalance.

        Raises SettingError for an unknown name, PluginError for a class that cannot be loaded or
        made.
        """
        ...

    def join(self, group: str, request: JoinRequest) -> Membership:
        """Join a group, which is created if it does not exist; return the membership."""
        ...

    def sync(self, group: str, membership: Membership) -> Assigned | None:
        """Return what a member owns; None while others have still to join."""
        ...

    def heartbeat(self, group: str, membership: Membership) -> Literal["ok", "rebalance"]:
        """Show that a member is alive; return "rebalance" if it has to join again."""
        ...

    def leave(self, group: str, membership: Membership) -> None:
        """Leave a group; its committed offsets stay."""
        ...

    def commit(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        membership: Membership | None = None,
        topic_ids: Mapping[TopicPartition, str | None] | None = None,
    ) -> None:
        """Store, for some partitions, the offset to read next.

        `topic_ids` names the topics that they were read from; without it, those of now. Raises
        UnknownTopicIdError, with nothing stored, if one of them is not there any more.
        """
        ...

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """Return the committed offsets of a group; empty if there is no such group.

        Those of an earlier topic of the same name do not count.
        """
        ...

    def outdated(self, group: str) -> dict[TopicPartition, int]:
        """Return the committed offsets that do not count, because they are of an earlier topic."""
        ...
