"""A job has Spark's settings to itself: few bytes at once, and those of the user as they were."""

import subprocess
import sys
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kminilog.source.description import Source
from kminilog.source.files import list_files
from kminilog.spark.source.own_session import (
    PARQUET_ROWS,
    SHUFFLE_TASKS,
    TO_PYTHON,
    own_session,
)

MIB = 1 << 20
TIME_ZONE = "spark.sql.session.timeZone"
# A session whose JVM is killed while a source is read.
DYING = """
import os
from kminilog.spark.source.own_session import own_session
from kminilog.spark.runtime.session import spark_session
from kminilog.source.description import Source

spark = spark_session("local[1]")
jvm = spark.sparkContext._gateway.proc
try:
    with own_session(spark, Source(("none",)), []):
        jvm.kill()
        jvm.wait()
        raise RuntimeError("the first failure")
except RuntimeError as error:
    print(error, flush=True)
    os._exit(0)
"""


def session_for(spark, path):
    source = Source((str(path),), "parquet", value="value")
    return own_session(spark, source, list_files(source.paths))


def settings_of(spark):
    return {name: spark.conf.get(name) for name in (PARQUET_ROWS, TO_PYTHON)}


@pytest.mark.parametrize(
    ("value_bytes", "rows"), [(100, "4096"), (100_000, "335"), (40 * MIB, "1")]
)
def test_rows_are_as_few_as_32_mebibytes_hold(spark, tmp_path, value_bytes, rows):
    path, table = tmp_path / "s.parquet", pa.table({"value": [b"x" * value_bytes]})
    pq.write_table(table, path, use_dictionary=False, compression="zstd")
    before = settings_of(spark)
    with session_for(spark, path) as own:
        assert settings_of(own) == {PARQUET_ROWS: rows, TO_PYTHON: str(32 * MIB)}
        assert settings_of(spark) == before


def test_shuffle_has_four_tasks_for_each_core_unless_its_user_has_set_their_number(spark, tmp_path):
    (path := tmp_path / "no.parquet").write_bytes(b"no Parquet")
    users = spark.newSession()
    users.conf.unset(SHUFFLE_TASKS)
    assert users.conf.get(SHUFFLE_TASKS) == "200"  # Spark's default
    with session_for(users, path) as own:
        assert own.conf.get(SHUFFLE_TASKS) == str(4 * spark.sparkContext.defaultParallelism)
    assert users.conf.get(SHUFFLE_TASKS) == "200"
    for number in ("3", "200"):
        users.conf.set(SHUFFLE_TASKS, number)
        with session_for(users, path) as own:
            assert own.conf.get(SHUFFLE_TASKS) == number


def test_session_of_a_job_has_what_its_user_has_set_and_is_active_no_longer(spark, tmp_path):
    (tmp_path / "no.parquet").write_bytes(b"no Parquet")
    before = spark.conf.get(TIME_ZONE)
    spark.conf.set(TIME_ZONE, "Asia/Tokyo")
    spark.range(3).createTempView("three")
    try:
        with suppress(RuntimeError), session_for(spark, tmp_path / "no.parquet") as own:
            assert (own.conf.get(TIME_ZONE), own.table("three").count()) == ("Asia/Tokyo", 3)
            assert settings_of(own) == {**settings_of(spark), TO_PYTHON: str(32 * MIB)}
            raise RuntimeError
        active = SparkSession._get_j_spark_session_class(spark._jvm).getActiveSession()
        assert active.get().equals(spark._jsparkSession)
    finally:
        spark.catalog.dropTempView("three")
        spark.conf.set(TIME_ZONE, before)


def test_the_first_failure_is_told_if_the_session_has_died():
    run = subprocess.run([sys.executable, "-c", DYING], capture_output=True, text=True)
    assert run.stdout == "the first failure\n", run.stderr
