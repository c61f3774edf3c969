"""A member of a group: what it says about itself, and what its group knows of it.

    JoinRequest   what a consumer asks for               consumer -> group
    Membership    the member and its generation          both ways, with every call
    Assigned      what a member owns from now on         group -> consumer
    KnownMember   what the group stores

A member is alive while it makes calls: after `session_timeout_ms` without one its session is over.
These are plain values; the group decides when to remove a member. Source: Kafka: JoinGroupRequest,
SyncGroupResponse, MemberMetadata.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.format.names import TopicPartition, parse_topic_partition


class Membership(NamedTuple):
    """The member that makes a call, and the generation that it knows."""

    member_id: str
    generation: int
    instance_id: str | None = None


class Assigned(NamedTuple):
    """The partitions that a member owns in the generation of `membership`."""

    membership: Membership
    partitions: tuple[TopicPartition, ...]


class JoinRequest(NamedTuple):
    """What a consumer sends when it joins, for the first time or again.

    Without `member_id` it is a new member, whose id begins with `client_id`. With an `instance_id`
    that the group knows, it is the old member after a restart. `owned` is what a member with a
    cooperative strategy still reads; with other strategies it has given up everything.
    """

    topics: tuple[str, ...]
    strategy: str = "range"
    session_timeout_ms: int = int(CONSUMER_SETTINGS["session.timeout.ms"].default)
    client_id: str = str(CONSUMER_SETTINGS["client.id"].default)
    member_id: str | None = None
    instance_id: str | None = None
    owned: tuple[TopicPartition, ...] = ()


@dataclass
class KnownMember:
    """A member as its group stores it.

    `is_waiting`: it has joined, and has not got its assignment since. `is_told`: it knows that it
    has to join again. `heard_ms` is the time of its last call.
    """

    id: str
    topics: tuple[str, ...]
    session_timeout_ms: int
    heard_ms: int
    instance_id: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    is_waiting: bool = False
    is_told: bool = False

    def has_expired(self, now_ms: int) -> bool:
        """Tell if its session is over.

        >>> member = KnownMember("c", ("orders",), session_timeout_ms=10, heard_ms=100)
        >>> member.has_expired(109), member.has_expired(110)
        (False, True)
        """
        return now_ms - self.heard_ms >= self.session_timeout_ms


def check_offsets(offsets: Mapping[TopicPartition, int]) -> None:
    """Raise ValueError for an offset below 0 or of another type, and for a wrong partition."""
    for partition, offset in offsets.items():
        if type(offset) is not int or offset < 0:
            raise ValueError(f"{partition}: {offset!r} is no offset")
        if parse_topic_partition(str(partition)) != partition:
            raise ValueError(f"{partition!r} is no partition")
