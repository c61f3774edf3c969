"""Writing to the data source: each job once, whatever is run again; nothing of one that fails."""

import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from kminilog.columns import staged_logs
from kminilog.columns.partitioning import Places, chooser
from kminilog.columns.staged_logs import Run, RunWriter
from kminilog.errors import KMiniLogError, LogDirLockedError, PublicationError
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.names import TopicPartition
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.job_writer import job_directory
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.datasource.batch_reader import ranges_to_batches
from kminilog.jobs.spark.datasource.commit import ThreadTasks, commit_runs, runs_path
from kminilog.jobs.spark.datasource.door import register
from kminilog.jobs.spark.datasource.options import read_options
from kminilog.jobs.spark.datasource.ranges import selected_ranges
from kminilog.jobs.spark.datasource.stream_reader import LogStreamReader
from kminilog.jobs.spark.datasource.writer import LogWriter, RowPartitioner, Sink, WrittenRuns
from kminilog.jobs.spark.ingest.job import SparkIngest
from kminilog.jobs.spark.runtime.failures import spark_failures
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import committed_manifests
from kminilog.storage.partition.cuts import truncate_log
from kminilog.storage.publish.publication import JOB_STAGING_DIR
from kminilog.storage.publish.visibility import STAGING_DIR
from kminilog.storage.topics import Topic
from kminilog.verification.report import verify_storage
from tests.support import processes
from tests.support.damage import flip_byte
from tests.support.errors import error_text
from tests.support.log_content import content_of, files_of

SETTINGS = TopicSettings(segment_bytes=600, index_interval_bytes=100, max_message_bytes=500)
Write = Callable[..., None]


@pytest.fixture
def log_dir(tmp_path: Path, dialect) -> Path:
    path = tmp_path / "log"
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(Topic("orders", 3, dialect, SETTINGS))
        writer.create_topic(Topic("others", 1, dialect))
    return path


@pytest.fixture
def write(spark: SparkSession, log_dir: Path) -> Write:
    register(spark)

    def write_frame(frame: DataFrame, topic: str = "orders", **options: str) -> None:
        writing = frame.write.format("kminilog").mode("append").option("topic", topic)
        with spark_failures("write"):
            writing.options(**options).save(str(log_dir))

    return write_frame


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    """200 rows in four tasks; each fifth has no key."""
    key = sql.when(sql.col("id") % 5 != 0, sql.concat(sql.lit("k"), sql.col("id") % 7))
    value = sql.concat(sql.lit("value "), sql.col("id"))
    return spark.range(0, 200, numPartitions=4).select(
        key.cast("binary").alias("key"), value.alias("value")
    )


def numbers_in(log_dir: Path) -> dict[int, list[int]]:
    content = content_of(log_dir, "orders")
    return {p: [int(value.split()[1]) for _, value in pairs] for p, pairs in content.items()}


def all_numbers_in(log_dir: Path) -> list[int]:
    return sorted(chain(*numbers_in(log_dir).values()))


def assert_nothing_is_left(log_dir: Path) -> None:
    for name in (JOB_STAGING_DIR, STAGING_DIR):
        assert not list((log_dir / name).glob("*"))
    assert verify_storage(LogDir(log_dir)).verdict == "ok"


# ---- a batch


@pytest.mark.first
def test_write_puts_each_row_where_its_key_belongs_in_the_order_of_the_tasks(write, rows, log_dir):
    write(rows, job_id="first")
    content = content_of(log_dir, "orders")
    assert all(murmur2_partition(k, 3) == p for p, pairs in content.items() for k, _ in pairs if k)
    keyless = [sum(key is None for key, _ in pairs) for pairs in content.values()]
    assert sum(keyless) == 40
    assert all(count % 10 == 0 for count in keyless)  # those of a task stay together
    numbers = numbers_in(log_dir)
    assert all(found == sorted(found) for found in numbers.values())
    assert all_numbers_in(log_dir) == list(range(200))
    (manifest,) = committed_manifests(log_dir, "orders")
    assert (manifest.job_id, manifest.facts["count"]) == ("first", 200)
    assert manifest.facts["partitioner"] == "default-2.4"
    assert_nothing_is_left(log_dir)


ONE = "WHEN value = 'value 7'"
OTHER_ROWS = "that wrote as many rows, but other ones"


def test_write_of_a_job_id_that_is_committed_writes_nothing(write, rows, log_dir):
    write(rows, job_id="first")
    files = files_of(log_dir, "orders")
    kafkas = "org.apache.kafka.clients.producer.internals.DefaultPartitioner"
    for name in ("default-2.4", kafkas):
        write(rows.repartition(3).sort("value"), job_id="first", partitioner=name)
        assert files_of(log_dir, "orders") == files
    write(rows, job_id="second")
    write(rows)
    assert len(committed_manifests(log_dir)) == 3
    assert all_numbers_in(log_dir) == sorted([*range(200)] * 3)
    for other, options, reason in (
        (rows, {"topic": "others"}, "with topic = orders, not others"),
        (rows, {"partitioner": "default-0.9"}, "with partitioner = default-2.4, not default-0.9"),
        (rows.limit(7), {}, "with count = 200, not 7"),
        (rows.where("value = 'none'"), {}, "with count = 200, not 0"),
        (rows.selectExpr("key", f"CASE {ONE} THEN 'x' ELSE value END AS value"), {}, OTHER_ROWS),
        (rows.selectExpr(f"CASE {ONE} THEN 'x' ELSE key END AS key", "value"), {}, OTHER_ROWS),
    ):
        with pytest.raises(KMiniLogError, match=f"job first: a job {reason}"):
            write(other, job_id="first", **options)
    assert_nothing_is_left(log_dir)


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_write_of_rows_that_name_their_partition_puts_them_there(spark, write, log_dir):
    rows = [(2, "k0", b"a"), (None, "k0", None), (0, None, b""), (2, "k1", b"c")]
    write(spark.createDataFrame(rows, "partition int, key string, value binary").coalesce(1))
    content = content_of(log_dir, "orders")
    wanted: dict[int, list[Any]] = {0: [(None, b"")], 1: [], 2: [(b"k0", b"a"), (b"k1", b"c")]}
    wanted[murmur2_partition(b"k0", 3)].insert(1, (b"k0", None))
    assert content == wanted
    assert committed_manifests(log_dir)[0].facts["partitioner"] is None


