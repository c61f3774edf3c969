"""A process in which no file may grow beyond a limit (RLIMIT_FSIZE): appends fail in the middle.

    python -m tests.support.crash.limited_process PARTITION_DIRECTORY DIALECT

It appends one and the same batch, which rolls, under every limit in turn, and asserts that
the log is as it was before each call that failed. It prints how many failed and how many did not.
"""

import resource
import sys
from pathlib import Path

import pytest

from kminilog.errors import WriteFailedError
from kminilog.format.dialect import DIALECTS
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from tests.support.damage import files_of
from tests.support.invariants import check_log
from tests.support.properties.strategies import expected_log

SETTINGS = TopicSettings(segment_bytes=300, index_interval_bytes=60)
BEFORE: list[tuple[bytes | None, bytes | None]] = [(None, b"before %d" % n) for n in range(4)]
# Each segment becomes larger than the one before it, so that each can be the one to fail.
BATCH: list[tuple[bytes | None, bytes | None]] = [
    (b"key", bytes([65 + n]) * size)
    for n, size in enumerate([20, 20, 90, 40, 40, 40, 20, 120, 50, 50, 30, 30, 10])
]


def main(directory: str, dialect_name: str) -> None:
    dialect = DIALECTS[dialect_name]
    log = PartitionLog.open(Path(directory), TopicPartition("orders", 0), dialect, SETTINGS)
    model = expected_log(dialect, SETTINGS)
    log.append(BEFORE)
    for message in BEFORE:
        model.append(*message)
    before = model.files()
    for message in BATCH:
        model.append(*message)
    after = model.files()
    assert files_of(log.directory) == before
    grown = [len(data) for name, data in after.items() if data != before.get(name)]
    sizes = [segment.size_bytes for segment in model.segments[:4]]
    assert sizes == sorted(set(sizes))
    assert len(sizes) == 4
    failed = 0
    for limit in range(max(grown)):
        assert_append_fails(log, limit)
        failed += 1
        assert files_of(log.directory) == before, f"limit {limit}"
        assert log.log_end_offset == len(BEFORE)
    check_log(log)
    set_limit(max(grown))
    assert log.append(BATCH) == range(len(BEFORE), len(BEFORE) + len(BATCH))
    assert files_of(log.directory) == after
    check_log(log)
    print(failed, 1)


def assert_append_fails(log: PartitionLog, limit: int) -> None:
    set_limit(limit)
    with pytest.raises(WriteFailedError, match="as it was before") as caught:
        log.append(BATCH)
    set_limit(resource.RLIM_INFINITY)
    assert caught.value.restored


def set_limit(limit: int) -> None:
    sys.dont_write_bytecode = True  # the limit would cut it off
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main(*sys.argv[1:])
