"""What goes wrong in an ingest: a user's class, a full disk, a driver that dies."""

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.errors import KMiniLogError, LogDirError
from kminilog.format.names import TopicPartition
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import MANIFEST_DIR, QUARANTINE_DIR
from kminilog.storage.publish import publication
from kminilog.storage.publish.publication import JOB_STAGING_DIR
from kminilog.storage.publish.visibility import STAGING_DIR
from kminilog.storage.topics import Topic
from tests.support.damage import files_of
from tests.support.log_content import content_of

CLASSES = f"{__name__}."


class FailsOn37:
    """Written for the new interface."""

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        if key == "37":
            raise RuntimeError("not this one")
        return int(key) % 2


class TooFarOn37:
    """Written for the old interface."""

    def __init__(self, properties):
        pass

    def partition(self, key, number_of_partitions):
        return number_of_partitions if key == "37" else 0


class OnAFullDisk:
    """Its process can write no file beyond 4 KiB from now on; it ends with the task that fails."""

    def __init__(self, properties):
        sys.dont_write_bytecode = True  # the limit would cut it off
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))

    def partition(self, key, number_of_partitions):
        return 0


class ByDigits:
    """One that works."""

    def __init__(self, properties):
        pass

    def partition(self, key, number_of_partitions):
        return len(key) - 1


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.txt"
    path.write_bytes(b"".join(b"%d %s\n" % (n, b"x" * 100) for n in range(100)))
    return path


def options(plan, **more):
    return {"topic": "t", "partitions": 2, "plan": plan, "job_id": "j", **more}


@pytest.mark.parametrize("plan", ["sorted", "runs"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("FailsOn37", "line 38: partition raised RuntimeError: not this one"),
        ("TooFarOn37", r"line 38: Invalid partition id: 2 for topic t"),
    ],
)
def test_ingest_with_a_class_that_fails_names_the_record(
    spark, tmp_path, numbers, plan, name, reason
):
    log_dir, source = tmp_path / "log", Source((str(numbers),), key_regex=r"^\d+")
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("t", 2))
    before = files_of(log_dir / "t-0")
    with pytest.raises(KMiniLogError, match=f"{CLASSES}{name}: {numbers}, {reason}") as caught:
        ingest(spark, log_dir, source, **options(plan, partitioner=CLASSES + name))
    assert "\n" not in str(caught.value)
    assert files_of(log_dir / "t-0") == before
    assert not list((log_dir / JOB_STAGING_DIR).iterdir())


@pytest.mark.parametrize("plan", ["sorted", "runs"])
def test_ingest_with_a_class_goes_where_it_says(spark, tmp_path, numbers, plan):
    log_dir, source = tmp_path / "log", Source((str(numbers),), key_regex=r"^\d+")
    result = ingest(spark, log_dir, source, **options(plan, partitioner=CLASSES + "ByDigits"))
    assert result.manifest.facts["plan"] == plan
    content = content_of(log_dir, "t")
    assert [int(key) for key, _ in content[0]] == list(range(10))
    assert [int(key) for key, _ in content[1]] == list(range(10, 100))


def test_ingest_on_a_full_disk_is_refused_and_leaves_nothing(spark, tmp_path, numbers):
    log_dir, source = tmp_path / "log", Source((str(numbers),), key_regex=r"^\d+")
    partitioner = CLASSES + "OnAFullDisk"
    with pytest.raises(KMiniLogError, match=r"cannot write its staged files: .*File too large"):
        ingest(spark, log_dir, source, **options("runs", partitioner=partitioner))
    assert not list((log_dir / JOB_STAGING_DIR).iterdir())
    assert not list(log_dir.glob("t*"))


@pytest.mark.parametrize("plan", ["sorted", "runs"])
def test_ingest_that_fills_a_small_disk_changes_nothing_and_succeeds_with_more_space(
    spark, tmp_path, mount, dialect, plan
):
    """The source is small enough for the disk; what it says, uncompressed, is not."""
    value, rows = b"x" * 1000, 10_000
    path = tmp_path / "source.parquet"
    pq.write_table(pa.table({"value": pa.array([value] * rows)}), path, compression="zstd")
    source, disk = Source((str(path),), "parquet", value="value"), mount("size=4m")
    with LogDirWriter.open(disk / "log", create=True) as writer:
        writer.create_topic(Topic("t", 2, dialect))
        writer.log(TopicPartition("t", 0)).append([(b"k", b"before")])
    before = files_of(disk / "log" / "t-0")
    with pytest.raises(KMiniLogError, match="No space left on device") as caught:
        ingest(spark, disk / "log", source, **options(plan))
    assert "\n" not in str(caught.value)
    assert files_of(disk / "log" / "t-0") == before
    assert not list((disk / "log" / JOB_STAGING_DIR).iterdir())
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
    assert not ingest(spark, disk / "log", source, **options(plan)).already_committed
    content = content_of(disk / "log", "t")
    assert content[0][:1] == [(b"k", b"before")]
    assert sum(map(len, content.values())) == rows + 1


def test_ingest_into_a_path_that_can_be_no_directory_is_refused(spark, tmp_path, numbers):
    (tmp_path / "file").touch()
    with pytest.raises(LogDirError, match="it cannot be made"):
        ingest(spark, tmp_path / "file" / "log", Source((str(numbers),)), topic="t")


@pytest.mark.parametrize("plan", ["sorted", "runs"])
@pytest.mark.parametrize("moment", ["before the commit point", "after it"])
def test_ingest_whose_driver_died_is_done_once_when_it_is_run_again(
    spark, tmp_path, numbers, monkeypatch, moment, plan
):
    """The log dir is copied at the moment of death: nothing tidies up in the copy."""
    numbers.write_bytes(numbers.read_bytes() + b"huge " + b"x" * 2000 + b"\n")
    log_dir, dead = tmp_path / "log", tmp_path / "dead"
    source = Source((str(numbers),), key_regex=r"^\d+")
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("t", 2, settings=TopicSettings(max_message_bytes=1000)))

    def snapshot(real):
        def copy_and_go_on(*arguments):
            if not dead.exists():
                shutil.copytree(log_dir, dead)
            return real(*arguments)

        return copy_and_go_on

    with monkeypatch.context() as patch:
        if moment == "after it":
            patch.setattr(publication, "_finish", snapshot(publication._finish))
        else:
            patch.setattr("kminilog.jobs.ingest.publishing.publish", snapshot(publication.publish))
        ingest(spark, log_dir, source, **options(plan, max_rejected=1))
    assert list((dead / STAGING_DIR / "j").iterdir())
    assert len(list((dead / QUARANTINE_DIR).iterdir())) == 1
    again = ingest(spark, dead, source, **options(plan, max_rejected=1))
    assert again.already_committed == (moment == "after it")
    assert content_of(dead, "t") == content_of(log_dir, "t")
    assert sum(map(len, content_of(dead, "t").values())) == 100
    assert not list((dead / STAGING_DIR).glob("*"))
    assert [path.name for path in (dead / MANIFEST_DIR).iterdir()] == ["j.json"]
    assert [path.name for path in (dead / QUARANTINE_DIR).iterdir()] == ["j.jsonl"]
