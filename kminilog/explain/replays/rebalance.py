"""Members of a group come and go: who reads which partition in each second, and what is read twice.

    0   A joins      4   B joins      9   C joins      14  B leaves
    20  A hangs: it sends no heartbeat, and expires after its session time-out
    32  A wakes up: it believes that it is a member, and wants to commit

Each partition gets one message a second. Members read all messages. They commit every five seconds,
and when they give up a partition in order. So no message is read twice while members join and leave
in order. If a member hangs, another one reads again what it had read since its last commit. The
commit of A after it wakes up is refused, because it would undo the progress of others.

The group's file is real, the time is simulated. Source: S1 4 (rebalance); Kafka: at-least-once
delivery.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kminilog.clock import Chance, Clock, ManualClock
from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.errors import IllegalGenerationError, UnknownGroupError
from kminilog.consumer.group import Group
from kminilog.consumer.membership import NO_MEMBER, GroupMember, GroupSettings, Shares
from kminilog.format.names import TopicPartition

GROUP = "readers"
OTHER_GROUP = "archive"
TOPIC = "orders"
SECOND_MS = 1_000


class Event(NamedTuple):
    """What happens to a member at the beginning of a second."""

    second: int
    member: str
    what: str

    def __str__(self) -> str:
        return f"{self.member} {self.what}"


JOINS, LEAVES, HANGS, WAKES = "joins", "leaves", "hangs", "wakes up"


class RebalancePlan(NamedTuple):
    """The events and their seconds, the number of partitions, and the time-outs."""

    events: tuple[Event, ...] = (
        Event(0, "A", JOINS),
        Event(4, "B", JOINS),
        Event(9, "C", JOINS),
        Event(14, "B", LEAVES),
        Event(20, "A", HANGS),
        Event(32, "A", WAKES),
    )
    seconds: int = 38
    partitions: int = 4
    session_timeout_ms: int = 10_000
    heartbeat_interval_ms: int = 3_000
    commit_interval_ms: int = 5_000


DEFAULT_PLAN = RebalancePlan()


class RebalanceSecond(NamedTuple):
    """The state at the end of a second: the group, and who reads each partition (None: nobody).

    `idle` are members of a stable group that own nothing. `read_again` counts messages that were
    read before, by any member. `error` is the error of a member whose commit was refused.
    `members` are those that the group knows. `read_to_by_partition` is the offset after the last
    message that anybody has read; the next reader begins at the committed one.
    """

    second: int
    event: str
    state: str
    generation: int
    reader_by_partition: dict[int, str | None]
    idle: tuple[str, ...]
    read_again: int
    error: str
    members: tuple[str, ...]
    read_to_by_partition: dict[int, int]
    committed_by_partition: dict[int, int]


class OtherGroup(NamedTuple):
    """What another group has read of each partition, and where the first group was meanwhile.

    `is_untouched` tells if the first group is the same as before, as its file has it.
    """

    member: str
    read_by_partition: dict[int, int]
    committed_by_partition: dict[int, int]
    is_untouched: bool


class _Reader:
    """A member and what it reads: one object is one process, in the replay."""

    def __init__(self, coordinator: Coordinator, settings: GroupSettings, clock: Clock) -> None:
        self.name = settings.client_id
        self._group = settings.group
        self.is_hanging = False
        self.positions: dict[TopicPartition, int] = {}
        self._coordinator = coordinator
        self.member = GroupMember(
            coordinator,
            settings,
            Shares(take_over=self._take_over, give_up=self._give_up, lose=self._lose),
            clock,
        )

    def read_to(self, end: int) -> list[tuple[TopicPartition, int]]:
        """Read everything below an offset, and return what that was."""
        read = [(p, n) for p, begin in self.positions.items() for n in range(begin, end)]
        self.positions = dict.fromkeys(self.positions, end)
        return read

    def commit(self) -> None:
        """Commit all positions."""
        self._commit(list(self.positions))

    def _commit(self, partitions: Sequence[TopicPartition]) -> None:
        offsets = {partition: self.positions[partition] for partition in partitions}
        self._coordinator.commit(self._group, offsets, self.member.membership)

    def _take_over(self, partitions: Sequence[TopicPartition]) -> None:
        committed = self._coordinator.committed(self._group)
        self.positions |= {partition: committed.get(partition, 0) for partition in partitions}

    def _give_up(self, partitions: Sequence[TopicPartition]) -> None:
        self._commit(partitions)
        self._lose(partitions)

    def _lose(self, partitions: Sequence[TopicPartition]) -> None:
        for partition in partitions:
            self.positions.pop(partition, None)


def replay_rebalance(
    path: Path, *, strategy: str, chance: Chance, plan: RebalancePlan = DEFAULT_PLAN
) -> Iterator[RebalanceSecond]:
    """Yield each second in turn; the group's file is made in `path`, an empty directory.

    Raises SettingError or PluginError if the strategy is unknown.
    """
    clock = ManualClock()
    coordinator = _coordinator(path, plan, clock, chance)
    readers: dict[str, _Reader] = {}
    seen: set[tuple[TopicPartition, int]] = set()
    read_to = dict.fromkeys(range(plan.partitions), 0)
    for second in range(plan.seconds):
        clock.sleep_ms(second * SECOND_MS - clock.now_ms())
        events = [event for event in plan.events if event.second == second]
        error = ""
        for event in events:
            if event.what == JOINS:
                settings = _settings(GROUP, event.member, strategy, plan)
                readers[event.member] = _Reader(coordinator, settings, clock)
            else:
                error = _carry_out(event, readers) or error
        again = 0
        for reader in readers.values():
            if reader.is_hanging:
                continue
            if reader.member.is_due:
                reader.member.keep((TOPIC,))
            read = reader.read_to(second + 1)
            again += len(seen.intersection(read))
            seen.update(read)
            read_to |= {partition.partition: offset + 1 for partition, offset in read}
            if reader.member.may_commit and clock.now_ms() % plan.commit_interval_ms == 0:
                try:
                    reader.commit()
                except IllegalGenerationError as refused:  # a rebalance has begun: it joins again
                    error = str(refused)
        yield _seen_at(second, events, coordinator, readers, plan)._replace(
            read_again=again, error=error, read_to_by_partition=dict(read_to)
        )


def read_by_other_group(
    path: Path, *, strategy: str, chance: Chance, plan: RebalancePlan = DEFAULT_PLAN
) -> OtherGroup:
    """Let one member of another group read all, in the same `path` after a replay."""
    clock = ManualClock(plan.seconds * SECOND_MS)
    coordinator = _coordinator(path, plan, clock, chance)
    before = coordinator.describe(GROUP)
    reader = _Reader(coordinator, _settings(OTHER_GROUP, "X", strategy, plan), clock)
    reader.member.keep((TOPIC,))
    read = Counter(partition.partition for partition, _ in reader.read_to(plan.seconds))
    reader.commit()
    after = coordinator.describe(GROUP)
    committed = {partition.partition: offset for partition, offset in after.committed.items()}
    numbers = range(plan.partitions)
    return OtherGroup(
        reader.name,
        {n: read[n] for n in numbers},
        {n: committed.get(n, 0) for n in numbers},
        is_untouched=before == after,
    )


def _coordinator(path: Path, plan: RebalancePlan, clock: Clock, chance: Chance) -> Coordinator:
    return Coordinator(
        path, lambda: {TOPIC: plan.partitions}, lambda topic: None, clock=clock, chance=chance
    )


def _settings(group: str, member: str, strategy: str, plan: RebalancePlan) -> GroupSettings:
    return GroupSettings(
        group=group,
        strategy=strategy,
        session_timeout_ms=plan.session_timeout_ms,
        heartbeat_interval_ms=plan.heartbeat_interval_ms,
        client_id=member,
        instance_id=None,
    )


def _carry_out(event: Event, readers: dict[str, _Reader]) -> str:
    """Let an event happen to a reader, and return the error if its commit is refused."""
    reader = readers[event.member]
    if event.what == LEAVES:
        readers.pop(event.member).member.leave()
    elif event.what == HANGS:
        reader.is_hanging = True
    else:
        reader.is_hanging = False
        if reader.member.membership is None:  # it hung before it had joined: it has read nothing
            return ""
        try:
            reader.commit()
        except NO_MEMBER as error:
            reader.member.forget()
            return str(error)
    return ""


def _seen_at(
    second: int,
    events: Sequence[Event],
    coordinator: Coordinator,
    readers: dict[str, _Reader],
    plan: RebalancePlan,
) -> RebalanceSecond:
    try:
        group = coordinator.describe(GROUP)
    except UnknownGroupError:  # nobody has joined yet
        group = Group(GROUP)
    committed = {partition.partition: offset for partition, offset in group.committed.items()}
    reading = {
        partition.partition: reader.name
        for reader in readers.values()
        if not reader.is_hanging
        for partition in reader.positions
    }
    return RebalanceSecond(
        second=second,
        event=", ".join(map(str, events)),
        state=group.state,
        generation=group.generation,
        reader_by_partition={n: reading.get(n) for n in range(plan.partitions)},
        idle=_names(group.idle),
        read_again=0,
        error="",
        members=_names(group.members),
        read_to_by_partition={},
        committed_by_partition={n: committed.get(n, 0) for n in range(plan.partitions)},
    )


def _names(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(id.rpartition("-")[0] for id in ids)
