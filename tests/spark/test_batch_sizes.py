"""Spark's settings are lent while a source is read, and given back."""

import subprocess
import sys
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.spark.batch_sizes import PARQUET_ROWS, TO_PYTHON, small_batches
from kminilog.spark.source import Source
from kminilog.spark.source_files import list_files

MIB = 1 << 20
# A session of its own, whose JVM is killed while a source is read.
DYING = """
import os
from kminilog.spark.batch_sizes import small_batches
from kminilog.spark.session import spark_session
from kminilog.spark.source import Source

spark = spark_session("local[1]")
jvm = spark.sparkContext._gateway.proc
try:
    with small_batches(spark, Source(("none",)), []):
        jvm.kill()
        jvm.wait()
        raise RuntimeError("the first failure")
except RuntimeError as error:
    print(error, flush=True)
    os._exit(0)
"""


def batches_of(spark, path):
    source = Source((str(path),), "parquet", value="value")
    return small_batches(spark, source, list_files(source.paths))


def settings_of(spark):
    return {name: spark.conf.get(name) for name in (PARQUET_ROWS, TO_PYTHON)}


@pytest.mark.parametrize(
    ("value_bytes", "rows"), [(100, "4096"), (100_000, "335"), (40 * MIB, "1")]
)
def test_rows_are_as_few_as_32_mebibytes_hold(spark, tmp_path, value_bytes, rows):
    path, table = tmp_path / "s.parquet", pa.table({"value": [b"x" * value_bytes]})
    pq.write_table(table, path, use_dictionary=False, compression="zstd")
    before = settings_of(spark)
    with batches_of(spark, path):
        assert settings_of(spark) == {PARQUET_ROWS: rows, TO_PYTHON: str(32 * MIB)}
    assert settings_of(spark) == before


def test_settings_are_given_back_after_a_failure(spark, tmp_path):
    (tmp_path / "no.parquet").write_bytes(b"no Parquet")
    before = settings_of(spark)
    with suppress(RuntimeError), batches_of(spark, tmp_path / "no.parquet"):
        assert settings_of(spark) == {**before, TO_PYTHON: str(32 * MIB)}
        raise RuntimeError
    assert settings_of(spark) == before


def test_the_first_failure_is_told_if_the_session_has_died():
    run = subprocess.run([sys.executable, "-c", DYING], capture_output=True, text=True)
    assert run.stdout == "the first failure\n", run.stderr
