"""Records as they come out of a source: keys, values and source order."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kminilog.job_errors import SourceError
from kminilog.source import pieces
from kminilog.source.description import Place, Source, locate
from kminilog.source.files import list_files
from kminilog.spark.runtime.failures import spark_failures
from kminilog.spark.source.records import read_source

Pairs = list[tuple[bytes | None, bytes | None]]
Read = Callable[..., Pairs]

LINES = [b"k1 one", b"k2 \xff\0\r", b"", b"nokey", b"k1 one"]


@pytest.fixture
def read(spark: SparkSession) -> Read:
    """Return keys and values of a source, in source order."""

    def read_pairs(*paths: Path, **options: Any) -> Pairs:
        source = Source(tuple(map(str, paths)), **options)
        records = read_source(spark, source)
        with spark_failures(str(source)):
            rows = records.orderBy("source_rank", "source_position", "source_row").collect()
        return [(row["key"], row["value"]) for row in rows]

    return read_pairs


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "t.txt"
    path.write_bytes(b"\n".join(LINES))
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "c.csv"
    path.write_bytes('a,b,"c ""`"\r\n1,"x\r\ny",\r\n,é,z\r\n'.encode())
    return path


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    path = tmp_path / "j.json"
    path.write_text('{"a": 1.50, "b": {"x": [1, 2]}}\n\n{"b": "t", "a": null}\n')
    return path


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "p +%20[1] ü.parquet"
    columns = {"n": [1, 2, 3], "b": [b"\xff", None, b""], "s": ["é", "y", "z"]}
    pq.write_table(pa.table({**columns, "o": [{"q": i} for i in range(3)]}), path, row_group_size=1)
    return path


# ---- text


def test_read_source_text_by_regex_takes_group_1_of_the_bytes_or_no_key(read, text):
    pairs = read(text, key_regex=r"^(k\d|k\xff) ")
    assert pairs == list(zip([b"k1", b"k2", None, None, b"k1"], LINES, strict=True))


def test_read_source_text_by_regex_without_group_takes_the_whole_match(read, text):
    keys = [key for key, _ in read(text, key_regex=r"[^ ]*$")]
    assert keys == [b"one", b"\xff\0\r", b"", b"nokey", b"one"]


def test_read_source_text_by_sql_has_one_column_value(read, text):
    pairs = read(text, key_expr="substring_index(value, ' ', 1)", value="length(value)")
    assert pairs[0] == (b"k1", b"6")
    assert pairs[2:4] == [(b"", b"0"), (b"nokey", b"5")]


def test_read_source_by_sql_may_have_an_asterisk_that_is_not_all_columns(read, table):
    pairs = read(table, format="csv", key_expr="a * 2", value="concat(a, '(*)')")
    assert pairs[0] == (b"2", b"1(*)")


def test_read_source_text_by_column_value_keeps_the_bytes(read, text):
    assert read(text, key="value", value="value") == [(line, line) for line in LINES]


# ---- csv


def test_read_source_csv_by_column_has_the_row_as_json(read, table):
    assert read(table, format="csv", key="b") == [
        (b"x\r\ny", b'{"a":"1","b":"x\\r\\ny","c \\"`":null}'),
        ("é".encode(), '{"a":null,"b":"é","c \\"`":"z"}'.encode()),
    ]


def test_read_source_csv_by_regex_looks_at_the_row_as_json(read, table):
    assert [k for k, _ in read(table, format="csv", key_regex='"a":"(.)"')] == [b"1", None]


def test_read_source_csv_takes_a_column_with_odd_signs_as_value(read, table):
    assert read(table, format="csv", key="a", value='c "`') == [(b"1", None), (None, b"z")]


def test_read_source_csv_without_header_counts_its_columns(read, table):
    pairs = read(table, format="csv", header=False, key="_c0", value="concat(_c0, _c1)")
    assert pairs == [(b"a", b"ab"), (b"1", b"1x\r\ny"), (None, None)]


def test_read_source_csv_tells_columns_apart_that_differ_in_case(read, tmp_path):
    (tmp_path / "c.csv").write_text("id,ID\n1,2\n")
    pairs = read(tmp_path / "c.csv", format="csv", key="ID")
    assert pairs == [(b"2", b'{"id":"1","ID":"2"}')]


# ---- json


def test_read_source_json_by_column_has_the_line_as_value(read, objects):
    assert read(objects, format="json", key="a") == [
        (b"1.50", b'{"a": 1.50, "b": {"x": [1, 2]}}'),
        (None, b'{"b": "t", "a": null}'),
    ]


def test_read_source_json_by_sql_sees_members_as_text(read, objects):
    pairs = read(objects, format="json", key_expr="a || '!'", value="b")
    assert pairs == [(b"1.50!", b'{"x": [1, 2]}'), (None, b"t")]


def test_read_source_json_by_regex_looks_at_the_line(read, objects):
    assert [key for key, _ in read(objects, format="json", key_regex="[{](.)")] == [b'"', b'"']


# ---- parquet


def test_read_source_parquet_by_column_has_the_row_as_json(read, parquet):
    assert read(parquet, format="parquet", key="b")[:2] == [
        (b"\xff", '{"n":1,"b":"/w==","s":"é","o":{"q":0}}'.encode()),
        (None, b'{"n":2,"b":null,"s":"y","o":{"q":1}}'),
    ]


def test_read_source_parquet_takes_a_file_after_a_directory(read, parquet, tmp_path):
    (tmp_path / "d" / "day=1").mkdir(parents=True)
    pq.write_table(pa.table({"b": [b"in d"]}), tmp_path / "d" / "day=1" / "p.parquet")
    keys = [key for key, _ in read(tmp_path / "d", parquet, format="parquet", key="b")]
    assert keys == [b"in d", *pq.read_table(parquet)["b"].to_pylist()]


def test_read_source_parquet_by_sql_and_nested_value(read, parquet):
    pairs = read(parquet, format="parquet", key_expr="n * 2", value="o")
    assert pairs == [(b"2", b'{"q":0}'), (b"4", b'{"q":1}'), (b"6", b'{"q":2}')]


def test_read_source_parquet_directory_has_its_partition_columns_and_all_files_columns(
    read, tmp_path
):
    for day, table in {"1": pa.table({"a": ["x"]}), "2": pa.table({"b": ["y"]})}.items():
        (tmp_path / "t" / f"day={day}").mkdir(parents=True)
        pq.write_table(table, tmp_path / "t" / f"day={day}" / "f.parquet")
    assert read(tmp_path / "t", format="parquet", key="day") == [
        (b"1", b'{"a":"x","b":null,"day":1}'),
        (b"2", b'{"a":null,"b":"y","day":2}'),
    ]


# ---- what cannot be decoded


@pytest.mark.parametrize(
    ("format", "content", "reason", "place"),
    [
        ("csv", b"a,b\n1,2\nx\n3,4\n", "it has 1 fields, not 2", (0, 0, 1)),
        ("csv", b"a,b\n1,2\nx,\xff\n3,4\n", "it is not valid UTF-8", (0, 0, 1)),
        ("json", b'{"a": 1}\n["x"]\n{"a": 3}\n', "it is no JSON object: not an", (0, 9, 1)),
    ],
)
@pytest.mark.parametrize("key", [{"key_expr": "cast(a AS int)"}, {"key_regex": "."}, {"key": "a"}])
def test_read_source_rejects_a_record_keeps_its_place_and_asks_no_expression(
    spark, tmp_path, format, content, reason, place, key
):
    path = tmp_path / "source"
    path.write_bytes(content)
    value = "coalesce(a, raise_error('evaluated'))"
    records = read_source(spark, Source((str(path),), format=format, value=value, **key))
    rows = records.orderBy("source_position", "source_row").collect()
    assert [row["value"] for row in rows] == [b"1", None, b"3"]
    assert rows[1][:5] == (*place, None, None)
    assert [row["rejected"] for row in rows[::2]] == [None, None]
    assert rows[1]["rejected"].startswith(reason)


def test_read_source_rejects_no_text_and_no_parquet(spark, text, parquet):
    for path, format in ((text, "text"), (parquet, "parquet")):
        records = read_source(spark, Source((str(path),), format=format))
        assert records.where("rejected IS NOT NULL").count() == 0


# ---- order and place


def test_read_source_of_several_arguments_is_in_source_order(read, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 50)
    (tmp_path / "d").mkdir()
    expected: list[bytes] = []
    for name in ("z.txt", "d/a.txt", "d/b.txt.gz"):
        lines = [b"%s line %d" % (name.encode(), number) for number in range(40)]
        data = b"\n".join(lines) + b"\n"
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        expected += lines
    assert [value for _, value in read(tmp_path / "z.txt", tmp_path / "d")] == expected


def test_locate_names_line_or_row(tmp_path, text, table):
    (tmp_path / "t.txt.gz").write_bytes(gzip.compress(text.read_bytes()))
    for name in ("t.txt", "t.txt.gz"):
        path = tmp_path / name
        source = Source((str(path),))
        places = [Place(0, 7, 1), Place(0, 0, 0), Place(0, 15, 3)]
        assert locate(source, list_files(source.paths), places) == {
            places[0]: f"{path}, line 2",
            places[1]: f"{path}, line 1",
            places[2]: f"{path}, line 4",
        }
    source = Source((str(table),), format="csv")
    place = Place(0, 0, 1)
    assert locate(source, list_files(source.paths), [place]) == {place: f"{table}, row 2"}


# ---- what cannot be read


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("t.txt", {"format": "xml"}, "no format 'xml'; there is: text, csv"),
        ("t.txt", {"key": "host"}, "no column 'host'; there is: value$"),
        ("c.csv", {"format": "csv", "key": "A"}, "no column 'A'; there is: a, b"),
        ("j.json", {"format": "json", "key": "id"}, "no column 'id'; there is: a, b$"),
        ("t.txt", {"key": "value", "key_regex": "x"}, "give one of"),
        ("t.txt", {"key_regex": "("}, "key regex '[(]': missing"),
        ("t.txt", {"key_expr": "upper("}, "PARSE_SYNTAX_ERROR"),
        ("c.csv", {"format": "csv", "value": "nope"}, "no column 'nope'; there is: a, b"),
        ("j.json", {"format": "json", "value": "nope"}, "no column 'nope'; there is: a, b$"),
        ("t.txt", {"value": "upper(host)"}, r"`host` cannot.*one of the following\? \[`value`\]"),
        ("t.txt", {"key_expr": "cast(value AS int)"}, "CAST_INVALID_INPUT"),
        ("c.csv", {"format": "csv", "value": "*"}, r"\*: write the names of the columns, not \*"),
        ("c.csv", {"format": "csv", "value": "struct( * )"}, "write the names"),
        ("c.csv", {"format": "csv", "key_expr": "hash(a, * except (a))"}, "write the names"),
        ("t.txt", {"format": "parquet"}, r"t\.txt.*Could not read footer"),
        ("none", {}, r"none: no such file"),
    ],
)
def test_read_source_that_cannot_be_read_is_a_source_error_in_one_line(
    read, text, table, objects, name, options, reason
):
    with pytest.raises(SourceError, match=reason) as caught:
        read(text.parent / name, **options)
    assert "\n" not in str(caught.value)
    assert str(text.parent / name) in str(caught.value)