WRONG = [
    ("value", {"topic": "gone"}, "Topic gone doesn't exist"),
    ("value", {"job": "x"}, "setting job: no such option here; there is: compactEvery, job_id"),
    ("value", {"lockTimeoutMs": "1s"}, "lockTimeoutMs: '1s' is not a whole number from 0 on"),
    ("value", {"job_id": "a/b"}, "job a/b: illegal job id"),
    ("value", {"compactEvery": "5"}, "setting compactEvery: only a stream has micro-batches"),
    ("value", {"partitioner": "mine"}, "setting partitioner: no partitioner 'mine'"),
    ("key", {}, "setting columns: there is no column value"),
    ("value, 1 AS offset", {}, "setting columns: offset int cannot be written; there are"),
    ("1.5 AS value", {}, r"setting columns: value decimal\(2,1\) cannot be written"),
    ("value, 'h' AS headers", {}, "headers string cannot be written; a message has no headers"),
    ("value, 'now' AS timestamp, 1 AS x", {}, "columns: timestamp string, x int cannot be written"),
    ("value", {"includeHeaders": "true"}, "setting includeHeaders: a message has no headers"),
    ("value, 1 AS topic", {}, "setting columns: topic int cannot be written; there are value"),
    ("value, 3 AS partition", {}, r"Invalid partition id: 3 .* range of \[0, 2\]"),
    ("value, -1 AS partition", {}, "Invalid partition id: -1 for topic orders"),
    ("nullif(value, 'value 70') AS value", {}, "the documented dialect has no null value"),
    ("repeat(value, 99) AS value", {}, "is larger than max.message.bytes = 500"),
    ("value, cast(raise_error(value) AS string) AS key", {}, r"value \d+"),
]


@pytest.mark.parametrize("dialect", [DOCUMENTED], ids=["documented"])
def test_write_that_cannot_be_done_is_one_clear_error_and_changes_nothing(
    spark, write, rows, log_dir
):
    before = files_of(log_dir, "orders")
    offenders = []
    for select, options, error in WRONG:
        frame = spark.sql(f"SELECT {select} FROM {{rows}}", rows=rows)
        said = error_text(KMiniLogError, write, frame, **options)
        is_changed = files_of(log_dir, "orders") != before
        if is_changed or "\n" in said or not re.search(error, said):
            offenders.append((select, options, said, "changed" if is_changed else ""))
    assert offenders == []
    assert committed_manifests(log_dir) == []
    assert_nothing_is_left(log_dir)


def by_topic(rows: DataFrame) -> DataFrame:
    """Each third row is for the topic `others`."""
    topic = sql.when(sql.split("value", " ")[1].cast("int") % 3 == 0, "others").otherwise("orders")
    return rows.withColumn("topic", topic)


def write_by_topic(frame: DataFrame, log_dir: Path, **options: str) -> None:
    with spark_failures("write"):
        frame.write.format("kminilog").mode("append").options(**options).save(str(log_dir))


def test_write_of_rows_that_name_their_topics_is_a_job_for_each_topic(write, rows, log_dir):
    for _ in range(2):
        write_by_topic(by_topic(rows), log_dir, job_id="first")
    others = [int(value.split()[1]) for _, value in content_of(log_dir, "others")[0]]
    assert others == list(range(0, 200, 3))
    assert all_numbers_in(log_dir) == [n for n in range(200) if n % 3]
    content = content_of(log_dir, "orders")
    assert all(murmur2_partition(k, 3) == p for p, pairs in content.items() for k, _ in pairs if k)
    found = {manifest.job_id: manifest.facts["count"] for manifest in committed_manifests(log_dir)}
    assert found == {"first.orders": 133, "first.others": 67}
    write(by_topic(rows))  # the option comes first
    assert all_numbers_in(log_dir) == sorted([*[n for n in range(200) if n % 3], *range(200)])
    assert_nothing_is_left(log_dir)


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_write_of_rows_whose_topic_is_none_or_unknown_changes_nothing(spark, rows, log_dir):
    for topic, error in (
        ("nullif('others', value)", None),
        ("CASE WHEN value = 'value 70' THEN 'gone' ELSE 'others' END", "Topic gone doesn't exist"),
        ("nullif('others', if(value = 'value 70', 'others', ''))", "topic: a row has no topic: n"),
    ):
        frame = spark.sql(f"SELECT value, {topic} AS topic FROM {{rows}}", rows=rows)
        if error is None:
            write_by_topic(frame.limit(0), log_dir)
            continue
        with pytest.raises(KMiniLogError, match=error):
            write_by_topic(frame, log_dir)
    with pytest.raises(KMiniLogError, match="setting topic: name the topic to write to, or give"):
        write_by_topic(rows, log_dir)
    assert committed_manifests(log_dir) == []
    assert_nothing_is_left(log_dir)


