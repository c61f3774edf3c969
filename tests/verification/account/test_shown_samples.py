"""Samples show their record and their message, read again; what has changed meanwhile is said."""

import gzip
import json
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.clock import ManualClock
from kminilog.format.dialect import KAFKA, Dialect
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source import line_columns, pieces, reading_again
from kminilog.jobs.source.columns import columns_of
from kminilog.jobs.source.description import DATAFRAME, Place, Source, files_of
from kminilog.jobs.source.file_columns import FileColumns
from kminilog.jobs.source.pieces import Piece
from kminilog.jobs.source.reading_again import records_at
from kminilog.jobs.source.tasks import LocalTasks
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.verification.account.engine import LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.account.source_check import ShownSamples
from kminilog.verification.both_sides import KeyValue
from tests.support.log_content import Content, write_anew

COUNT = 120
PAIRS = [(f"k{n % 7}", f"value {n}, größe {n * n}") for n in range(COUNT)]


class TwoAtOnce(LocalTasks):
    """Tasks in this process that say that two run at once."""

    cores = 2


def write_source(kind: str, directory: Path, pairs: list[tuple[str, str]] = PAIRS) -> Source:
    rows = [{"id": key, "text": value} for key, value in pairs]
    path = directory / f"a.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=16)
    elif kind == "csv":
        path.write_text("id,text\n" + "".join(f'{k},"{v}"\n' for k, v in pairs))
    elif kind == "kcat":
        lines = [json.dumps({"key": k, "payload": v}) + "\n" for k, v in pairs]
        path.write_text("\n".join(lines))
    elif kind == "kminilog":
        with LogDirWriter.open(path, create=True) as writer:
            topic = Topic("orders", 1, KAFKA)
            writer.create_topic(topic)
            messages = [(k.encode(), v.encode()) for k, v in pairs]
            writer.log(topic.partition(0)).append(messages)
        return Source((f"{path}:orders",), kind)
    elif kind == "json":
        path.write_text("\n".join(json.dumps(row) + "\n" for row in rows))  # every second is blank
    else:
        data = "".join(f"{k}:{v}\n" for k, v in pairs).encode()
        path.write_bytes(gzip.compress(data) if kind == "txt.gz" else data)
    if kind.startswith("txt"):
        return Source((str(path),), key_regex="^([^:]*):")
    if kind == "kcat":
        return Source((str(path),), kind)
    return Source((str(path),), format=kind, key="id", value="text")


def damage(content: Content) -> None:
    one, other = content[0], content[1]
    one[3] = one[3][0], one[3][1].replace(b"value", b"vAlue")
    other.append((b"mallory", b"\xff"))
    del other[4], one[-1]


@pytest.fixture(params=["txt", "txt.gz", "csv", "json", "parquet", "kcat", "kminilog"])
def source(request, tmp_path):
    return write_source(request.param, tmp_path)


@pytest.fixture
def log_dir(source, tmp_path, dialect):
    return damaged(source, tmp_path, dialect)


def damaged(source: Source, directory: Path, dialect: Dialect) -> Path:
    settings = TopicSettings(segment_bytes=2000, index_interval_bytes=200)
    ingest_with(
        LocalIngest(),
        directory / "log",
        source,
        topic="t",
        partitions=2,
        dialect=dialect,
        settings=settings,
    )
    return write_anew(directory / "log", directory / "copy", "t", damage)


def samples(log_dir: Path, source: Source) -> dict[str, list[dict[str, Any]]]:
    report = verify_with(LocalEngine(), ManualClock(), LogDir(log_dir), ["t"], against=source)
    return {found["class"]: found["samples"] for found in report.to_json()["findings"]}


def value_of(key: str, value: str, source: Source) -> str:
    return f"{key}:{value}" if source.format == "text" else value


def test_samples_show_the_record_and_the_message(log_dir, source):
    found = samples(log_dir, source)
    altered = next(one for one in found["altered"] if one["source"])
    record, message = altered["source_record"], altered["message"]
    assert message["value"].replace("vAlue", "value") == record["value"] != message["value"]
    start, end = record["value_differs"]
    assert record["value"].encode()[start:end] == b"a"
    assert altered["detail"].endswith(f"; byte {start} of the value is 41, in the source 61")
    assert record["key_differs"] is None
    stored = {(record["key"], record["value"])}
    assert len(found["missing"]) == 2
    for one in found["missing"]:
        assert one["message"] is None
        stored.add((one["source_record"]["key"], one["source_record"]["value"]))
        assert repr(one["source_record"]["key"]) in one["detail"]
    assert stored < {(key, value_of(key, value, source)) for key, value in PAIRS}
    (extra,) = found["extra"]
    assert (extra["source_record"], extra["message"]["key"]) == (None, "mallory")
    assert extra["message"]["value_base64"] == "/w=="
    assert {one["not_shown"] for kind in found.values() for one in kind} == {None}


