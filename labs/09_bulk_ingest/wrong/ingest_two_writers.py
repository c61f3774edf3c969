# exercise: 2
# reason: offset-overlap
from pathlib import Path

from kminilog.format.dialect import DOCUMENTED
from kminilog.format.message import encode
from kminilog.partitioners.keyed import murmur2_partition


def ingest(rows, log_dir, job_id):
    def write(some):
        logs = {number: [] for number in range(3)}
        for row in some:
            log = logs[murmur2_partition(row.key.encode(), 3)]
            log.append(encode(DOCUMENTED, len(log), row.key.encode(), row.value.encode()))
        for number, log in logs.items():
            with Path(log_dir, f"orders-{number}", f"{0:020}.log").open("ab") as file:
                file.write(b"".join(log))

    rows.foreachPartition(write)