def test_job_that_ended_between_two_topics_is_completed_when_it_is_repeated(log_dir):
    schema = StructType().add("topic", "string").add("value", "binary")
    options = {"path": str(log_dir), "job_id": "j"}
    sink = Sink.of(options, schema, overwrite=False, is_stream=False)

    def written() -> WrittenRuns:
        LogWriter(sink)  # makes directories
        values = {"topic": ["others", "orders", "others"], "value": [b"a", b"b", b"c"]}
        return sink.write("j", iter([pa.RecordBatch.from_pydict(values)]), 0)

    sink.commit("j", [replace(written(), runs={"orders": written().runs["orders"]})])
    assert content_of(log_dir, "others")[0] == []
    sink.commit("j", [written()])
    assert content_of(log_dir, "others")[0] == [(None, b"a"), (None, b"c")]
    assert [value for pairs in content_of(log_dir, "orders").values() for _, value in pairs] == [
        b"b"
    ]
    sink.forget("j")
    assert_nothing_is_left(log_dir)


def test_topic_that_rows_name_and_that_is_made_anew_while_tasks_write_gets_nothing(log_dir):
    """Also if a later task has seen only the new one."""
    schema = StructType().add("topic", "string").add("value", "binary")
    options = {"path": str(log_dir), "job_id": "j"}
    sink = Sink.of(options, schema, overwrite=False, is_stream=False)
    LogWriter(sink)
    written = []
    for value in (b"a", b"b"):
        rows = pa.RecordBatch.from_pydict({"topic": ["orders"], "value": [value]})
        written.append(sink.write("j", iter([rows]), len(written)))
        with LogDirWriter.open(log_dir) as writer:
            if value == b"a":
                old = writer.topic("orders")
                writer.delete_topic("orders")
                writer.create_topic(replace(old, topic_id=None))
    before = files_of(log_dir, "orders")
    for messages in (written, written[::-1]):
        with pytest.raises(PublicationError, match="orders was made anew while it was written"):
            sink.commit("j", messages)
    sink.forget("j")
    assert files_of(log_dir, "orders") == before
    assert_nothing_is_left(log_dir)


# ---- attempts of one job


def new_sink(log_dir: Path, *, job_id: str = "j") -> Sink:
    options = {"path": str(log_dir), "topic": "orders", "job_id": job_id}
    return Sink.of(options, StructType().add("value", "binary"), overwrite=False, is_stream=False)


def some_rows(*values: bytes) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"value": list(values)})


def staged_in(log_dir: Path) -> list[Path]:
    return [path for path in (log_dir / JOB_STAGING_DIR).rglob("*") if path.is_file()]


def test_attempt_of_a_committed_job_stages_nothing_and_still_compares_its_rows(log_dir):
    first = new_sink(log_dir)
    LogWriter(first)
    first.commit("j", [first.write("j", some_rows(b"a", b"b"), 0)])
    files = files_of(log_dir, "orders")
    for values, reason in (((b"a", b"b"), ""), ((b"a",), "with count = 2, not 1")):
        again = new_sink(log_dir)
        LogWriter(again)
        written = [again.write("j", some_rows(*values), 0)]
        assert not list((log_dir / JOB_STAGING_DIR).iterdir())
        if reason:
            with pytest.raises(PublicationError, match=reason):
                again.commit("j", written)
        else:
            again.commit("j", written)
        assert files_of(log_dir, "orders") == files


def test_attempt_that_has_only_counted_rows_of_a_job_that_is_gone_then_fails(log_dir):
    first = new_sink(log_dir)
    LogWriter(first)
    first.commit("j", [first.write("j", some_rows(b"a"), 0)])
    again = new_sink(log_dir)
    LogWriter(again)
    written = [again.write("j", some_rows(b"a"), 0)]
    (log_dir / ".manifests" / "j.json").rename(log_dir / "away")
    with pytest.raises(PublicationError, match="it was committed when this write began, and is no"):
        again.commit("j", written)


def test_second_attempt_while_a_task_or_the_commit_of_the_first_works_is_refused(
    log_dir, monkeypatch
):
    refused = "job j: another process writes this job: wait for its end"
    seen = []

    def begin_again() -> None:
        with pytest.raises(PublicationError, match=refused):
            LogWriter(new_sink(log_dir))
        LogWriter(new_sink(log_dir, job_id="j.2")).abort([])
        seen.append(len(list((log_dir / JOB_STAGING_DIR).iterdir())))

    def rows_beside() -> Iterator[pa.RecordBatch]:
        yield from some_rows(b"a")
        begin_again()

    class Beside(ThreadTasks):
        def map(self, *arguments, **step):
            begin_again()
            return super().map(*arguments, **step)

    first = new_sink(log_dir)
    LogWriter(first)
    written = [first.write("j", rows_beside(), 0)]
    monkeypatch.setattr("kminilog.jobs.spark.datasource.commit.ThreadTasks", Beside)
    first.commit("j", written)
    assert seen == [1, 1]
    assert [value for pairs in content_of(log_dir, "orders").values() for _, value in pairs] == [
        b"a"
    ]
    assert_nothing_is_left(log_dir)