def test_place_and_record_belong_together(source):
    files = files_of(source)
    unit = "row" if source.has_rows else "position"
    batches = list(_batches(source))
    every = {
        Place(0, *((number, 0) if unit == "position" else (0, number))): KeyValue(key, value)
        for batch in batches
        for number, key, value in zip(
            *(batch.column(name).to_pylist() for name in (f"source_{unit}", "key", "value")),
            strict=True,
        )
    }
    assert len(every) == COUNT
    assert records_at(source, files, list(every)[::-7]) == {
        place: every[place] for place in list(every)[::-7]
    }


def _batches(source: Source) -> Any:
    columns = columns_of(source, files_of(source))
    for group in columns.groups(1):
        yield from columns.read(group)


def test_a_source_that_changes_meanwhile_is_said(log_dir, source):
    path = files_of(source)[0].path
    init = ShownSamples.__init__

    def changed(self, *arguments):
        time_ns = os.stat(path).st_mtime_ns + 1
        os.utime(path, ns=(time_ns, time_ns))
        init(self, *arguments)

    with patch.object(ShownSamples, "__init__", changed):
        found = samples(log_dir, source)
    for one in found["missing"]:
        assert one["source_record"] is None
        assert one["not_shown"] == f"the record is not shown: {reading_again.CHANGED}"
    altered = next(one for one in found["altered"] if one["source"])
    assert altered["message"]
    assert altered["message"]["value_differs"] is None


def test_a_source_that_has_gone_meanwhile_is_said(source):
    files = files_of(source)
    os.unlink(files[0].path)
    place = Place(0, 0, 0)
    assert records_at(source, files, [place]) == {place: reading_again.CHANGED}


def test_a_log_that_changes_meanwhile_is_said(log_dir, source):
    init = ShownSamples.__init__

    def gone(self, *arguments):
        for path in log_dir.glob("t-*/*.log"):
            path.unlink()
        init(self, *arguments)

    with patch.object(ShownSamples, "__init__", gone):
        found = samples(log_dir, source)
    (extra,) = found["extra"]
    assert extra["message"] is None
    assert "the message is not shown: the log has changed" in extra["not_shown"]


def test_row_of_a_dataframe_is_said():
    (why,) = records_at(DATAFRAME, [], [Place(0, 0, 7)]).values()
    assert why == "it is a row of a DataFrame, which is not read again"


@pytest.mark.parametrize("kind", ["csv", "txt.gz"])
def test_a_file_too_large_to_be_read_again_is_said(tmp_path, kind, monkeypatch):
    source = write_source(kind, tmp_path)
    files = files_of(source)
    monkeypatch.setattr(reading_again, "MOST_BYTES", 10)
    (why,) = records_at(source, files, [Place(0, 10, 0)]).values()
    assert "too large" in why


@pytest.mark.parametrize("header", [True, False])
def test_of_a_csv_file_that_was_cut_only_the_piece_is_read(tmp_path, header, monkeypatch):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 500)
    names = ("id", "text") if header else ("_c0", "_c1")
    written = write_source("csv", tmp_path).paths
    source = Source(written, format="csv", key=names[0], value=names[1], header=header)
    files = files_of(source)
    columns = columns_of(source, files, TwoAtOnce())
    assert isinstance(columns, FileColumns)
    assert len(columns.pieces) > 5
    every = [KeyValue(key.encode(), value.encode()) for key, value in PAIRS]
    if not header:
        every.insert(0, KeyValue(b"id", b"text"))
    read: list[list[Piece]] = []
    real = FileColumns.read
    spy = lambda self, some: read.append(some) or real(self, some)  # noqa: E731
    monkeypatch.setattr(FileColumns, "read", spy)
    for row, record in enumerate(every):
        place = Place(0, 0, row)
        assert records_at(source, files, [place], columns) == {place: record}
    assert len(read) == len(every)
    assert {len(some) for some in read} == {1}
    # The bound is for what has to be read, and that is a piece.
    monkeypatch.setattr(reading_again, "MOST_BYTES", max(p.size_bytes for p in columns.pieces))
    last = Place(0, 0, len(every) - 1)
    assert records_at(source, files, [last], columns) == {last: every[-1]}


def test_of_a_large_text_file_only_the_lines_are_read(tmp_path, monkeypatch):
    source = write_source("txt", tmp_path)
    files = files_of(source)
    last = max(row for batch in _batches(source) for row in batch["source_position"].to_pylist())
    monkeypatch.setattr(line_columns, "BLOCK_BYTES", 16)
    seen = []
    monkeypatch.setattr(reading_again, "_of_batch", lambda *found: seen.append(found[1]) or {})
    records_at(source, files, [Place(0, last, 0)])
    assert [len(batch) for batch in seen] == [1]


def test_a_rejected_record_says_why(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,text\na,b\nc\n")
    source = Source((str(path),), format="csv", key="id", value="text")
    files = files_of(source)
    (why,) = records_at(source, files, [Place(0, 0, 1)]).values()
    assert why == "it can be no message: it has 1 fields, not 2"
