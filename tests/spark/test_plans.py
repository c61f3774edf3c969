"""Both plans without a JVM: what their tasks write and how it is joined, however it was divided."""

import random
import shutil
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.bulk.partitioning import Places, chooser
from kminilog.bulk.unnumbered import join_groups
from kminilog.bulk.writing import ColumnWriter
from kminilog.format.dialect import DIALECTS
from kminilog.format.names import TopicPartition
from kminilog.ingest import runs as runs_module
from kminilog.ingest.quarantine import RejectedWriter
from kminilog.ingest.runs import RunsWriter, _join
from kminilog.ingest.staging import StagingJob
from kminilog.settings import TopicSettings
from kminilog.spark.ingest.placing import pack, places_of, unpack
from kminilog.spark.ingest.plans import SortedWriter, _suitable
from kminilog.storage.log_dir import LogDir
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.publish.manifests import Manifest
from kminilog.storage.publish.publication import publish, staging_path
from kminilog.storage.topics import Topic
from kminilog.verification.report import verify_storage
from tests.log_content import content_of, files_of

SMALL = TopicSettings(segment_bytes=600, index_interval_bytes=100)
SCHEMA = pa.schema(
    [
        ("source_rank", pa.int32()),
        ("source_position", pa.int64()),
        ("source_row", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("rejected", pa.string()),
    ]
)


def make_records(count, files, seed):
    """Records of some files of different lengths, in source order."""
    chance = random.Random(seed)
    borders = sorted(chance.randrange(count + 1) for _ in range(files - 1))
    rows = []
    for rank, (start, stop) in enumerate(zip([0, *borders], [*borders, count], strict=True)):
        for row in range(stop - start):
            key = chance.choice([None, b"", b"k%d" % chance.randrange(9)])
            value = b"%d " % (start + row) + b"x" * chance.randrange(60)
            reason = "no good" if chance.random() < 0.05 else None
            rows.append((rank, 0, row, key, value, reason))
    return rows


def batch_of(rows):
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


class Jobs:
    """A log dir with a topic, and jobs that are done by hand, task after task."""

    def __init__(self, path, dialect, partitions, before):
        self.path = path.resolve()
        self.topic = Topic("t", partitions, dialect, SMALL)
        with LogDirWriter.open(path, create=True) as writer:
            writer.create_topic(self.topic)
            for tp in self.topic.all_partitions():
                writer.log(tp).append([(b"old", b"%d" % n) for n in range(before)])
        self.first_offset = before

    def job(self, job_id, partitioner="default-2.4"):
        directory = staging_path(self.path, job_id)
        directory.mkdir(parents=True)
        ends = [self.first_offset] * self.topic.partitions
        return StagingJob(
            str(self.path), str(directory), self.topic, ends, partitioner, 0, 10**6, []
        )

    def run_task(self, job, make_writer, batches):
        attempt = job.new_attempt()
        rejected = RejectedWriter(attempt, job.max_rejected)
        writer = make_writer(job, attempt, rejected)
        for batch in batches:
            writer.write(batch)
        return writer.close(), rejected.close()


def in_batches(rows, size):
    return [batch_of(rows[start : start + size]) for start in range(0, len(rows), size)]


def partition_rows(rows, partitioner, partitions):
    """The records of each partition that are not rejected, by the chooser, in source order."""
    fine = [row for row in rows if row[5] is None]
    keys = pa.array([row[3] for row in fine], pa.binary())
    places = Places(*(np.array([row[n] for row in fine], np.int64) for n in range(3)))
    chosen = chooser(partitioner, partitions)(keys, places).tolist()
    return {
        p: [row for row, at in zip(fine, chosen, strict=True) if at == p] for p in range(partitions)
    }


@settings(max_examples=10, deadline=None)
@given(
    dialect=st.sampled_from(list(DIALECTS.values())),
    before=st.sampled_from([0, 1, 2, 9]),
    partitions=st.sampled_from([1, 3]),
    partitioner=st.sampled_from(["default-2.4", "round-robin", "random"]),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    buffer_rows=st.sampled_from([1, 7, 1000]),
    row_bytes=st.sampled_from([1, 100, 4096]),
    seed=st.integers(0, 5),
)
def test_both_plans_write_the_same_files(
    tmp_path_factory,
    dialect,
    before,
    partitions,
    partitioner,
    cuts,
    buffer_rows,
    row_bytes,
    seed,
):
    rows = make_records(60, 3, seed)
    tmp_path = tmp_path_factory.mktemp("plans")
    borders = [0, *sorted(cuts), len(rows)]
    pieces = [rows[a:b] for a, b in pairwise(borders)]
    expected = partition_rows(rows, partitioner, partitions)
    old = [(b"old", b"%d" % n) for n in range(before)]
    content = {p: old + [(r[3], r[4]) for r in expected[p]] for p in expected}

    one = Jobs(tmp_path / "runs", dialect, partitions, before)
    job = one.job("r", partitioner)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs_module, "_BUFFER_ROWS", buffer_rows)
        results = [
            one.run_task(job, RunsWriter, in_batches(piece, 10)) for piece in reversed(pieces)
        ]
    found = sorted((run for written, _ in results for run in written), key=lambda run: run.first)
    of_partition = {
        p: [s for run in found for s in run.partitions if s.partition == p] for p in expected
    }
    staged = [_join(job, parts) for parts in of_partition.values() if parts]
    # Once more, as a second attempt would: the result is the same, and the first is still whole.
    again = [_join(job, parts) for parts in of_partition.values() if parts]
    assert [s.digest for s in again] == [s.digest for s in staged]
    publish(one.path, Manifest("r", "t", staged, {}))
    assert content_of(one.path, "t") == content
    assert verify_storage(LogDir(one.path)).verdict == "ok"

    other = Jobs(tmp_path / "sorted", dialect, partitions, before)
    job = other.job("s", partitioner)
    shuffled = sorted(packed(job, rows, 7, row_bytes).items())
    results_sorted = [other.run_task(job, SortedWriter, batches) for _, batches in shuffled]
    written = [staged for staged, _ in results_sorted]
    publish(other.path, Manifest("s", "t", [s for staged in written for s in staged], {}))
    assert files_of(other.path, "t") == files_of(one.path, "t")
    assert [replace(s, directory="") for s in staged] == [
        replace(s, directory="") for found in written for s in found
    ]
    rejected = [row for row in rows if row[5] is not None]
    for outcome in (results, results_sorted):
        assert sum(part.count for _, parts in outcome for part in parts) == len(rejected)
    shutil.rmtree(tmp_path)


