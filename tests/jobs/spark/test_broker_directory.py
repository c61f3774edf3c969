"""Spark and a Kafka broker's directory: as a data source, and as the source of an ingest."""

import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from kminilog.broker_files.directory import BrokerDirectory
from kminilog.broker_files.partition import BrokerPartition, CommittedRecords
from kminilog.errors import KMiniLogError, LogDirError
from kminilog.format.dialect import KAFKA
from kminilog.format.names import TopicPartition
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.datasource.broker_reader import BrokerReader
from kminilog.jobs.spark.datasource.door import register
from kminilog.jobs.spark.datasource.options import BROKER_COLUMNS, read_options
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.notices import KMiniLogWarning
from kminilog.verification.account.spark import verify
from tests.broker_files.golden_files import java
from tests.broker_files.partitions import at, broker_directory, transactions, write_segment
from tests.cli.test_broker_directory import age, listing
from tests.support.damage import flip_byte

MIXED = TopicPartition("mixed", 0)


@pytest.fixture
def kafka(tmp_path: Path) -> Path:
    return broker_directory(tmp_path / "kafka")


def reader(path: Path, **options: str) -> BrokerReader:
    return BrokerReader(read_options({"path": str(path), **options}, of_broker=True))


def rows(path: Path, **options: str) -> list[dict[str, Any]]:
    """Return the rows of a read, without Spark."""
    found = reader(path, **options)
    return [
        row
        for part in found.partitions()
        for batch in found.read(part)
        for row in batch.to_pylist()
    ]


@pytest.mark.first
def test_spark_reads_records_with_timestamps_and_headers(spark: SparkSession, kafka: Path) -> None:
    """They are those of a consumer with read_committed, and nothing shows that they were read."""
    age(kafka)
    before = listing(kafka)
    register(spark)
    frame = spark.read.format("kminilog").load(str(kafka))
    assert frame.columns == [*BROKER_COLUMNS]
    assert "headers:array<struct<key:string,value:binary>>" in frame.schema.simpleString()
    found = frame.where("topic = 'mixed'").orderBy("offset").collect()
    partition = BrokerPartition(BrokerDirectory(kafka), MIXED)
    committed = [*CommittedRecords(partition, 1)]
    assert [row.offset for row in found] == [stored.record.offset for stored in committed]
    assert len(found) == 29
    for row, stored in zip(found, committed, strict=True):
        assert row == as_row(stored)
    (many,) = frame.where("topic = 'big'").select("headers").collect()
    assert len(many.headers) == 100
    assert frame.where("headers IS NOT NULL").count() == 6
    assert listing(kafka) == before


def as_row(stored: Any) -> Row:
    """Return a record as Spark's Kafka source has it, with our columns beside."""
    record, timestamp = stored.record, None
    if record.timestamp >= 0:
        timestamp = datetime.fromtimestamp(record.timestamp / 1000, UTC).astimezone()
        timestamp = timestamp.replace(tzinfo=None)  # Spark gives local times
    types = {"NoTimestampType": -1, "CreateTime": 0, "LogAppendTime": 1}
    return Row(
        topic="mixed",
        partition=0,
        offset=record.offset,
        position=stored.batch.position,
        key=record.key,
        value=record.value,
        segment=stored.segment.name,
        timestamp=timestamp,
        timestampType=types[stored.batch.timestamp_type],
        headers=[Row(key=key, value=value) for key, value in record.headers] or None,
    )


def test_spark_ingests_and_verifies_what_this_process_does(
    spark: SparkSession, kafka: Path, tmp_path: Path
) -> None:
    log_dir, source = tmp_path / "log", Source((f"{kafka}:mixed", f"{kafka}:big"), "kminilog")
    before = listing(kafka)
    here = ingest_with(LocalIngest(), log_dir, source, topic="here", dialect=KAFKA)
    for plan in ("runs", "sorted"):
        there = ingest(spark, log_dir, source, topic=plan, dialect=KAFKA, plan=plan).to_json()
        assert there["left_out"] == here.to_json()["left_out"]
        assert [one["aborted"] for one in there["left_out"]] == [1, 0]
        assert there["partitions"] == here.to_json()["partitions"]
    report = verify(spark, LogDir(log_dir), ("runs",), against=source).to_json()
    assert (report["verdict"], report["conservation"]["source"]) == ("ok", 30)
    assert "6 records with headers, which format v0 has not" in {
        one["why"] for one in report["unchecked"]
    }
    assert listing(kafka) == before


