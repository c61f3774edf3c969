"""A process that reads a log up to an offset while another writes it, and says what it took.

python -m tests.support.crash.reading_process LOG_DIR END MAX_BYTES
"""

import sys

from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from tests.support.crash.following import follow


def main(log_dir: str, end: str, max_bytes: str) -> None:
    reader = LogDir(log_dir).reader(TopicPartition("orders", 0))
    print("ready", flush=True)
    print(*follow(reader, int(end), int(max_bytes)))


if __name__ == "__main__":
    main(*sys.argv[1:])
