"""Any DataFrame as a source: what SQL can read or compute is loaded, and verified."""

import json

import pytest

from kminilog.errors import KMiniLogError, PublicationError, SourceError
from kminilog.format.dialect import KAFKA
from kminilog.format.names import TopicPartition
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.jobs.spark.runtime.tasks import SparkTasks
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir, make_log_dir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.publish.publication import JOB_STAGING_DIR
from kminilog.verification.account.spark import verify
from kminilog.verification.commands import showing_command
from kminilog.verification.findings import FindingClass
from tests.support.log_content import content_of, files_of, write_anew

ROWS = [(f"k{n % 7}" if n % 5 else None, f"v{n}") for n in range(500)]


@pytest.fixture
def frame(spark):
    return spark.createDataFrame(ROWS, "key string, value string").repartition(3)


def load(spark, log_dir, frame, **options):
    return ingest(spark, log_dir, frame, topic="t", partitions=4, **options)


@pytest.mark.parametrize("kind", ["string", "binary"])
def test_rows_become_messages_and_the_account_of_them_holds(spark, tmp_path, dialect, frame, kind):
    frame = frame.selectExpr(f"cast(key AS {kind}) AS key", f"cast(value AS {kind}) AS value")
    done = load(spark, tmp_path / "log", frame, dialect=dialect)
    assert (done.already_committed, done.to_json()["count"]) == (False, 500)
    found = [pair for pairs in content_of(tmp_path / "log", "t").values() for pair in pairs]
    bytes_of = [(key and key.encode(), value.encode()) for key, value in ROWS]
    assert sorted(found, key=str) == sorted(bytes_of, key=str)
    report = verify(spark, LogDir(tmp_path / "log"), ["t"], against=frame)
    assert report.verdict == "ok"
    assert (report.conservation["source"], report.conservation["stored"]) == (500, 500)
    why = [one.why for one in report.unchecked if one.what == "source"]
    assert why == ["the order of keys: the rows of a DataFrame have none"]
    assert report.to_json()["scope"]["against"]["paths"] == ("a DataFrame",)
    assert "a DataFrame" in report.to_text()
    assert "a DataFrame" in report.to_html()


def test_what_sql_computes_of_an_orc_file_is_loaded_and_verified(spark, tmp_path):
    spark.range(100).selectExpr("id", "id % 7 AS g").write.orc(str(tmp_path / "orc"))
    read = spark.read.orc(str(tmp_path / "orc"))
    frame = read.selectExpr("string(g) AS key", "to_json(struct(*)) AS value")
    load(spark, tmp_path / "log", frame)
    report = verify(spark, LogDir(tmp_path / "log"), ["t"], against=frame, job=None)
    assert (report.verdict, report.conservation["stored"]) == ("ok", 100)
    values = [v for pairs in content_of(tmp_path / "log", "t").values() for _, v in pairs]
    assert sorted(json.loads(value)["id"] for value in values) == list(range(100))


def test_rows_that_are_gone_altered_or_too_many_are_found(spark, tmp_path, frame):
    load(spark, tmp_path / "log", frame, dialect=KAFKA)

    def damage(content):
        one = max(content.values(), key=len)
        keyed = [n for n, (key, _) in enumerate(one) if key]
        one[keyed[3]] = (one[keyed[3]][0], b"altered")
        one.append((None, b"extra"))
        del one[keyed[10]]

    log_dir = LogDir(write_anew(tmp_path / "log", tmp_path / "copy", "t", damage))
    report = verify(spark, log_dir, ["t"], against=frame)
    assert report.verdict == "findings"
    counted = {name: report.conservation[name] for name in ("missing", "extra", "altered")}
    assert counted == {"missing": 1, "extra": 1, "altered": 1}
    (missing,) = report.tally.samples(FindingClass.MISSING)
    assert "a DataFrame, monotonically_increasing_id " in str(missing.source)
    number = int(str(missing.source).split()[-1])
    ids = frame.selectExpr("*", "monotonically_increasing_id() AS id").where(f"id = {number}")
    (row,) = ids.collect()
    assert row["key"] is not None
    assert repr(row["key"]) in missing.detail
    assert "--against" not in showing_command(missing, report.scope)


