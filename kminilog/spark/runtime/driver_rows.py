"""A few rows that the driver has, as a DataFrame to join with.

`createDataFrame` is not used, because it makes its session the active session of the whole Python
process, also for other threads. Instead, one literal holds all rows. Source: ours; PySpark's
SparkSession.
"""

import json

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType


def to_frame(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Return rows of texts and whole numbers as a DataFrame.

    Each query that uses it carries all rows in its plan: O(rows).
    """
    literal = sql.lit(json.dumps(rows.to_pylist()))
    array = sql.from_json(literal, ArrayType(from_arrow_schema(rows.schema)))
    return spark.range(1).select(sql.inline(array))
