"""Records that can be no messages: the quarantine file, what is counted, and when it goes."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.ingest.quarantine import RejectedWriter, write_quarantine
from kminilog.settings import TopicSettings
from kminilog.source.description import Place, Source
from kminilog.source.files import list_files
from kminilog.spark.ingest.job import ingest
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.publish.manifests import QUARANTINE_DIR, quarantine_path
from tests.spark.log_content import content_of

LIMIT = TopicSettings(max_message_bytes=100)


def table_of(rows):
    """Records as tasks have them; a row is rank, position, row, key, value, rejected."""
    names = ["source_rank", "source_position", "source_row", "key", "value", "rejected"]
    types = [pa.int32(), pa.int64(), pa.int64(), pa.binary(), pa.binary(), pa.string()]
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=names)


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rejected_records_of_several_tasks_are_merged_in_source_order(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"0\n1\n2\n")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"3\n4\n"))
    source = Source((str(tmp_path / "a.txt"), str(tmp_path / "b.gz")))
    parts = []
    for name, rows in {
        # Spark may give a task a later piece first.
        "x": [(1, 2, 1, None, b"4", "r4"), (1, 0, 0, None, b"3", None), (0, 0, 0, b"", None, "r0")],
        "y": [(0, 2, 1, b"k", b"\xff", "r1"), (0, 4, 2, None, None, "r2")],
    }.items():
        (tmp_path / name).mkdir()
        writer = RejectedWriter(tmp_path / name, at_most=9)
        assert len(writer.take_out(table_of(rows))) == sum(row[5] is None for row in rows)
        parts += writer.close()
    assert [(part.count, part.first, part.reason) for part in parts] == [
        (1, Place(1, 2, 1), "r4"),
        (1, Place(0, 0, 0), "r0"),
        (2, Place(0, 2, 1), "r1"),
    ]
    write_quarantine(tmp_path, "j", source, list_files(source.paths), parts)
    a, b = str(tmp_path / "a.txt"), str(tmp_path / "b.gz")
    assert read_lines(quarantine_path(tmp_path, "j")) == [
        {"file": a, "line": 1, "position": 0, "reason": "r0", "key": "", "value": None},
        {"file": a, "line": 2, "position": 2, "reason": "r1", "key": "k", "value_base64": "/w=="},
        {"file": a, "line": 3, "position": 4, "reason": "r2", "key": None, "value": None},
        {"file": b, "line": 2, "position": 2, "reason": "r4", "key": None, "value": "4"},
    ]


def test_rejected_records_above_the_bound_are_counted_but_not_kept(tmp_path):
    writer = RejectedWriter(tmp_path, at_most=2)
    writer.take_out(table_of([(0, 0, row, None, b"v", "bad") for row in range(50)]))
    (part,) = writer.close()
    assert part.count == 50
    assert len(Path(part.path).read_text().splitlines()) == 3


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


def test_quarantine_file_of_a_job_that_never_committed_is_swept(tmp_path):
    with LogDirWriter.open(tmp_path, create=True):
        pass
    path = quarantine_path(tmp_path, "died.once")
    path.parent.mkdir()
    path.write_text("{}\n")
    with LogDirWriter.open(tmp_path):
        assert not path.exists()
