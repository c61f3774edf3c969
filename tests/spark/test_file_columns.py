"""Text that tasks read themselves: the same records, and the same files, as through Spark."""

import gzip
from dataclasses import replace

import pyarrow as pa
import pytest

from kminilog.ingest.quarantine import PLACE_COLUMNS
from kminilog.job_errors import SourceError
from kminilog.settings import TopicSettings
from kminilog.source import pieces, task_groups
from kminilog.source.description import Source
from kminilog.source.file_columns import FileColumns
from kminilog.source.files import list_files
from kminilog.spark.ingest import plans
from kminilog.spark.ingest.job import ingest
from kminilog.spark.runtime.tasks import SparkTasks
from kminilog.spark.source.own_session import own_session
from kminilog.spark.source.records import read_source
from kminilog.spark.verify.engine import SparkReader
from tests.spark.log_content import content_of, files_of

SMALL = TopicSettings(segment_bytes=600, index_interval_bytes=100, max_message_bytes=60)
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


@pytest.mark.spark
@pytest.mark.parametrize(
    "options", [{}, {"key_regex": None}, {"key_regex": None, "key": "value"}, {"value": "value"}]
)
def test_columns_are_the_records_that_spark_reads(spark, text, options, monkeypatch):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 700)
    source = replace(text, **options)
    theirs = read_source(spark, source).orderBy(*PLACE_COLUMNS).toArrow()
    columns = columns_of(source)
    assert len(columns.pieces) > 10
    ours = pa.Table.from_batches(columns.read(columns.pieces))
    assert ours.to_pylist() == theirs.to_pylist()
    assert ours.schema.types == theirs.schema.types


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


@pytest.mark.spark
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
def test_columns_of_csv_and_json_are_the_records_that_spark_reads(
    spark, request, format, options, monkeypatch
):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 700)
    source = replace(request.getfixturevalue(format), **options)
    theirs = read_source(spark, source).orderBy(*PLACE_COLUMNS).toArrow()
    columns = FileColumns.of(source, list_files(source.paths), SparkTasks(spark))
    assert len(columns.pieces) > 5
    ours = pa.Table.from_batches(columns.read(columns.pieces))
    assert ours.to_pylist() == theirs.to_pylist()
    assert len(ours) > 300
    assert ours.schema.types == theirs.schema.types
    assert 0 < ours.column("rejected").null_count < len(ours)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("by_name", "by_sql"),
    [
        ({"key": "k"}, {"key_expr": "k"}),
        ({"key": "k"}, {"key_expr": "first_value(k) OVER (PARTITION BY k)"}),
        ({"key": "k", "value": "x"}, {"key_expr": "trim(k)", "value": "x"}),
    ],
)
def test_line_is_rejected_for_a_member_that_is_used_and_for_no_other(
    spark, tmp_path, by_name, by_sql
):
    path = tmp_path / "s.json"
    path.write_bytes(
        b'{"k":"a","x":"b"}\n{"k":"c","x":"\\ud83d"}\n{"k":"\\ud83d"}\n{"k":"d","K":"\\ud83d"}\n'
    )
    columns = columns_of(Source((str(path),), "json", **by_name))
    ours = pa.Table.from_batches(columns.read(columns.pieces))
    theirs = read_source(spark, Source((str(path),), "json", **by_sql)).orderBy(*PLACE_COLUMNS)
    assert theirs.toArrow().to_pylist() == ours.to_pylist()
    rejected = [reason is not None for reason in ours.column("rejected").to_pylist()]
    assert rejected == [False, "value" in by_name, True, False]


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
    columns = columns_of(Source((str(tmp_path),), format, key="k"))
    assert columns is not None
    (record,) = pa.Table.from_batches(columns.read(columns.pieces)).to_pylist()
    assert (record["key"], record["rejected"]) == (b"a", None)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("format", "content"),
    [("json", b'\xef\xbb\xbf{"k":"a"}\n'), ("csv", b"\xef\xbb\xbfk,v\na,\n")],
)
def test_sql_passes_over_files_without_records_and_byte_order_marks(
    spark, tmp_path, format, content
):
    (tmp_path / "m").write_bytes(content)
    for suffix, nothing in EMPTY.items():
        (tmp_path / f"a{suffix}").write_bytes(nothing)
    (record,) = read_source(spark, Source((str(tmp_path),), format, key_expr="upper(k)")).collect()
    assert (record["key"], record["rejected"]) == (b"A", None)


