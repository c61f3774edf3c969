"""Which records of a source are known to be rejected, and so are not missing.

    a job on record has read the file    those that the job's quarantine file names, no others
    no job has                           those that cannot be decoded

Tasks read the quarantine files and join them by place; no record reaches the driver. Source: ours.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from kminilog.spark.runtime.driver_rows import to_frame
from kminilog.spark.source.files import SourceFile, files_outside
from kminilog.spark.source.records import Source, as_glob
from kminilog.spark.verify.expected_partition import recorded_paths
from kminilog.storage.publish.manifests import Manifest, quarantine_path
from kminilog.storage.regular_file import regular_status

_FIELDS = "file string, row long, position long"
_PLACE = ("source_rank", "source_position", "_row")


def quarantine_files(log_dir: Path, jobs: Sequence[Manifest]) -> list[Path]:
    """Return the quarantine files of these jobs; a job that rejected nothing has none.

    Raises NotARegularFileError: Spark would read such a file as empty, or wait for it.
    """
    found = []
    for job in jobs:
        path = quarantine_path(log_dir, job.job_id).absolute()
        with suppress(FileNotFoundError):
            regular_status(path)
            found.append(path)
    return found


def mark_rejected(
    records: DataFrame,
    source: Source,
    files: Sequence[SourceFile],
    jobs: Sequence[Manifest],
    quarantined: Sequence[Path],
) -> DataFrame:
    """Return the records of a source with a column `is_rejected`, which is never null.

    `jobs` are on record for the topic; `quarantined` are their quarantine files.
    """
    arguments = [path for job in jobs for path in recorded_paths(job)]
    unrecorded = [file.rank for file in files_outside(files, arguments)]
    is_undecodable = sql.col("rejected").isNotNull()
    if len(unrecorded) < len(files):
        is_undecodable &= sql.col("source_rank").isin(unrecorded)
    marked = records.withColumn("is_rejected", is_undecodable)
    if not quarantined:
        return marked
    # In text and JSON, `source_row` counts within a piece, so only the position tells the place.
    row = sql.col("source_row") if source.format in ("csv", "parquet") else sql.lit(0)
    places = _places(records, files, quarantined)
    return (
        marked.withColumn("_row", row.cast("long"))
        .join(places, list(_PLACE), "left")
        .withColumn("is_rejected", sql.col("is_rejected") | sql.col("_found").isNotNull())
        .drop("_row", "_found")
    )


def _places(
    records: DataFrame, files: Sequence[SourceFile], quarantined: Sequence[Path]
) -> DataFrame:
    spark = records.sparkSession
    ranks = pa.table(
        {"file": [file.path for file in files], "source_rank": [file.rank for file in files]}
    )
    found = spark.read.schema(_FIELDS).json([as_glob(os.fspath(path)) for path in quarantined])
    return (
        found.join(sql.broadcast(to_frame(spark, ranks)), "file")
        .select(
            sql.col("source_rank").cast("int"),
            sql.col("position").alias("source_position"),
            sql.coalesce(sql.col("row") - 1, sql.lit(0)).alias("_row"),
            sql.lit(True).alias("_found"),
        )
        .dropDuplicates()
    )
