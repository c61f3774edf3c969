"""One Spark session for all tests of a process. tests/conftest.py marks those that use it."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKOUT = Path(__file__).parents[2]
# Of a parameter with which a test asks for the session by itself.
ON_SPARK = (pytest.mark.spark, pytest.mark.xdist_group("spark"))
# No result of a job may come near a megabyte: whoever sends rows to the driver fails.
CONFIG = {
    "spark.driver.maxResultSize": "1m",
    "spark.sql.shuffle.partitions": "4",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    from kminilog.jobs.spark.runtime.session import spark_session

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("PYTHONPATH", str(CHECKOUT), prepend=os.pathsep)  # for the workers
        monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
        # Spark makes it for its catalog, else in the current directory.
        warehouse = {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
        session = spark_session("local[2]", app_name="kminilog-tests", config=CONFIG | warehouse)
        yield session
        session.stop()
