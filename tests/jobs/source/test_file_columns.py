"""Records of text, CSV and JSON files: those that Python reads, by any names of columns."""

import gzip
from dataclasses import replace
from json import loads

import pytest

from kminilog.errors import SourceError
from kminilog.jobs.source import file_columns, pieces
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.file_columns import FileColumns
from kminilog.jobs.source.source_files import MESSAGE_BYTES, list_files
from tests.support.jobs.source.plain import plain_records, records_of

LINES = b"".join(
    [b"", b"k%d one\n", b"\xff\x00 k%d\r\n", b"\n", "ß%d\n".encode(), b"k%d " + b"x" * 40 + b"\n"][
        number % 6
    ].replace(b"%d", b"%d" % (number % 17))
    for number in range(400)
)


@pytest.fixture
def text(tmp_path):
    """Three files, one of them compressed and one without a last newline; some lines too long."""
    directory = tmp_path / "source"
    directory.mkdir()
    (directory / "a.txt").write_bytes(LINES)
    (directory / "b.gz").write_bytes(gzip.compress(LINES[:900]))
    (directory / "c.txt").write_bytes(LINES[100:] + b"the last")
    return Source((str(directory),), key_regex=r"k\d+")


def columns_of(source):
    return FileColumns.of(source, list_files(source.paths))


def as_read(source):
    """The records of a source, without the ordinals of lines; those of CSV with JSON parsed."""
    found = records_of(source)
    if source.format != "csv":
        return [{name: row[name] for name in row if name != "source_row"} for row in found]
    return with_json_parsed(source, found)


def with_json_parsed(source, rows):
    if source.format != "csv" or source.value is not None:
        return rows
    return [row | {"value": row["value"] and loads(row["value"])} for row in rows]


@pytest.mark.parametrize(
    "options", [{}, {"key_regex": None}, {"key_regex": None, "key": "value"}, {"value": "value"}]
)
def test_records_of_text_are_those_that_python_reads(text, options, monkeypatch):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 700)
    source = replace(text, **options)
    assert len(columns_of(source).pieces) > 10
    assert as_read(source) == plain_records(source)


CSV = b"".join(
    [
        b"%d,,x\n",
        b'"%d","a ""q"" \\ /",\n',
        b"\n",
        b"%d,\xff,y\n",
        b"one,two\n",
        b'"\t\x01\x7f","\n,",%d\n',
    ][number % 6].replace(b"%d", b"%d" % number)
    for number in range(300)
)
JSON = b"".join(
    [
        b'{"k":"k%d","n":1.50,"v":"\\u00e9\\n"}\n',
        b'{"k":null,"v":{"x":[%d]}}\n',
        b"\n",
        b"{broken %d\n",
        b'{"v":true, "k":"%d"}\r\n',
    ][number % 5].replace(b"%d", b"%d" % number)
    for number in range(300)
)


def written(directory, suffix, head, content):
    directory.mkdir()
    (directory / f"a{suffix}").write_bytes(head + content)
    (directory / f"b{suffix}.gz").write_bytes(gzip.compress(head + content[: len(content) // 3]))
    return str(directory)


@pytest.fixture
def csv(tmp_path):
    """Two files with a byte order mark: nulls, quotes, newlines, wrong numbers of fields."""
    path = written(tmp_path / "csv", ".csv", "\ufeff键,b c,d\n".encode(), CSV)
    return Source((path,), "csv", key="键")


@pytest.fixture
def json(tmp_path):
    """Two files with blank lines, broken lines, and members of all kinds."""
    return Source((written(tmp_path / "json", ".json", b"", JSON),), "json", key="k")


@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("csv", {}),
        ("csv", {"value": "d"}),
        ("csv", {"key": None, "key_regex": r'"d":"(\d+)'}),
        ("csv", {"header": False, "key": "_c2", "value": "_c1"}),
        ("json", {}),
        ("json", {"value": "v"}),
        ("json", {"key": None, "key_regex": r"\d+"}),
        ("json", {"key": "n", "value": "k"}),
    ],
)
def test_records_of_csv_and_json_are_those_that_python_reads(request, format, options, monkeypatch):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 700)
    source = replace(request.getfixturevalue(format), **options)
    found = as_read(source)
    assert found == with_json_parsed(source, plain_records(source))
    assert len(found) > 300
    assert 0 < sum(row["rejected"] is not None for row in found) < len(found)


