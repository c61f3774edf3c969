"""Ingest: what it writes, where, in which order; and that a job that fails changes nothing."""

import gzip
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from kminilog.columns.partitioning import Places, chooser
from kminilog.errors import (
    InvalidTopicError,
    KMiniLogError,
    LogDirLockedError,
    PluginError,
    PublicationError,
    SettingError,
    SourceError,
)
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.names import TopicPartition
from kminilog.jobs.source import pieces
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import IngestResult, SparkIngest, ingest
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import MANIFEST_DIR, QUARANTINE_DIR, committed_manifests
from kminilog.storage.publish.publication import JOB_STAGING_DIR
from kminilog.storage.publish.visibility import STAGING_DIR
from kminilog.storage.topics import Topic
from tests.support.log_content import content_of, files_of

Run = Callable[..., IngestResult]
SMALL = TopicSettings(segment_bytes=600, index_interval_bytes=100)


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def run(spark: SparkSession, log_dir: Path) -> Run:
    """Ingest a source into the topic `t` of the log dir."""

    def run_ingest(
        path: Path, reading: dict[str, Any] | None = None, **options: Any
    ) -> IngestResult:
        source = Source((str(path),), **(reading or {}))
        return ingest(spark, log_dir, source, **{"topic": "t", **options})

    return run_ingest


@pytest.fixture
def lines() -> list[bytes]:
    """Keys return and lines repeat; some have no key, and not all are text."""
    chance = random.Random(1)
    keys = [b"a", b"bb", "größe".encode(), b"\xff\xfe", b"10.0.0.1", b""]
    values = [b"same", b"\0", b"cr\r", b"x" * 50]
    return [
        chance.choice([b"%s=%s" % (chance.choice(keys), chance.choice(values)), b"no key"])
        for _ in range(300)
    ]


@pytest.fixture
def text(tmp_path: Path, lines: list[bytes]) -> Path:
    path = tmp_path / "t.txt"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


KEYED = {"key_regex": "^([^=]*)="}


def keyed(line: bytes) -> tuple[bytes | None, bytes]:
    key, separator, _ = line.partition(b"=")
    return (key if separator else None), line


def placed(key: bytes | None, row: int, partitions: int) -> int:
    """Where default-2.4 puts a record of the first file."""
    places = Places(*(np.array([number]) for number in (0, 0, row)))
    return int(chooser("default-2.4", partitions)(pa.array([key], pa.binary()), places)[0])


@pytest.mark.parametrize("plan", ["sorted", "runs"])
def test_ingest_into_a_new_topic_writes_what_plain_appends_write(
    run, tmp_path, log_dir, text, lines, dialect, plan
):
    run(text, KEYED, partitions=3, dialect=dialect, settings=SMALL, plan=plan)
    with LogDirWriter.open(tmp_path / "plain", create=True) as writer:
        writer.create_topic(Topic("t", 3, dialect, SMALL))
        for row, (key, value) in enumerate(map(keyed, lines)):
            partition = placed(key, row, 3)
            writer.log(TopicPartition("t", partition)).append([(key, value)])
    files = files_of(log_dir, "t")
    assert len(files) > 30
    assert files == files_of(tmp_path / "plain", "t")


def test_ingest_in_many_tasks_keeps_source_order_in_each_partition(
    run, spark, tmp_path, log_dir, monkeypatch
):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 2000)
    monkeypatch.setattr("kminilog.jobs.source.tasks.LEAST_BYTES", 1)
    (tmp_path / "src").mkdir()
    numbers = iter(range(10_000))
    for name in ("a.txt", "b.txt.gz", "c.txt"):
        data = b"".join(b"k%d %d\n" % (n % 7, n) for _, n in zip(range(900), numbers, strict=False))
        path = tmp_path / "src" / name
        path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    result = run(tmp_path / "src", {"key_regex": r"^k\d"}, partitions=4, dialect=KAFKA)
    content = content_of(log_dir, "t")
    found = {p: [int(value.split()[1]) for _, value in pairs] for p, pairs in content.items()}
    assert all(numbers == sorted(numbers) for numbers in found.values())
    assert sorted(n for numbers in found.values() for n in numbers) == list(range(2700))
    assert result.manifest.facts["count"] == 2700


def test_ingest_of_parquet_files_keeps_the_order_of_their_paths(run, tmp_path, log_dir):
    numbers = list(range(500))
    (tmp_path / "src").mkdir()
    for name, part in {"a": numbers[:3], "b": numbers[3:400], "c": numbers[400:]}.items():
        table = pa.table({"n": part, "k": [n % 7 for n in part]})
        pq.write_table(table, tmp_path / "src" / f"{name}.parquet")
    run(tmp_path / "src", {"format": "parquet", "key": "k", "value": "n"}, partitions=2)
    for pairs in content_of(log_dir, "t").values():
        found = [int(value) for _, value in pairs]
        assert len(found) > 100
        assert found == sorted(found)


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_ingest_of_a_table_writes_its_rows(run, tmp_path, log_dir, format):
    rows = [{"id": str(n % 5), "text": f"Zeile {n}\n"} for n in range(50)]
    path = tmp_path / f"source.{format}"
    if format == "csv":
        path.write_text("id,text\n" + "".join(f'{r["id"]},"{r["text"]}"\n' for r in rows))
    elif format == "json":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)
    run(path, {"format": format, "key": "id"}, partitions=2)
    content = content_of(log_dir, "t")
    for partition, pairs in content.items():
        assert [(key.decode(), json.loads(value)) for key, value in pairs] == [
            (row["id"], row)
            for row in rows
            if murmur2_partition(row["id"].encode(), 2) == partition
        ]
    assert sum(map(len, content.values())) == len(rows)


