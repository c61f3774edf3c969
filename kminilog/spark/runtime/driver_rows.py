"""Rows that the driver has, few of them, as a DataFrame to be joined with.

Not with `createDataFrame`: it makes its session the active one of the whole Python process, for
other threads too. So the rows are one literal. Source: ours; PySpark's SparkSession.
"""

import json

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType


def to_frame(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Return rows of texts and whole numbers as a DataFrame; O(rows) in the plan of each query."""
    literal = sql.lit(json.dumps(rows.to_pylist()))
    array = sql.from_json(literal, ArrayType(from_arrow_schema(rows.schema)))
    return spark.range(1).select(sql.inline(array))
