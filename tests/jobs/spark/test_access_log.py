"""The real access log, 10,000 lines, in both dialects: ingested, and every line accounted for."""

import gzip
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kminilog.format.dialect import Dialect
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.verification.account.spark import verify
from tests.support.log_content import content_of
from tests.support.shared_data import shared_file


@pytest.fixture
def access_log() -> Path:
    return shared_file("apache-access-log/access.log.gz")


def test_access_log_is_ingested_and_verified_line_by_line(
    spark: SparkSession, access_log: Path, tmp_path: Path, dialect: Dialect
):
    source = Source((str(access_log),), key_regex=r"^(\S+) ")
    settings = TopicSettings(segment_bytes=200_000)
    ingest(
        spark, tmp_path, source, topic="access", partitions=4, dialect=dialect, settings=settings
    )
    report = verify(spark, LogDir(tmp_path), ["access"], against=source)
    assert report.verdict == "ok"
    assert report.conservation["source"] == report.conservation["stored"] == 10_000
    lines = gzip.decompress(access_log.read_bytes()).removesuffix(b"\n").split(b"\n")
    content = content_of(tmp_path, "access")
    messages = [message for partition in content.values() for message in partition]
    assert Counter(value for _, value in messages) == Counter(lines)
    assert all(key == value.split(b" ")[0] for key, value in messages if value)
    for partition in content.values():
        numbers = iter(lines)
        assert all(value in numbers for _, value in partition), "in source order"