def test_two_attempts_that_slip_past_each_other_write_the_job_once(log_dir):
    """Neither task had begun when the other attempt did. The files of a dead one go, too."""
    dead, first, second, third = (new_sink(log_dir) for _ in range(4))
    for sink in (dead, first, second, third):
        LogWriter(sink)
    dead.write("j", some_rows(b"a"), 0)
    written = [(sink, [sink.write("j", some_rows(b"a"), 0)]) for sink in (first, second)]
    for sink, messages in written[:1]:
        sink.commit("j", messages)
    assert_nothing_is_left(log_dir)
    second.commit("j", written[1][1])  # its files are gone, and the job is done
    third.commit("j", [third.write("j", some_rows(b"a"), 0)])
    assert [value for pairs in content_of(log_dir, "orders").values() for _, value in pairs] == [
        b"a"
    ]
    assert_nothing_is_left(log_dir)


def test_attempt_whose_staged_files_were_deleted_says_so_in_a_line(log_dir):
    sink = new_sink(log_dir)
    LogWriter(sink).abort([])
    with pytest.raises(PublicationError, match="job j: its staged files were deleted: the job has"):
        sink.write("j", some_rows(b"a"), 0)


@pytest.mark.parametrize("dialect", [DOCUMENTED], ids=["documented"])
def test_error_of_a_row_of_the_commit_or_of_a_read_is_a_line_in_plain_pyspark(
    spark, rows, log_dir, tmp_path
):
    register(spark)

    def save(frame: DataFrame, **options: str) -> None:
        writing = frame.write.format("kminilog").mode("append").option("topic", "orders")
        writing.options(**options).save(str(log_dir))

    def locked() -> None:
        with LogDirWriter.open(log_dir):
            save(rows, lockTimeoutMs="0")

    def damaged() -> None:
        save(rows)
        flip_byte(min((log_dir / "orders-0").glob("*.log")), 20, mask=1)
        spark.read.format("kminilog").option("topic", "orders").load(str(log_dir)).collect()

    for call, told in (
        (lambda: save(rows.selectExpr("nullif(value, 'value 7') AS value")), "has no null value"),
        (locked, "only one writer"),
        (damaged, "orders-0"),
    ):
        said = error_text(PySparkException, call)
        assert told in said
        assert "Traceback" not in said
        assert len(said.strip().splitlines()) <= 3, said  # Spark's own words around it


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_write_ignores_what_a_read_gives_here_or_of_kafka_and_names_other_columns(
    spark, write, rows, log_dir
):
    write(rows)
    read = spark.read.format("kminilog").option("topic", "orders").load(str(log_dir))
    kafkas = read.selectExpr("*", "now() AS timestamp", "0 AS timestampType").drop("topic")
    for frame in (read, kafkas):
        before = all_numbers_in(log_dir)
        write(frame.where("partition < 9"))
        assert all_numbers_in(log_dir) == sorted(before * 2)
    other = kafkas.selectExpr("*", "1 AS x", "2.5 AS y")
    named = r"setting columns: x int, y decimal\(2,1\) cannot be written; there are value and key"
    with pytest.raises(KMiniLogError, match=named):
        write(other)


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_write_that_may_not_wait_fails_beside_another_writer_and_can_be_repeated(
    write, rows, log_dir
):
    with (
        LogDirWriter.open(log_dir),
        pytest.raises(KMiniLogError, match=r"process \d+ is writing to it; only one writer"),
    ):
        write(rows, job_id="first", lockTimeoutMs="0")
    assert_nothing_is_left(log_dir)
    write(rows, job_id="first")
    assert all_numbers_in(log_dir) == list(range(200))


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_write_in_another_mode_or_without_rows(spark, write, rows, log_dir):
    writing = rows.write.format("kminilog").option("topic", "orders").mode("overwrite")
    only = "mode: messages are only ever added"
    with pytest.raises(KMiniLogError, match=only), spark_failures("write"):
        writing.save(str(log_dir))
    write(rows.where("value IS NULL"), job_id="empty")
    assert committed_manifests(log_dir) == []


# ---- jobs, without Spark


def runs_of(log_dir: Path, job_id: str, task: int, *messages: tuple[int, bytes]) -> Run:
    runs_path(log_dir, job_id).mkdir(parents=True, exist_ok=True)
    writer = RunWriter(runs_path(log_dir, job_id) / f"task-{task}", LogDir(log_dir).topic("orders"))
    for partition, value in messages:
        one = np.array([partition], np.int32)
        writer.write(one, pa.nulls(1, pa.binary()), pa.array([value], pa.binary()))
    return writer.close(runs_path(log_dir, job_id))


def commit(log_dir: Path, job_id: str, *runs: Run) -> None:
    commit_runs(log_dir, [LogDir(log_dir).topic("orders")], job_id, runs, {})


