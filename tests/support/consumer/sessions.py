"""The session of a member that is dead or stopped is over, without waiting for that."""

from contextlib import suppress
from pathlib import Path
from random import Random

from kminilog.clock import ManualClock
from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.errors import UnknownMemberError
from kminilog.consumer.members import JoinRequest
from kminilog.consumer.readers import LogDirSource
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.system import SystemClock

SHORT_MS, LONG_MS = 600_000, 6_000_000
"""Sessions that no busy machine ends. Of these two, `end_short_sessions` ends the first."""


def end_short_sessions(log_dir: Path, group: str) -> None:
    """Join a group with a clock that is ahead, and leave it: all members that should have said
    something by then are lost."""
    clock = ManualClock(SystemClock().now_ms() + 2 * SHORT_MS)
    source = LogDirSource(LogDir(log_dir))
    coordinator = Coordinator(log_dir, source.topics, source.topic_id, clock=clock, chance=Random())
    membership = coordinator.join(group, JoinRequest(tuple(source.topics())))
    # If others end the rebalance meanwhile, they have heard of it at a time that is long over now.
    with suppress(UnknownMemberError):
        coordinator.leave(group, membership)
