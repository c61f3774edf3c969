"""A writer of a log dir that is in the way: it stays until tasks of Spark have written their rows,
and a second more. Then it appends a message to partition 0 of a topic, and closes the log dir.

    python -m tests.support.jobs.spark.writing_process LOG_DIR TOPIC
"""

import sys
import time
from glob import glob
from pathlib import Path

from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.publish.publication import JOB_STAGING_DIR


def main(log_dir: Path, topic: str) -> None:
    with LogDirWriter.open(log_dir) as writer:
        print("open", flush=True)
        staging = log_dir / JOB_STAGING_DIR
        # A run is gone as soon as it is joined; then there are directories of partitions. Unlike a
        # Path, the module skips what is deleted meanwhile.
        while not any(glob(f"{staging}/*/*/{name}") for name in ("spans.npy", f"{topic}-*")):
            time.sleep(0.02)
        time.sleep(1)
        log = writer.log(TopicPartition(topic, 0))
        print(log.append([(None, b"value 1000")]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