def test_commit_appends_the_runs_that_count_and_forgets_the_others(log_dir, dialect):
    with LogDirWriter.open(log_dir) as writer:
        writer.log(TopicPartition("orders", 0)).append([(None, b"old")])
    won = [
        runs_of(log_dir, "j", 0, (0, b"a"), (1, b"b"), (0, b"c")),
        runs_of(log_dir, "j", 1),
        runs_of(log_dir, "j", 2, (0, b"d")),
    ]
    runs_of(log_dir, "j", 3, (0, b"an attempt that lost"))
    with LogDirWriter.open(log_dir):
        pass  # whoever takes the lock sweeps what is staged, but not these
    commit(log_dir, "j", *won)
    content = content_of(log_dir, "orders")
    values = {partition: [value for _, value in pairs] for partition, pairs in content.items()}
    assert values == {0: [b"old", b"a", b"c", b"d"], 1: [b"b"], 2: []}
    assert_nothing_is_left(log_dir)


def test_commit_writes_the_files_that_plain_appends_write(log_dir, tmp_path, dialect):
    """Whatever the batches of a run are like: of one row, sliced, with nulls, with empty rows."""
    chance = random.Random(1)
    nulls = [None] if dialect.has_value_length else []
    pairs = [
        (chance.choice([None, b"", b"k", b"long key"]), chance.choice([b"", b"v" * 90, *nulls]))
        for _ in range(300)
    ]
    runs_path(log_dir, "j").mkdir(parents=True)
    topic = LogDir(log_dir).topic("orders")
    keys, values = (pa.array(column, pa.binary()) for column in zip(*pairs, strict=True))
    runs, start = [], 0
    for task in range(3):
        writer = RunWriter(runs_path(log_dir, "j") / f"task-{task}", topic)
        for size in (1, 0, 2, 60, 37):
            zeros = np.zeros(size, np.int32)
            writer.write(zeros, keys.slice(start, size), values.slice(start, size))
            start += size
        runs.append(writer.close(runs_path(log_dir, "j")))
    assert start == len(pairs)
    commit(log_dir, "j", *runs)
    with LogDirWriter.open(tmp_path / "plain", create=True) as plain:
        plain.create_topic(Topic("orders", 3, dialect, SETTINGS))
        plain.log(TopicPartition("orders", 0)).append(pairs)
    files = files_of(log_dir, "orders")
    assert len(files) > 20
    wanted = files_of(tmp_path / "plain", "orders")
    for name, data in files.items():
        assert data == wanted[name], name
    assert {name for name in wanted if name.startswith("orders-0")} <= files.keys()


def test_commit_beside_others_that_append_while_it_joins(log_dir, monkeypatch):
    class Beside(ThreadTasks):
        def map(self, *arguments, **step):
            results = super().map(*arguments, **step)
            with suppress(LogDirLockedError), LogDirWriter.open(log_dir) as writer:
                writer.log(TopicPartition("orders", 0)).append([(None, b"other")])
            return results

    monkeypatch.setattr("kminilog.jobs.spark.datasource.commit.ThreadTasks", Beside)
    commit(log_dir, "j", runs_of(log_dir, "j", 0, (0, b"a"), (1, b"b"), (0, b"c")))
    content = content_of(log_dir, "orders")
    assert [v for _, v in content[0]] == [b"other"] * 3 + [b"a", b"c"]  # then it took the lock
    assert [v for _, v in content[1]] == [b"b"]
    assert_nothing_is_left(log_dir)


def test_commit_whose_runs_are_gone_changes_nothing(log_dir):
    runs = runs_of(log_dir, "j", 0, (0, b"a"), (1, b"b"))
    shutil.rmtree(runs_path(log_dir, "j") / runs.directory)
    before = files_of(log_dir, "orders")
    with pytest.raises(PublicationError, match="task-0 holds 0 bytes of messages, not"):
        commit(log_dir, "j", runs)
    assert files_of(log_dir, "orders") == before
    assert_nothing_is_left(log_dir)


def test_commit_of_fewer_messages_than_the_tasks_have_told_changes_nothing(log_dir):
    runs = runs_of(log_dir, "j", 0, (0, b"a"), (1, b"b"))
    runs = replace(runs, count=3)
    before = files_of(log_dir, "orders")
    with pytest.raises(PublicationError, match=r"job j: .*task-0 holds 2 messages, not 3"):
        commit(log_dir, "j", runs)
    assert files_of(log_dir, "orders") == before
    assert_nothing_is_left(log_dir)


@pytest.mark.parametrize("is_same", [True, False])
def test_commit_to_a_topic_that_was_made_anew_changes_nothing(log_dir, dialect, is_same):
    runs = runs_of(log_dir, "j", 0, (0, b"a"))
    told_before = LogDir(log_dir).topic("orders")
    other = dialect if is_same else KAFKA if dialect == DOCUMENTED else DOCUMENTED
    what = "" if is_same else f", as {other.name},"
    with LogDirWriter.open(log_dir) as writer:
        writer.delete_topic("orders")
        writer.create_topic(Topic("orders", 3, other, SETTINGS))
    before = files_of(log_dir, "orders")
    with pytest.raises(PublicationError, match=f"orders was made anew{what} while"):
        commit_runs(log_dir, [told_before], "j", [runs], {})
    assert files_of(log_dir, "orders") == before
    assert_nothing_is_left(log_dir)


