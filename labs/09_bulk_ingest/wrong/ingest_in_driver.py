# exercise: 2
# reason: missing
from kminilog import LogDirWriter, TopicPartition
from kminilog.partitioners.keyed import murmur2_partition


def ingest(rows, log_dir, job_id):
    given = [(row.key.encode(), row.value.encode()) for row in rows.collect()]
    with LogDirWriter.open(log_dir) as writer:
        logs = [writer.log(TopicPartition("orders", number)) for number in range(3)]
        if not any(log.log_end_offset for log in logs):
            for number, log in enumerate(logs):
                log.append(each for each in given if murmur2_partition(each[0], 3) == number)
