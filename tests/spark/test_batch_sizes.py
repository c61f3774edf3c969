"""Spark's settings are lent while a source is read, and given back."""

from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.spark.batch_sizes import PARQUET_ROWS, TO_PYTHON, small_batches
from kminilog.spark.source_files import list_files

MIB = 1 << 20


def source_of(path, values):
    pq.write_table(pa.table({"value": values}), path, use_dictionary=False, compression="zstd")
    return list_files([str(path)])


def settings_of(spark):
    return {name: spark.conf.get(name) for name in (PARQUET_ROWS, TO_PYTHON)}


@pytest.mark.parametrize(
    ("value_bytes", "rows"), [(100, "4096"), (100_000, "335"), (40 * MIB, "1")]
)
def test_rows_are_as_few_as_32_mebibytes_hold(spark, tmp_path, value_bytes, rows):
    files = source_of(tmp_path / "s.parquet", [b"x" * value_bytes])
    before = settings_of(spark)
    with small_batches(spark, files):
        assert settings_of(spark) == {PARQUET_ROWS: rows, TO_PYTHON: str(32 * MIB)}
    assert settings_of(spark) == before


def test_settings_are_given_back_after_a_failure(spark, tmp_path):
    (tmp_path / "no.parquet").write_bytes(b"no Parquet")
    before = settings_of(spark)
    files = list_files([str(tmp_path / "no.parquet")])
    with suppress(RuntimeError), small_batches(spark, files):
        assert settings_of(spark) == {**before, TO_PYTHON: str(32 * MIB)}
        raise RuntimeError
    assert settings_of(spark) == before