@pytest.mark.parametrize("first_line", [b"{broken", b'\xef\xbb\xbf{"k":1}', b'{"v":1}'])
def test_key_of_json_lines_may_be_in_the_second_file(tmp_path, first_line):
    (tmp_path / "a.json").write_bytes(b"\n" + first_line)
    (tmp_path / "b.json").write_bytes(b'{"k":"a"}\n')
    assert columns_of(Source((str(tmp_path / "a.json"),), "json", key="k")) is None
    assert columns_of(Source((str(tmp_path),), "json", key="k")) is not None


@pytest.mark.spark
def test_member_that_sql_spells_with_other_letters_is_used(spark, tmp_path):
    (tmp_path / "s.json").write_bytes(b'{"k":"a","x":"\\ud83d"}\n')
    source = Source((str(tmp_path / "s.json"),), "json", key_expr="upper(K)")
    with own_session(spark, source, list_files(source.paths)) as own:
        own.conf.set("spark.sql.caseSensitive", "false")
        (record,) = read_source(own, source).collect()
    assert (record["key"], record["rejected"]) == (b"A", None)


@pytest.mark.spark
@pytest.mark.parametrize("plan", ["sorted", "runs"])
@pytest.mark.parametrize("format", ["text", "csv", "json"])
def test_ingest_writes_the_same_files_as_through_spark(
    spark, tmp_path, dialect, request, plan, format
):
    source = request.getfixturevalue(format)
    columns_of_source, found = plans.columns_of, []

    def for_several_tasks(*arguments):
        columns = columns_of_source(*arguments)
        assert len(columns.groups(2)) > 5
        return columns

    for name, columns in (("ours", for_several_tasks), ("theirs", lambda *_: None)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plans, "columns_of", columns)
            patch.setattr(pieces, "SPLIT_BYTES", 700)
            patch.setattr(task_groups, "LEAST_BYTES", 1)
            log_dir = tmp_path / name
            options = {"dialect": dialect, "settings": SMALL, "plan": plan, "job_id": "job"}
            ingest(spark, log_dir, source, topic="t", partitions=3, max_rejected=1000, **options)
            quarantine = (log_dir / ".quarantine" / "job.jsonl").read_bytes()
            found.append((content_of(log_dir, "t"), files_of(log_dir, "t"), quarantine))
    assert found[0] == found[1]
    assert found[0][0]


@pytest.mark.spark
def test_tasks_of_a_verification_share_a_csv_file(spark, csv, monkeypatch):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 700)
    monkeypatch.setattr(task_groups, "LEAST_BYTES", 1)
    reader = SparkReader(spark, csv, list_files(csv.paths))
    assert reader.task_count > 5
    counts = reader.map_source(lambda batches: [sum(map(len, batches))])
    assert sum(counts) == sum(map(len, columns_of(csv).read(columns_of(csv).pieces)))


@pytest.mark.parametrize(
    "options",
    [
        {"format": "json", "key_regex": None, "key": "nobody"},
        {"format": "json", "value": "upper(k)"},
        {"key_regex": None, "key_expr": "value"},
        {"value": "upper(value)"},
        {"value": "NULL"},
        {"value": "Value"},
    ],
)
def test_source_that_needs_more_is_left_to_spark(text, options):
    assert columns_of(replace(text, **options)) is None


@pytest.mark.parametrize(("format", "key"), [("csv", "nobody"), ("text", "line")])
def test_key_that_is_no_column_is_a_source_error(text, format, key):
    with pytest.raises(SourceError, match=f"no column '{key}'; there is: "):
        columns_of(replace(text, format=format, key_regex=None, key=key))


@pytest.mark.parametrize(("format", "names"), [("text", "value"), ("csv", "键, b c, d")])
def test_value_that_can_only_be_a_column_and_is_none_is_a_source_error(text, csv, format, names):
    source = replace(csv if format == "csv" else text, key=None, key_regex=None, value="Größe")
    with pytest.raises(SourceError, match=f"no column 'Größe'; there is: {names}$"):
        columns_of(source)