def test_replay_of_a_job_that_was_cut_since_writes_nothing_and_warns(log_dir, caplog):
    """Only a warning: the rows of a micro-batch that is replayed were written, and seen."""
    commit(log_dir, "j", runs_of(log_dir, "j", 1, (0, b"a"), (0, b"b")))
    with LogDirWriter.open(log_dir) as writer:
        truncate_log(writer.log(TopicPartition("orders", 0)), 1)
    for _ in range(2):
        caplog.clear()
        runs = runs_of(log_dir, "j", 1, (0, b"a"), (0, b"b"))
        commit(log_dir, "j", runs)
        assert [record.message for record in caplog.records] == [
            "offset 1 of orders-0, which job j wrote, was cut off since (truncation)"
        ]
    assert content_of(log_dir, "orders")[0] == [(None, b"a")]
    assert_nothing_is_left(log_dir)


def test_commit_never_takes_the_manifest_of_another_job_for_its_own(log_dir):
    commit(log_dir, "j1", runs_of(log_dir, "j1", 0, (0, b"a")))
    own = log_dir / ".manifests" / "j1.json"
    renamed = own.rename(own.with_name("zz.json"))
    with pytest.raises(PublicationError, match=r"zz\.json is the manifest of job j1; rename it to"):
        commit(log_dir, "zz", runs_of(log_dir, "zz", 0, (0, b"b")))
    assert renamed.rename(own).exists()
    commit(log_dir, "zz", runs_of(log_dir, "zz", 0, (0, b"b")))
    assert own.exists()


def test_attempt_that_goes_on_after_the_end_of_its_job_leaves_nothing(log_dir, monkeypatch):
    runs_path(log_dir, "j").mkdir(parents=True)
    topic = LogDir(log_dir).topic("orders")
    monkeypatch.setattr(staged_logs, "_BUFFER_BYTES", 1)
    late = RunWriter(runs_path(log_dir, "j") / "late", topic)
    commit(log_dir, "j", runs_of(log_dir, "j", 1, (0, b"a")))
    with pytest.raises(FileNotFoundError):
        late.write(np.zeros(1, np.int32), pa.nulls(1, pa.binary()), pa.array([b"b"], pa.binary()))
    with pytest.raises(FileNotFoundError):
        RunWriter(runs_path(log_dir, "j") / "later", topic)
    assert_nothing_is_left(log_dir)


def test_runs_abandoned_a_day_ago_are_cleared_away_by_the_next_job(log_dir):
    runs_of(log_dir, "old", 0, (0, b"a"))
    runs_of(log_dir, "young", 0, (0, b"a"))
    old = runs_path(log_dir, "old")
    with job_directory(log_dir, "ingest") as at_work:
        for path in (*old.rglob("*"), old, *at_work.iterdir(), at_work):
            os.utime(path, (0, 0))
        commit(log_dir, "j", runs_of(log_dir, "j", 0, (0, b"a")))
        left = [path.name for path in (log_dir / JOB_STAGING_DIR).iterdir()]
        assert sorted(left) == sorted(["young", at_work.name])


def test_commit_does_not_mind_that_runs_of_another_job_vanish(log_dir):
    runs_of(log_dir, "other", 0, (0, b"a"))
    (runs_path(log_dir, "other") / "listed").symlink_to("and gone")
    commit(log_dir, "j", runs_of(log_dir, "j", 0, (0, b"b")))
    assert [manifest.job_id for manifest in committed_manifests(log_dir)] == ["j"]
    assert [path.name for path in (log_dir / JOB_STAGING_DIR).iterdir()] == ["other"]


def test_write_beside_another_writer_waits_and_then_writes_all_once(write, rows, log_dir):
    with processes.start("jobs.spark.writing_process", log_dir, "orders") as other:
        assert processes.read_line(other) == "open"
        write(rows, job_id="first")
        processes.finish(other)
    assert numbers_in(log_dir)[0][0] == 1000  # the other writer was first
    assert all_numbers_in(log_dir) == [*range(200), 1000]
    assert [manifest.job_id for manifest in committed_manifests(log_dir)] == ["first"]
    assert_nothing_is_left(log_dir)


# ---- which partition


def one_by_one(topic: Topic, task: int, keys: list[Any], named: list[Any]) -> list[int]:
    chosen, row = [], 0
    choose = chooser("built-in", topic.partitions, seed=crc32(b"job"))
    for key, partition in zip(keys, named, strict=True):
        if partition is None and key is not None:
            partition = murmur2_partition(key, topic.partitions)
        elif partition is None:
            place = Places(*(np.array([number]) for number in (task, 0, row)))
            partition, row = int(choose(pa.nulls(1, pa.binary()), place)[0]), row + 1
        chosen.append(partition)
    return chosen


ROWS = st.tuples(st.none() | st.binary(max_size=9), st.none() | st.integers(0, 2))


@given(st.lists(ROWS, min_size=1), st.integers(0, 99), st.integers(1, 5))
def test_placement_of_many_rows_is_that_of_each_whatever_the_batches(rows, task, batch):
    topic = Topic("orders", 3, KAFKA)
    keys, named = map(list, zip(*rows, strict=True))
    for partitions in (named, [None] * len(rows)):
        place, found = RowPartitioner(topic, "built-in", task, "job"), []
        for start in range(0, len(rows), batch):
            part = slice(start, start + batch)
            names = None if partitions is not named else pa.array(named[part])
            found += place.partitions(pa.array(keys[part], pa.binary()), names).tolist()
        assert found == one_by_one(topic, task, keys, partitions)


