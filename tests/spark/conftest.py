"""One Spark session for all of these tests, and the small sources that they share."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
# No result of a job may come near a megabyte: whoever sends rows to the driver fails.
CONFIG = {
    "spark.driver.maxResultSize": "1m",
    "spark.sql.shuffle.partitions": "4",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))  # one session, so one process


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    from kminilog.spark.runtime.session import spark_session

    checkout = str(HERE.parents[1])
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("PYTHONPATH", checkout, prepend=os.pathsep)  # for the workers
        monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
        # Spark makes it for its catalog, else in the current directory.
        warehouse = {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
        session = spark_session("local[2]", app_name="kminilog-tests", config=CONFIG | warehouse)
        yield session
        session.stop()
