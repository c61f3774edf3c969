"""Topics in SQL: a temporary view is read, a DataFrame writes; what is refused, in a line."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from kminilog.errors import KMiniLogError
from kminilog.format.dialect import KAFKA
from kminilog.jobs.spark.datasource.door import register
from kminilog.jobs.spark.runtime.failures import spark_failures
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from tests.support.log_content import content_of, files_of

Sql = Callable[[str], list[Row]]


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    path = tmp_path / "log dir"
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(Topic("orders", 2))
    return path


@pytest.fixture
def sql(spark: SparkSession, log_dir: Path) -> Iterator[Sql]:
    """Run a statement; there is a view `orders` of the topic."""
    register(spark)

    def run(statement: str) -> list[Row]:
        with spark_failures("SQL"):
            return spark.sql(statement).collect()

    options = f"OPTIONS (path '{log_dir}', topic 'orders')"
    run(f"CREATE TEMPORARY VIEW orders USING kminilog {options}")
    yield run
    spark.sql("DROP VIEW orders")
    spark.sql("DROP TABLE IF EXISTS declared")


def test_view_is_read_and_a_query_is_written_as_a_dataframe(spark, sql, log_dir):
    rows = spark.sql("SELECT binary('k') AS key, binary('a') AS value")
    writing = rows.write.format("kminilog").mode("append").option("topic", "orders")
    writing.save(str(log_dir))
    assert content_of(log_dir, "orders") == {0: [(b"k", b"a")], 1: []}
    read = sql("SELECT partition, offset, key, value FROM orders")
    assert read == [(0, 0, b"k", b"a")]
    sql("INSERT INTO orders (value, partition) VALUES (binary('b'), 1)")
    assert content_of(log_dir, "orders") == {0: [(b"k", b"a")], 1: [(None, b"b")]}


def test_each_scan_of_a_view_has_the_filters_of_its_own(sql):
    """Spark makes one source of a view that a query names twice."""
    for n in range(6):
        sql(f"INSERT INTO orders (value, partition) VALUES (binary('{n}'), {n % 2})")
    some = "SELECT value FROM orders WHERE partition = 1 AND offset > 0"
    assert sql(f"SELECT count(*) FROM orders WHERE value NOT IN ({some})") == [(4,)]
    both = f"{some} UNION ALL SELECT value FROM orders WHERE offset = 0"
    assert sorted(row.value for row in sql(both)) == [b"0", b"1", b"3", b"5"]


def test_table_of_the_catalog_is_refused_in_one_line_that_says_what_to_do(sql, log_dir):
    sql("CREATE TABLE declared (key binary, value binary) USING kminilog OPTIONS (topic 'orders')")
    before = files_of(log_dir, "orders")
    here, row = f"LOCATION '{log_dir}'", "(binary('k'), binary('a'))"
    instead = "CREATE TEMPORARY VIEW v USING kminilog OPTIONS (path '...', topic '...')"
    no_table = "Spark hands on no options of a table"
    for statement, reason in (
        (f"CREATE TABLE made USING kminilog OPTIONS (topic 'orders') {here}", instead),
        (f"CREATE TABLE made USING kminilog {here} AS SELECT binary('a') AS value", no_table),
        ("TABLE declared", instead),
        (f"INSERT INTO declared VALUES {row}", no_table),
        (f"SELECT * FROM declared WITH (path = '{log_dir}')", "a schema was declared, struct"),
        (f"INSERT OVERWRITE orders (key, value) VALUES {row}", "setting mode: messages are only"),
    ):
        with pytest.raises(KMiniLogError) as caught:
            sql(statement)
        assert reason in str(caught.value), statement
        assert "\n" not in str(caught.value)
    assert files_of(log_dir, "orders") == before


def test_view_of_a_topic_that_comes_later_says_so_until_it_is_there(spark, sql, log_dir):
    sql(f"CREATE TEMPORARY VIEW late USING kminilog OPTIONS (path '{log_dir}', topic 'late')")
    with pytest.raises(KMiniLogError, match="Topic late doesn't exist"):
        sql("TABLE late")
    with LogDirWriter.open(log_dir) as writer:
        writer.create_topic(Topic("late", 1, KAFKA))
    assert sql("TABLE late") == []
    spark.sql("DROP VIEW late")
