import bz2
import csv
import gzip
import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.errors import SourceError
from kminilog.jobs.source import formats
from kminilog.jobs.source.formats import csv_columns, json_members
from kminilog.jobs.source.line_columns import read_lines
from tests.support.jobs.source.plain import read_csv, read_json

NASTY_LINES = [
    b"\xef\xbb\xbfmark",
    b"",
    b"cr\r",
    b"nul\0",
    b"\xff\xfe",
    b"\r",
    "größer".encode(),
    b"",
]


def lines_of(path: Path, start: int = 0, end: int = sys.maxsize) -> list[tuple[int, bytes]]:
    found = []
    for row, positions, lines in read_lines(str(path), start, end):
        assert row == len(found)
        found += zip(positions.tolist(), lines.to_pylist(), strict=True)
    return found


def records_of(path: Path, columns: list[str], *, header: bool = True) -> list[list[str | None]]:
    batches = list(read_csv(str(path), columns, header=header))
    return [record for batch in batches for record in batch.fields]


# ---- text


@pytest.mark.parametrize("last", [b"", b"\n"])
def test_read_text_keeps_every_byte_of_every_line(tmp_path, last):
    path = tmp_path / "t"
    path.write_bytes(b"\n".join([*NASTY_LINES, b"end"]) + last)
    assert [line for _, line in lines_of(path)] == [*NASTY_LINES, b"end"]


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 100])
def test_read_text_in_pieces_gives_each_line_once_with_its_position(tmp_path, step):
    path = tmp_path / "t"
    data = b"\n".join(NASTY_LINES) + b"\nlast"
    path.write_bytes(data)
    found = [
        pair
        for start in range(0, len(data), step)
        for pair in lines_of(path, start, min(start + step, len(data)))
    ]
    assert [line for _, line in found] == [*NASTY_LINES, b"last"]
    assert all(data[position:].startswith(line) for position, line in found)
    assert found == lines_of(path)


def test_read_text_of_an_empty_file_is_no_line(tmp_path):
    (tmp_path / "t").write_bytes(b"")
    assert lines_of(tmp_path / "t") == []


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_read_text_that_is_compressed_is_decompressed(tmp_path, suffix, compress):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(compress(b"a\n\xff") + compress(b"b\nc\n"))  # two members, one content
    assert lines_of(path) == [(0, b"a"), (2, b"\xffb"), (5, b"c")]


@pytest.mark.parametrize(
    "data",
    [gzip.compress(b"some text" * 99)[:-20], b"no gzip"],
    ids=["cut", "no gzip"],
)
def test_read_text_of_broken_gzip_is_a_source_error_that_names_the_file(tmp_path, data):
    path = tmp_path / "t.gz"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=r"t\.gz: "):
        lines_of(path)


# ---- csv


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@given(
    rows=st.lists(
        st.lists(st.text(st.sampled_from("a,\"\n\r é\0'#"), max_size=6), min_size=2, max_size=2),
        max_size=8,
    )
)
def test_read_csv_gives_back_what_rfc_4180_wrote(tmp_path_factory, end, rows):
    path = tmp_path_factory.mktemp("csv") / "c.csv"
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([["x", "y"], *rows])
    path.write_bytes(text.getvalue().encode())
    assert records_of(path, ["x", "y"]) == [[field or None for field in row] for row in rows]


def test_read_csv_takes_an_empty_field_for_null_quoted_or_not(tmp_path):
    path = tmp_path / "c.csv"
    path.write_bytes(b'a,b,c\n1,,""\n')
    assert records_of(path, ["a", "b", "c"]) == [["1", None, None]]


def test_read_csv_skips_lines_without_anything_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "c.csv"
    path.write_bytes("\ufeffa,b\n\n1,2\n\n".encode())
    assert csv_columns([str(path)], header=True) == ["a", "b"]
    assert records_of(path, ["a", "b"]) == [["1", "2"]]


def test_csv_columns_without_header_or_name_are_numbered(tmp_path):
    path = tmp_path / "c.csv"
    path.write_bytes(b",b\n1,2\n")
    assert csv_columns([str(path)], header=True) == ["_c0", "b"]
    assert csv_columns([str(path)], header=False) == ["_c0", "_c1"]
    assert records_of(path, ["_c0", "_c1"], header=False) == [[None, "b"], ["1", "2"]]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'a,b\n1,"open\n', "line 2: unexpected end of data"),
        (b'a,b\n1,"x"y\n', "line 2: ',' expected after"),
        (b"b,a\n1,2\n", "column 1 of its header is 'b', that of the first file 'a'"),
    ],
)
def test_read_csv_that_breaks_the_format_is_a_source_error_that_names_the_place(
    tmp_path, data, reason
):
    path = tmp_path / "c.csv"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=rf"c\.csv: {reason}"):
        records_of(path, ["a", "b"])


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"x" * 100, "line 3 is longer than 40 bytes"),
        (
            b'1,"' + b"xxxxxxxxx\n" * 10,
            r"line \d: field larger than field limit \(40\); is a quote",
        ),
    ],
)
def test_csv_record_that_is_too_long_is_a_source_error_with_its_place(
    tmp_path, monkeypatch, record, reason
):
    path = tmp_path / "c.csv"
    path.write_bytes(b"a,b\n1,2\n" + record)
    monkeypatch.setattr(formats, "LONGEST_BYTES", 40)
    with pytest.raises(SourceError, match=rf"c\.csv: {reason}"):
        records_of(path, ["a", "b"])


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"3", "it has 1 fields, not 2"),
        (b"3,4,5", "it has 3 fields, not 2"),
        (b"3,\xff", "it is not valid UTF-8"),
    ],
)
def test_read_csv_rejects_a_record_that_cannot_be_decoded_and_reads_on(tmp_path, record, reason):
    path = tmp_path / "c.csv"
    path.write_bytes(b"a,b\n1,2\n%s\n5,6\n" % record)
    (batch,) = read_csv(str(path), ["a", "b"], header=True)
    assert batch.fields == [["1", "2"], [None, None], ["5", "6"]]
    assert batch.rejected == [None, reason, None]


