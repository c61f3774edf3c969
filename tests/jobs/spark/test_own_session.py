"""A job has Spark's settings to itself: few bytes at once, and those of the user as they were."""

import subprocess
import sys
from contextlib import suppress

import pytest
from pyspark.sql import SparkSession

from kminilog.jobs.spark.runtime.session import own_session

TO_PYTHON, TIME_ZONE = "spark.sql.execution.arrow.maxBytesPerBatch", "spark.sql.session.timeZone"
# A session whose JVM is killed while a source is read.
DYING = """
import os
from kminilog.jobs.spark.runtime.session import own_session, spark_session

spark = spark_session("local[1]")
jvm = spark.sparkContext._gateway.proc
try:
    with own_session(spark):
        jvm.kill()
        jvm.wait()
        raise RuntimeError("the first failure")
except RuntimeError as error:
    print(error, flush=True)
    os._exit(0)
"""


def test_session_of_a_job_has_what_its_user_has_set_and_is_active_no_longer(spark):
    before = {name: spark.conf.get(name) for name in (TIME_ZONE, TO_PYTHON)}
    spark.conf.set(TIME_ZONE, "Asia/Tokyo")
    spark.range(3).createTempView("three")
    try:
        with suppress(RuntimeError), own_session(spark) as own:
            assert (own.conf.get(TIME_ZONE), own.table("three").count()) == ("Asia/Tokyo", 3)
            assert own.conf.get(TO_PYTHON) == str(32 << 20) != before[TO_PYTHON]
            assert spark.conf.get(TO_PYTHON) == before[TO_PYTHON]
            raise RuntimeError
        active = SparkSession._get_j_spark_session_class(spark._jvm).getActiveSession()
        assert active.get().equals(spark._jsparkSession)
    finally:
        spark.catalog.dropTempView("three")
        spark.conf.set(TIME_ZONE, before[TIME_ZONE])


@pytest.mark.spark
@pytest.mark.xdist_group("spark-cluster")  # a JVM beside the session's
def test_the_first_failure_is_told_if_the_session_has_died():
    run = subprocess.run([sys.executable, "-c", DYING], capture_output=True, text=True)
    assert run.stdout == "the first failure\n", run.stderr
