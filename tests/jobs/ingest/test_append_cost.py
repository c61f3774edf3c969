"""What one more job costs does not depend on the number of jobs before it."""

import os

import pytest

from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir import LogDir
from kminilog.verification.report import verify_storage

SMALL = TopicSettings(index_interval_bytes=50)


@pytest.fixture
def one_more_job(tmp_path, dialect, monkeypatch):
    """A function that ingests a few lines as one more job, and counts the files that it opens."""
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"".join(b"key %d:value\n" % number for number in range(40)))
    source, opened, real = Source((str(lines),), key_regex="^([^:]*):"), list[str](), os.open

    def count_open(path, *arguments, **named):
        opened.append(path)
        return real(path, *arguments, **named)

    def ingest():
        opened.clear()
        with monkeypatch.context() as patched:
            patched.setattr(os, "open", count_open)
            ingest_with(
                LocalIngest(),
                tmp_path / "log",
                source,
                topic="t",
                partitions=2,
                dialect=dialect,
                settings=SMALL,
            )
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
