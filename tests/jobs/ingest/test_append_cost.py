"""What a job costs: not more with jobs before it, and no wait for the disk for each partition."""

import os
import sys

import pytest

from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.verification.report import verify_storage

SMALL = TopicSettings(index_interval_bytes=50)


@pytest.fixture
def one_more_job(tmp_path, dialect, monkeypatch):
    """A function that ingests a few lines as one more job, and counts the files that it opens.

    It lists no partition more than once: this takes longer, the more segments there are.
    """
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"".join(b"key %d:value\n" % number for number in range(40)))
    source, opened, real = Source((str(lines),), key_regex="^([^:]*):"), list[str](), os.open
    listed, real_list = list[str](), os.listdir

    def count_open(path, *arguments, **named):
        opened.append(path)
        return real(path, *arguments, **named)

    def count_list(path="."):
        if str(path).startswith(str(tmp_path / "log" / "t-")):
            listed.append(str(path))
        return real_list(path)

    def ingest():
        opened.clear()
        listed.clear()
        with monkeypatch.context() as patched:
            patched.setattr(os, "open", count_open)
            patched.setattr(os, "listdir", count_list)
            ingest_with(
                LocalIngest(),
                tmp_path / "log",
                source,
                topic="t",
                partitions=2,
                dialect=dialect,
                settings=SMALL,
            )
        assert len(listed) == len({*listed})
        return len(opened)

    return ingest


def test_append_opens_as_many_files_after_twenty_jobs_as_after_two(one_more_job, tmp_path):
    for _ in range(2):
        one_more_job()
    after_two = one_more_job()
    for _ in range(17):
        one_more_job()
    assert one_more_job() == after_two
    assert verify_storage(LogDir(tmp_path / "log")).verdict == "ok"


def test_verify_checks_where_logs_end_after_a_first_job(one_more_job, tmp_path):
    one_more_job()
    report = verify_storage(LogDir(tmp_path / "log"))
    assert "log-ends" in report.checked
    assert "log-ends" not in [one.what for one in report.unchecked]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux syncs one file system")
def test_job_waits_for_the_disk_as_often_with_fifty_partitions_as_with_one(tmp_path, monkeypatch):
    counts, real = list[int](), os.fsync

    def count(descriptor):
        counts[-1] += 1
        real(descriptor)

    monkeypatch.setattr(os, "fsync", count)
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"".join(b"key %d:value\n" % number for number in range(400)))
    source = Source((str(lines),), key_regex="^([^:]*):")
    for partitions in 1, 50:
        counts.append(0)
        ingest_with(
            LocalIngest(), tmp_path / "log", source, topic=f"t{partitions}", partitions=partitions
        )
    assert counts[1] <= counts[0]
