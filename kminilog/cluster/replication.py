"""What a follower does: agree with its leader once in each epoch, then pull. What the leader knows.

A follower asks for messages from an offset on, so it has all messages below. The leader knows
nothing else: a follower that has not asked yet counts as having no messages. From this follow

    high watermark    the smallest such offset among the in-sync replicas, the leader's end included
    joining           a follower may join them if it asks from the high watermark or above, and has
                      all that the leader had when its epoch began
    leaving           one that was not at the leader's end for replica.lag.time.max.ms

The second half of the rule for joining matters just after an election. The new leader's own high
watermark may still be below the true one. A follower that has reached only that offset lacks
messages that were acknowledged.

When the leader changes, a follower truncates its log. The offset decides what can be lost. Kafka
0.8 to 0.10 truncates at the follower's own high watermark. That is one round late: the follower
learns it from the answer to its next fetch. So with three replicas (KIP-101)

    1.  A leads; B and C have message m, and A has seen so: m is committed and acknowledged,
        but the high watermarks of B and C are still below m
    2.  A crashes, B leads; C truncates at its high watermark and so removes m
    3.  B crashes before C has fetched m again; C is in sync, so C leads: m is lost

Later releases store the first offset of each leader's epoch in a file and ask the leader where an
epoch ended. Here a follower compares its messages with the leader's, offset and bytes, from its own
high watermark on. It truncates at the first difference, so it never removes what the leader has.
It also deletes the segments that the leader's log no longer has at its beginning.

Time comes in as an argument. Source: Kafka: Partition, Replica, ReplicaFetcherThread, KIP-101; the
rule for joining as of 2.1 (KAFKA-7128), the one for leaving as of 0.9 (KIP-16). Differs:
docs/differences.md.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kminilog.cluster.broker import Broker
from kminilog.cluster.replica import Replica
from kminilog.cluster.requests import UNKNOWN_OFFSET
from kminilog.format.names import TopicPartition

# ---- the leader


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


# ---- the follower


def agree(
    follower: Broker, partition: TopicPartition, leader: Replica, epoch: int, *, now_ms: int
) -> None:
    """Remove what the leader of this epoch does not have; O(bytes above the high watermark).

    That is, truncate the end, and take the leader's log start: what retention has deleted while
    this follower was down must not come back when it leads. Must come before the follower's first
    `pull` in an epoch: the offset of that request tells the leader what the follower has. Does
    nothing if it was done in this epoch.
    """
    copy = follower.replica(partition)
    if copy.agreed_epoch != epoch:
        agreed_end = copy.first_difference(leader)
        if agreed_end < copy.log.log_end_offset:
            follower.truncate_to(partition, agreed_end)
        copy.take_log_start(leader.log.log_start_offset, now_ms)
        copy.agreed_epoch = epoch


def pull(
    follower: Broker, partition: TopicPartition, leader: Replica, *, max_bytes: int, now_ms: int
) -> int:
    """Copy messages from the leader, as many as fit but one at least, and return how many.

    The answer tells the leader's high watermark, too. Raises what PartitionLog.append raises.
    """
    copy = follower.replica(partition)
    messages = leader.fetch(copy.log.log_end_offset, max_bytes)
    copy.append_copies(messages, now_ms=now_ms)
    known = min(leader.high_watermark, copy.log.log_end_offset)
    copy.high_watermark = max(copy.high_watermark, known)
    return len(messages)