def test_ingest_writes_null_values_where_the_dialect_has_them(run, tmp_path, log_dir):
    (tmp_path / "c.csv").write_text("a,b\n1,x\n2,\n")
    run(tmp_path / "c.csv", {"format": "csv", "key": "a", "value": "b"}, dialect=KAFKA)
    assert content_of(log_dir, "t") == {0: [(b"1", b"x"), (b"2", None)]}


def test_ingest_appends_to_a_topic_that_has_messages(run, log_dir, text, lines, dialect):
    old = [(b"old", b"0")], [(b"old", b"1")] * 3  # with one message, segment 0 may have to go on
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("t", 2, dialect, SMALL))
        for partition, messages in enumerate(old):
            writer.log(TopicPartition("t", partition)).append(messages)
    before = files_of(log_dir, "t")
    first, second = run(text, KEYED), run(text, KEYED)
    content = content_of(log_dir, "t")
    for partition, messages in enumerate(old):
        added = [
            (key, value)
            for row, (key, value) in enumerate(map(keyed, lines))
            if placed(key, row, 2) == partition
        ]
        assert content[partition] == messages + added + added
        ranges = [result.manifest.partitions[partition] for result in (first, second)]
        assert [r.first_offset for r in ranges] == [len(messages), len(messages) + len(added)]
    assert first.manifest.job_id != second.manifest.job_id
    after = files_of(log_dir, "t")
    changed = {name for name, data in before.items() if after[name] != data}
    # A first segment with one message goes on in the documented dialect; with an entry, if it must.
    changed.discard("t-0/00000000000000000000.index")
    assert changed == ({"t-0/00000000000000000000.log"} if dialect == DOCUMENTED else set())


def test_ingest_with_a_job_id_that_is_committed_writes_nothing(run, log_dir, text):
    first = run(text, KEYED, job_id="nightly-7")
    files = files_of(log_dir, "t")
    told: list[str] = []
    again = run(text, KEYED, job_id="nightly-7", partitions=1, warn=told.append)
    assert (again.already_committed, told) == (True, [])
    assert not first.already_committed
    assert again.manifest == first.manifest
    with pytest.raises(PublicationError, match="a job with topic = t, not other"):
        run(text, KEYED, job_id="nightly-7", topic="other")
    with pytest.raises(PublicationError, match="a job with key-regex = "):
        run(text, job_id="nightly-7")
    text.unlink()  # nothing is read either
    assert run(text, KEYED, job_id="nightly-7", warn=told.append).already_committed
    assert [line.startswith(f"job nightly-7: source {text}: no such file") for line in told] == [
        True
    ]
    assert files_of(log_dir, "t") == files


def test_ingest_result_and_manifest_tell_what_was_done(run, log_dir, text, lines):
    result = run(text, KEYED, partitions=2, job_id="j")
    assert committed_manifests(log_dir, "t") == [result.manifest]
    facts = result.manifest.facts
    assert facts["source"]["paths"] == [str(text)]
    assert facts["source"]["key_regex"] == KEYED["key_regex"]
    assert (facts["partitioner"], facts["count"], facts["rejected"]) == ("default-2.4", 300, 0)
    assert (facts["plan"], facts["seed"]) == ("runs", 0)
    told = result.to_json()
    assert told["job_id"] == "j"
    for partition in told["partitions"]:
        directory = log_dir / f"t-{partition['partition']}"
        assert partition["bytes"] == sum(path.stat().st_size for path in directory.glob("*.log"))
        assert partition["count"] == partition["next_offset"] - partition["first_offset"]
    assert sum(partition["count"] for partition in told["partitions"]) == len(lines)
    assert json.loads(json.dumps(told)) == told


def test_ingest_of_more_than_any_result_may_hold_does_not_pass_through_the_driver(
    run, spark, tmp_path
):
    """The session refuses results above 1 MB; these rows cannot be compressed below 3 MB."""
    chance = random.Random(1)
    path = tmp_path / "big.txt"
    path.write_bytes(
        b"".join(b"%d %s\n" % (n, chance.randbytes(300).hex().encode()) for n in range(10_000))
    )
    result = run(path, {"key_regex": r"^\d+"}, partitions=2)
    assert spark.conf.get("spark.driver.maxResultSize") == "1m"
    assert result.manifest.facts["count"] == 10_000
    with pytest.raises(Py4JJavaError, match="bigger than"):
        spark.read.text(str(path)).collect()


# ---- failures: one clear line, and the topic as it was


