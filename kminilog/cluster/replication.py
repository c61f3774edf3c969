"""What a follower does: agree with its leader once in an epoch, then pull.

Where a follower cuts its log when the leader changes decides what can be lost. Kafka 0.8 to 0.10
cuts at the follower's own high watermark, and that is one round late: the follower hears of it in
the answer to its next fetch. So with three replicas (KIP-101)

    1.  A leads; B and C have message m, and A has seen so: m is committed and acknowledged,
        but the high watermarks of B and C are still below m
    2.  A crashes, B leads; C cuts at its high watermark, and m with it
    3.  B crashes before C has fetched m again; C is in sync, so C leads: m is gone

Later releases keep the first offset of each leader's epoch in a file, and ask by it. Here a
follower compares its messages with the leader's, offset and bytes, from its own high watermark on,
and cuts at the first difference only: it never loses what the leader has.

Source: Kafka: ReplicaFetcherThread, KIP-101. Differs: docs/differences.md.
"""

from kminilog.cluster.broker import Broker
from kminilog.cluster.replica import Replica
from kminilog.format.names import TopicPartition


def agree(follower: Broker, partition: TopicPartition, leader: Replica, epoch: int) -> None:
    """Cut off what a follower has and the leader of this epoch has not; O(what lies above its hw).

    Must come before the follower's first `pull` in an epoch: what it asks for then says what it has
    in common with the leader. Does nothing if it has been done in this epoch.
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
