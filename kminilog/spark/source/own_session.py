"""A job's own session: Spark reads few bytes of records at once, and shuffles into few tasks.

Spark counts rows, not bytes. A task holds 4,096 rows of a Parquet file in the memory of the JVM;
records of 100 kB fill that memory. Spark hands 64 MiB to Python at once, and a worker makes several
copies of that. A shuffle has 200 tasks on any number of cores; with few records each task takes
longer to start than to run. These numbers are settings of a session, and other jobs may use the
same session. So a job gets a session of its own. It is the active session of the thread, because
Spark looks for Python data sources there. In this session Parquet's nanoseconds are numbers, from
which `read_source` makes texts. This module does not know what the job does. Source: ours; Spark's
configuration.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from kminilog.source.description import Source
from kminilog.source.files import SourceFile
from kminilog.source.task_groups import TASKS_PER_CORE
from kminilog.spark.source.nanoseconds import NANOS_AS_LONG

TO_PYTHON = "spark.sql.execution.arrow.maxBytesPerBatch"
PARQUET_ROWS = "spark.sql.parquet.columnarReaderBatchSize"
SHUFFLE_TASKS = "spark.sql.shuffle.partitions"
_BATCH_BYTES = 32 << 20
_MOST_ROWS = 4096


@contextmanager
def own_session(
    spark: SparkSession, source: Source, files: Sequence[SourceFile]
) -> Iterator[SparkSession]:
    """Yield a session that reads a source with about 32 MiB of records in memory at once.

    It starts with the settings, views and functions that `spark` has now, and shares its
    SparkContext. What is set or registered in one of them later is not in the other. A shuffle has
    TASKS_PER_CORE tasks for each core, unless the user has set their number. At the end the
    thread's active session is as before. Reads the footers of Parquet files, O(row groups), to know
    how long rows are; a footer that cannot be read counts as 0.
    """
    sessions = SparkSession._get_j_spark_session_class(spark._jvm)
    before = sessions.getActiveSession()  # of this thread
    # Spark's own streaming queries do the same; `newSession` would not have those settings.
    own = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    sessions.setActiveSession(own._jsparkSession)
    try:
        own.conf.set(TO_PYTHON, str(_BATCH_BYTES))
        own.conf.set(NANOS_AS_LONG, "true")
        if own.conf.get(SHUFFLE_TASKS, None) is None:
            own.conf.set(SHUFFLE_TASKS, str(spark.sparkContext.defaultParallelism * TASKS_PER_CORE))
        parquet = files if source.format == "parquet" else []
        row_bytes = max((_row_bytes(file.path) for file in parquet), default=0)
        if row_bytes * _MOST_ROWS > _BATCH_BYTES:
            own.conf.set(PARQUET_ROWS, str(max(int(_BATCH_BYTES / row_bytes), 1)))
        yield own
    finally:
        # If the JVM has died meanwhile, only the error that says so is of interest.
        with suppress(Py4JError, OSError):
            if before.isDefined():
                sessions.setActiveSession(before.get())
            else:
                sessions.clearActiveSession()


def _row_bytes(path: str) -> float:
    """Return how long rows are in the row group that has the longest, uncompressed; 0 if none."""
    with suppress(pa.ArrowException, OSError):
        footer = pq.read_metadata(path)
        row_groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
        return max(
            (group.total_byte_size / max(group.num_rows, 1) for group in row_groups), default=0
        )
    return 0
