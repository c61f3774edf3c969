"""Just the records that a findings file calls missing: in every format, whole or in pieces."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.errors import SourceError
from kminilog.jobs.source import pieces, topic_columns
from kminilog.jobs.source.columns import columns_of
from kminilog.jobs.source.description import Source, files_of
from kminilog.jobs.source.selection import check_selected
from tests.jobs.accounting.test_shown_samples import COUNT, PAIRS, write_source
from tests.support.jobs.source.plain import records_of

WANTED = [0, 3, 4, 77, COUNT - 1]


@pytest.fixture(params=["txt", "txt.gz", "csv", "json", "parquet", "kcat", "kminilog"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    return write_source(request.param, tmp_path)


def finding(source: Source, record: dict[str, Any], kind: str = "missing") -> dict[str, Any]:
    """A row as `verify --findings` writes it, as far as it names a record."""
    place = {"source_row": None, "source_position": record["source_position"]}
    if source.has_rows:
        place = {"source_row": record["source_row"] + 1, "source_position": None}
    file = files_of(source)[record["source_rank"]].path
    return {"class": kind, "topic": "t", "source_file": file, **place}


def write_findings(path: Path, rows: list[dict[str, Any]]) -> str:
    if path.suffix == ".parquet":
        kinds = [pa.string(), pa.string(), pa.string(), pa.int64(), pa.int64()]
        schema = pa.schema(list(zip(rows[0], kinds, strict=True)))
        pq.write_table(pa.Table.from_pylist(rows, schema), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.parametrize("name", ["f.jsonl", "f.parquet"])
def test_missing_records_are_read_and_no_others(source, tmp_path, name, monkeypatch):
    for module in (pieces, topic_columns):
        monkeypatch.setattr(module, "SPLIT_BYTES", 500)
    records = records_of(source)
    rows = [finding(source, records[number]) for number in reversed(WANTED)]
    rows += [finding(source, records[9], "extra"), finding(source, records[8], "altered")]
    only = replace(source, only=write_findings(tmp_path / name, rows))
    assert records_of(only) == [records[number] for number in WANTED]
    check_selected(only, files_of(only), len(WANTED))
    with pytest.raises(SourceError, match=r"calls 5 records missing, but the source has 4 of"):
        check_selected(only, files_of(only), 4)


def test_files_without_a_missing_record_are_not_read(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("".join(f"{k}:{v}\n" for k, v in PAIRS))
    source = Source(tuple(str(tmp_path / name) for name in "abc"))
    record = records_of(source)[COUNT + 5]
    only = write_findings(tmp_path / "f.jsonl", [finding(source, record)])
    columns = columns_of(replace(source, only=only), files_of(source))
    assert [item.rank for group in columns.groups(4) for item in group] == [1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it calls no record missing; --allow-empty allows that"),
        ('{"class": "extra", "source_file": null}\n', "it calls no record missing"),
        ("k1 v1\n", "it is no file that `verify --findings` has written: "),
        ('{"verdict": "ok"}\n', "it is no file that `verify --findings` has written: a line is no"),
        ('{"class": "missing", "source_file": "/x"}\n', "missing from /x, which is no file of"),
        ('{"class": "missing", "source_file": null}\n', "missing from None, which is no file of"),
        ('{"class": "missing", "source_file": "PATH", "source_row": 3, "source_position": null}\n',
         "it names no record of .* as format text has them; give the options of that `verify`"),
    ],
)  # fmt: skip
def test_file_that_does_not_fit_is_one_line(tmp_path, text, reason):
    source = write_source("txt", tmp_path)
    path = tmp_path / "f.jsonl"
    path.write_text(text.replace("PATH", source.paths[0]))
    with pytest.raises(SourceError, match=reason) as caught:
        records_of(replace(source, only=str(path)))
    assert str(caught.value).startswith(f"source {path}: ")
    assert "\n" not in str(caught.value)


def test_parquet_file_of_other_columns_is_one_line(tmp_path):
    source = write_source("txt", tmp_path)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "f.parquet")
    with pytest.raises(SourceError, match="it is no file that `verify --findings` has written"):
        records_of(replace(source, only=str(tmp_path / "f.parquet")))


def test_nothing_missing_is_an_empty_source_where_that_is_allowed(tmp_path):
    source = write_source("txt", tmp_path)
    only = write_findings(tmp_path / "f.jsonl", [finding(source, records_of(source)[0], "extra")])
    assert records_of(replace(source, only=only, allow_empty=True)) == []


def test_selection_is_part_of_what_a_job_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Source(("a",), only="f.jsonl").to_json()["only"] == f"{tmp_path}/f.jsonl"
    assert "only" not in Source(("a",)).to_json()
    assert "allow_empty" not in Source(("a",), allow_empty=True).to_json()
