"""Fields of CSV files as Arrow columns: the same as those that are read record by record."""

import csv
import gzip
import io
import json
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kminilog.errors import SourceError
from kminilog.jobs.source import csv_columns, pieces
from kminilog.jobs.source.csv_columns import csv_pieces, read_fields
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.file_columns import FileColumns
from kminilog.jobs.source.pieces import Piece
from kminilog.jobs.source.source_files import SourceFile, list_files
from kminilog.jobs.source.tasks import LocalTasks
from tests.support.jobs.source.plain import read_csv

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


MARK = b"\xef\xbb\xbf"
REGULAR = {
    "plain": b"a,b\n1,2\n33,4\n",
    "doubled quotes": b'a,b\n"""x""","y"""\n"""""",""\n1,"""\n"""\n',
    "quoted newlines": b'a,b\n"\n\n","x\r\ny"\n1,"\r"\n"",\n2,2\n',
    "quoted commas": b'a,b\n",\n,",","\n1,2\n3,4\n',
    "returns": b'a,b\r\n"1",2\r\n"\r\n",\r\n\r\n3,"4"\r\n',
    "mark": MARK + b"a,b\n1,2\n" + MARK + b",4\n",
    "mark and quote": MARK + b'"a","b\n"\n1,2\n',
    "mark and empty lines": MARK + b"\r\n\na,b\n1,2\n",
    "empty lines": b"\n\r\n\na,b\n\n\n1,2\r\n\r\n\n3,4\n\n",
    "only empty lines": b"\n\n\r\n\n",
    "blank fields": b'a,b\n,\n"",""\n,\n,""\n',
    "no newline at the end": b'a,b\n1,2\n3,"4"',
    "a quote at the end": b'a,b\n1,"2\n"\n3,""',
    "a return at the end": b"a,b\n1,2\n3,4\r",
    "invalid UTF-8": b'a,b\n\xff,1\n2,"\xc3\n\xa9"\n3,\xc3\n\xa9,4\n',
    "other numbers of fields": b"a,b\n1\n2,2,2\n3,3\n4,\n,,,\n",
    "one column": b'a\n1\n""\n"\n"\n\n2\n\r\n3',
    "NUL": b"a,b\n\0,1\n\0\n2,\0\n",
    "one record": b"a,b,c",
}
IRREGULAR = {
    "a quote in a field": b'a,b\n1,2\n5" pipe,3\n4,4\n',
    "two quotes in a field": b'a,b\n1,x "y" z\n2,"\n"\n3,3\n',
    "after a quote": b'a,b\n1,2\n"3" ,4\n5,6\n',
    "a blank before a quote": b'a,b\n1, "2\n",3\n4,5\n',
    "never closed": b'a,b\n1,2\n3,"4\n5,6\n\n7,8\n',
    "closed at last": b'a,b\n1,2\n3,"4\n5,6"7\n8,9\n',
    "a return alone": b"a,b\n1,2\r3,4\n5,6\n",
    "two returns": b"a,b\n1,2\r\r\n3,4\n",
}
BLOCKS = [1, 2, 3, 1 << 20]  # bytes that are read at once
SMALL = {**REGULAR, **IRREGULAR}
FIELDS = st.text(st.sampled_from('a,"\n\ré '), max_size=4)


class Tasks(LocalTasks):
    """Tasks in this process that say that two run at once, and what they have got."""

    cores = 2

    def __init__(self):
        self.jobs = []

    def map(self, items, work):
        self.jobs.append([(Path(path).name, start, end) for path, start, end in items])
        return super().map(items, work)


def borders_of(content: bytes) -> list[tuple[int, int]]:
    """Return, by Python's `csv`, where each record or empty line ends, and the records so far."""
    origin = len(MARK) if content.startswith(MARK) else 0
    records, found = 0, []
    lines = io.StringIO(content[origin:].decode("latin-1"), newline="\n").readlines()
    reader = csv.reader(lines, strict=True)
    for record in reader:
        records += bool(record)
        found.append((origin + sum(map(len, lines[: reader.line_num])), records))
    return found


