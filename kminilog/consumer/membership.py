"""A member's side of its group: it joins, sends heartbeats, and takes over its new share.

    not joined  --join-->  waiting  --sync-->  member  --heartbeat: rebalance-->  waiting ...

With an eager strategy, a member gives up all its partitions before it joins again. With a
cooperative one it keeps them, gives up only what is not in its new share, and joins once more, so
that others get the rest. If the group answers that it is not a member any more, its partitions are
lost: others may read them already, and it must not commit for them.

The consumer passes in a `Shares`, which says what to do when partitions come and go. There is no
thread: the consumer calls `keep` again and again. Source: S1, S3; Kafka: ConsumerCoordinator.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import NamedTuple

from kminilog.clock import Clock
from kminilog.consumer.errors import IllegalGenerationError, UnknownGroupError, UnknownMemberError
from kminilog.consumer.interface import Coordination
from kminilog.consumer.members import Assigned, JoinRequest, Membership
from kminilog.format.names import TopicPartition

WAIT_MS = 50  # between two calls of `sync`, because each one writes the group's file
NO_MEMBER = (UnknownMemberError, IllegalGenerationError, UnknownGroupError)


Change = Callable[[Sequence[TopicPartition]], None]


class Shares(NamedTuple):
    """What a consumer does when its share changes."""

    take_over: Change
    """Begin to read these partitions."""
    give_up: Change
    """Commit what was read of these partitions, and stop reading them."""
    lose: Change
    """Stop reading these partitions without a commit; others may read them already."""


class LostShare(NamedTuple):
    """A group has removed a member that it did not hear in time; what it owned is lost.

    >>> print(LostShare("readers", (TopicPartition("t", 0), TopicPartition("t", 3))))
    the session of this member timed out (session.timeout.ms): group readers took 2 partitions \
from it (t-0, ...), and reads the messages since the last commit again
    """

    group: str
    partitions: Sequence[TopicPartition]

    def __str__(self) -> str:
        count = len(self.partitions)
        number = f"{count} partition{'s' * (count > 1)}"
        first = f"{self.partitions[0]}{', ...' * (count > 1)}"
        return (
            f"the session of this member timed out (session.timeout.ms): group {self.group} took "
            f"{number} from it ({first}), and reads the messages since the last commit again"
        )


class GroupSettings(NamedTuple):
    """The settings of a consumer that concern its group."""

    group: str
    strategy: str
    session_timeout_ms: int
    heartbeat_interval_ms: int
    client_id: str
    instance_id: str | None


class GroupMember:
    """One member of one group."""

    def __init__(
        self, coordinator: Coordination, settings: GroupSettings, shares: Shares, clock: Clock
    ) -> None:
        self._coordinator = coordinator
        self._settings = settings
        self._shares = shares
        self._clock = clock
        self._is_cooperative = coordinator.is_cooperative(settings.strategy)
        self._topics: tuple[str, ...] = ()
        self._is_waiting = False
        self._due_ms = 0
        self.membership: Membership | None = None
        self.owned: tuple[TopicPartition, ...] = ()

    @property
    def is_due(self) -> bool:
        """Whether `keep` has something to do now."""
        return self._clock.now_ms() >= self._due_ms

    @property
    def may_commit(self) -> bool:
        """Whether the group accepts commits of this member: it has joined and knows its share.

        With a cooperative strategy also while it waits, until the new generation begins.
        """
        return self.membership is not None and (self._is_cooperative or not self._is_waiting)

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for its share."""
        return self._is_waiting or self.membership is None

    def make_due(self) -> None:
        """Make `is_due` true, because something has changed."""
        self._due_ms = 0

    def keep(self, topics: tuple[str, ...]) -> None:
        """Do the next step of membership with these topics: join, sync or heartbeat.

        Raises DuplicateInstanceError, InconsistentStrategyError, InvalidGroupError, LogDirError,
        PluginError.
        """
        try:
            if self.membership is None or topics != self._topics:
                self._join_again(topics)
            if self._is_waiting:
                self._hear_share()
            elif self._is_asked_to_join_again():
                self._join_again(topics)
        except NO_MEMBER:
            self.forget()

    def forget(self) -> None:
        """Give up the membership that the group does not know any more; join as a new one later."""
        lost, self.owned, self.membership = self.owned, (), None
        self._is_waiting = False
        self._due_ms = 0
        self._shares.lose(lost)

    def leave(self) -> None:
        """Give up everything and leave, so that the other members need not wait for a time-out.

        A static member only stops: after a restart within its session it gets the same share.
        """
        try:
            if self.may_commit:
                self._shares.give_up(self.owned)
            else:
                self._shares.lose(self.owned)
        except NO_MEMBER:
            pass  # it was none any more
        finally:
            member, self.membership = self.membership, None
            self.owned, self._is_waiting = (), False
            if member and not self._settings.instance_id:
                with suppress(*NO_MEMBER):
                    self._coordinator.leave(self._settings.group, member)

    # ---- steps

    def _is_asked_to_join_again(self) -> bool:
        assert self.membership
        answer = self._coordinator.heartbeat(self._settings.group, self.membership)
        self._due_ms = self._clock.now_ms() + self._settings.heartbeat_interval_ms
        return answer == "rebalance"

    def _join_again(self, topics: tuple[str, ...]) -> None:
        if self.owned and not self._is_cooperative:
            owned, self.owned = self.owned, ()
            try:
                self._shares.give_up(owned)
            except NO_MEMBER:
                self.owned = owned  # `forget` tells that they are lost
                raise
        self._join(topics)

    def _join(self, topics: tuple[str, ...]) -> None:
        request = JoinRequest(
            topics=topics,
            strategy=self._settings.strategy,
            session_timeout_ms=self._settings.session_timeout_ms,
            client_id=self._settings.client_id,
            member_id=self.membership.member_id if self.membership else None,
            instance_id=self._settings.instance_id,
            owned=self.owned,
        )
        self.membership = self._coordinator.join(self._settings.group, request)
        self._topics = topics  # only now: a join that fails is tried again
        self._is_waiting = True
        self._due_ms = 0

    def _hear_share(self) -> None:
        assert self.membership
        assigned = self._coordinator.sync(self._settings.group, self.membership)
        self._due_ms = self._clock.now_ms() + WAIT_MS
        if assigned:
            self._is_waiting = False
            self._due_ms = self._clock.now_ms() + self._settings.heartbeat_interval_ms
            self._change_share(assigned)

    def _change_share(self, assigned: Assigned) -> None:
        self.membership = assigned.membership
        before, now = set(self.owned), set(assigned.partitions)
        self.owned = assigned.partitions
        with ExitStack() as last_steps:  # all of them, whatever any of them raises
            if before - now:  # those who are to have the rest must hear that it is free
                last_steps.callback(self._join, self._topics)
            last_steps.callback(self._shares.take_over, sorted(now - before))
            if before - now:
                self._shares.give_up(sorted(before - now))