def packed(job, rows, size, row_bytes):
    """What Spark would hand to the task of each partition."""
    choose, found = job.chooser(), {}
    for batch in in_batches(rows, size):
        marks, messages = pack(batch, job, choose)
        firsts, messages = join_groups(messages, marks, row_bytes)
        for mark, message in zip(marks[firsts].tolist(), messages, strict=True):
            found.setdefault(max(mark, 0), []).append(message.as_py())
    return {
        partition: [
            pa.record_batch({"messages": pa.array(messages[start : start + 9], pa.binary())})
            for start in range(0, len(messages), 9)
        ]
        for partition, messages in found.items()
    }


def test_one_run_into_an_empty_topic_writes_the_files_of_plain_appends(tmp_path, dialect):
    rows = make_records(150, 2, 1)
    jobs = Jobs(tmp_path / "log", dialect, 2, 0)
    job = jobs.job("r")
    (run,), _ = jobs.run_task(job, RunsWriter, in_batches(rows, 40))
    publish(jobs.path, Manifest("r", "t", [_join(job, [s]) for s in run.partitions], {}))
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
    runs = [jobs.run_task(job, RunsWriter, [batch_of(half)])[0][0] for half in halves]
    parts = [run.partitions[0] for run in runs]
    real, calls = ColumnWriter.append_whole, []

    def dies(*arguments):
        calls.append(arguments)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ColumnWriter, "append_whole", dies)
        with pytest.raises(KeyboardInterrupt):
            _join(job, parts)
    publish(jobs.path, Manifest("r", "t", [_join(job, parts)], {}))
    assert content_of(jobs.path, "t")[0][before:] == [(b"k", b"%d" % n) for n in range(60)]
    assert verify_storage(LogDir(jobs.path)).verdict == "ok"


def test_unpack_gives_what_was_packed_rejected_or_not(tmp_path, dialect):
    jobs = Jobs(tmp_path / "log", dialect, 3, 0)
    job = jobs.job("r", "round-robin")
    rows = [row for row in make_records(200, 1, 2) if row[5] or row[2] % 3 == 1]
    marks, messages = pack(batch_of(rows), job, job.chooser())
    below = [mark for mark in marks.tolist() if mark < 0]
    assert {mark for mark in marks.tolist() if mark >= 0} == {1}
    assert len(set(below)) == len(below) == len([row for row in rows if row[5]])
    partition, fine, rejected = unpack(messages)
    assert partition == 1
    assert len(fine) == len([row for row in rows if row[5] is None])
    names = ["source_rank", "source_position", "source_row", "key", "value", "rejected"]
    assert [tuple(row[name] for name in names) for row in rejected.to_pylist()] == [
        row for row in rows if row[5]
    ]
    only = [row for row in rows if row[5]]
    partition, fine, _ = unpack(pack(batch_of(only), job, job.chooser())[1])
    assert (partition, len(fine)) == (None, 0)
    with pytest.raises(AssertionError, match="one task, one partition"):
        unpack(pack(batch_of(make_records(9, 1, 3)), job, job.chooser())[1])


# ---- which plan


@pytest.mark.parametrize(
    ("runs", "total_bytes", "partitions", "expected"),
    [
        (1, 10, 64, "runs"),  # one run: as good as sorted, without a shuffle
        (8, 1 << 30, 64, "runs"),
        (3, 20 << 20, 64, "sorted"),  # 3 x 64 segments of 100 KiB
        (8, 2 << 30, 8, "runs"),
        (1000, 1000 << 20, 8, "sorted"),
    ],
)
def test_auto_takes_runs_unless_segments_would_be_tiny(runs, total_bytes, partitions, expected):
    assert _suitable(runs, total_bytes, partitions) == expected


def test_places_of_a_table_are_numbers_of_numpy():
    places = places_of(pa.Table.from_batches([batch_of([(1, 2, 3, b"", b"", None)])]))
    assert [part.tolist() for part in places] == [[1], [2], [3]]
    assert all(part.dtype == np.int64 for part in places)
