"""Parquet columns that tasks read themselves: the same records as those that Spark reads."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.format.dialect import KAFKA
from kminilog.ingest.quarantine import PLACE_COLUMNS
from kminilog.ingest.staging import StagingJob
from kminilog.job_errors import SourceError
from kminilog.settings import TopicSettings
from kminilog.source import parquet_columns
from kminilog.source.description import Source
from kminilog.source.files import list_files
from kminilog.source.parquet_columns import ParquetColumns
from kminilog.spark.ingest.job import ingest
from kminilog.spark.ingest.placing import place_columns, place_records
from kminilog.spark.source.records import read_source
from kminilog.storage.publish.manifests import MANIFEST_DIR
from kminilog.storage.publish.visibility import STAGING_DIR
from kminilog.storage.topics import Topic
from tests.spark.log_content import content_of, files_of

KINDS = [pa.binary(), pa.string(), pa.large_binary(), pa.large_string()]
SMALL = TopicSettings(segment_bytes=600, index_interval_bytes=100, max_message_bytes=60)


def make_source(directory, kind=KINDS[0], rows=200):
    """Three files with row groups of 7: null and empty keys, null values, and some too long."""
    directory.mkdir()
    for number in range(3):
        keys = [[None, b"", b"k%d" % (row % 5), "ß".encode()][row % 4] for row in range(rows)]
        values = [None if row % 50 == 9 else b"v%d " % row * (row % 23) for row in range(rows)]
        table = pa.table(
            {
                "key": pa.array(keys, pa.binary()).cast(kind),
                "n": range(rows),
                "value": pa.array(values, pa.binary()).cast(kind),
            }
        )
        pq.write_table(table, directory / f"{number}.parquet", row_group_size=7)
    return directory


def source_of(path, **options):
    return Source((str(path),), "parquet", **{"key": "key", "value": "value", **options})


def columns_of(source):
    return ParquetColumns.of(source, list_files(source.paths))


def job_for(path, topic, **options):
    partitioner = options.get("partitioner", "default-2.4")
    return StagingJob(
        str(path), str(path), topic, [0] * topic.partitions, partitioner, 3, 10**6, []
    )


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("key", ["key", None])
def test_columns_are_the_records_that_spark_reads(spark, tmp_path, kind, key):
    source = source_of(make_source(tmp_path / "s", kind), key=key)
    theirs = read_source(spark, source).orderBy(*PLACE_COLUMNS).toArrow()
    columns = columns_of(source)
    ours = pa.Table.from_batches(columns.read(columns.row_groups))
    assert len(ours) == 600
    assert ours.to_pylist() == theirs.to_pylist()
    assert ours.schema.types == theirs.schema.types


@pytest.mark.parametrize("partitioner", ["default-2.4", "round-robin", "random", "sticky-cache"])
def test_placed_columns_are_the_records_that_spark_places(spark, tmp_path, dialect, partitioner):
    source, topic = source_of(make_source(tmp_path / "s")), Topic("t", 3, dialect, SMALL)
    job = job_for(tmp_path, topic, partitioner=partitioner)
    theirs = (
        place_records(read_source(spark, source), source, 3, job)
        .orderBy("order")
        .toArrow()
        .to_pylist()
    )
    ours = (
        place_columns(spark, columns_of(source), source, 3, job)
        .orderBy("order")
        .toArrow()
        .to_pylist()
    )
    rejected = [row for row in theirs if row["messages"].startswith(b"\xff" * 8)]
    assert len(rejected) > 100
    assert [row for row in ours if row["messages"].startswith(b"\xff" * 8)] == rejected
    beginnings = {row["order"]: row["messages"] for row in theirs if row not in rejected}
    assert len(ours) < len(theirs)
    for partition in (0, 1, 2):
        joined = [row for row in ours if row["partition"] == partition and row not in rejected]
        assert all(row["messages"].startswith(beginnings[row["order"]]) for row in joined)
        one_by_one = [
            row["messages"]
            for row in theirs
            if row["partition"] == partition and row not in rejected
        ]
        assert b"".join(row["messages"] for row in joined) == b"".join(one_by_one)


@pytest.mark.parametrize("plan", ["sorted", "runs"])
def test_ingest_writes_the_same_messages_by_both_ways(spark, tmp_path, dialect, plan):
    path = make_source(tmp_path / "s")
    found = {}
    for name, reading in {
        "ours": {"key": "key"},
        "sparks": {"key": None, "key_expr": "key"},
    }.items():
        source = source_of(path, **reading)
        assert bool(columns_of(source)) == (name == "ours")
        ingest(
            spark,
            tmp_path / name,
            source,
            topic="t",
            partitions=2,
            dialect=dialect,
            settings=SMALL,
            plan=plan,
            max_rejected=1000,
            job_id="j",
        )
        quarantine = (tmp_path / name / ".quarantine" / "j.jsonl").read_text()
        found[name] = content_of(tmp_path / name, "t"), quarantine, files_of(tmp_path / name, "t")
    assert found["ours"] == found["sparks"]
    assert found["ours"][1].count("\n") > 100
    assert sum(map(len, found["ours"][0].values())) > 100


def test_ingest_of_files_without_rows_beside_others_is_fine(spark, tmp_path):
    path = make_source(tmp_path / "s", rows=20)
    empty = pq.read_table(path / "0.parquet").slice(0, 0)
    pq.write_table(empty, path / "00.parquet")
    options = {"topic": "t", "dialect": KAFKA}
    for plan in ("sorted", "runs"):
        ingest(spark, tmp_path / plan, source_of(path), plan=plan, **options)
        assert len(content_of(tmp_path / plan, "t")[0]) == 60
    for name in ("0", "1", "2"):
        (path / f"{name}.parquet").unlink()
    for plan in ("sorted", "runs"):
        with pytest.raises(SourceError, match="it holds no records"):
            ingest(spark, tmp_path / "none", source_of(path), plan=plan, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"value": None},
        {"value": "upper(string(value))"},
        {"value": "n"},
        {"key": "n"},
        {"key": "nothing"},
        {"key": None, "key_regex": "a"},
        {"key": None, "key_expr": "key"},
    ],
    ids=str,
)
def test_columns_that_are_no_bytes_or_no_columns_are_left_to_spark(tmp_path, options):
    path = make_source(tmp_path / "s")
    assert columns_of(source_of(path))
    assert columns_of(source_of(path, **options)) is None


def test_columns_that_a_file_lacks_or_has_twice_or_inside_another_are_left_to_spark(tmp_path):
    path = make_source(tmp_path / "s")
    nested = pa.table({"key": [b"k"], "value": [b"v"], "a": [{"b": b"x"}]})
    for name, table in {
        "lacks": pa.table({"key": [b"k"]}),
        "twice": pa.Table.from_arrays([[b"k"], [b"v"], [b"w"]], ["key", "value", "value"]),
        "dot": nested.append_column("a.b", [[b"y"]]),
    }.items():
        file = path / f"{name}.parquet"
        pq.write_table(table, file)
        assert columns_of(source_of(path, value="a.b" if name == "dot" else "value")) is None
        file.unlink()
    assert columns_of(source_of(path))


def test_files_in_directories_that_are_columns_and_broken_ones_are_left_to_spark(tmp_path):
    (tmp_path / "s").mkdir()
    make_source(tmp_path / "s" / "day=1")
    assert columns_of(source_of(tmp_path / "s")) is None
    assert columns_of(source_of(tmp_path / "s" / "day=1"))
    (tmp_path / "s" / "day=1" / "2.parquet").write_bytes(b"PAR1 nothing of it PAR1")
    assert columns_of(source_of(tmp_path / "s" / "day=1")) is None
    assert columns_of(Source((str(tmp_path / "s"),), "text")) is None


@pytest.mark.parametrize("plan", ["sorted", "runs"])
def test_ingest_of_a_file_that_is_broken_inside_names_it_and_leaves_nothing(spark, tmp_path, plan):
    path = make_source(tmp_path / "s", rows=2000)
    broken = path / "1.parquet"
    data = bytearray(broken.read_bytes())
    start = pq.read_metadata(broken).row_group(100).column(2).data_page_offset
    data[start : start + 60] = b"\xff" * 60
    broken.write_bytes(data)
    source = source_of(path)
    assert columns_of(source)
    with pytest.raises(SourceError, match=r"1\.parquet: cannot be read as Parquet: ") as caught:
        ingest(spark, tmp_path / "log", source, topic="t", dialect=KAFKA, plan=plan)
    assert "\n" not in str(caught.value)
    assert not files_of(tmp_path / "log", "t")
    for name in (STAGING_DIR, MANIFEST_DIR):
        assert not list((tmp_path / "log" / name).glob("*"))


def test_read_of_long_values_gives_few_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_columns, "_BATCH_BYTES", 1000)
    values = [b"%4d" % row * 25 for row in range(400)]
    table = pa.table({"key": values, "value": values})
    pq.write_table(table, tmp_path / "p.parquet", use_dictionary=False)
    columns = columns_of(source_of(tmp_path / "p.parquet"))
    batches = list(columns.read(columns.row_groups))
    assert max(map(len, batches)) == 1000 // 209
    assert [value for batch in batches for value in batch["value"].to_pylist()] == values


def test_read_of_few_distinct_long_values_gives_few_at_a_time(tmp_path):
    """The file has each of them once; the records do not."""
    values = [b"%d" % (row % 4) * 10_000 for row in range(3000)]
    pq.write_table(pa.table({"value": values}), tmp_path / "p.parquet")
    assert (tmp_path / "p.parquet").stat().st_size < 100_000
    columns = columns_of(source_of(tmp_path / "p.parquet", key=None))
    batches = list(columns.read(columns.row_groups))
    assert max(batch.nbytes for batch in batches) < 5 << 20
    assert [value for batch in batches for value in batch["value"].to_pylist()] == values


def test_read_of_a_page_whose_checksum_is_wrong_names_the_file(tmp_path):
    path = tmp_path / "p.parquet"
    table = pa.table({"value": [b"hello %d" % row for row in range(99)]})
    options = {"use_dictionary": False, "compression": "none", "write_page_checksum": True}
    pq.write_table(table, path, **options)
    columns = columns_of(source_of(path, key=None))
    data = bytearray(path.read_bytes())
    data[data.index(b"hello 50")] ^= 1
    path.write_bytes(data)
    with pytest.raises(SourceError, match=r"p\.parquet: cannot be read as Parquet: .*integrity"):
        list(columns.read(columns.row_groups))


@pytest.mark.parametrize(
    ("columns", "row_group_size"),
    [
        (["value"], 5),
        (["value"], 12),
        (["value"], 100),
        (["other"], 7),
    ],
)
def test_read_of_a_file_that_was_changed_names_it(tmp_path, columns, row_group_size):
    path, data = tmp_path / "p.parquet", [b"%d" % row for row in range(14)]
    pq.write_table(pa.table({"value": data}), path, row_group_size=7)
    planned = columns_of(source_of(path, key=None))
    pq.write_table(pa.table(dict.fromkeys(columns, data)), path, row_group_size=row_group_size)
    with pytest.raises(SourceError, match=r"p\.parquet: it was changed while it was read"):
        list(planned.read(planned.row_groups))


def test_read_of_a_row_group_whose_rows_have_other_numbers_now_names_the_file(tmp_path):
    path, data = tmp_path / "p.parquet", pa.table({"value": [b"%d" % row for row in range(14)]})
    pq.write_table(data, path, row_group_size=7)
    planned = columns_of(source_of(path, key=None))
    with pq.ParquetWriter(path, data.schema) as writer:
        writer.write_table(data.slice(0, 5))
        writer.write_table(data.slice(5, 7))
    with pytest.raises(SourceError, match=r"p\.parquet: it was changed while it was read"):
        list(planned.read(planned.row_groups[1:]))


def test_read_of_a_footer_that_promises_more_rows_names_the_file(tmp_path, monkeypatch):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"value": [b"a", b"b"]}), path)
    planned = columns_of(source_of(path, key=None))
    more = [replace(planned.row_groups[0], rows=3)]
    monkeypatch.setattr(parquet_columns, "_row_groups", lambda *_: more)
    with pytest.raises(SourceError, match=r"p\.parquet: it was changed .* or is damaged"):
        list(planned.read(more))


def test_read_opens_a_file_once_for_all_of_its_row_groups(tmp_path, monkeypatch):
    columns, opened = columns_of(source_of(make_source(tmp_path / "s"))), []
    real = pq.ParquetFile

    def counting(path, **options):
        opened.append(path)
        return real(path, **options)

    monkeypatch.setattr(pq, "ParquetFile", counting)
    assert sum(map(len, columns.read(columns.row_groups))) == 600
    assert opened == [row_group.path for row_group in columns.row_groups[::29]]


def test_ingest_takes_the_plan_that_fits_the_tasks_it_will_have(spark, tmp_path, monkeypatch):
    source = source_of(make_source(tmp_path / "s"))
    for least_bytes, expected in ((8 << 20, "runs"), (1, "sorted")):  # one task, or eight
        monkeypatch.setattr("kminilog.source.task_groups.LEAST_BYTES", least_bytes)
        log_dir, options = tmp_path / expected, {"topic": "t", "dialect": KAFKA}
        result = ingest(spark, log_dir, source, max_rejected=1000, **options)
        assert result.manifest.facts["plan"] == expected


def test_columns_beside_one_whose_name_is_no_text_are_left_to_spark(tmp_path):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"value": [b"v"], "????": [1]}), path)
    assert columns_of(source_of(path, key=None))
    path.write_bytes(path.read_bytes().replace(b"????", b"\xff\xfe\xff\xfe"))
    assert columns_of(source_of(path, key=None)) is None


def test_groups_are_neighbours_in_source_order_and_keep_all_cores_busy(tmp_path, monkeypatch):
    columns = columns_of(source_of(make_source(tmp_path / "s")))
    assert len(columns.groups(2)) == 1
    monkeypatch.setattr("kminilog.source.task_groups.LEAST_BYTES", 1)
    groups = columns.groups(2)
    assert len(groups) == 8
    assert [found for group in groups for found in group] == columns.row_groups
    assert max(map(len, groups)) - min(map(len, groups)) <= 1