@pytest.mark.parametrize("value", [{}, {"value": "x"}], ids=["line", "member"])
def test_line_is_rejected_for_a_member_that_is_used_and_for_no_other(tmp_path, value):
    path = tmp_path / "s.json"
    path.write_bytes(
        b'{"k":"a","x":"b"}\n{"k":"c","x":"\\ud83d"}\n{"k":"\\ud83d"}\n{"k":"d","K":"\\ud83d"}\n'
    )
    found = records_of(Source((str(path),), "json", key="k", **value))
    rejected = [row["rejected"] is not None for row in found]
    assert rejected == [False, "value" in value, True, False]
    assert all(row["key"] is row["value"] is None for row in found if row["rejected"])


# ---- names: members of members, folders


def test_key_and_value_of_json_lines_may_be_inside_another_member(tmp_path):
    (tmp_path / "j.json").write_text(
        '{"user": {"id": 7.50, "name": {"first": "ann"}}}\n'
        '{"user.id": "own", "user": {"id": 1}}\n'
        '{"user": {"id": true}}\n'
        '{"user": {"id": [1, {"a": 2 }]}}\n'
        '{"user": "{\\"id\\":3}"}\n'
        '{"user": null}\n{}\n'
    )
    source = Source((str(tmp_path),), "json", key="user.id", value="user.name.first")
    found = [(row["key"], row["value"]) for row in records_of(source)]
    assert found == [
        (b"7.50", b"ann"),
        (b"own", None),
        (b"true", None),
        (b'[1, {"a": 2 }]', None),
        (None, None),
        (None, None),
        (None, None),
    ]


FORMATS = {
    "text": b"line\n",
    "csv": b"a,b\n1,2\n",
    "json": b'{"a":1,"b":2}\n',
}


def in_folders(tmp_path, format, *folders, content=None):
    for number, folder in enumerate(folders):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{number}.txt").write_bytes(content or FORMATS[format])
    return Source((str(tmp_path),), format)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("text", ["02134", "1D", "1.10", "", "a=b", "ü %20"])
def test_folder_is_a_column_with_its_text_as_it_stands(tmp_path, format, text):
    source = in_folders(tmp_path, format, f"a/zip={text}/x", "zip=7")
    found = records_of(replace(source, key="zip"))
    assert [row["key"] for row in found] == [text.encode(), b"7"]
    if format == "csv":
        assert loads(found[0]["value"]) == {"a": "1", "b": "2", "zip": text}
    else:
        assert found[0]["value"] == FORMATS[format].strip()
    assert [row["value"] for row in records_of(replace(source, value="zip"))] == [
        text.encode(),
        b"7",
    ]


@pytest.mark.parametrize("format", ["csv", "json"])
@pytest.mark.parametrize("asked", ["key", "value"])
def test_name_that_a_folder_and_the_file_have_is_an_error(tmp_path, format, asked):
    source = in_folders(tmp_path, format, "a=7")
    reason = r"0\.txt: a folder of its path and a column have the name 'a': rename one"
    with pytest.raises(SourceError, match=reason):
        records_of(replace(source, **{asked: "a"}))
    if format == "csv":
        with pytest.raises(SourceError, match=reason):  # the row as JSON has both
            records_of(source)
    assert [row["key"] for row in records_of(replace(source, key="b", value="b"))] == [b"2"]


@pytest.mark.parametrize("member", ['"a.b"', '"a": {"b": 1}, "a.b"', r'"\u0061.b"'])
@pytest.mark.parametrize("value", ["null", "7"])
def test_member_beside_a_folder_of_its_name_is_an_error_though_it_is_null(tmp_path, member, value):
    content = b'{"c": 1}\n{"c": "a.b"}\n{%s: %s}\n' % (member.encode(), value.encode())
    source = in_folders(tmp_path, "json", "a.b=7", content=content)
    with pytest.raises(SourceError, match=r"0\.txt: a folder of its path and a column have"):
        records_of(replace(source, key="a.b"))


@pytest.mark.parametrize("format", ["text", "csv"])
def test_folder_that_only_some_files_have_is_an_error_that_names_the_other_file(tmp_path, format):
    source = in_folders(tmp_path, format, "a=7", "x", content=b"b\n1\n")
    with pytest.raises(SourceError, match=r"x/1\.txt: no column 'a'; there is: "):
        records_of(replace(source, key="a"))