def expected_cuts(content: bytes, step: int) -> list[tuple[int, int]]:
    """Return the first border in each stretch of `step` bytes but the first, if more follows."""
    borders, found = borders_of(content), [(0, 0)]
    for start in range(step, len(content), step):
        within = [border for border in borders if start < border[0] <= start + step]
        if within and within[0][0] < len(content):
            found.append(within[0])
    return found


def cut(path: Path, step: int, block_bytes: int = 1 << 20) -> list[Piece]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "SPLIT_BYTES", step)
        patch.setattr(csv_columns, "SURVEY_BYTES", block_bytes)
        return csv_pieces(list_files([str(path)]), Tasks())


def as_cuts(parts: list[Piece]) -> list[tuple[int, int]]:
    assert [part.end for part in parts[:-1]] == [part.start for part in parts[1:]]
    return [(part.start, part.records_before) for part in parts]


def read(path: Path, header: bool, step: int) -> object:
    """Return all records in pieces of about `step` bytes, or the error of the first bad piece."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "SPLIT_BYTES", step)
        try:
            columns = FileColumns.of(
                Source((str(path),), "csv", header=header), list_files([str(path)]), Tasks()
            )
            return [
                tuple(row.values())
                for piece in columns.pieces
                for batch in columns.read([piece])
                for row in batch.to_pylist()
            ]
        except SourceError as error:
            return str(error)


def test_regular_files_are_cut_at_the_first_record_of_each_stretch(tmp_path):
    path = tmp_path / "some.csv"
    offenders = []
    for name, content in REGULAR.items():
        path.write_bytes(content)
        for step, size in product(range(1, len(content) + 2), BLOCKS):
            if as_cuts(cut(path, step, size)) != expected_cuts(content, step):
                offenders.append((name, step, size))
    assert offenders == []


@pytest.mark.parametrize("name", IRREGULAR)
def test_irregular_files_are_one_piece(tmp_path, name):
    path = tmp_path / "some.csv"
    path.write_bytes(IRREGULAR[name])
    for step, size in product(range(1, len(IRREGULAR[name]) + 2), BLOCKS):
        (piece,) = cut(path, step, size)
        assert piece.is_whole, (step, size)


def test_records_of_pieces_are_those_of_the_file_for_every_cut(tmp_path):
    path = tmp_path / "some.csv"
    offenders = []
    for name, content in SMALL.items():
        path.write_bytes(content)
        for header in (True, False):
            whole = read(path, header, 1 << 20)
            steps = range(1, len(content) + 1)
            wrong = [step for step in steps if read(path, header, step) != whole]
            offenders += [(name, header, step) for step in wrong]
    assert offenders == []


def test_fields_of_pieces_are_those_that_python_reads(tmp_path):
    path = tmp_path / "some.csv"
    offenders = []
    for name, content in REGULAR.items():
        path.write_bytes(content)
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            records = [record for record in csv.reader(file, strict=True) if record]
        expected = [
            [field or None for field in record]
            if len(record) == len(records[0])
            and not set("\udcff\udcc3\udca9") & set("".join(record))
            else None
            for record in records
        ]
        for step in (3, 8, 15):
            values = [value for *_, value, _ in read(path, False, step)]
            found = [value and list(json.loads(value).values()) for value in values]
            if found != expected:
                offenders.append((name, step, found, expected))
    assert offenders == []


def test_rows_are_counted_over_the_file_and_errors_tell_its_lines(tmp_path):
    path = tmp_path / "some.csv"
    path.write_bytes(REGULAR["other numbers of fields"])
    rows = [(row, reason) for _, _, row, *_, reason in read(path, True, 5)]
    wrong = "it has {} fields, not 2".format
    assert rows == [(0, wrong(1)), (1, wrong(3)), (2, None), (3, None), (4, wrong(4))]
    path.write_bytes(IRREGULAR["never closed"])
    assert "line 6: unexpected end of data" in read(path, True, 5)
    path.write_bytes(IRREGULAR["closed at last"])
    assert "line 4: ',' expected after '\"'" in read(path, True, 5)


@given(
    st.lists(st.lists(FIELDS, min_size=1, max_size=3), max_size=12),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.integers(1, 40),
    st.sampled_from([1, 2, 5, 1 << 20]),
)
def test_what_python_writes_is_cut_and_read_as_python_reads_it(
    tmp_path_factory, records, quoting, newline, has_mark, step, block_bytes
):
    if quoting == csv.QUOTE_MINIMAL and newline == "\n":  # Python would write a return unquoted
        records = [[field.replace("\r", "") for field in record] for record in records]
    text = io.StringIO()
    csv.writer(text, quoting=quoting, lineterminator=newline).writerows(records)
    content = MARK * has_mark + text.getvalue().encode()
    path = tmp_path_factory.mktemp("csv") / "some.csv"
    path.write_bytes(content)
    parts = cut(path, step, block_bytes)
    if len(content) <= step:
        assert parts[0].is_whole
    assert as_cuts(parts) == expected_cuts(content, step)
    found = []
    names = [f"_c{number}" for number in range(3)]
    for piece in parts:
        part = {"start": piece.start, "end": piece.stop, "header": False}
        for columns, rejected in csv_columns.read_fields(str(path), names, range(3), **part):
            rows = zip(*(column.to_pylist() for column in columns), strict=True)
            found += zip(rows, rejected.to_pylist(), strict=True)
    assert [fields for fields, _ in found] == [
        tuple(field or None for field in record) if len(record) == 3 else (None,) * 3
        for record in records
    ]


PARTS = [b"a", b"bb", b",", b"\n", b"\r\n", b'"', b'""', b'","', b'"\n', b"\xff", "é".encode()]
PARTS += [b"\r", b"\x00", b" ", MARK, b'"x,\n""y"', b"\n\n", b"a,b\n" * 3]


@given(st.lists(st.sampled_from(PARTS), max_size=30).map(b"".join), st.integers(1, 60))
@example(b'a\n"b\nc"\n', 3)
def test_records_of_pieces_of_anything_are_those_of_the_file(tmp_path_factory, content, step):
    path = tmp_path_factory.mktemp("csv") / "some.csv"
    path.write_bytes(content)
    for header in (True, False):
        assert read(path, header, step) == read(path, header, 1 << 20)


def test_only_large_files_that_are_not_compressed_are_looked_at_in_tasks(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 10)
    content = b"a,b\n" * 6
    (tmp_path / "1.csv").write_bytes(content)
    (tmp_path / "2.csv.gz").write_bytes(gzip.compress(content))
    (tmp_path / "3.csv").write_bytes(content[:8])
    (tmp_path / "4.csv").write_bytes(content + b'"')
    (tmp_path / "5.csv").write_bytes(content)
    tasks, source = Tasks(), Source((str(tmp_path),), "csv")
    columns = FileColumns.of(source, list_files(source.paths), tasks)
    parts = [(0, 10), (10, 20), (20, 24)]
    assert tasks.jobs == [
        [("1.csv", *part) for part in parts]
        + [("4.csv", *part) for part in [*parts[:2], (20, 25)]]
        + [("5.csv", *part) for part in parts]
    ]
    cuts = [(Path(piece.path).name[0], piece.start, piece.end) for piece in columns.pieces]
    assert [found for found in cuts if found[0] in "15"] == [
        (name, *part) for name in "15" for part in [(0, 12), (12, 24)]
    ]
    assert [found[0] for found in cuts] == ["1", "1", "2", "3", "4", "5", "5"]


def test_file_that_is_gone_is_a_source_error(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 10)
    path = tmp_path / "some.csv"
    path.write_bytes(b"a,b\n" * 6)

    class Late(Tasks):
        def map(self, items, work):
            path.unlink()
            return super().map(items, work)

    with pytest.raises(SourceError, match="No such file"):
        csv_pieces([SourceFile(0, str(path), 24, None)], Late())


def test_one_core_reads_a_file_once(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 10)
    monkeypatch.setattr(csv_columns, "_survey", None)
    path = tmp_path / "some.csv"
    path.write_bytes(b"a,b\n" * 6)
    (piece,) = csv_pieces(list_files([str(path)]), LocalTasks())
    assert piece.is_whole
