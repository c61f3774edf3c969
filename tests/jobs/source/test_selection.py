"""Just the records that a findings file calls missing: in every format, whole or in pieces."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.columns.digests import as_texts, digests
from kminilog.errors import SourceError
from kminilog.jobs.source import pieces, topic_columns
from kminilog.jobs.source.columns import columns_of
from kminilog.jobs.source.description import Source, files_of
from kminilog.jobs.source.selection import read_missing
from tests.support.jobs.source.plain import records_of
from tests.verification.account.test_shown_samples import COUNT, PAIRS, write_source

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
    found = digests(*(pa.array([record[name]], pa.binary()) for name in ("key", "value")))
    row = {"class": kind, "topic": "t", "source_file": file, **place}
    return {**row, "source_digest": as_texts(found)[0]}


def write_findings(path: Path, rows: list[dict[str, Any]]) -> str:
    if path.suffix == ".parquet":
        kinds = [pa.string(), pa.string(), pa.string(), pa.int64(), pa.int64(), pa.string()]
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


def test_files_without_a_missing_record_are_not_read(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("".join(f"{k}:{v}\n" for k, v in PAIRS))
    source = Source(tuple(str(tmp_path / name) for name in "abc"))
    record = records_of(source)[COUNT + 5]
    only = write_findings(tmp_path / "f.jsonl", [finding(source, record)])
    columns = columns_of(replace(source, only=only), files_of(source))
    assert [item.rank for group in columns.groups(4) for item in group] == [1]


NO_FILE = "it is no file that `verify --findings` has written: "
SOUND = {
    "class": "missing",
    "topic": "t",
    "source_file": "PATH",
    "source_row": None,
    "source_position": 0,
    "source_digest": "0123456789abcdef-0123456789abcdef",
}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it lists no missing record; --allow-empty allows that"),
        ({"class": "extra", "source_file": None}, "it lists no missing record"),
        ({"class": "bad-crc"}, "it lists no missing record"),
        ("k1 v1\n", NO_FILE),
        ('{"verdict": "ok"}\n', NO_FILE + "a line is no finding"),
        ({"source_file": "/x"}, "a record is missing from /x, which is no file of this source"),
        ({"source_file": None}, "a record is missing, but it does not say from which file"),
        ({"source_row": 3, "source_position": None},
         "it names no record of .* as format text has them; give the options of that `verify`"),
        ({"source_position": 1.5}, "source_position is 1.5, which is no whole number"),
        ({"source_position": "7"}, "source_position is '7', which is no whole number"),
        ({"source_position": -1}, "no file has a record number -1"),
        ({"source_position": 1 << 63}, f"no file has a record number {1 << 63}"),
        ({"source_digest": None}, "it does not say which records are missing, only where; an older "
         "version made it: run `verify --findings` again"),
        ({"source_digest": "abc"}, "source_digest is 'abc', which is no digest: run `verify"),
    ],
)  # fmt: skip
def test_file_that_does_not_fit_is_one_line(tmp_path, text, reason):
    source = write_source("txt", tmp_path)
    path = tmp_path / "f.jsonl"
    if isinstance(text, dict):
        text = json.dumps({**SOUND, **text}) + "\n"
    path.write_text(text.replace("PATH", source.paths[0]))
    with pytest.raises(SourceError, match=reason) as caught:
        records_of(replace(source, only=str(path)))
    assert str(caught.value).startswith(f"source {path}: ")
    assert "\n" not in str(caught.value)


def test_two_records_at_one_place_are_refused(tmp_path):
    source = write_source("txt", tmp_path)
    record = finding(source, records_of(source)[3])
    twice = write_findings(tmp_path / "f.jsonl", [record, record])
    assert len(records_of(replace(source, only=twice))) == 1
    other = {**record, "source_digest": SOUND["source_digest"]}
    other = write_findings(tmp_path / "f.jsonl", [record, other])
    with pytest.raises(SourceError, match=r"it names two records at one place of .*a\.txt"):
        records_of(replace(source, only=other))


def test_parquet_file_of_other_columns_is_one_line(tmp_path):
    source = write_source("txt", tmp_path)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "f.parquet")
    with pytest.raises(SourceError, match="it is no file that `verify --findings` has written"):
        records_of(replace(source, only=str(tmp_path / "f.parquet")))


@pytest.mark.parametrize("kind", ["txt", "parquet"])
@pytest.mark.parametrize("by", ["pandas", "spark"])
@pytest.mark.parametrize("name", ["f.jsonl", "f.parquet"])
def test_file_that_a_program_has_saved_again_is_read(tmp_path, kind, by, name):
    source = write_source(kind, tmp_path)
    records = records_of(source)
    rows = [finding(source, records[number]) | {"source_line": number + 1} for number in WANTED]
    rows.append(dict.fromkeys(rows[0]) | {"class": "bad-crc", "topic": "t"})
    if by == "pandas":  # a column of numbers with nulls: they are floats; null is NaN in Parquet
        nothing = math.nan if name == "f.parquet" else None
        rows = [
            {
                **{n: float(cell) if type(cell) is int else cell for n, cell in row.items()},
                **{n: nothing for n, cell in row.items() if cell is None and n != "source_file"},
                "source_digest": row["source_digest"],
                "all null": None,
            }
            for row in rows
        ]
    elif name == "f.jsonl":  # without nulls
        rows = [{n: cell for n, cell in row.items() if cell is not None} for row in rows]
    rows = [dict(reversed(row.items())) for row in rows]
    if name == "f.jsonl":
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert by == "spark" or ".0," in (tmp_path / name).read_text()
    else:
        table = pa.Table.from_pylist(rows)
        pq.write_table(table, tmp_path / name)
        assert by == "spark" or pa.float64() in table.schema.types
    only = replace(source, only=str(tmp_path / name))
    assert records_of(only) == [records[number] for number in WANTED]
    other = replace(only, format="csv" if kind == "txt" else "text")
    with pytest.raises(SourceError, match=f"it names no record of .* as format {other.format} has"):
        read_missing(other)


def test_nothing_missing_is_an_empty_source_where_that_is_allowed(tmp_path):
    source = write_source("txt", tmp_path)
    only = write_findings(tmp_path / "f.jsonl", [finding(source, records_of(source)[0], "extra")])
    assert records_of(replace(source, only=only, allow_empty=True)) == []


def test_selection_is_part_of_what_a_job_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Source(("a",), only="f.jsonl").to_json()["only"] == f"{tmp_path}/f.jsonl"
    assert "only" not in Source(("a",)).to_json()
    assert "allow_empty" not in Source(("a",), allow_empty=True).to_json()
