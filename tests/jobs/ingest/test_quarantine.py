"""The quarantine file: which records are in it, in which order, and when it goes."""

import gzip
import json
from pathlib import Path

import pyarrow as pa

from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.jobs.ingest.quarantine import RejectedWriter, screen, write_quarantine
from kminilog.jobs.source.description import Place, Source
from kminilog.jobs.source.source_files import list_files
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import quarantine_path
from kminilog.storage.topics import Topic
from tests.support.jobs.ingest.jobs import batch_of


def table_of(rows):
    return pa.Table.from_batches([batch_of(rows)])


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
    write_quarantine(tmp_path / "q.jsonl", source, list_files(source.paths), parts)
    a, b = str(tmp_path / "a.txt"), str(tmp_path / "b.gz")
    assert read_lines(tmp_path / "q.jsonl") == [
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


def test_quarantine_file_of_a_job_that_never_committed_is_swept(tmp_path):
    with LogDirWriter.open(tmp_path, create=True):
        pass
    path = quarantine_path(tmp_path, "died.once")
    path.parent.mkdir()
    path.write_text("{}\n")
    with LogDirWriter.open(tmp_path):
        assert not path.exists()


def reasons(dialect, rows, **limits):
    """What is said of records, each with key, value, and why it was rejected before."""
    columns = [
        pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), KINDS, strict=True)
    ]
    records = pa.record_batch(columns, names=["key", "value", "rejected"])
    screened = screen(records, Topic("t", 1, dialect, TopicSettings(**limits)))
    assert screened.select(["key", "value"]) == records.select(["key", "value"])
    return screened.column("rejected").to_pylist()


KINDS = [pa.binary(), pa.binary(), pa.string()]
BROKEN = (None, None, "no UTF-8")


def test_screen_names_a_null_value_where_the_dialect_has_none():
    rows = [(b"k", b"v", None), (b"k", None, None), (None, b"", None), BROKEN]
    no_null = "the value is null, and the documented dialect has no null value"
    assert reasons(DOCUMENTED, rows) == [None, no_null, None, "no UTF-8"]
    assert reasons(KAFKA, rows) == [None, None, None, "no UTF-8"]


def test_screen_names_a_message_above_a_limit_by_its_size_with_headers(dialect):
    overhead = 22 if dialect is DOCUMENTED else 26
    rows = [(b"kk", b"v" * (100 - overhead - 2 + more), None) for more in (0, 1)]
    text = "a message of 101 bytes is larger than {} = 100"
    for setting in ("max.message.bytes", "segment.bytes"):
        found = reasons(dialect, [*rows, BROKEN], **{setting.replace(".", "_"): 100})
        assert found == [None, text.format(setting), "no UTF-8"]
    found = reasons(dialect, rows, max_message_bytes=100, segment_bytes=50)
    second = "a message of 100 bytes is larger than segment.bytes = 50"
    assert found == [second, text.format("max.message.bytes")]


def test_screen_of_nothing_is_nothing(dialect):
    records = pa.record_batch([pa.array([], kind) for kind in KINDS], ["key", "value", "rejected"])
    assert len(screen(records, Topic("t", 1, dialect))) == 0
