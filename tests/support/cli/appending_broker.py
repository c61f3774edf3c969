"""A process that appends, rolls and deletes old segments, as a broker does, until stdin is closed.

Its last line names the files that are there at the end.
"""

import select
import sys
from pathlib import Path

from kminilog.format.names import segment_name
from tests.broker_files.golden_files import java
from tests.broker_files.partitions import at, write_segment

BATCHES = 20  # of a segment, each of four records
KEPT = 5  # segments


def main(partition: Path) -> None:
    """Append batch after batch, each in two writes, so that a reader may see half of one."""
    batch, number = java("v2-none"), 0
    while number <= KEPT or not select.select([sys.stdin], [], [], 0.001)[0]:
        base_offset = 4 * BATCHES * number
        log = write_segment(partition, base_offset, at(base_offset, batch))
        with open(log, "ab", buffering=0) as file:
            for place in range(1, BATCHES):
                data = at(base_offset + 4 * place, batch)
                file.write(data[:100])
                file.write(data[100:])
        for path in partition.glob(segment_name(base_offset - 4 * BATCHES * KEPT) + ".*"):
            path.unlink()
        number += 1
        if number == KEPT + 1:
            print("begun", flush=True)
    print(*(path.name for path in partition.iterdir()), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
