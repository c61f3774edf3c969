"""What one task reads may be several runs: each is numbered from its own beginning."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from kminilog.jobs.source.places import RECORD_COLUMNS, Order
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.verification.account.expected import ExpectedPartition
from kminilog.verification.account.rejections import Quarantined, Rejections
from kminilog.verification.account.row_join import RowJoin
from kminilog.verification.account.rows import CountedRows
from kminilog.verification.account.sides import Sides

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


def test_rows_of_all_batches_of_a_task_are_one_run(tmp_path: Path):
    order = Order(60, by_position=False)
    sides = Sides(LogDir(tmp_path), 1, None, ExpectedPartition(1), Rejections(NONE, NOTHING), order)
    join = RowJoin(sides, 1, None, (), {})
    batches = [batch(0, [7, 8]), batch(0, []), batch(0, [9]), batch(1, [0])]
    items = list(join.read_records(batches))
    rows = [
        (row["run"], row["number"], row["order"])
        for bucket, rows in items
        if bucket == 0
        for row in rows.to_pylist()
    ]
    assert rows == [(7, 0, 7), (7, 1, 8), (7, 2, 9), (7, 3, 1 << 60)]
    counted = [item[1] for bucket, item in items if bucket == join.buckets]
    totals = [(c.start, c.total) for c in counted if isinstance(c, CountedRows)]
    assert {start for start, _ in totals} == {7}
    assert sum(total for _, total in totals) == 4
