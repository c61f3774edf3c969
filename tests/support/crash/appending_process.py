"""A process that appends numbered messages until it is killed.

    python -m tests.support.crash.appending_process LOG_DIR SEED VALUE_BYTES

It goes on where the log ends. Each line that it prints is a log end offset that a flush, or an
append with flush.messages = 1, had reached when it returned.
"""

import os
import random
import sys

from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.writer import LogDirWriter
from tests.support.crash.numbered_messages import numbered_message

BATCH_SIZES = (1, 1, 2, 5, 20)


def main(log_dir: str, seed: str, value_bytes: str) -> None:
    source = random.Random(int(seed))
    size = int(value_bytes) or None
    with LogDirWriter.open(log_dir) as writer:
        log = writer.log(TopicPartition("orders", 0))
        while True:
            count = source.choice(BATCH_SIZES)
            offsets = range(log.log_end_offset, log.log_end_offset + count)
            log.append(numbered_message(offset, size) for offset in offsets)
            if source.random() < 0.2:
                source.choice([log.flush, writer.flush])()
            if log.recovery_point == log.log_end_offset:
                os.write(1, b"%d\n" % log.recovery_point)


if __name__ == "__main__":
    main(*sys.argv[1:])
