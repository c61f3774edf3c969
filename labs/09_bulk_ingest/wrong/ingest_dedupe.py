# exercise: 2
# reason: missing
from pathlib import Path

from pyspark import TaskContext

from kminilog import LogDirWriter, TopicPartition
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.storage.lock import LockWait
from kminilog.system import SystemClock


def ingest(rows, log_dir, job_id):
    def write(some):
        records = [(row.key.encode(), row.value.encode()) for row in some]
        done = Path(log_dir).parent / f"{job_id}-{TaskContext.get().partitionId()}"
        if done.exists():
            return
        wait = LockWait(60_000, SystemClock(), print)
        with LogDirWriter.open(log_dir, lock_wait=wait) as writer:
            for key, value in records:
                place = TopicPartition("orders", murmur2_partition(key, 3))
                writer.log(place).append([(key, value)])
        done.touch()

    rows.foreachPartition(write)