def test_rows_without_key_of_another_job_or_task_stay_in_other_partitions():
    topic, keys = Topic("orders", 3, KAFKA), pa.nulls(100, pa.binary())
    found = {}
    for job in range(20):
        for task in range(3):
            chosen = RowPartitioner(topic, "default-2.4", task, f"query-{job}").partitions(
                keys, None
            )
            assert len(set(chosen.tolist())) == 1
            found[job, task] = int(chosen[0])
    for task in range(3):
        assert {found[job, task] for job in range(20)} == {0, 1, 2}
    assert any(len({found[job, task] for task in range(3)}) == 3 for job in range(20))


# ---- micro-batches


@pytest.fixture
def source(tmp_path: Path) -> Path:
    directory = tmp_path / "source"
    directory.mkdir()
    return directory


@pytest.fixture
def run_query(spark: SparkSession, source: Path, log_dir: Path) -> Callable[..., str]:
    """Copy what is new in the source, a file to a micro-batch; return the query's id."""
    register(spark)

    def run(**options: object) -> str:
        reading = spark.readStream.schema("value string").option("maxFilesPerTrigger", 1)
        writing = reading.text(str(source)).writeStream.format("kminilog")
        writing = writing.option("topic", "orders")
        writing = writing.option("checkpointLocation", str(log_dir.parent / "checkpoint"))
        query = writing.options(**options).trigger(availableNow=True).start(str(log_dir))
        with spark_failures("stream"):
            query.awaitTermination()
        return str(query.id)

    return run


def forget_last_commit(log_dir: Path) -> None:
    """The checkpoint of a query that died between the sink's commit and its own record of it."""
    commits = log_dir.parent / "checkpoint" / "commits"
    last = max(int(path.name) for path in commits.glob("[0-9]*"))
    for path in (commits / str(last), commits / f".{last}.crc"):
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_micro_batch_that_is_replayed_is_written_once(run_query, source, log_dir):
    for n in range(3):
        (source / f"{n}.txt").write_text("".join(f"value {n * 10 + m}\n" for m in range(10)))
    query_id = run_query()
    files = files_of(log_dir, "orders")
    job_ids = [manifest.job_id for manifest in committed_manifests(log_dir)]
    assert job_ids == [f"{query_id}-{batch}" for batch in range(3)]
    forget_last_commit(log_dir)
    (source / "3.txt").write_text("value 30\n")
    assert run_query() == query_id
    assert all_numbers_in(log_dir) == list(range(31))
    written = {name: data for name, data in files.items() if data}  # an empty log goes on
    found = files_of(log_dir, "orders")
    assert {name: found[name] for name in written} == written
    assert_nothing_is_left(log_dir)


def test_query_joins_small_segments_and_a_joined_batch_is_not_written_again(
    run_query, source, log_dir
):
    for n in range(4):
        (source / f"{n}.txt").write_text("".join(f"value {n * 10 + m}\n" for m in range(10)))
    query_id = run_query(compactEvery=2)
    assert [path.suffix for path in (log_dir / ".manifests").iterdir()] == [".jobs"]
    forget_last_commit(log_dir)
    (source / "4.txt").write_text("value 40\n")
    assert run_query(compactEvery=0) == query_id
    assert all_numbers_in(log_dir) == list(range(41))
    job_ids = [manifest.job_id for manifest in committed_manifests(log_dir)]
    assert job_ids == [f"{query_id}-{batch}" for batch in range(5)]
    assert verify_storage(LogDir(log_dir)).verdict == "ok"
    assert_nothing_is_left(log_dir)


@pytest.fixture
def run_query_by_topic(spark: SparkSession, source: Path, log_dir: Path) -> Callable[..., None]:
    """Copy what is new in the source, a file to a micro-batch, to the topic of each row."""
    register(spark)

    def run(**options: object) -> None:
        reading = spark.readStream.schema("value string").option("maxFilesPerTrigger", 1)
        writing = by_topic(reading.text(str(source))).writeStream.format("kminilog")
        writing = writing.option("checkpointLocation", str(log_dir.parent / "checkpoint"))
        with spark_failures("stream"):
            writing.options(**options).trigger(availableNow=True).start(
                str(log_dir)
            ).awaitTermination()

    return run


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_micro_batch_of_rows_that_name_their_topics_is_written_once(
    run_query_by_topic, source, log_dir
):
    (source / "0.txt").write_text("".join(f"value {n}\n" for n in range(10)))
    run_query_by_topic()
    forget_last_commit(log_dir)
    (source / "1.txt").write_text("value 10\n")
    run_query_by_topic()
    assert all_numbers_in(log_dir) == [1, 2, 4, 5, 7, 8, 10]
    others = [int(value.split()[1]) for _, value in content_of(log_dir, "others")[0]]
    assert others == [0, 3, 6, 9]
    assert_nothing_is_left(log_dir)


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_query_joins_small_segments_of_each_topic_that_it_has_written(
    run_query_by_topic, source, log_dir
):
    """The micro-batch after which it does so has no rows for one of them."""
    for n, text in enumerate(("value 0\nvalue 1", "value 3\nvalue 4", "value 2", "value 5")):
        (source / f"{n}.txt").write_text(text + "\n")
    run_query_by_topic(compactEvery=4)
    assert {path.suffix for path in (log_dir / ".manifests").iterdir()} == {".jobs"}
    assert len(committed_manifests(log_dir, "others")) == 2
    assert all_numbers_in(log_dir) == [1, 2, 4, 5]
    assert_nothing_is_left(log_dir)


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_query_that_could_not_write_goes_on_where_it_was(run_query, source, log_dir):
    (source / "0.txt").write_text("value 0\nvalue 1\n")
    told = r"process \d+ is writing to it, still after 0\.\d s of waiting; only one writer"
    with LogDirWriter.open(log_dir), pytest.raises(KMiniLogError, match=told):
        run_query(lockTimeoutMs=100)
    assert committed_manifests(log_dir) == []
    run_query()
    assert all_numbers_in(log_dir) == [0, 1]
    assert_nothing_is_left(log_dir)


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_query_beside_another_writer_waits_and_writes_each_batch_once(run_query, source, log_dir):
    for n in range(2):
        (source / f"{n}.txt").write_text(f"value {n}\n")
    with processes.start("jobs.spark.writing_process", log_dir, "orders") as other:
        assert processes.read_line(other) == "open"
        query_id = run_query()
        processes.finish(other)
    assert numbers_in(log_dir)[0][0] == 1000
    assert all_numbers_in(log_dir) == [0, 1, 1000]
    job_ids = [manifest.job_id for manifest in committed_manifests(log_dir)]
    assert job_ids == [f"{query_id}-{batch}" for batch in range(2)]
    assert_nothing_is_left(log_dir)


