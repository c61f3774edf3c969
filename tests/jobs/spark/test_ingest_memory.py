"""How much memory the Python workers of an ingest take: a bound, whatever the source is."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import ingest
from tests.support.process_memory import peaks
from tests.support.random_columns import random_column

MOST_BYTES = 400 << 20
ROW_GROUP_BYTES = 250 << 20


@pytest.mark.parametrize(
    ("records", "value_bytes"),
    [
        (2_500, 100_000),  # one row group, and by their number one batch
        pytest.param(20_000, 100_000, marks=pytest.mark.soak),
        pytest.param(4_000_000, 100, marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize("value", ["value", None], ids=["column", "row as JSON"])
@pytest.mark.parametrize("plan", ["sorted", "runs"])
def test_ingest_workers_stay_below_400_megabytes(
    spark, tmp_path, plan, value, records, value_bytes
):
    rng, path = np.random.default_rng(1), tmp_path / "source.parquet"
    schema = pa.schema([("value", pa.binary())])
    # Else a page, which has to be read as a whole, would have 1,024 rows, however long they are.
    page_rows = max((1 << 20) // value_bytes, 1)
    options = {"compression": "none", "write_batch_size": page_rows}
    with pq.ParquetWriter(path, schema, **options) as writer:
        for start in range(0, records, rows := ROW_GROUP_BYTES // value_bytes):
            count = min(rows, records - start)
            table = pa.table({"value": random_column(rng, count, value_bytes)})
            writer.write_table(table, row_group_size=count)
    source = Source((str(path),), "parquet", value=value)
    with peaks() as found:
        result = ingest(spark, tmp_path / "log", source, topic="t", partitions=3, plan=plan)
    assert result.manifest.facts["count"] == records
    assert 0 < found["worker"] < MOST_BYTES
