"""The other tools of `comparing`, each in a process of its own that never imports kminilog.

`python comparing_others.py TOOL DIRECTORY ROUNDS CASE...` compares `stored.parquet` with
`CASE.parquet`, and prints a line of JSON for each round: the case, the seconds, what was found.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

Compare = Callable[[Path, Path], str]


def datacompy() -> Compare:
    """Return a comparison by a join in Spark; the report shows ten rows of each column."""
    from datacompy.spark import SparkSQLCompare
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.memory": "6g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "8",  # for two cores the fastest
    }
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def compare(stored: Path, source: Path) -> str:
        left, right = (spark.read.parquet(str(path)) for path in (stored, source))
        found = SparkSQLCompare(spark, left, right, ["id"])
        found.report()
        differing = [one["unequal_cnt"] for one in found.column_stats]
        only = found.df1_unq_rows.count() + found.df2_unq_rows.count()
        spark.catalog.clearCache()
        return f"{sum(differing)} cells, {only} rows of one side"

    return compare


def reladiff() -> Compare:
    """Return a comparison of two tables in one DuckDB; loading them is part of it."""
    import duckdb
    from reladiff import connect_to_table, diff_tables

    def compare(stored: Path, source: Path) -> str:
        path = stored.with_name("tables.duckdb")
        path.unlink(missing_ok=True)
        with duckdb.connect(path) as tables:
            for name, rows in (("stored", stored), ("source", source)):
                tables.execute(f"CREATE TABLE {name} AS FROM read_parquet('{rows}')")
        at = f"duckdb://main:@/{path}"
        columns = ("customer", "item", "amount", "note")
        left, right = (
            connect_to_table(at, name, "id", extra_columns=columns) for name in ("stored", "source")
        )
        lines = sum(1 for _ in diff_tables(left, right))
        return f"{lines // 2} rows"

    return compare


def main(tool: str, directory: str, rounds: str, *cases: str) -> None:
    compare = {"datacompy": datacompy, "reladiff": reladiff}[tool]()
    folder = Path(directory)
    for number in range(int(rounds) + 1):  # the first one does not count
        for case in cases:
            began = time.perf_counter()
            found = compare(folder / "stored.parquet", folder / f"{case}.parquet")
            taken = time.perf_counter() - began
            if number:
                print(json.dumps({"case": case, "seconds": taken, "found": found}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
