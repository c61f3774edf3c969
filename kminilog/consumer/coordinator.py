"""Who belongs to which group, for any number of processes: a file and a lock for each group.

    .groups/readers.json   the group, as group_file.py writes it; replaced with every change
    .groups/readers.lock   held while one call reads, changes and writes it; never replaced or gone

There is no coordinating process. Every call takes the group's lock, reads the file, lets the group
take its step, and writes the file. So the call that finds all members joined completes the
rebalance, and runs the assignor in its process. The log dir's own lock is not needed: consumers
commit while a producer writes.

1. Two calls never overlap. The operating system holds the lock (flock) and releases it when a
   process dies, so no lock is ever stale. (A process that Ctrl-Z stops inside a call blocks the
   group until it continues.)
2. Once a call returns, what it did survives a power failure. After a kill in the middle the file is
   that of before or that of after.
3. A call that raises changes nothing.

Session time-outs compare times that different processes wrote. So their clocks must agree to well
within the session time-out: the machine's clock does, a `ManualClock` is for one process only.

Source: ours; Kafka: GroupCoordinator (there in a broker), ZookeeperConsumerConnector before it.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Literal

from kminilog.clock import Chance, Clock
from kminilog.consumer.assignor_registry import make_assignor
from kminilog.consumer.errors import UnknownGroupError, UnknownTopicIdError
from kminilog.consumer.group import Group, Moment
from kminilog.consumer.group_file import (
    GROUPS_DIR,
    check_group,
    group_names,
    read_group,
    remove_group,
    write_group,
)
from kminilog.consumer.members import Assigned, JoinRequest, Membership
from kminilog.errors import LogDirError, UnknownTopicOrPartitionError
from kminilog.format.names import TopicPartition
from kminilog.storage.files import open_regular, sync
from kminilog.storage.log_dir.log_dir import existing_directory

LOCK_SUFFIX = ".lock"
ID_BITS = 32


class Coordinator:
    """The groups of one log dir. Any threads and processes may use one or several of these.

    `partitions` returns how many partitions each topic has now, `topic_id` the identity of one, as
    MessageSource does. They are called with the lock held, so that a later call never sees an older
    answer. Besides what `Group` raises, each call raises LogDirError for a missing log dir or a
    broken file, and InvalidGroupError.
    """

    def __init__(
        self,
        log_dir: Path | str,
        partitions: Callable[[], Mapping[str, int]],
        topic_id: Callable[[str], str | None],
        *,
        clock: Clock,
        chance: Chance,
    ) -> None:
        self._log_dir = existing_directory(log_dir)
        self._partitions = partitions
        self._topic_id = topic_id
        self._clock = clock
        self._chance = chance

    def is_cooperative(self, strategy: str) -> bool:
        """Tell if members of this strategy keep reading during a rebalance; see make_assignor."""
        return make_assignor(strategy).is_cooperative

    def join(self, group: str, request: JoinRequest) -> Membership:
        """Join a group, which is created if it does not exist; see Group.join."""
        with self._changing(group, is_made=True) as state:
            new_id = self._new_id(request, state)
            return state.join(request, new_id=new_id, moment=self._moment())

    def sync(self, group: str, membership: Membership) -> Assigned | None:
        """Return what a member that has joined owns, None if not all have; see Group.sync."""
        with self._changing(group) as state:
            return state.sync(membership, self._moment())

    def heartbeat(self, group: str, membership: Membership) -> Literal["ok", "rebalance"]:
        """Show that a member is alive; say if it has to join again; see Group.heartbeat."""
        with self._changing(group) as state:
            return state.heartbeat(membership, self._moment())

    def leave(self, group: str, membership: Membership) -> None:
        """Leave a group; its committed offsets stay."""
        with self._changing(group) as state:
            state.leave(membership, self._moment())

    def commit(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        membership: Membership | None = None,
        topic_ids: Mapping[TopicPartition, str | None] | None = None,
    ) -> None:
        """Store, for some partitions, the offset to read next; see Group.commit.

        Without membership the group is created if it does not exist. `topic_ids` names the topics
        that the offsets are of; one that it does not name is that of now. Raises
        UnknownTopicIdError if one is not there any more, with another of its name or none.
        """
        with self._changing(group, is_made=membership is None) as state:
            now = self._topic_ids(partition.topic for partition in offsets)
            named = topic_ids or {}
            gone = {
                p
                for p in offsets
                if p.topic not in now or named.get(p, now[p.topic]) != now[p.topic]
            }
            state.commit(offsets, membership, self._clock.now_ms(), now)
            if gone:
                raise UnknownTopicIdError(group, gone)

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """Return the committed offsets of a group; empty if there is no such group.

        Those of an earlier topic of the same name do not count.
        """
        try:
            return self.describe(group).committed
        except UnknownGroupError:
            return {}

    def outdated(self, group: str) -> dict[TopicPartition, int]:
        """Return the committed offsets that are of an earlier topic of the same name."""
        try:
            state = read_group(self._log_dir, group)
        except UnknownGroupError:
            return {}
        return state.outdated(self._topic_ids(partition.topic for partition in state.committed))

    def describe(self, group: str) -> Group:
        """Return a group as it is now. Writes nothing. Raises UnknownGroupError.

        It is without members whose session is over, and without committed offsets of an earlier
        topic of the same name.
        """
        state = read_group(self._log_dir, group)
        state.expire(self._clock.now_ms())
        state.forget(state.outdated(self._topic_ids(p.topic for p in state.committed)))
        return state

    def groups(self) -> list[str]:
        """Return the ids of all groups, sorted."""
        return group_names(self._log_dir)

    def _topic_ids(self, topics: Iterable[str]) -> dict[str, str | None]:
        """Return the identity of each of these topics that can be read now."""
        found = {}
        for topic in set(topics):
            with suppress(UnknownTopicOrPartitionError, LogDirError):
                found[topic] = self._topic_id(topic)
        return found

    def _moment(self) -> Moment:
        return Moment(self._clock.now_ms(), self._partitions(), make_assignor)

    def _new_id(self, request: JoinRequest, group: Group) -> str:
        begin = request.instance_id or request.client_id
        while True:
            drawn = f"{begin}-{self._chance.getrandbits(ID_BITS):0{ID_BITS // 4}x}"
            if drawn not in group.members:  # two processes may have the same chance
                return drawn

    @contextmanager
    def _changing(self, name: str, *, is_made: bool = False) -> Iterator[Group]:
        """Lend a group out to be changed, with its lock held; write it unless something fails."""
        check_group(name)
        directory = self._log_dir / GROUPS_DIR
        if not directory.is_dir():
            directory.mkdir(exist_ok=True)
            sync(self._log_dir)
        with _locked(_lock_path(self._log_dir, name)):
            try:
                before = read_group(self._log_dir, name)
            except UnknownGroupError:
                if not is_made:
                    raise
                before = Group(name)
            group = deepcopy(before)
            yield group
            if group != before:
                write_group(self._log_dir, group)


def delete_group(log_dir: Path, name: str, *, now_ms: int) -> None:
    """Delete a group with its committed offsets; once it returns, they are gone for good.

    Its lock file stays, because another process may wait for it. Raises UnknownGroupError, and
    GroupInUseError while the group has members.
    """
    read_group(log_dir, name)  # a group that is unknown gets no lock file
    with _locked(_lock_path(log_dir, name)):
        group = read_group(log_dir, name)
        group.expire(now_ms)
        group.refuse_members()
        remove_group(log_dir, name)


def forget_topic(log_dir: Path, topic: str) -> None:
    """Drop the committed offsets of a deleted topic in all groups.

    They count in no later topic of that name, unless neither has an id. Raises LogDirError for the
    broken file of a group.
    """
    for name in group_names(log_dir):
        with _locked(_lock_path(log_dir, name)):
            group = read_group(log_dir, name)
            of_topic = [partition for partition in group.committed if partition.topic == topic]
            if of_topic:
                group.forget(of_topic)
                write_group(log_dir, group)


def _lock_path(log_dir: Path, group: str) -> Path:
    return log_dir / GROUPS_DIR / (group + LOCK_SUFFIX)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    if sys.platform == "emscripten":  # a browser: there is no other process
        yield
        return
    import fcntl

    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # Closing alone would not do if the process was forked meanwhile: the child has it open too.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
