"""The runs that tasks write, and the partitions that they are joined to."""

import pytest

from kminilog.columns import staged_logs
from kminilog.columns.writing import ColumnWriter
from kminilog.format.names import TopicPartition
from kminilog.jobs.ingest.runs import RunsWriter, join
from kminilog.jobs.source.tasks import LocalTasks
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import Manifest
from kminilog.storage.publish.publication import publish
from kminilog.verification.report import verify_storage
from tests.support.jobs.ingest.jobs import Jobs, batch_of, in_batches, make_records, partition_rows
from tests.support.log_content import content_of, files_of


def test_one_run_into_an_empty_topic_writes_the_files_of_plain_appends(tmp_path, dialect):
    rows = make_records(150, 2, 1)
    jobs = Jobs(tmp_path / "log", dialect, 2, 0)
    job = jobs.job("r")
    ((_, run),), _ = jobs.run_task(job, RunsWriter, in_batches(rows, 40))
    publish(jobs.path, Manifest("r", "t", join(LocalTasks(), job, [run]), {}))
    with LogDirWriter.open(tmp_path / "plain", create=True) as writer:
        writer.create_topic(jobs.topic)
        for partition, found in partition_rows(rows, "default-2.4", 2).items():
            writer.log(TopicPartition("t", partition)).append((row[3], row[4]) for row in found)
    assert files_of(jobs.path, "t") == files_of(tmp_path / "plain", "t")
    assert len(files_of(jobs.path, "t")) > 20


@pytest.mark.parametrize("before", [1, 2])
def test_join_that_was_interrupted_is_done_again(tmp_path, dialect, monkeypatch, before):
    """The first attempt dies when it has copied some of the messages."""
    jobs = Jobs(tmp_path / "log", dialect, 1, before)
    job = jobs.job("r")
    rows = [(0, 0, n, b"k", b"%d" % n, None) for n in range(60)]
    halves = rows[:30], rows[30:]
    runs = [jobs.run_task(job, RunsWriter, [batch_of(half)])[0][0].run for half in halves]
    monkeypatch.setattr(staged_logs, "_PIECE_BYTES", 1)
    real, calls = ColumnWriter.append_whole, []

    def dies(*arguments):
        calls.append(arguments)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ColumnWriter, "append_whole", dies)
        with pytest.raises(KeyboardInterrupt):
            join(LocalTasks(), job, runs)
    publish(jobs.path, Manifest("r", "t", join(LocalTasks(), job, runs), {}))
    assert content_of(jobs.path, "t")[0][before:] == [(b"k", b"%d" % n) for n in range(60)]
    assert verify_storage(LogDir(jobs.path)).verdict == "ok"
