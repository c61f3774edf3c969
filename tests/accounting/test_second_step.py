"""What one task reads may be several runs: each is numbered from its own beginning."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from kminilog.accounting.expected import ExpectedPartition
from kminilog.accounting.rejections import Quarantined, Rejections
from kminilog.accounting.rows import CountedRows
from kminilog.accounting.second_step import RecordReader, SecondStep
from kminilog.accounting.sides import Sides
from kminilog.source.places import RECORD_COLUMNS, Order
from kminilog.storage.log_dir import LogDir

NOTHING, NO_WORDS = np.empty(0, np.int64), np.empty(0, np.uint64)
NONE = Quarantined(NOTHING, NO_WORDS, NO_WORDS, NOTHING)


def batch(rank: int, rows: list[int]) -> pa.RecordBatch:
    count = len(rows)
    columns = [
        pa.array([rank] * count, pa.int32()),
        pa.array([0] * count, pa.int64()),
        pa.array(rows, pa.int64()),
        pa.nulls(count, pa.binary()),
        pa.array([b"%d" % row for row in rows], pa.binary()),
        pa.nulls(count, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, list(RECORD_COLUMNS))


def test_rows_that_do_not_follow_each_other_are_runs_of_their_own(tmp_path: Path):
    order = Order(60, by_position=False)
    sides = Sides(LogDir(tmp_path), 1, None, ExpectedPartition(1), Rejections(NONE, NOTHING), order)
    step = SecondStep(sides, 1, None, (), {}, by_rows=True)
    reader = RecordReader(step)
    items = [
        *reader.read(batch(0, [0, 1])),
        *reader.read(batch(0, [2, 7, 8])),
        *reader.read(batch(1, [0])),
    ]
    rows = [
        (row["run"], row["number"], row["order"])
        for bucket, rows in items
        if bucket == 0
        for row in rows.to_pylist()
    ]
    second, other_file = 7, 1 << 60
    assert rows == [
        (0, 0, 0),
        (0, 1, 1),
        (0, 2, 2),
        (second, 0, second),
        (second, 1, 8),
        (other_file, 0, other_file),
    ]
    counts: dict[int, int] = {}
    for bucket, item in items:
        if bucket == step.buckets and isinstance(item[1], CountedRows):
            counts[item[1].start] = counts.get(item[1].start, 0) + item[1].total
    assert counts == {0: 3, second: 2, other_file: 1}
