"""What a follower does: agree with its leader once in each epoch, then pull.

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

Source: Kafka: ReplicaFetcherThread, KIP-101. Differs: docs/differences.md.
"""

from kminilog.cluster.broker import Broker
from kminilog.cluster.replica import Replica
from kminilog.format.names import TopicPartition


def agree(follower: Broker, partition: TopicPartition, leader: Replica, epoch: int) -> None:
    """Truncate what the leader of this epoch does not have; O(bytes above the high watermark).

    Must come before the follower's first `pull` in an epoch: the offset of that request tells the
    leader what the follower has. Does nothing if it was done in this epoch.
    """
    copy = follower.replica(partition)
    if copy.agreed_epoch != epoch:
        agreed_end = copy.first_difference(leader)
        if agreed_end < copy.log.log_end_offset:
            follower.truncate_to(partition, agreed_end)
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
