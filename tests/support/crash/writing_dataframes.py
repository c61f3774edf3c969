"""A DataFrame, and a stream, that write to a topic `t` in a process of their own.

    python -m tests.support.crash.writing_dataframes write LOG_DIR JOB SOURCE MASTER
    python -m tests.support.crash.writing_dataframes stream LOG_DIR CHECKPOINT STOP

`write` takes the rows of all Parquet files of a folder, in the order of their names. `stream` makes
rows "stream 0", "stream 1" and so on, some in each micro-batch, until there is a file STOP.
"""

import sys
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kminilog.jobs.spark.datasource.door import register
from kminilog.jobs.spark.runtime.session import spark_session
from tests.support.spark_classes import QUICK

ROWS_A_BATCH = 20


def write(spark: SparkSession, log_dir: Path, job_id: str, source: Path) -> None:
    register(spark)
    frames = [spark.read.parquet(str(path)) for path in sorted(source.iterdir())]
    writing = reduce(DataFrame.union, frames).write.format("kminilog").mode("append")
    writing.option("topic", "t").option("job_id", job_id).save(str(log_dir))


def stream(spark: SparkSession, log_dir: Path, checkpoint: Path, stop: Path) -> None:
    register(spark)
    made = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS_A_BATCH)
    rows = made.load().selectExpr("concat('stream ', value) AS value")
    writing = rows.writeStream.format("kminilog").option("topic", "t")
    query = writing.option("checkpointLocation", str(checkpoint)).start(str(log_dir))
    while not stop.exists():
        query.awaitTermination(0.1)  # raises what has ended it
    query.stop()


if __name__ == "__main__":
    what, log_dir, *words = sys.argv[1:]
    config = {"spark.sql.shuffle.partitions": "4", "spark.executor.extraJavaOptions": QUICK}
    session = spark_session(words[2] if what == "write" else "local[2]", config=config)
    if what == "write":
        write(session, Path(log_dir), words[0], Path(words[1]))
    else:
        stream(session, Path(log_dir), *map(Path, words))
    session.stop()
