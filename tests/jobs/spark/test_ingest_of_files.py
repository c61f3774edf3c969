"""Sources in Spark: every format, both plans; the files that the local engine writes, too."""

import gzip
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kminilog.errors import SourceError
from kminilog.format.dialect import KAFKA
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source import pieces, tasks, topic_columns
from kminilog.jobs.source.description import FORMATS, Source
from kminilog.jobs.source.places import Order
from kminilog.jobs.source.source_files import list_files
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.manifests import MANIFEST_DIR
from kminilog.storage.publish.visibility import STAGING_DIR
from kminilog.verification.account.checksum_pass import ChecksumPass
from kminilog.verification.account.expected import ExpectedPartition
from kminilog.verification.account.rejections import Rejections
from kminilog.verification.account.sides import Sides
from kminilog.verification.account.source_check import Reading, sums
from kminilog.verification.account.spark import SparkEngine, verify
from tests.jobs.source.test_file_columns import CSV, JSON, LINES
from tests.jobs.source.test_kcat import line
from tests.jobs.source.test_parquet_columns import columns_of, make_source, source_of
from tests.jobs.source.test_topic_columns import pairs_of, write_topic
from tests.support.log_content import content_of, files_of

KCAT = b"".join(line(n % 3, n, *pair) + b"\n" for n, pair in enumerate(pairs_of(KAFKA, 0) * 9))
SMALL = TopicSettings(segment_bytes=600, index_interval_bytes=100, max_message_bytes=60)


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    """A source of some files, a compressed one among them, some of whose records are rejected."""
    directory = tmp_path / "source"
    if request.param == "parquet":
        return source_of(make_source(directory), value=None)
    if request.param == "kminilog":
        return write_topic(directory, KAFKA, partitions=7)  # with null values
    directory.mkdir()
    head = "键,b c,d\n".encode() if request.param == "csv" else b""
    content = {"text": LINES, "csv": CSV, "json": JSON, "kcat": KCAT}[request.param]
    (directory / "a.txt").write_bytes(head + content)
    (directory / "b.gz").write_bytes(gzip.compress(head + content[: len(content) // 3]))
    options = {
        "text": {"key_regex": r"k\d+"},
        "csv": {"key": "键", "value": "b c"},
        "json": {"key": "k", "value": "v"},
        "kcat": {},
    }
    return Source((str(directory),), request.param, **options[request.param])


@pytest.mark.parametrize("source", list(FORMATS), indirect=True)
def test_ingest_writes_the_same_files_by_both_plans_and_without_spark(
    spark, tmp_path, dialect, source, monkeypatch
):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 700)
    monkeypatch.setattr(topic_columns, "SPLIT_BYTES", 100)
    monkeypatch.setattr(tasks, "LEAST_BYTES", 1)
    options = {"dialect": dialect, "settings": SMALL, "partitions": 3, "max_rejected": 1000}
    options |= {"topic": "t", "job_id": "job"}
    ingest_with(LocalIngest(), tmp_path / "local", source, **options)
    for plan in ("sorted", "runs"):
        ingest(spark, tmp_path / plan, source, plan=plan, **options)
    found = [
        (files_of(path, "t"), (path / ".quarantine" / "job.jsonl").read_bytes())
        for path in (tmp_path / name for name in ("local", "sorted", "runs"))
    ]
    assert found[0] == found[1] == found[2]
    assert len(found[0][0]) >= 10
    report = verify(spark, LogDir(tmp_path / "runs"), ["t"], against=source)
    assert (report.verdict, report.scope["steps"]) == ("ok", ["sums"])


def test_tasks_of_a_verification_share_a_csv_file(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 700)
    monkeypatch.setattr(tasks, "LEAST_BYTES", 1)
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + b"1,2\n" * 900)
    source = Source((str(tmp_path),), "csv")
    with SparkEngine(spark).at(str(source)) as engine:
        columns, records = engine.columns(source, list_files(source.paths))
        assert len(records) > 4
        order = Order.of(source, 1)
        rejections = Rejections.of(source, [], [], [], order)
        sides = Sides(LogDir(tmp_path), 1, None, ExpectedPartition(1), rejections, order)
        step = ChecksumPass.of(sides, len(records), 3600)
        assert sums(engine, step, Reading(columns, records, [])).counted == (900, 0, 0)


def test_ingest_of_files_without_rows_beside_others_is_fine(spark, tmp_path):
    path = make_source(tmp_path / "s", rows=20)
    empty = pq.read_table(path / "0.parquet").slice(0, 0)
    pq.write_table(empty, path / "00.parquet")
    options = {"topic": "t", "dialect": KAFKA}
    for plan in ("sorted", "runs"):
        ingest(spark, tmp_path / plan, source_of(path), plan=plan, **options)
        assert len(content_of(tmp_path / plan, "t")[0]) == 60
    for name in ("0", "1", "2"):
        (path / f"{name}.parquet").unlink()
    for plan in ("sorted", "runs"):
        with pytest.raises(SourceError, match="it holds no records"):
            ingest(spark, tmp_path / "none", source_of(path), plan=plan, **options)


@pytest.mark.parametrize("plan", ["sorted", "runs"])
def test_ingest_of_a_file_that_is_broken_inside_names_it_and_leaves_nothing(spark, tmp_path, plan):
    path = make_source(tmp_path / "s", rows=2000)
    broken = path / "1.parquet"
    data = bytearray(broken.read_bytes())
    start = pq.read_metadata(broken).row_group(100).column(2).data_page_offset
    data[start : start + 60] = b"\xff" * 60
    broken.write_bytes(data)
    source = source_of(path)
    planned = [row_group for group in columns_of(source).groups(cores=2) for row_group in group]
    assert len(planned) == 3 * pq.read_metadata(broken).num_row_groups > 300
    with pytest.raises(SourceError, match=r"1\.parquet: cannot be read as Parquet: ") as caught:
        ingest(spark, tmp_path / "log", source, topic="t", dialect=KAFKA, plan=plan)
    assert "\n" not in str(caught.value)
    assert not files_of(tmp_path / "log", "t")
    for name in (STAGING_DIR, MANIFEST_DIR):
        assert not list((tmp_path / "log" / name).glob("*"))