@pytest.mark.parametrize("plan", ["sorted", "runs"])
def test_query_that_never_waits_goes_on_while_a_bulk_load_works(
    spark, run_query, source, log_dir, tmp_path, plan
):
    """It writes to partitions of the load, once the load has given its messages offsets."""
    (tmp_path / "load.txt").write_text("".join(f"value {n}\n" for n in range(100, 160)))

    class Beside(SparkIngest):
        def stage(self, *arguments):
            staged = super().stage(*arguments)
            for n in range(2):
                (source / f"{n}.txt").write_text(f"value {n}\n")
            run_query(lockTimeoutMs=0)
            return staged

    load = Source((str(tmp_path / "load.txt"),))
    options = {"topic": "orders", "partitioner": "round-robin", "plan": plan}
    ingest_with(Beside(spark), log_dir, load, **options)
    assert all_numbers_in(log_dir) == [0, 1, *range(100, 160)]
    for numbers in numbers_in(log_dir).values():
        loaded = [number for number in numbers if number >= 100]
        assert numbers[len(numbers) - len(loaded) :] == sorted(loaded)  # after the query's
    assert_nothing_is_left(log_dir)


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_topic_is_copied_into_another_by_a_query_once_each(spark, write, rows, log_dir, tmp_path):
    write(rows)
    reading = spark.readStream.format("kminilog").option("topic", "orders")
    reading = reading.option("maxOffsetsPerTrigger", 80).load(str(log_dir))
    writing = reading.select("key", "value").writeStream.format("kminilog")
    writing = writing.option("topic", "others").option("checkpointLocation", str(tmp_path / "c"))
    writing.trigger(availableNow=True).start(str(log_dir)).awaitTermination()
    copied = content_of(log_dir, "others")[0]
    assert sorted(int(v.split()[1]) for _, v in copied) == list(range(200))
    by_key = {key: [v for k, v in copied if k == key] for key, _ in copied if key}
    for pairs in content_of(log_dir, "orders").values():
        for key in {key for key, _ in pairs if key}:
            assert by_key[key] == [v for k, v in pairs if k == key]


# ---- what readers see meanwhile


class Crash(BaseException):
    """The process ends here: nothing in the code under test may catch it."""


def offsets_read(log_dir: Path) -> dict[str, int]:
    """Return how many messages a batch read and a stream would give, which must be the same."""
    options = read_options({"path": str(log_dir), "topic": "orders"})
    ranges = selected_ranges(LogDir(log_dir), options)
    found = {str(tp): 0 for tp in LogDir(log_dir).topic("orders").all_partitions()}
    for batch in ranges_to_batches(options, ranges):
        for row in batch.to_pylist():
            assert row["offset"] == found[f"orders-{row['partition']}"]
            found[f"orders-{row['partition']}"] += 1
    position = found | {"topic_ids": {"orders": LogDir(log_dir).topic_id("orders")}}
    assert LogStreamReader(options).latestOffset(position, ReadAllAvailable()) == position
    return found


def test_readers_see_nothing_of_a_job_or_all_of_it_wherever_publication_stops(log_dir, monkeypatch):
    replace, steps_left = os.replace, [0]

    def replace_or_crash(source: Any, target: Any) -> None:
        steps_left[0] -= 1
        if steps_left[0] < 0:
            raise Crash
        replace(source, target)

    before = offsets_read(log_dir)
    seen = set()
    for steps in range(1, 100):
        job_id = f"job-{steps}"
        runs = runs_of(log_dir, job_id, 0, (0, b"a"), (1, b"b"), (2, b"c"))
        after = {name: count + 1 for name, count in before.items()}
        steps_left[0] = steps
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", replace_or_crash)
            try:
                commit(log_dir, job_id, runs)
            except Crash:
                is_over = False
            else:
                is_over = True
        between = offsets_read(log_dir)
        assert between in (before, after)
        seen.add((is_over, between == after))
        with LogDirWriter.open(log_dir):
            pass  # finishes or sweeps
        finished = offsets_read(log_dir)
        assert finished in (between, after)
        before = finished
        if is_over:
            break
    assert {(False, False), (True, True)} <= seen
    assert_nothing_is_left(log_dir)
