"""Reading all partitions of a log again and again while jobs are published into it.

Job n adds `job_size(partition, n)` numbered messages to each partition.
"""

from collections.abc import Callable
from pathlib import Path

from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.reader import PartitionReader
from tests.support.crash.numbered_messages import numbered_message

PARTITIONS = 3


def job_size(partition: int, job: int) -> int:
    return (partition * 7 + job * 5) % 23 + (1 if job else 0)


def log_end(partition: int, jobs: int) -> int:
    return sum(job_size(partition, job) for job in range(1, jobs + 1))


def watch(log_dir: Path, jobs: int, on_seen: Callable[[int], object] = int) -> None:
    """Read everything until all jobs are there; assert that what is there are whole jobs, in every
    partition at least those that were in the one read before. `on_seen` hears after each round how
    many there are."""
    ends = [
        {log_end(partition, count): count for count in range(jobs + 1)}
        for partition in range(PARTITIONS)
    ]
    readers = [
        LogDir(log_dir).reader(TopicPartition("orders", partition))
        for partition in range(PARTITIONS)
    ]
    seen = rounds = 0
    while seen < jobs:
        for partition, reader in enumerate(readers):
            looked = LogDir(log_dir).reader(reader.topic_partition) if rounds % 2 else reader
            for end in (read_all(looked), looked.log_end_offset):
                assert end in ends[partition], f"{end} messages are no whole jobs"
                count = ends[partition][end]
                assert count >= seen, f"job {seen} was there already, in another partition"
                seen = count
        rounds += 1
        on_seen(seen)


def read_all(reader: PartitionReader) -> int:
    """Read a partition from its start; assert that each message is the right one, and return how
    many there were."""
    offset = 0
    while batch := reader.read(offset, 500):
        for message in batch:
            expected = (offset, *numbered_message(offset))
            assert (message.offset, message.key, message.value) == expected
            offset += 1
    if offset:
        assert reader.find(offset - 1).message.offset == offset - 1
    return offset
