"""The client that reads: subscribed in a group, or assigned by hand; positions and commits.

    poll    membership: heartbeat, rebalance -> automatic commit -> records, partitions in turn

A position is the offset of the next record that `poll` will return. A commit stores positions for
the next owner of a partition. So a record that was returned but not committed is returned again
after a crash: delivery is at least once. An automatic commit stores what earlier calls of `poll`
have returned, never what the same call returns.

There is no thread here: heartbeats are part of `poll`. So the group removes a consumer that does
not poll for session.timeout.ms. Source: S1, S3 (SimpleConsumer, ConsumerConnector); Kafka:
KafkaConsumer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Self

from kminilog.clock import Clock
from kminilog.config import complete_config
from kminilog.consumer.errors import UnknownMemberError, UnknownTopicIdError
from kminilog.consumer.fetching import Fetching, OffsetReset
from kminilog.consumer.interface import ConsumerRecord, Coordination, MessageSource
from kminilog.consumer.members import check_offsets
from kminilog.consumer.membership import NO_MEMBER, GroupMember, GroupSettings, Shares
from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.errors import ClientClosedError, SettingError, UnknownTopicOrPartitionError
from kminilog.format.names import TopicPartition
from kminilog.regex import compile_regex
from kminilog.storage.partition.notices import warn

PAUSE_MS = 10
Change = Callable[[list[TopicPartition]], object]


def _nothing(_: list[TopicPartition]) -> None:
    pass


class Consumer:
    """A consumer of one source, for one thread; as a context manager it closes itself.

    `config` has Kafka's dotted names, see consumer.settings; a group needs `group.id` and the
    `coordinator`. `on_assigned` is called after partitions were added. `on_revoked` is called
    before some are given up, while commits still count. `on_lost` is called after some were lost,
    which others may read already. `on_reset` is called when auto.offset.reset has moved a position
    that was outside of its log; the default gives a Python warning.
    """

    def __init__(
        self,
        source: MessageSource,
        config: Mapping[str, object] | None = None,
        *,
        clock: Clock,
        coordinator: Coordination | None = None,
        on_assigned: Change = _nothing,
        on_revoked: Change = _nothing,
        on_lost: Change = _nothing,
        on_reset: Callable[[OffsetReset], object] = warn,
    ) -> None:
        self.config = complete_config(config or {}, CONSUMER_SETTINGS)
        self._source = source
        self._clock = clock
        self._coordinator = coordinator
        self._on_assigned = on_assigned
        self._on_revoked = on_revoked
        self._on_lost = on_lost
        self._fetching = Fetching(
            source,
            reset=self.config["auto.offset.reset"],
            max_bytes=self.config["fetch.max.bytes"],
            on_reset=on_reset,
        )
        self._wanted: Callable[[str], object] | None = None
        self._names: tuple[str, ...] = ()
        self._member: GroupMember | None = None
        self._commit_due_ms = clock.now_ms() + self.config["auto.commit.interval.ms"]
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        # After an exception, the returned records may be unprocessed: then they must come again.
        self.close(is_committing=error is None)

    # ---- what to read

    def subscribe(self, topics: Iterable[str] = (), *, pattern: str | None = None) -> None:
        """Read a share of these topics, or of all topics whose whole name matches `pattern`.

        The group decides the share, in the next calls of `poll`. A topic that does not exist yet is
        read once it does. Raises ValueError without group.id, for a wrong pattern, and for both or
        none of topics and pattern; SettingError if heartbeats would come too late for the session.
        """
        names = tuple(sorted(set(topics)))
        if bool(names) == (pattern is not None):
            raise ValueError("subscribe to topics or to a pattern")
        wanted = None if pattern is None else compile_regex(pattern, "pattern")
        self._wanted = wanted and wanted.fullmatch
        self._names = names
        if self._member is None:
            self._fetching.keep_only([])
            self._member = self._make_member()
        self._member.make_due()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, without being a member of a group.

        Each begins at its committed offset, else by auto.offset.reset. Raises ValueError after
        `subscribe`.
        """
        if self._member:
            raise ValueError("this consumer is subscribed; make another one to assign partitions")
        self._fetching.keep_only(partitions, self._committed, self._outdated)

    @property
    def is_settled(self) -> bool:
        """Whether it knows what to read: always if assigned, else once it has its share."""
        return self._member is None or not self._member.is_waiting

    @property
    def has_group(self) -> bool:
        """Whether it can commit: group.id is set, and it has a coordinator."""
        return bool(self.config["group.id"] and self._coordinator)

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        """The partitions that are read now, ascending."""
        return self._fetching.partitions

    # ---- reading

    def poll(self, timeout_ms: int = 0, max_records: int | None = None) -> list[ConsumerRecord]:
        """Return the next records; none if there are none within `timeout_ms`.

        Returns at most `max_records`, by default max.poll.records. With 0 it does only what is due
        for the group. Raises what GroupMember.keep and Fetching.take raise, and ClientClosedError.
        """
        if self._is_closed:
            raise ClientClosedError("consumer")
        limit = self.config["max.poll.records"] if max_records is None else max_records
        deadline_ms = self._clock.now_ms() + timeout_ms
        while True:
            if self._member and self._member.is_due:
                self._member.keep(self._topics())
            if limit:
                self._commit_if_due()
            records = self._take(limit)
            left_ms = deadline_ms - self._clock.now_ms()
            if records or left_ms <= 0:
                return records
            self._clock.sleep_ms(min(PAUSE_MS, left_ms))

    def _take(self, limit: int) -> list[ConsumerRecord]:
        try:
            return self._fetching.take(limit)
        except UnknownTopicOrPartitionError:
            if self._member is None:
                raise
            self._member.make_due()  # the next rebalance leaves the deleted topic out
            return []

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at this offset; ValueError for a partition that is not assigned."""
        self._fetching.seek(partition, offset)

    def position(self, partition: TopicPartition) -> int:
        """Return the offset of the next record; ValueError for a partition that is not assigned."""
        return self._fetching.position(partition)

    # ---- commits

    def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Store the offsets of the next records to read; without `offsets`, all positions.

        Once it returns, they survive kill -9. Raises UnknownMemberError or IllegalGenerationError
        if others may own the partitions by now, ValueError without group.id, and
        OffsetOutOfRangeError for an offset above the end of its log; then nothing is committed.
        Without `offsets`, positions above the end are left out: the next `poll` resets them.

        Raises UnknownTopicIdError if topics were deleted, or deleted and created again, since they
        were read; then all the other offsets are committed.
        """
        coordinator, group = self._group()
        membership = self._member.membership if self._member else None
        if self._member and membership is None:
            raise UnknownMemberError(group, member="this consumer")
        if offsets is None:
            offsets = self._fetching.positions_in_log()
        else:
            check_offsets(offsets)
            self._fetching.refuse_above_end(offsets)
        self._commit_due_ms = self._clock.now_ms() + self.config["auto.commit.interval.ms"]
        topic_ids = self._fetching.topic_ids
        try:
            coordinator.commit(group, offsets, membership, topic_ids)
        except UnknownTopicIdError as error:
            rest = {p: offset for p, offset in offsets.items() if p not in error.partitions}
            if rest:
                coordinator.commit(group, rest, membership, topic_ids)
            raise

    def committed(self) -> dict[TopicPartition, int]:
        """Return the committed offsets of the group; ValueError without group.id."""
        coordinator, group = self._group()
        return dict(coordinator.committed(group))

    def close(self, *, is_committing: bool = True) -> None:
        """Commit, if enable.auto.commit is on, and leave the group, so that others take over.

        Without `is_committing`, records returned since the last commit are returned again later.
        """
        if self._is_closed:
            return
        self._is_closed = True
        if not is_committing:
            self.config["enable.auto.commit"] = False
        if self._member:
            self._member.leave()
        elif self._commits_by_itself():
            self._commit_what_counts()

    def _commit_if_due(self) -> None:
        if not self._commits_by_itself() or self._clock.now_ms() < self._commit_due_ms:
            return
        if self._member is None:
            self._commit_what_counts()
        elif self._member.may_commit:
            try:
                self._commit_what_counts()
            except NO_MEMBER:
                if not self._member.is_waiting:  # while it waits, the next `sync` finds out
                    self._member.forget()

    def _commit_what_counts(self) -> None:
        with suppress(UnknownTopicIdError):  # the next fetch from that topic finds out
            self.commit()

    def _commits_by_itself(self) -> bool:
        return self.config["enable.auto.commit"] and self.has_group

    # ---- the group's doing

    def _take_over(self, partitions: Sequence[TopicPartition]) -> None:
        wanted = [*self._fetching.partitions, *partitions]
        self._fetching.keep_only(wanted, self._committed, self._outdated)
        self._on_assigned(list(partitions))

    def _give_up(self, partitions: Sequence[TopicPartition]) -> None:
        try:
            self._on_revoked(list(partitions))
            if self._commits_by_itself():
                self._commit_what_counts()
        finally:
            self._drop(partitions)

    def _lose(self, partitions: Sequence[TopicPartition]) -> None:
        self._drop(partitions)
        if partitions:
            self._on_lost(list(partitions))

    def _drop(self, partitions: Sequence[TopicPartition]) -> None:
        kept = [each for each in self._fetching.partitions if each not in set(partitions)]
        self._fetching.keep_only(kept)

    def _topics(self) -> tuple[str, ...]:
        if self._wanted is None:
            return self._names
        return tuple(sorted(name for name in self._source.topics() if self._wanted(name)))

    def _group(self) -> tuple[Coordination, str]:
        group = self.config["group.id"]
        if not group or self._coordinator is None:
            raise ValueError("set group.id, and hand in a coordinator, to be in a group")
        return self._coordinator, group

    def _committed(self) -> dict[TopicPartition, int]:
        return self.committed() if self.has_group else {}

    def _outdated(self) -> Mapping[TopicPartition, int]:
        if not self.has_group:
            return {}
        coordinator, group = self._group()
        return coordinator.outdated(group)

    def _make_member(self) -> GroupMember:
        coordinator, group = self._group()
        interval_ms, timeout_ms = (
            self.config[name] for name in ("heartbeat.interval.ms", "session.timeout.ms")
        )
        if interval_ms >= timeout_ms:
            reason = f"{interval_ms} is not below session.timeout.ms = {timeout_ms}"
            raise SettingError("heartbeat.interval.ms", reason=reason)
        settings = GroupSettings(
            group,
            self.config["partition.assignment.strategy"],
            timeout_ms,
            interval_ms,
            self.config["client.id"],
            self.config["group.instance.id"] or None,
        )
        shares = Shares(self._take_over, self._give_up, self._lose)
        return GroupMember(coordinator, settings, shares, self._clock)
