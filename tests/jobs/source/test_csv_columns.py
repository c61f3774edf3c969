"""Fields of CSV files as Arrow columns: the same as those that are read record by record."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kminilog.errors import SourceError
from kminilog.jobs.source import csv_columns
from kminilog.jobs.source.csv_columns import read_fields
from tests.jobs.source.plain import read_csv

PIECES = [b"a", b"bb", b",", b"\n", b"\r\n", b'"', b'""', b'","', b'"\n', b"\xff", "é".encode()]
PIECES += [b"\r", b"\x00", b" ", b"\xef\xbb\xbf", b'"x,\n""y"', b"\n\n"]
contents = st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join)


def one_by_one(path, names, header):
    found = []
    for records in read_csv(str(path), names, header=header):
        found += zip(map(list, records.fields), records.rejected, strict=True)
    return found


def as_columns(path, names, header):
    found = []
    for columns, rejected in read_fields(str(path), names, range(len(names)), header=header):
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        found += zip(map(list, rows), rejected.to_pylist(), strict=True)
    return found


def outcome(read, *arguments):
    try:
        return read(*arguments)
    except SourceError as error:
        return str(error)


@given(contents, st.integers(1, 3), st.sampled_from([1, 2, 3, 7, 1 << 20]))
@example(b'a,b\n"x""y","\n"\n,\n', 2, 1 << 20)
@example(b'"a","b"\r\n"",c\r\n', 2, 1 << 20)
@example(b'a\n"b"c\n', 1, 1 << 20)
@example(b'a\n\n"', 1, 2)
def test_fields_are_those_that_are_read_one_by_one(tmp_path_factory, content, width, block_bytes):
    path = tmp_path_factory.mktemp("csv") / "some.csv"
    names = [f"_c{number}" for number in range(width)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_columns, "BLOCK_BYTES", block_bytes)
        for header, text in ((False, content), (True, b",".join([b""] * width) + b"\n" + content)):
            path.write_bytes(text)
            assert outcome(as_columns, path, names, header) == outcome(
                one_by_one, path, names, header
            )


def test_block_of_plain_records_is_not_read_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_columns, "csv_records", None)
    path = tmp_path / "plain.csv"
    path.write_bytes(b'a,b\n"x, ""y""\n",1\r\n,2\n"",\n')
    assert as_columns(path, ["a", "b"], True) == [
        (['x, "y"\n', "1"], None),
        ([None, "2"], None),
        ([None, None], None),
    ]


def test_record_that_never_ends_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_columns, "BLOCK_BYTES", 100)
    monkeypatch.setattr(csv_columns, "_LONGEST_BYTES", 300)
    path = tmp_path / "endless.csv"
    path.write_bytes(b'a,b\n1,2\n3,"' + b"x\n" * 1000)
    with pytest.raises(SourceError, match="line 1002: unexpected end of data"):
        as_columns(path, ["a", "b"], True)


@pytest.mark.parametrize("header", [True, False])
def test_file_of_empty_lines_has_no_columns_and_no_records(tmp_path, header):
    path = tmp_path / "empty.csv"
    path.write_bytes(b"\n\r\n\n")
    assert as_columns(path, [], header) == one_by_one(path, [], header) == []
