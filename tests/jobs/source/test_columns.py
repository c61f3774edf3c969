"""Records as they come out of a source: keys, values and source order."""

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.errors import SourceError
from kminilog.jobs.source import pieces
from kminilog.jobs.source.description import Place, Source, locate
from kminilog.jobs.source.source_files import list_files
from tests.support.jobs.source.plain import records_of

Pairs = list[tuple[bytes | None, bytes | None]]

LINES = [b"k1 one", b"k2 \xff\0\r", b"", b"nokey", b"k1 one"]


def read(*paths: Path, **options: Any) -> Pairs:
    """Return keys and values of a source, in source order."""
    source = Source(tuple(map(str, paths)), **options)
    return [(row["key"], row["value"]) for row in records_of(source)]


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


def test_read_source_text_by_regex_takes_group_1_of_the_bytes_or_no_key(text):
    pairs = read(text, key_regex=r"^(k\d|k\xff) ")
    assert pairs == list(zip([b"k1", b"k2", None, None, b"k1"], LINES, strict=True))


def test_read_source_text_by_regex_without_group_takes_the_whole_match(text):
    keys = [key for key, _ in read(text, key_regex=r"[^ ]*$")]
    assert keys == [b"one", b"\xff\0\r", b"", b"nokey", b"one"]


def test_read_source_text_by_column_value_keeps_the_bytes(text):
    assert read(text, key="value", value="value") == [(line, line) for line in LINES]


# ---- csv


def test_read_source_csv_by_column_has_the_row_as_json(table):
    assert read(table, format="csv", key="b") == [
        (b"x\r\ny", b'{"a":"1","b":"x\\r\\ny","c \\"`":null}'),
        ("é".encode(), '{"a":null,"b":"é","c \\"`":"z"}'.encode()),
    ]


def test_read_source_csv_by_regex_looks_at_the_row_as_json(table):
    assert [k for k, _ in read(table, format="csv", key_regex='"a":"(.)"')] == [b"1", None]


def test_read_source_csv_takes_a_column_with_odd_signs_as_value(table):
    assert read(table, format="csv", key="a", value='c "`') == [(b"1", None), (None, b"z")]


def test_read_source_csv_without_header_counts_its_columns(table):
    pairs = read(table, format="csv", header=False, key="_c0", value="_c1")
    assert pairs == [(b"a", b"b"), (b"1", b"x\r\ny"), (None, "é".encode())]


# ---- json


def test_read_source_json_by_column_has_the_line_as_value(objects):
    assert read(objects, format="json", key="a") == [
        (b"1.50", b'{"a": 1.50, "b": {"x": [1, 2]}}'),
        (None, b'{"b": "t", "a": null}'),
    ]


def test_read_source_json_by_regex_looks_at_the_line(objects):
    assert [key for key, _ in read(objects, format="json", key_regex="[{](.)")] == [b'"', b'"']


# ---- parquet


def test_read_source_parquet_by_column_has_the_row_as_json(parquet):
    assert read(parquet, format="parquet", key="b")[:2] == [
        (b"\xff", '{"n":1,"b":"/w==","s":"é","o":{"q":0}}'.encode()),
        (None, b'{"n":2,"b":null,"s":"y","o":{"q":1}}'),
    ]


def test_read_source_parquet_takes_a_file_after_a_directory(parquet, tmp_path):
    (tmp_path / "d" / "day=1").mkdir(parents=True)
    pq.write_table(pa.table({"b": [b"in d"]}), tmp_path / "d" / "day=1" / "p.parquet")
    keys = [key for key, _ in read(tmp_path / "d", parquet, format="parquet", key="b")]
    assert keys == [b"in d", *pq.read_table(parquet)["b"].to_pylist()]


# ---- order and place


def test_read_source_of_several_arguments_is_in_source_order(tmp_path, monkeypatch):
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
        ("j.json", {"format": "json", "key": "id"}, "no line has a member 'id'"),
        ("t.txt", {"key": "value", "key_regex": "x"}, "give a key column or a key regex"),
        ("t.txt", {"key_regex": "("}, "key_regex '[(]': missing"),
        ("c.csv", {"format": "csv", "value": "nope"}, "no column 'nope'; there is: a, b"),
        ("j.json", {"format": "json", "value": "nope"}, "no line has a member 'nope'"),
        ("t.txt", {"format": "parquet"}, r"t\.txt: cannot be read as Parquet: "),
        ("none", {}, r"none: no such file"),
    ],
)
def test_read_source_that_cannot_be_read_is_a_source_error_in_one_line(
    text, table, objects, name, options, reason
):
    with pytest.raises(SourceError, match=reason) as caught:
        read(text.parent / name, **options)
    assert "\n" not in str(caught.value)
    assert str(text.parent / name) in str(caught.value)
