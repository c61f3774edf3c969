# exercise: 2
# reason: duplicate
from kminilog import LogDirWriter, TopicPartition
from kminilog.partitioners.keyed import murmur2_partition


def ingest(rows, log_dir, job_id):
    with LogDirWriter.open(log_dir) as writer:
        for row in rows.toLocalIterator():
            key = row.key.encode()
            place = TopicPartition("orders", murmur2_partition(key, 3))
            writer.log(place).append([(key, row.value.encode())])
