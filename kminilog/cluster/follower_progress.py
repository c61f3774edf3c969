"""What the leader of a partition knows of its followers: only what their requests have told it.

A follower asks for messages from an offset on, so it has all messages below. The leader knows
nothing else: a follower that has not asked yet counts as having no messages. From this follow

    high watermark    the smallest such offset among the in-sync replicas, the leader's end included
    joining           a follower may join them if it asks from the high watermark or above, and has
                      all that the leader had when its epoch began
    leaving           one that was not at the leader's end for replica.lag.time.max.ms

The second half of the rule for joining matters just after an election. The new leader's own high
watermark may still be behind the true one. A follower that has reached only that offset lacks
messages that were acknowledged. This module knows no files, and no clock: the time comes in as an
argument.

Source: Kafka: Partition, Replica; the rule for joining as of 2.1 (KAFKA-7128), the one for leaving
as of 0.9 (KIP-16). Differs: docs/differences.md.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kminilog.cluster.requests import UNKNOWN_OFFSET


@dataclass
class _Follower:
    """`end_offset`: what it asked for last; `leader_end`: where the leader ended then."""

    caught_up_ms: int
    asked_ms: int
    end_offset: int = UNKNOWN_OFFSET
    leader_end: int = UNKNOWN_OFFSET


class FollowerProgress:
    """The followers of one partition during one epoch of its leader.

    >>> progress = FollowerProgress([1, 2], epoch_start_offset=0, now_ms=0)
    >>> progress.asked(1, 5, leader_end=7, now_ms=10)
    >>> progress.high_watermark({0, 1}, leader_end=7, current=3)
    5
    >>> progress.high_watermark({0, 1, 2}, leader_end=7, current=3)
    3
    """

    def __init__(self, followers: Iterable[int], *, epoch_start_offset: int, now_ms: int) -> None:
        self.epoch_start_offset = epoch_start_offset
        self._followers = {node: _Follower(now_ms, now_ms) for node in followers}

    def asked(self, node: int, offset: int, *, leader_end: int, now_ms: int) -> None:
        """Note that a follower asked for messages from `offset` on."""
        follower = self._followers[node]
        if offset >= leader_end:
            follower.caught_up_ms = now_ms
        elif UNKNOWN_OFFSET < follower.leader_end <= offset:
            # It has all that was there when it asked before: it keeps up with a busy leader.
            follower.caught_up_ms = follower.asked_ms
        follower.asked_ms = now_ms
        follower.end_offset = offset
        follower.leader_end = leader_end

    def high_watermark(self, in_sync: Collection[int], *, leader_end: int, current: int) -> int:
        """Return up to which offset all in-sync replicas have the messages; never below `current`.

        `in_sync` may name the leader itself, whose end is `leader_end`.
        """
        ends = [f.end_offset for node, f in self._followers.items() if node in in_sync]
        return max(current, min(ends, default=leader_end))

    def may_join(self, node: int, *, high_watermark: int) -> bool:
        """Tell if a follower has what an in-sync replica must have."""
        needed = max(high_watermark, self.epoch_start_offset)
        return self._followers[node].end_offset >= needed

    def lagging(
        self, in_sync: Collection[int], *, leader_end: int, now_ms: int, lag_time_max_ms: int
    ) -> set[int]:
        """Return the in-sync followers that were not at the leader's end for too long.

        A follower that has everything is never among them: there is nothing to ask for.
        """
        return {
            node
            for node, follower in self._followers.items()
            if node in in_sync
            and follower.end_offset < leader_end
            and now_ms - follower.caught_up_ms > lag_time_max_ms
        }
