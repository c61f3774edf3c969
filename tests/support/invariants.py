"""What holds in a sound object, as assertions: of a log, of a producer, of a group, of a cluster.

They look inside: the invariants of a class are about its fields. The engine does not need them.
"""

from kminilog.cluster.broker import Broker
from kminilog.cluster.controller import Controller
from kminilog.cluster.replica import Replica
from kminilog.consumer.group import EMPTY, STABLE, Group
from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import decode_entries
from kminilog.producer.accumulator import Accumulator
from kminilog.producer.producer import ProducerCore
from kminilog.storage.files import read_regular
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.segment.offset_index import OffsetIndex
from kminilog.storage.segment.scan import SegmentScan, has_due_entries, scan_segment
from kminilog.storage.segment.segment import Segment


def check_index(index: OffsetIndex) -> None:
    """The file is valid, and holds the entries that are in memory."""
    try:
        entries = decode_entries(read_regular(index.path))
    except CorruptBytesError as error:
        raise AssertionError(f"{index.path.name}: {error}") from error
    assert entries == index.entries(), f"{index.path.name}: file and memory differ"


def check_segment(segment: Segment) -> SegmentScan:
    """It has whole messages in order, and exactly the due entries."""
    scan = scan_segment(segment)
    assert scan.reason is None, f"{segment.name} at {scan.valid_bytes}: {scan.reason}"
    assert has_due_entries(segment, scan), f"{segment.name}: index entries"
    return scan


def check_log(log: PartitionLog) -> None:
    """P1, P2, only the last segment is empty, and the index entries are those that are due."""
    next_offset = log.log_start_offset
    for segment in log.segments():
        assert segment.base_offset == log.dialect.base_offset_for(next_offset), segment.name
        next_offset = check_segment(segment).next_offset
    assert next_offset == log.log_end_offset
    assert all(segment.file_bytes for segment in log.segments()[:-1])


def check_accumulator(accumulator: Accumulator) -> None:
    """Each batch is where it belongs, and only the last of a queue takes more records."""
    with accumulator._lock:
        for place, batch in accumulator._in_flight.items():
            assert batch.is_in_flight
            assert batch.topic_partition == place
        for place, queue in accumulator._queues.items():
            assert all(batch.topic_partition == place for batch in queue)
            assert not any(batch.is_in_flight for batch in queue)
            assert all(batch.is_full for batch in list(queue)[:-1])
    accumulator._pool.check()


def check_producer(producer: ProducerCore) -> None:
    """What holds of its accumulator and its pool."""
    check_accumulator(producer._accumulator)


def check_group(group: Group, *, is_cooperative: bool) -> None:
    """What holds after every call; see also the text of its module."""
    assert (group.state == EMPTY) == (not group.members)
    assert group.assignment.keys() <= group.members.keys()
    assert sum(map(len, group.assignment.values())) == len(group.owners), "owned twice"
    assert group.topic_ids.keys() <= {partition.topic for partition in group.committed}
    static = [m.instance_id for m in group.members.values() if m.instance_id]
    assert len(static) == len(set(static))
    if group.state == STABLE:
        assert group.assignment.keys() == group.members.keys()
        assert group.partitions.keys() == group._subscribed(group.partitions).keys()
        for (topic, partition), member in group.owners.items():
            assert topic in group.members[member].topics
            assert partition < group.partitions[topic]
        assert is_cooperative or not group._has_partitions_without_owner()


def check_replica(replica: Replica) -> None:
    """The log is sound, and the high watermark lies in it."""
    check_log(replica.log)
    assert replica.log.log_start_offset <= replica.high_watermark <= replica.log.log_end_offset


def check_broker(broker: Broker) -> None:
    """Every replica is sound."""
    for replica in broker._replicas.values():
        check_replica(replica)


def check_cluster(cluster: Controller) -> None:
    """The cluster and every replica that is up are sound."""
    with cluster._lock:
        for broker in cluster._brokers.values():
            check_broker(broker)
        for partition, leadership in cluster._state.partitions.items():
            assert leadership.in_sync, partition
            assert set(leadership.in_sync) <= set(leadership.replicas), partition
            running = cluster._running() & set(leadership.in_sync)
            if leadership.leader is None:
                assert not running, partition
            else:
                assert leadership.leader in leadership.in_sync, partition
                assert running == set(leadership.in_sync), partition
                assert partition in cluster._progress
