"""The errors of groups and of their members: a branch of the tree in `errors`.

Most of them tell a member that its group has continued without it. Then nothing was changed: its
commit was refused, and the present owner of the partition reads those messages again.

Source: Kafka: Errors (UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID,
INCONSISTENT_GROUP_PROTOCOL, INVALID_GROUP_ID, UNKNOWN_TOPIC_ID).
"""

from collections.abc import Collection, Sequence

from kminilog.errors import KMiniLogError
from kminilog.format.names import TopicPartition


class InvalidGroupError(KMiniLogError):
    """A group id that cannot be the name of a file."""

    def __init__(self, group: str, *, reason: str) -> None:
        super().__init__(f"illegal group id {group!r}: {reason}")
        self.group = group


class UnknownGroupError(KMiniLogError):
    """A group that nobody has joined yet, or whose file is gone."""

    def __init__(self, group: str) -> None:
        super().__init__(f"Group {group} doesn't exist; `kminilog group list` shows those that do")
        self.group = group


class UnknownMemberError(KMiniLogError):
    """Not, or no longer, a member: what it owned is another's by now, or soon will be."""

    def __init__(self, group: str, *, member: str) -> None:
        super().__init__(
            f"{member} is no member of group {group}; perhaps its session has timed out "
            "(session.timeout.ms); nothing was changed; join again"
        )
        self.group = group
        self.member = member


class UnknownTopicIdError(KMiniLogError):
    """Offsets of a topic that is gone, or of an earlier topic of the same name, are refused."""

    def __init__(self, group: str, partitions: Collection[TopicPartition]) -> None:
        topics = ", ".join(sorted({partition.topic for partition in partitions}))
        super().__init__(
            f"group {group}: offsets of topic {topics} were not committed: that topic was deleted; "
            "if there is a new topic of this name, read it from its beginning"
        )
        self.group = group
        self.partitions = frozenset(partitions)


class GroupInUseError(KMiniLogError):
    """A change by one who is no member, while the group has members, whose offsets these are."""

    def __init__(self, group: str, session_timeouts_ms: Sequence[int]) -> None:
        self.group = group
        self.members = len(session_timeouts_ms)
        super().__init__(
            f"group {group} has members ({self.members}), and only they may commit; nothing was "
            "changed; end them, and wait until their sessions are over: at most "
            f"{max(session_timeouts_ms) / 1000:g} s"
        )


class IllegalGenerationError(KMiniLogError):
    """A call with an old generation: there was a rebalance since."""

    def __init__(self, group: str, *, member: str, generation: int, current: int) -> None:
        super().__init__(
            f"{member} sent generation {generation}, but group {group} is in {current}; "
            "nothing was changed; ask for the new assignment first"
        )
        self.group = group
        self.member = member
        self.generation = generation
        self.current = current


class DuplicateInstanceError(KMiniLogError):
    """A later consumer has joined with the same `group.instance.id`; this one must stop."""

    def __init__(self, group: str, *, instance_id: str) -> None:
        super().__init__(
            f"another consumer has joined group {group} with group.instance.id {instance_id}; "
            "nothing was changed; give every consumer an id of its own"
        )
        self.group = group
        self.instance_id = instance_id


class InconsistentStrategyError(KMiniLogError):
    """A consumer whose assignment strategy is not that of the group that it joins."""

    def __init__(self, group: str, *, strategy: str, given: str) -> None:
        super().__init__(
            f"group {group} uses the assignor {strategy}, not {given}; "
            f"set partition.assignment.strategy to {strategy}, or end the other members first"
        )
        self.group = group
        self.strategy = strategy
        self.given = given


class NoOffsetError(KMiniLogError):
    """There is no committed offset, and auto.offset.reset is none."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"{where}: no committed offset, and auto.offset.reset is none; "
            "commit or seek, or set auto.offset.reset to earliest or latest"
        )


class ConsumerTimeoutError(KMiniLogError):
    """No message has come for consumer.timeout.ms; the iteration may continue."""

    def __init__(self, timeout_ms: int) -> None:
        super().__init__(f"no message has come for consumer.timeout.ms = {timeout_ms}")
        self.timeout_ms = timeout_ms