def test_two_folders_with_one_name_are_an_error(tmp_path):
    source = in_folders(tmp_path, "text", "a=7/a=8")
    with pytest.raises(SourceError, match="two folders of its path have the name 'a'"):
        records_of(source)


EMPTY = {"": b"", ".gz": gzip.compress(b""), ".blank": b"\r\n\n"}


@pytest.mark.parametrize("named_first", [True, False])
@pytest.mark.parametrize(
    ("format", "content"),
    [("json", b'\xef\xbb\xbf{"k":"a"}\n'), ("csv", b"\xef\xbb\xbfk,v\na,\n")],
)
def test_files_without_records_are_passed_over(tmp_path, format, content, named_first):
    (tmp_path / "m").write_bytes(content)
    for suffix, nothing in EMPTY.items():
        (tmp_path / f"{'z' if named_first else 'a'}{suffix}").write_bytes(nothing)
    (record,) = records_of(Source((str(tmp_path),), format, key="k"))
    assert (record["key"], record["rejected"]) == (b"a", None)


@pytest.mark.parametrize("first_line", [b"{broken", b'\xef\xbb\xbf{"v":1}', b'{"v":1}'])
def test_member_that_the_first_lines_lack_may_be_in_any_other(tmp_path, monkeypatch, first_line):
    monkeypatch.setattr(file_columns, "_SAMPLE_BYTES", 10)
    (tmp_path / "a.json").write_bytes(b"\n" + first_line)
    (tmp_path / "b.json").write_bytes(b"{}\n" * 99 + b'{"k":"a"}\n')
    found = records_of(Source((str(tmp_path),), "json", key="k"))
    assert [row["key"] for row in found if row["rejected"] is None][-2:] == [None, b"a"]
    with pytest.raises(SourceError, match=r"a\.json: no line has a member 'k'"):
        columns_of(Source((str(tmp_path / "a.json"),), "json", key="k"))


def test_columns_may_differ_in_capital_letters_only(tmp_path):
    (tmp_path / "c.csv").write_text("id,ID\n1,2\n")
    (record,) = records_of(Source((str(tmp_path / "c.csv"),), "csv", key="ID"))
    assert (record["key"], record["value"]) == (b"2", b'{"id":"1","ID":"2"}')


@pytest.mark.parametrize(("format", "key"), [("csv", "nobody"), ("text", "line")])
def test_key_that_is_no_column_is_a_source_error(text, format, key):
    with pytest.raises(SourceError, match=f"no column '{key}'; there is: "):
        columns_of(replace(text, format=format, key_regex=None, key=key))


@pytest.mark.parametrize(("format", "names"), [("text", "value"), ("csv", "键, b c, d")])
def test_value_that_can_only_be_a_column_and_is_none_is_a_source_error(text, csv, format, names):
    source = replace(csv if format == "csv" else text, key=None, key_regex=None, value="Größe")
    with pytest.raises(SourceError, match=f"no column 'Größe'; there is: {names}$"):
        columns_of(source)


@pytest.mark.parametrize("format", FORMATS)
def test_sizes_are_those_of_the_files(tmp_path, format, monkeypatch):
    """One task reads many small files."""
    for number in range(100):
        (tmp_path / f"{number:03}").write_bytes(FORMATS[format])
    source = Source((str(tmp_path),), format)
    for split_bytes in (pieces.SPLIT_BYTES, 10):
        monkeypatch.setattr(pieces, "SPLIT_BYTES", split_bytes)
        columns = columns_of(source)
        assert columns.size_bytes == 100 * len(FORMATS[format])
        assert len(columns.groups(8)) == 1


@pytest.mark.parametrize("format", ["csv", "json"])
@pytest.mark.parametrize("asked", [{"key": "a"}, {"value": "b"}, {"key": "a", "value": "b"}])
def test_names_are_no_error_in_files_without_records(tmp_path, format, asked):
    (tmp_path / "a").write_bytes(b"\n\n" if format == "json" else b"")
    (tmp_path / "b").touch()
    assert records_of(Source((str(tmp_path),), format, **asked)) == []


def test_messages_have_the_bytes_of_their_lines_and_thirty_more_for_each(tmp_path):
    (tmp_path / "short").write_bytes(b"a line\n" * 1000)
    (tmp_path / "empty").touch()
    short, empty = (columns_of(Source((str(tmp_path / n),))) for n in ("short", "empty"))
    assert short.staged_bytes == short.size_bytes + 1000 * MESSAGE_BYTES
    assert empty.staged_bytes == 0
