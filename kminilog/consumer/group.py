"""A group: its members, the owner of each partition, and its committed offsets.

                 join                        all have joined again, or are expired
      Empty ------------>  PreparingRebalance  ------------------------------------>  Stable
        ^                    |            ^                                             |
        +---- the last one --+            +---- join, leave, expiry, other topics ------+
              is gone                           or numbers of partitions

Each completed rebalance begins a generation; its number is one higher. Heartbeats and commits of
an old generation are refused, because others may own the member's partitions by now. While a
rebalance is prepared, the old generation still counts. So members can commit what they have read
before they join again.

1. In a stable group each partition of a subscribed topic belongs to exactly one member. (With a
   cooperative strategy it may belong to none until its last owner has given it up and joins again.)
2. The generation only grows, also when the last member goes.
3. No two members have the same static id.
4. Committed offsets stay, whoever comes and goes.

A group does not know files, the clock or the assignors: a `Moment` brings what it needs. Every call
first removes members whose session is over. So the outcome depends on the time, not on the caller.

Source: S1 4 (groups, rebalance); Kafka 0.9 to 2.3: GroupCoordinator, GroupMetadata.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

from kminilog.consumer.assignors.interface import Assignor, Member, text_order
from kminilog.consumer.errors import (
    DuplicateInstanceError,
    GroupInUseError,
    IllegalGenerationError,
    InconsistentStrategyError,
    UnknownMemberError,
)
from kminilog.consumer.members import Assigned, JoinRequest, KnownMember, Membership, check_offsets
from kminilog.format.names import TopicPartition

EMPTY = "Empty"
PREPARING = "PreparingRebalance"
STABLE = "Stable"


class Moment(NamedTuple):
    """What a caller knows: the time, how many partitions each topic has now, and all assignors."""

    now_ms: int
    partitions: Mapping[str, int]
    make_assignor: Callable[[str], Assignor]


@dataclass
class Group:
    """The state of one group. `partitions` and `assignment` are those of its generation.

    `topic_ids` has the id of each topic with committed offsets, unless the topic has none.
    """

    name: str
    state: str = EMPTY
    generation: int = 0
    strategy: str = ""
    partitions: dict[str, int] = field(default_factory=dict)
    members: dict[str, KnownMember] = field(default_factory=dict)
    assignment: dict[str, tuple[TopicPartition, ...]] = field(default_factory=dict)
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)

    @property
    def owners(self) -> dict[TopicPartition, str]:
        """Who owns each partition that somebody owns."""
        return {
            partition: member
            for member, partitions in self.assignment.items()
            for partition in partitions
        }

    @property
    def idle(self) -> list[str]:
        """Members that own nothing in a stable group, because there are too few partitions."""
        if self.state != STABLE or self._has_partitions_without_owner():
            return []
        return sorted((m for m in self.members if not self.assignment[m]), key=text_order)

    # ---- what members ask

    def join(self, request: JoinRequest, *, new_id: str, moment: Moment) -> Membership:
        """Add a member, or let a known one join again, and return its membership.

        Begins a rebalance, unless the request changes nothing. So a static member that restarts
        within its session keeps its partitions, and calls of its old process are refused. The new
        generation begins at once if nobody else has to join.

        Raises UnknownMemberError for an unknown `member_id`, DuplicateInstanceError if a later
        member has its static id, InconsistentStrategyError if the other members have another
        strategy, PluginError if a user's assignor fails.
        """
        self.expire(moment.now_ms)
        known = self._known(request)
        if request.strategy != self.strategy and self.members.keys() - {known.id if known else ""}:
            raise InconsistentStrategyError(
                self.name, strategy=self.strategy, given=request.strategy
            )
        member = KnownMember(
            id=request.member_id or new_id,
            topics=tuple(sorted(set(request.topics))),
            session_timeout_ms=request.session_timeout_ms,
            heard_ms=moment.now_ms,
            instance_id=known.instance_id if known else request.instance_id,
            owned=request.owned if request.member_id else (),
            is_waiting=True,
        )
        is_news = (
            known is None
            or (known.topics, self.strategy) != (member.topics, request.strategy)
            or self._has_partitions_without_owner()
        )
        if known:
            del self.members[known.id]
            if known.id in self.assignment:
                self.assignment[member.id] = self.assignment.pop(known.id)
        self.members[member.id] = member
        self.strategy = request.strategy
        if is_news:
            self._prepare()
        self._advance(moment)
        return Membership(member.id, self.generation, member.instance_id)

    def sync(self, membership: Membership, moment: Moment) -> Assigned | None:
        """Return what a member that has joined owns; None while others have still to join.

        Counts as a heartbeat. Whatever generation the membership is of, the answer is of the
        current one. Raises UnknownMemberError, DuplicateInstanceError; ValueError for a member
        that has not joined since the rebalance began.
        """
        self.expire(moment.now_ms)
        member = self._find(membership)
        self._record_heartbeat(member, moment.now_ms)
        self._advance(moment)
        if self.state == PREPARING:
            if not member.is_waiting:
                raise ValueError(f"{member.id} has to join before it asks for its assignment")
            return None
        member.is_waiting = False
        current = Membership(member.id, self.generation, member.instance_id)
        return Assigned(current, self.assignment[member.id])

    def heartbeat(self, membership: Membership, moment: Moment) -> Literal["ok", "rebalance"]:
        """Note that a member is alive; return "rebalance" if it has to join again.

        From the first such answer on, it has session_timeout_ms to join; more heartbeats do not
        extend that. Raises UnknownMemberError, DuplicateInstanceError, IllegalGenerationError.
        """
        self.expire(moment.now_ms)
        member = self._find(membership)
        self._check_generation(membership)
        self._record_heartbeat(member, moment.now_ms)
        self._advance(moment)
        if self.state == PREPARING and not member.is_waiting:
            member.is_told = True
            return "rebalance"
        return "ok"

    def leave(self, membership: Membership, moment: Moment) -> None:
        """Remove a member at once; raises UnknownMemberError, DuplicateInstanceError."""
        self.expire(moment.now_ms)
        self._remove([self._find(membership).id])
        self._advance(moment)

    def commit(
        self,
        offsets: Mapping[TopicPartition, int],
        membership: Membership | None,
        now_ms: int,
        topic_ids: Mapping[str, str | None] = MappingProxyType({}),
    ) -> None:
        """Store, for some partitions, the offset to read next.

        `topic_ids` are the identities of the topics; of a topic that has another one than before,
        no earlier offset is kept. Members of the current generation may commit until the next one
        begins. Without membership, a commit is accepted only while there are no members. Raises
        UnknownMemberError, DuplicateInstanceError, IllegalGenerationError, GroupInUseError, and
        ValueError.
        """
        self.expire(now_ms)
        if membership is not None:
            member = self._find(membership)
            self._check_generation(membership)
            self._record_heartbeat(member, now_ms)
        else:
            self.refuse_members()
        check_offsets(offsets)
        self.forget(self.outdated(topic_ids))
        self.committed |= offsets
        self.topic_ids |= {topic: found for topic, found in topic_ids.items() if found}

    def outdated(self, topic_ids: Mapping[str, str | None]) -> dict[TopicPartition, int]:
        """Return the committed offsets that are not of the topics with these identities."""
        return {
            partition: offset
            for partition, offset in self.committed.items()
            if partition.topic in topic_ids
            and topic_ids[partition.topic] != self.topic_ids.get(partition.topic)
        }

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Drop the committed offsets of these partitions."""
        for partition in partitions:
            del self.committed[partition]
        kept = {partition.topic for partition in self.committed}
        self.topic_ids = {topic: known for topic, known in self.topic_ids.items() if topic in kept}

    def refuse_members(self) -> None:
        """Raise GroupInUseError if there are members."""
        if self.members:
            raise GroupInUseError(self.name, [m.session_timeout_ms for m in self.members.values()])

    def expire(self, now_ms: int) -> None:
        """Remove the members whose session is over; the others then need a rebalance.

        Begins no generation. A member whose last call is in the future (a clock was set back)
        counts as heard now, so that it does not stay for ever.
        """
        for member in self.members.values():
            member.heard_ms = min(member.heard_ms, now_ms)
        self._remove([m.id for m in self.members.values() if m.has_expired(now_ms)])

    # ---- the rebalance

    def _prepare(self) -> None:
        if self.state != PREPARING:
            self.state = PREPARING
            for member in self.members.values():
                member.is_told = False

    def _advance(self, moment: Moment) -> None:
        """Begin a rebalance if topics have changed, and a generation if everybody has joined."""
        if self.state == STABLE and self.partitions != self._subscribed(moment.partitions):
            self._prepare()
        if self.state == PREPARING and all(m.is_waiting for m in self.members.values()):
            self._begin_generation(moment)

    def _begin_generation(self, moment: Moment) -> None:
        partitions = self._subscribed(moment.partitions)
        assignor = moment.make_assignor(self.strategy)
        asked = [self._claim(m, assignor.is_cooperative) for m in self.members.values()]
        answer = assignor.assign(partitions, asked)
        self.assignment = {member: tuple(answer[member]) for member in self.members}
        self.partitions = partitions
        self.generation += 1
        self.state = STABLE

    def _claim(self, member: KnownMember, is_cooperative: bool) -> Member:
        """Return what a member owns by its own word; an eager one has given up what it had."""
        owned = member.owned if is_cooperative else self.assignment.get(member.id, ())
        return Member(member.id, member.topics, member.instance_id, owned, self.generation)

    def _remove(self, members: Iterable[str]) -> None:
        is_removed = False
        for member in members:
            is_removed = True
            del self.members[member]
            self.assignment.pop(member, None)
        if is_removed and not self.members:
            self.state = EMPTY
            self.generation += 1
            self.strategy = ""
            self.partitions = {}
        elif is_removed and self.state == STABLE:
            self._prepare()

    def _subscribed(self, partitions: Mapping[str, int]) -> dict[str, int]:
        topics = sorted({topic for member in self.members.values() for topic in member.topics})
        return {topic: partitions[topic] for topic in topics if topic in partitions}

    def _has_partitions_without_owner(self) -> bool:
        return len(self.owners) < sum(self.partitions.values())

    # ---- who speaks

    def _known(self, request: JoinRequest) -> KnownMember | None:
        """Return the member that joins again, None for a new one."""
        if request.member_id is not None:
            return self._find(Membership(request.member_id, 0, request.instance_id))
        return self._static_member(request.instance_id)

    def _static_member(self, instance_id: str | None) -> KnownMember | None:
        members = self.members.values()
        return next((m for m in members if instance_id and m.instance_id == instance_id), None)

    def _find(self, membership: Membership) -> KnownMember:
        member = self.members.get(membership.member_id)
        if member:
            return member
        if membership.instance_id and self._static_member(membership.instance_id):
            raise DuplicateInstanceError(self.name, instance_id=membership.instance_id)
        raise UnknownMemberError(self.name, member=membership.member_id)

    def _check_generation(self, membership: Membership) -> None:
        if membership.generation != self.generation:
            raise IllegalGenerationError(
                self.name,
                member=membership.member_id,
                generation=membership.generation,
                current=self.generation,
            )

    def _record_heartbeat(self, member: KnownMember, now_ms: int) -> None:
        # One that only sends heartbeats and never joins must not hold up the others for ever.
        if self.state != PREPARING or member.is_waiting or not member.is_told:
            member.heard_ms = now_ms
