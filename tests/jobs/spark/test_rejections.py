"""Rejected records in the account of a source: on record, without a record, stored all the same."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.names import TopicPartition
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import (
    LAST_JOBS_FILE,
    MANIFEST_DIR,
    quarantine_path,
)
from kminilog.storage.topics import Topic
from kminilog.verification.account.spark import verify
from kminilog.verification.report import Report
from tests.support.log_content import Content, write_anew

CSV = b"id,name\n" + b"".join(b"%d,n%d\n" % (n % 7, n) for n in range(40))
BAD = b"too few\n1,\xff\n1,2,3\n"
JSON = b'{"id": "a"}\n[1]\n{"id": "b"\n{"id": "a"}\n{"id": "a"}\n'


@pytest.fixture
def table(tmp_path: Path) -> Source:
    """A CSV file whose records 41 to 43 cannot be decoded."""
    path = tmp_path / "in" / "c.csv"
    path.parent.mkdir()
    path.write_bytes(CSV + BAD + b"1,last\n")
    return Source((str(path.parent),), format="csv", key="id")


def loaded(spark: SparkSession, log_dir: Path, source: Source, dialect: Dialect) -> None:
    options: dict[str, Any] = {"partitions": 2, "dialect": dialect, "job_id": "j"}
    ingest(spark, log_dir, source, topic="t", max_rejected=3, **options)


def account(report: Report) -> tuple[int, ...]:
    names = ("source", "stored", "rejected", "missing", "extra")
    assert report.conservation["holds"]
    return tuple(report.conservation[name] for name in names)


def test_verify_knows_rejected_records_by_the_quarantine_file_of_their_job(
    spark, tmp_path, table, dialect
):
    loaded(spark, tmp_path / "log", table, dialect)
    log_dir = LogDir(tmp_path / "log")
    for job in (None, "j"):
        report = verify(spark, log_dir, ["t"], against=table, job=job)
        assert (report.verdict, account(report)) == ("ok", (44, 41, 3, 0, 0))
        assert report.scope["quarantine"] == [str(tmp_path / "log" / ".quarantine" / "j.jsonl")]


def test_verify_finds_what_the_quarantine_file_of_its_job_does_not_name(
    spark, tmp_path, table, dialect
):
    loaded(spark, tmp_path / "log", table, dialect)
    path = quarantine_path(tmp_path / "log", "j")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    report = verify(spark, LogDir(tmp_path / "log"), ["t"], against=table)
    assert account(report) == (44, 41, 2, 1, 0)
    (found,) = report.to_json()["findings"]
    assert [sample["source"] for sample in found["samples"]] == [f"{table.paths[0]}/c.csv, row 41"]


def test_verify_without_a_job_on_record_rejects_what_cannot_be_decoded(
    spark, tmp_path, table, dialect
):
    loaded(spark, tmp_path / "log", table, dialect)
    shutil.rmtree(tmp_path / "log" / MANIFEST_DIR)
    (tmp_path / "log" / LAST_JOBS_FILE).unlink()  # else the manifest that is gone is a finding
    report = verify(spark, LogDir(tmp_path / "log"), ["t"], against=table)
    assert (report.verdict, account(report)) == ("ok", (44, 41, 3, 0, 0))
    assert report.scope["quarantine"] == []


def test_verify_rejects_what_cannot_be_decoded_in_files_that_no_job_has_read(
    spark, tmp_path, table, dialect
):
    loaded(spark, tmp_path / "log", table, dialect)
    (tmp_path / "other.csv").write_bytes(b"id,name\nnothing\n")
    both = Source((*table.paths, str(tmp_path / "other.csv")), format="csv", key="id")
    report = verify(spark, LogDir(tmp_path / "log"), ["t"], against=both)
    assert (report.verdict, account(report)) == ("ok", (45, 41, 4, 0, 0))


def test_verify_takes_a_quarantined_copy_for_rejected_and_the_others_for_stored(
    spark, tmp_path, dialect
):
    """The first of three copies is quarantined; two are stored: they are the other two."""
    path = tmp_path / "j.json"
    path.write_bytes(JSON)
    source = Source((str(path),), format="json", key="id")
    loaded(spark, tmp_path / "log", source, dialect)

    def drop_one(content: Content) -> None:
        messages = next(m for m in content.values() if (b"a", b'{"id": "a"}') in m)
        messages.remove((b"a", b'{"id": "a"}'))

    copy = write_anew(tmp_path / "log", tmp_path / "copy", "t", drop_one)
    report = verify(spark, LogDir(copy), ["t"], against=source)
    assert account(report) == (5, 2, 0, 3, 0), "the quarantine file has not come along"
    shutil.copytree(tmp_path / "log" / ".quarantine", copy / ".quarantine")
    with open(quarantine_path(copy, "j"), "a") as file:
        record = {"key": "a", "value": '{"id": "a"}', "reason": "x"}
        file.write(json.dumps({"file": str(path), "line": 1, "position": 0, **record}) + "\n")
    report = verify(spark, LogDir(copy), ["t"], against=source)
    assert account(report) == (5, 2, 3, 0, 0)


def test_verify_takes_a_quarantined_record_that_is_stored_for_stored(
    spark, tmp_path, table, dialect
):
    loaded(spark, tmp_path / "log", table, dialect)
    with open(quarantine_path(tmp_path / "log", "j"), "a") as file:
        line = {"file": f"{table.paths[0]}/c.csv", "row": 1, "position": 0, "reason": "x"}
        file.write(json.dumps(line) + "\n")
    report = verify(spark, LogDir(tmp_path / "log"), ["t"], against=table)
    assert (report.verdict, account(report)) == ("ok", (44, 41, 3, 0, 0))


def test_verify_takes_a_message_of_nulls_for_extra_not_for_what_cannot_be_decoded(spark, tmp_path):
    with LogDirWriter.open(tmp_path / "log", create=True) as writer:
        writer.create_topic(Topic("t", 1, KAFKA))
        writer.log(TopicPartition("t", 0)).append([(None, None)])
    (tmp_path / "j.json").write_bytes(b"[1]\n[1]\n")
    source = Source((str(tmp_path / "j.json"),), format="json")
    report = verify(spark, LogDir(tmp_path / "log"), ["t"], against=source)
    assert account(report) == (2, 1, 2, 0, 1)
