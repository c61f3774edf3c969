"""Reads all of a topic again and again while jobs are ingested, until it has seen all rows.

    python -m tests.support.crash.polling_process LOG_DIR ROWS

Rows are "<key> <job> <row>", numbered within a job. What was read must be there again, unchanged,
the next time; offsets follow each other. Says "ready" after the first time; in the end, as JSON,
where the partitions ended each time, in the order in which they were read.
"""

import json
import sys
from pathlib import Path

from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.reader import PartitionReader


def main(log_dir: Path, rows: int) -> None:
    seen: dict[int, list[bytes]] = {}
    ends: list[dict[int, int]] = []
    while sum(map(len, seen.values())) < rows:
        found: dict[int, int] = {}
        for topic_partition in LogDir(log_dir).topic("t").all_partitions():
            reader = LogDir(log_dir).reader(topic_partition)
            values = read_all(reader)
            before = seen.get(topic_partition.partition, [])
            assert values[: len(before)] == before, "what was there has changed"
            seen[topic_partition.partition] = values
            found[topic_partition.partition] = len(values)
        ends.append(found)
        if len(ends) == 1:
            print("ready", flush=True)
    print(json.dumps([list(map(list, end.items())) for end in ends]))


def read_all(reader: PartitionReader) -> list[bytes]:
    values: list[bytes] = []
    while batch := reader.read(len(values), 1 << 14):
        for message in batch:
            assert message.offset == len(values), "a gap, or a message twice"
            values.append(message.value or b"")
    return values


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