def test_spark_neither_writes_there_nor_streams(spark: SparkSession, kafka: Path) -> None:
    (kafka / "meta.properties").unlink()  # it is known by its partitions, too
    before = listing(kafka)
    register(spark)
    frame = spark.createDataFrame([(b"v",)], "value binary")
    with pytest.raises(PySparkException, match="a Kafka broker's directory, which is read-only"):
        frame.write.format("kminilog").mode("append").option("topic", "mixed").save(str(kafka))
    with pytest.raises(LogDirError, match="read-only here"):
        ingest(spark, kafka, Source((f"{kafka}:mixed",), "kminilog"), topic="new")
    stream = spark.readStream.format("kminilog").load(str(kafka))
    query = stream.writeStream.format("noop").trigger(availableNow=True)
    with pytest.raises(PySparkException, match="is read in batches"):
        query.start().awaitTermination()
    assert listing(kafka) == before


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        ({"topic": "mixed", "startOffset": "20", "endOffset": "22"}, [20, 21]),
        ({"assign": '{"mixed": [0]}', "columns": "offset", "startOffset": "31"}, [32]),
        ({"subscribePattern": "m.*", "startOffset": "33"}, []),
        ({"subscribe": "mixed", "endingOffsets": '{"mixed": {"0": 3}}'}, [1, 2]),
        ({"partitions": "3"}, [2**31 + 5]),
        ({"pushed.filter.0": "EqualTo(partition,3)"}, [2**31 + 5]),
        ({"pushed.filter.0": "EqualTo(topic,none)"}, []),
        ({"topic": "mixed", "pushed.filter.0": "LessThan(offset,3)"}, [1, 2]),
    ],
)
def test_options_choose_what_is_read(kafka: Path, options: dict[str, str], offsets) -> None:
    assert [row["offset"] for row in rows(kafka, **options)] == offsets


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"topic": "nope"}, "kafka has no topic nope"),
        ({"assign": '{"mixed": [7]}'}, "kafka has no partition mixed-7"),
        ({"topic": "mixed", "partitions": "7"}, "kafka has no partition mixed-7"),
        ({"topic": "mixed", "startingOffsets": '{"mixed": {"0": 0}}'}, "offset 0 has been deleted"),
        ({"topic": "mixed", "startingOffsets": '{"big": {"3": 0}}'}, "no offset for mixed-0"),
        ({"failOnDamage": "false"}, "reads nothing after damage"),
        ({"minPartitions": "2"}, "is read by one task"),
        ({"columns": "value,wrong"}, "no column 'wrong'; there is: .*headers"),
    ],
)
def test_wrong_option_is_one_clear_error(kafka: Path, options: dict[str, str], text: str) -> None:
    with pytest.raises(KMiniLogError, match=text):
        rows(kafka, **options)


def test_what_is_left_out_is_warned_of(kafka: Path) -> None:
    write_segment(kafka / "more-0", 0, transactions(0, "abort", "commit", "open"))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", KMiniLogWarning)
        assert [row["offset"] for row in rows(kafka, topic="more")] == [2]
    assert [str(one.message) for one in found] == [
        "more-0: left out: 1 record of aborted transactions",
        "more-0: a transaction is open, so the records from offset 4 on are left out",
    ]


def test_damage_ends_a_read_with_its_place(kafka: Path) -> None:
    path = write_segment(kafka / "more-0", 0, at(0, java("v2-none")) + at(4, java("v2-gzip")))
    for position, at_byte in ((300, 227), (70, 0)):
        flip_byte(path, position, mask=1)
        with pytest.raises(KMiniLogError, match=f"{path}, byte {at_byte}: damaged: Record is"):
            rows(kafka, topic="more")
