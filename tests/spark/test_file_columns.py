"""Text that tasks read themselves: the same records, and the same files, as through Spark."""

import gzip
from dataclasses import replace

import pyarrow as pa
import pytest

from kminilog.settings import TopicSettings
from kminilog.spark.ingest import plans
from kminilog.spark.ingest.job import ingest
from kminilog.spark.ingest.quarantine import PLACE_COLUMNS
from kminilog.spark.source import file_source
from kminilog.spark.source.file_columns import FileColumns
from kminilog.spark.source.files import list_files
from kminilog.spark.source.records import Source, read_source
from tests.spark.log_content import content_of, files_of

SMALL = TopicSettings(segment_bytes=600, index_interval_bytes=100, max_message_bytes=60)
LINES = b"".join(
    [b"", b"k%d one\n", b"\xff\x00 k%d\r\n", b"\n", "ß%d\n".encode(), b"k%d " + b"x" * 40 + b"\n"][
        number % 6
    ].replace(b"%d", b"%d" % (number % 17))
    for number in range(400)
)


@pytest.fixture
def text(tmp_path):
    """Three files, one of them compressed and one without a last newline; some lines too long."""
    directory = tmp_path / "source"
    directory.mkdir()
    (directory / "a.txt").write_bytes(LINES)
    (directory / "b.gz").write_bytes(gzip.compress(LINES[:900]))
    (directory / "c.txt").write_bytes(LINES[100:] + b"the last")
    return Source((str(directory),), key_regex=r"k\d+")


def columns_of(source):
    return FileColumns.of(source, list_files(source.paths))


@pytest.mark.spark
@pytest.mark.parametrize(
    "options", [{}, {"key_regex": None}, {"key_regex": None, "key": "value"}, {"value": "value"}]
)
def test_columns_are_the_records_that_spark_reads(spark, text, options, monkeypatch):
    monkeypatch.setattr(file_source, "SPLIT_BYTES", 700)
    source = replace(text, **options)
    theirs = read_source(spark, source).orderBy(*PLACE_COLUMNS).toArrow()
    columns = columns_of(source)
    assert len(columns.pieces) > 10
    ours = pa.Table.from_batches(columns.read(columns.pieces))
    assert ours.to_pylist() == theirs.to_pylist()
    assert ours.schema.types == theirs.schema.types


@pytest.mark.spark
@pytest.mark.parametrize("plan", ["sorted", "runs"])
def test_ingest_writes_the_same_files_as_through_spark(spark, tmp_path, dialect, text, plan):
    found = []
    for name, columns_of_source in (("ours", plans.columns_of), ("theirs", lambda *_: None)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plans, "columns_of", columns_of_source)
            patch.setattr(file_source, "SPLIT_BYTES", 700)
            log_dir = tmp_path / name
            options = {"dialect": dialect, "settings": SMALL, "plan": plan, "job_id": "job"}
            ingest(spark, log_dir, text, topic="t", partitions=3, max_rejected=1000, **options)
            found.append((content_of(log_dir, "t"), files_of(log_dir, "t")))
    assert found[0] == found[1]
    assert found[0][0]


@pytest.mark.parametrize(
    "options",
    [
        {"format": "csv"},
        {"format": "json"},
        {"key_regex": None, "key_expr": "value"},
        {"value": "upper(value)"},
        {"key_regex": None, "key": "line"},
    ],
)
def test_source_that_needs_more_is_left_to_spark(text, options):
    assert columns_of(replace(text, **options)) is None
