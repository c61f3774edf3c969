"""Jobs that are published into several partitions, with readers beside it, some in processes."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from kminilog.columns.staged_logs import join_logs, seal
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import Manifest
from kminilog.storage.publish.publication import open_staged_log, publish, staging_path
from kminilog.storage.topics import Topic
from tests.support.crash.numbered_messages import numbered_messages
from tests.support.crash.watching import PARTITIONS, job_size, log_end, watch
from tests.support.invariants import check_log
from tests.support.processes import finish, read_line, start, wait_until

pytestmark = pytest.mark.processes

SETTINGS = TopicSettings(segment_bytes=700, index_interval_bytes=200)


@pytest.mark.usefixtures("without_fsync")
@pytest.mark.parametrize(
    "jobs", [25, pytest.param(1000, marks=pytest.mark.soak)], ids=["quick", "long"]
)
def test_read_beside_publication_sees_whole_jobs_in_all_partitions(tmp_path, dialect, jobs):
    with LogDirWriter.open(tmp_path) as writer, ExitStack() as stack:
        writer.create_topic(Topic("orders", PARTITIONS, dialect, SETTINGS))
        processes = [
            stack.enter_context(start("crash.watching_process", tmp_path, jobs)) for _ in range(2)
        ]
        assert {read_line(process) for process in processes} == {"ready"}
        pool = stack.enter_context(ThreadPoolExecutor())
        seen = set[int]()
        threads = [pool.submit(watch, tmp_path, jobs, seen.add) for _ in range(2)]
        for job in range(1, jobs + 1):
            publish(tmp_path, stage(tmp_path, dialect, job))
            if job % 5 == 0:  # a reader that is late comes beside the next publications
                wait_until(lambda job=job: job in seen or any(t.done() for t in threads))
        for thread in threads:
            thread.result()
        for process in processes:
            finish(process)
        for partition in range(PARTITIONS):
            log = writer.log(TopicPartition("orders", partition))
            check_log(log)
            assert log.log_end_offset == log_end(partition, jobs)
    assert len(seen) > 3


def stage(log_dir: Path, dialect: Dialect, job: int) -> Manifest:
    """Stage a job; every other one in two runs a partition that do not know their offsets."""
    staging = staging_path(log_dir, f"job-{job}")
    staged = []
    for partition in range(PARTITIONS):
        topic_partition = TopicPartition("orders", partition)
        first_offset, end = log_end(partition, job - 1), log_end(partition, job)
        assert end - first_offset == job_size(partition, job)
        halfway = (first_offset + end) // 2 if job % 2 else end
        runs = []
        for number, (begin, stop) in enumerate([(first_offset, halfway), (halfway, end)]):
            if begin == stop:
                continue
            (staging / str(number)).mkdir(parents=True, exist_ok=True)
            log = open_staged_log(
                staging / str(number),
                Topic("orders", PARTITIONS, dialect, SETTINGS),
                partition,
                target=log_dir / str(topic_partition),
                first_offset=0 if job % 2 else begin,
            )
            log.append(numbered_messages(begin, stop - begin))
            runs.append(seal(log, staging, 0 if job % 2 else begin))
        if job % 2 and runs:
            (staging / "joined").mkdir(parents=True, exist_ok=True)
            log = open_staged_log(
                staging / "joined",
                Topic("orders", PARTITIONS, dialect, SETTINGS),
                partition,
                target=log_dir / str(topic_partition),
                first_offset=first_offset,
            )
            runs = [join_logs(log, staging, runs)]
        staged += runs
    return Manifest(f"job-{job}", "orders", staged, {})