@pytest.mark.parametrize("empty", [b"", b"\xef\xbb\xbf", b"\n\r\n"])
def test_csv_file_without_records_needs_no_header(tmp_path, empty):
    (tmp_path / "a.csv").write_bytes(empty)
    (tmp_path / "b.csv").write_bytes(b"a,b\n1,2\n")
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert csv_columns(paths, header=True) == ["a", "b"]
    assert csv_columns(paths, header=False) == ["_c0", "_c1"]
    assert csv_columns(paths[:1], header=True) == []
    assert records_of(tmp_path / "a.csv", ["a", "b"]) == []


def test_csv_columns_without_a_name_never_take_that_of_another(tmp_path):
    path = tmp_path / "c.csv"
    path.write_bytes(b"a,,_c1,,__c1\n")
    assert csv_columns([str(path)], header=True) == ["a", "___c1", "_c1", "_c3", "__c1"]


def test_csv_columns_that_are_no_utf8_are_a_source_error(tmp_path):
    path = tmp_path / "c.csv"
    path.write_bytes(b"a,\xff\n1,2\n")
    with pytest.raises(SourceError, match=r"c\.csv: its header is not valid UTF-8"):
        csv_columns([str(path)], header=True)


def test_csv_columns_with_a_name_twice_is_a_source_error(tmp_path):
    path = tmp_path / "c.csv"
    path.write_bytes(b"a,b,a\n")
    with pytest.raises(SourceError, match="names the column 'a' twice"):
        csv_columns([str(path)], header=True)


# ---- json


def test_json_members_are_text_as_it_stands():
    text = (
        '{"s": "é\\u00e9\\n", "n": -1.50e+07, "o": {"b": [1, 2.0 ]}, "t": true, "z": null, "": ""}'
    )
    assert json_members(text, ["s", "n", "o", "t", "z", "", "absent"]) == {
        "s": "éé\n",
        "n": "-1.50e+07",
        "o": '{"b": [1, 2.0 ]}',
        "t": "true",
        "z": None,
        "": "",
    }


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(
    members=st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=4),
    indent=st.none() | st.just(1),
)
def test_json_members_mean_what_json_means(members, indent):
    found = json_members(json.dumps(members, indent=indent), list(members))
    assert found.keys() == members.keys()
    for name, text in found.items():
        value = members[name]
        assert text == value if isinstance(value, str) else json.loads(text or "null") == value


@pytest.mark.parametrize(
    "text",
    [
        *("", "5", "[]", "{", '{"a"}', '{"a":1,}', '{"a":1} x', '{"a":NaN}', "{'a':1}"),
        *('{"a":"\t"}', pytest.param('{"a":' * 100_000, id="deep")),
    ],
)
def test_read_json_rejects_a_line_that_is_no_object_and_reads_on(tmp_path, text):
    path = tmp_path / "j.json"
    path.write_text(f'{{"a": 1}}\n \n{text or "-"}\n{{"a": 2}}\n')
    batch = read_json(str(path), ["a"])
    assert batch.rows == [0, 2, 3]
    assert batch.positions[1] == 11
    assert batch.fields == [["1"], [None], ["2"]]
    assert batch.rejected[0] is batch.rejected[2] is None
    reasons = ("it is no JSON object: ", "its objects and lists have more than 512 levels")
    assert str(batch.rejected[1]).startswith(reasons)


@pytest.mark.parametrize("line", [b'{"a": "\xff"}', b'{"a": "\\ud800"}'])
def test_read_json_rejects_what_is_no_valid_unicode(tmp_path, line):
    path = tmp_path / "j.json"
    path.write_bytes(line)
    batch = read_json(str(path), ["a"])
    assert (batch.positions, batch.fields) == ([0], [[None]])
    assert str(batch.rejected[0]).startswith("it is no JSON object: 'utf-8' codec can't")


def test_read_json_gives_lines_and_the_members_that_are_asked_for(tmp_path):
    path = tmp_path / "j.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\n{"b": 2, "a": 3.0}')
    batch = read_json(str(path), ["a", "none"])
    assert batch.positions == [0, 14]
    assert batch.lines == [b'\xef\xbb\xbf{"a": 1}\r', b'{"b": 2, "a": 3.0}']
    assert batch.fields == [["1", None], ["3.0", None]]
