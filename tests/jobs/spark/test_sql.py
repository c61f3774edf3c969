"""Topics as tables of Spark's catalog: what SQL reads and writes, and what it refuses in a line."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from kminilog.errors import KMiniLogError
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.jobs.spark.datasource.door import register
from kminilog.jobs.spark.runtime.failures import spark_failures
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.publish.manifests import committed_manifests
from kminilog.storage.topics import Topic
from tests.support.log_content import content_of, files_of

Sql = Callable[[str], list[Row]]
TABLES = ("orders", "others", "pairs", "late", "declared", "made", "every")


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    path = tmp_path / "log dir"  # Spark makes a URI of it
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(Topic("orders", 2, DOCUMENTED))
        writer.create_topic(Topic("others", 1, KAFKA))
    return path


@pytest.fixture
def sql(spark: SparkSession) -> Iterator[Sql]:
    register(spark)

    def run(statement: str) -> list[Row]:
        with spark_failures("SQL"):
            return spark.sql(statement).collect()

    yield run
    for table in TABLES:
        spark.sql(f"DROP TABLE IF EXISTS {table}")


@pytest.fixture
def tables(sql: Sql, log_dir: Path) -> None:
    """Two tables with all columns, one by LOCATION and one by path, and one of keys and values."""
    sql(f"CREATE TABLE orders USING kminilog OPTIONS (topic 'orders') LOCATION '{log_dir}'")
    sql(f"CREATE TABLE others USING kminilog OPTIONS (path '{log_dir}', topic 'others')")
    options = "topic 'others', columns 'key,value'"
    sql(f"CREATE TABLE pairs USING kminilog OPTIONS ({options}) LOCATION '{log_dir}'")


@pytest.mark.usefixtures("tables")
def test_table_is_read_and_each_insert_is_a_job_of_its_topic(spark, sql, log_dir):
    sql("INSERT INTO orders (key, value) VALUES (binary('k'), binary('a'))")
    for _ in range(2):
        sql("INSERT INTO orders WITH (job_id = 'j') (value, partition) VALUES (binary('b'), 1)")
    sql("INSERT INTO others BY NAME SELECT binary('k') AS key, binary('c') AS value")
    # The rows come from a table with other options, which must not come with them.
    sql("INSERT INTO orders (key, value) SELECT key, value FROM pairs")
    sql("INSERT INTO others (key, value) SELECT key, value FROM orders WHERE key IS NULL")
    spark.table("pairs").where("key IS NULL").writeTo("others").append()
    assert content_of(log_dir, "orders") == {0: [(b"k", b"a"), (b"k", b"c")], 1: [(None, b"b")]}
    assert content_of(log_dir, "others") == {0: [(b"k", b"c"), (None, b"b"), (None, b"b")]}
    read = [(row.topic, row.partition, row.offset, row.value) for row in sql("TABLE orders")]
    assert sorted(read) == [
        ("orders", 0, 0, b"a"),
        ("orders", 0, 1, b"c"),
        ("orders", 1, 0, b"b"),
    ]
    assert sql("SELECT count(*) FROM orders WITH (topic = 'others', partitions = '0')") == [(3,)]
    assert [manifest.job_id for manifest in committed_manifests(log_dir, "orders")].count("j") == 1
    sql("DROP TABLE orders")
    assert len(content_of(log_dir, "orders")[0]) == 2


@pytest.mark.usefixtures("tables")
def test_table_without_a_topic_is_that_of_all_topics(sql, log_dir):
    sql(f"CREATE TABLE every USING kminilog LOCATION '{log_dir}'")
    rows = "('orders', binary('a'), 1), ('others', binary('b'), 0)"
    sql(f"INSERT INTO every WITH (job_id = 'j') (topic, value, partition) VALUES {rows}")
    assert sql("SELECT topic, partition, value FROM every ORDER BY topic") == [
        ("orders", 1, b"a"),
        ("others", 0, b"b"),
    ]
    with pytest.raises(KMiniLogError, match="setting topic: a row has no topic"):
        sql("INSERT INTO every (value) VALUES (binary('c'))")
    with pytest.raises(KMiniLogError, match="a row has a value for offset, which the log assigns"):
        sql("INSERT INTO every TABLE every")


@pytest.mark.usefixtures("tables")
def test_each_scan_of_a_table_has_the_filters_of_its_own(sql):
    """Spark makes one source of a table that a query names twice."""
    for n in range(6):
        sql(f"INSERT INTO orders (value, partition) VALUES (binary('{n}'), {n % 2})")
    some = "SELECT value FROM orders WHERE partition = 1 AND offset > 0"
    assert sql(f"SELECT count(*) FROM orders WHERE value NOT IN ({some})") == [(4,)]
    both = f"{some} UNION ALL SELECT value FROM orders WHERE offset = 0"
    assert sorted(row.value for row in sql(both)) == [b"0", b"1", b"3", b"5"]
    assert sql("SELECT count(*) FROM orders WITH (partitions = '0') WHERE offset < 2") == [(2,)]


@pytest.mark.usefixtures("tables")
def test_table_of_a_topic_that_comes_later_says_so_until_it_is_there(sql, log_dir):
    sql(f"CREATE TABLE late USING kminilog OPTIONS (topic 'late') LOCATION '{log_dir}'")
    for statement in ("TABLE late", "INSERT INTO late (value) VALUES (binary('a'))"):
        with pytest.raises(KMiniLogError, match="Topic late doesn't exist"):
            sql(statement)
    with LogDirWriter.open(log_dir) as writer:
        writer.create_topic(Topic("late", 1, KAFKA))
    assert sql("TABLE late") == []


@pytest.mark.usefixtures("tables")
def test_statement_that_cannot_be_meant_is_one_line_and_writes_nothing(sql, log_dir):
    sql("INSERT INTO others (key, value) VALUES (binary('k'), binary('a'))")
    sql("CREATE TABLE declared (key binary, value binary) USING kminilog OPTIONS (topic 'orders')")
    before = {name: files_of(log_dir, name) for name in ("orders", "others")}
    here, row = f"LOCATION '{log_dir}'", "(binary('k'), binary('a'))"
    no_path = "setting path: name the log dir, as in"
    for statement, reason in (
        (f"INSERT OVERWRITE orders (key, value) VALUES {row}", "setting mode: messages are only"),
        ("INSERT INTO orders TABLE others", "a row has a value for topic, which the log assigns"),
        (f"INSERT INTO pairs VALUES {row}", "setting columns: this table cannot be written"),
        # Rows that fit as they are: Spark hands over the options of the table they come from.
        ("INSERT INTO declared SELECT key, value FROM pairs", "this table cannot be written"),
        ("INSERT INTO pairs SELECT key, value FROM orders", "this table cannot be written"),
        (f"INSERT INTO pairs SELECT * FROM VALUES {row} AS v(key, value)", no_path),
        ("TABLE declared", no_path),
        (f"INSERT INTO declared VALUES {row}", no_path),
        (f"CREATE TABLE made USING kminilog {here} AS SELECT binary('a') AS value", no_path),
        ("CREATE TABLE made USING kminilog OPTIONS (topic 'orders')", no_path),
        (f"CREATE TABLE made USING kminilog OPTIONS (tpic 'orders') {here}", "setting tpic: no"),
        (f"CREATE TABLE made USING kminilog OPTIONS (job_id 'j') {here}", "setting job_id: each"),
        (f"SELECT * FROM declared WITH (path = '{log_dir}')", "a schema was declared, struct"),
    ):
        with pytest.raises(KMiniLogError) as caught:
            sql(statement)
        assert reason in str(caught.value), statement
        assert "\n" not in str(caught.value)
    assert {name: files_of(log_dir, name) for name in before} == before
