"""Records that can be no messages, in a job: what is stored, counted, and put into quarantine."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import QUARANTINE_DIR, quarantine_path
from tests.support.log_content import content_of

LIMIT = TopicSettings(max_message_bytes=100)


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("plan", ["sorted", "runs"])
def test_ingest_puts_up_with_some_rejected_records(spark, tmp_path, dialect, plan):
    """Undecodable, too large, and null where there is no null: each with its place."""
    path, log_dir = tmp_path / "c.csv", tmp_path / "log"
    rows = [b"k%d,%d" % (n % 5, n) for n in range(40)]
    rows[7], rows[20], rows[33] = b"k1,\xff", b"k2," + b"x" * 100, b"k3,"
    path.write_bytes(b"k,v\n" + b"\n".join(rows) + b"\n")
    source = Source((str(path),), "csv", key="k", value="v")
    result = ingest(
        spark, log_dir, source, topic="t", partitions=3, dialect=dialect, settings=LIMIT,
        job_id="j", max_rejected=3, plan=plan,
    )  # fmt: skip
    has_null = dialect == KAFKA
    found = read_lines(quarantine_path(log_dir, "j"))
    assert [(line["file"], line["row"]) for line in found] == [
        (str(path), row) for row in ((8, 21) if has_null else (8, 21, 34))
    ]
    assert found[0]["reason"] == "it is not valid UTF-8"
    assert "larger than max.message.bytes = 100" in found[1]["reason"]
    assert (found[1]["key"], found[1]["value"]) == ("k2", "x" * 100)
    if not has_null:
        assert found[2]["reason"].startswith("the value is null")
    facts = result.manifest.facts
    assert (facts["count"], facts["rejected"]) == (40 - len(found), len(found))
    assert result.to_json()["rejected"] == len(found)
    bad = {line["row"] - 1 for line in found}
    stored = [value for pairs in content_of(log_dir, "t").values() for _, value in pairs]
    expected = [row.partition(b",")[2] or None for n, row in enumerate(rows) if n not in bad]
    assert sorted(stored, key=repr) == sorted(expected, key=repr)
    with LogDirWriter.open(log_dir) as writer:
        assert quarantine_path(log_dir, "j").exists()
        writer.delete_topic("t")
    assert not list((log_dir / QUARANTINE_DIR).iterdir())


def test_ingest_of_nothing_but_rejected_records_commits_that(spark, tmp_path):
    pq.write_table(pa.table({"v": [None, None]}, pa.schema([("v", pa.string())])), tmp_path / "p")
    source = Source((str(tmp_path / "p"),), "parquet", value="v")
    options = {"topic": "t", "dialect": DOCUMENTED, "max_rejected": 2, "job_id": "j"}
    first = ingest(spark, tmp_path / "log", source, **options)
    assert (first.manifest.facts["count"], first.manifest.facts["rejected"]) == (0, 2)
    assert [line["row"] for line in read_lines(quarantine_path(tmp_path / "log", "j"))] == [1, 2]
    assert ingest(spark, tmp_path / "log", source, **options).already_committed