def test_job_id_makes_it_idempotent_and_other_rows_are_refused(spark, tmp_path, frame):
    first = load(spark, tmp_path / "log", frame, job_id="j")
    before = files_of(tmp_path / "log", "t")
    again = load(spark, tmp_path / "log", frame, job_id="j")
    assert (first.already_committed, again.already_committed) == (False, True)
    assert files_of(tmp_path / "log", "t") == before
    with pytest.raises(KMiniLogError, match="a job with count = 500"):
        load(spark, tmp_path / "log", frame.limit(9), job_id="j")
    with pytest.raises(KMiniLogError, match="count = 500, not 0"):
        load(spark, tmp_path / "log", frame.where("value = 'none'"), job_id="j")
    with pytest.raises(KMiniLogError, match="a job that wrote as many rows, but other ones"):
        load(spark, tmp_path / "log", frame.selectExpr("key", "upper(value) AS value"), job_id="j")


def test_topic_that_is_there_keeps_its_settings(spark, tmp_path, frame):
    load(spark, tmp_path / "log", frame, settings=TopicSettings(segment_bytes=1000))
    assert LogDir(tmp_path / "log").topic("t").settings.segment_bytes == 1000
    with pytest.raises(PublicationError, match="topic t has partitions = 4, not 3"):
        ingest(spark, tmp_path / "log", frame, topic="t", partitions=3)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (["key"], "a DataFrame: it has no value; its columns key and value must be"),
        (["1 AS value"], "a DataFrame: it has value int; its columns"),
        (["value", "1 AS key"], "a DataFrame: it has key int; its columns"),
    ],
)
def test_columns_that_are_no_texts_are_an_error_in_a_line(spark, tmp_path, frame, columns, reason):
    load(spark, tmp_path / "log", frame)
    other = frame.selectExpr(*columns)
    with pytest.raises(SourceError, match=reason):
        verify(spark, LogDir(tmp_path / "log"), ["t"], against=other)
    with pytest.raises(KMiniLogError):
        load(spark, tmp_path / "log", other)


def test_dataframe_without_rows_is_refused_without_a_trace_or_a_job_without_messages(
    spark, tmp_path, frame
):
    make_log_dir(tmp_path / "log")
    log_dir, empty = LogDir(tmp_path / "log"), frame.limit(0)
    refused = "a DataFrame: it holds no records; allow_empty=True allows that"
    with pytest.raises(SourceError, match=refused):
        load(spark, log_dir.path, empty)
    assert log_dir.topics() == []
    for is_there in (False, True):
        done = load(spark, log_dir.path, empty, job_id="j", allow_empty=True)
        assert (done.already_committed, done.to_json()["count"]) == (is_there, 0)
    with pytest.raises(KMiniLogError, match="a job with count = 0, not 500"):
        load(spark, log_dir.path, frame, job_id="j", allow_empty=True)
    with pytest.raises(SourceError, match=refused):
        verify(spark, log_dir, ["t"], against=empty)
    report = verify(spark, log_dir, ["t"], against=empty, job="j", allow_empty=True)
    assert report.verdict == "ok"
    assert not list((log_dir.path / JOB_STAGING_DIR).iterdir())


def test_topic_that_a_failed_load_has_made_goes_again_unless_others_use_it(
    spark, tmp_path, frame, monkeypatch
):
    make_log_dir(tmp_path / "log")
    log_dir = LogDir(tmp_path / "log")
    bad = frame.selectExpr("nullif(value, 'v7') AS value")
    with pytest.raises(KMiniLogError, match="the documented dialect has no null value"):
        load(spark, log_dir.path, bad)
    assert log_dir.topics() == []

    def fail(*arguments, **options):
        with LogDirWriter.open(log_dir.path) as writer:
            writer.log(TopicPartition("t", 0)).append([(None, b"of another")])
        raise KMiniLogError("failed")

    monkeypatch.setattr("kminilog.jobs.spark.datasource.writer.write_rows", fail)
    with pytest.raises(KMiniLogError, match="failed"):
        load(spark, log_dir.path, frame)
    assert content_of(log_dir.path, "t")[0] == [(None, b"of another")]


def test_tasks_join_what_other_tasks_have_made_of_the_rows(spark, tmp_path, frame, monkeypatch):
    steps = []

    class Seen(SparkTasks):
        def map(self, items, work, /, **step):
            steps.append(step["step"])
            return super().map(items, work, **step)

    monkeypatch.setattr("kminilog.jobs.spark.datasource.writer.SparkTasks", Seen)
    load(spark, tmp_path / "log", frame)
    assert steps == ["joining"]
    assert not list((tmp_path / "log" / JOB_STAGING_DIR).iterdir())