@pytest.fixture
def fails(run: Run, log_dir: Path) -> Callable[..., None]:
    """Run an ingest that fails with an error whose text matches, and check that nothing changed."""

    def check(
        error: type[Exception],
        reason: str,
        path: Path,
        reading: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        files = files_of(log_dir, "t")
        with pytest.raises(error, match=reason) as caught:
            run(path, reading, **options)
        assert "\n" not in str(caught.value)
        assert files_of(log_dir, "t") == files
        assert not list((log_dir / STAGING_DIR).glob("*"))
        assert not list((log_dir / MANIFEST_DIR).glob("*"))
        assert not list((log_dir / QUARANTINE_DIR).glob("*"))
        assert bool(list(log_dir.glob("*.json"))) == bool(files)

    return check


def test_ingest_of_a_message_that_is_too_large_names_the_record(fails, tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(b"ok\n" * 4 + b"x" * 200 + b"\n")
    limit = TopicSettings(max_message_bytes=100)
    reason = rf"{path}, line 5: a message of 222 bytes is larger than max\.message\.bytes = 100"
    fails(SourceError, reason, path, settings=limit)
    reason = r"line 5: .* larger than segment\.bytes = 90"
    fails(SourceError, reason, path, settings=TopicSettings(segment_bytes=90))


def test_ingest_of_many_bad_records_names_the_first_and_their_number(fails, tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a": 1}\n' * 3 + b"broken\n\n{}\n[1]\n")
    reason = (
        rf"{path}, line 4: it is no JSON object: .*; 2 rejected in all, --max-rejected allows 1"
    )
    fails(SourceError, reason, path, {"format": "json"}, max_rejected=1)


def test_ingest_of_a_null_value_in_the_documented_dialect_names_the_record(fails, tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("a,b\n1,x\n2,\n")
    reason = r"c\.csv, row 2: the value is null, and the documented dialect has no null value"
    fails(SourceError, reason, path, {"format": "csv", "value": "b"})


def test_ingest_of_a_record_that_cannot_be_read_leaves_an_old_topic_as_it_was(
    fails, log_dir, tmp_path
):
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("t", 1))
        writer.log(TopicPartition("t", 0)).append([(b"k", b"v")])
    path = tmp_path / "c.csv"
    path.write_bytes(b"a\n" + b"fine\n" * 9000 + b"\xff\n")
    reason = r"c\.csv, row 9001: it is not valid UTF-8; 1 rejected in all, --max-rejected allows 0"
    fails(SourceError, reason, path, {"format": "csv", "key": "a"})


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("t.txt", b"", "text"),
        ("c.csv", b"a,b\n", "csv"),
        ("c.csv", b"", "csv"),
        ("j", b"\n", "json"),
    ],
)
def test_ingest_of_a_source_without_records_is_refused(fails, tmp_path, name, data, format):
    (tmp_path / name).write_bytes(data)
    fails(SourceError, "it holds no records", tmp_path / name, {"format": format})


def test_ingest_of_a_source_that_is_not_there_is_refused(fails, tmp_path):
    fails(SourceError, "no such file", tmp_path / "gone")


def test_ingest_with_another_shape_than_the_topic_has_is_refused(run, log_dir, text):
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("t", 2, KAFKA))
    for options, reason in (
        ({"partitions": 3}, "topic t has partitions = 2, not 3; leave --partitions out"),
        ({"dialect": DOCUMENTED}, "has dialect = kafka, not documented; leave --dialect out"),
        ({"settings": SMALL}, "topic t has config = "),
    ):
        with pytest.raises(PublicationError, match=reason):
            run(text, **options)
    assert content_of(log_dir, "t") == {0: [], 1: []}


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"partitions": 0}, ValueError, "1 to 100000 partitions, not 0"),
        ({"topic": "a/b"}, InvalidTopicError, "illegal topic name"),
        ({"partitioner": "mine"}, SettingError, "no partitioner 'mine'; there is: default-0.8"),
        ({"partitioner": "no_such.Mine"}, PluginError, "cannot import no_such"),
        ({"plan": "fast"}, ValueError, "no plan 'fast'; there is: auto, sorted, runs"),
        ({"job_id": "../x"}, PublicationError, "illegal job id"),
    ],
)
def test_ingest_with_bad_arguments_is_refused(fails, text, options, error, reason):
    fails(error, reason, text, **options)


def test_ingest_beside_another_writer_is_refused(run, log_dir, text):
    with (
        LogDirWriter.open(log_dir, create=True),
        pytest.raises(LogDirLockedError, match="only one writer at a time"),
    ):
        run(text, lock_timeout_ms=0)


@pytest.mark.parametrize("plan", ["sorted", "runs"])
def test_ingest_whose_staging_cannot_be_written_is_refused(fails, log_dir, text, monkeypatch, plan):
    """The tasks find no staging directory, as on executors that do not share the log dir."""

    def start(engine: SparkIngest) -> None:
        for directory in (log_dir / JOB_STAGING_DIR).iterdir():
            shutil.rmtree(directory)

    monkeypatch.setattr(SparkIngest, "start", start)
    fails(KMiniLogError, "a task cannot write its staged files: .*No such file", text, plan=plan)
