"""Both plans without a JVM: they write the same files, however the records were divided."""

import shutil
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.columns import staged_logs
from kminilog.columns.unnumbered import join_groups
from kminilog.format.dialect import DIALECTS
from kminilog.jobs.ingest.runs import RunsWriter, _join, join
from kminilog.jobs.source.tasks import LocalTasks
from kminilog.jobs.spark.ingest.placing import pack, places_of, unpack
from kminilog.jobs.spark.ingest.plans import SortedWriter, _suitable
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.manifests import Manifest
from kminilog.storage.publish.publication import publish
from kminilog.verification.report import verify_storage
from tests.support.jobs.ingest.jobs import Jobs, batch_of, in_batches, make_records, partition_rows
from tests.support.log_content import content_of, files_of


@settings(max_examples=10, deadline=None)
@given(
    dialect=st.sampled_from(list(DIALECTS.values())),
    before=st.sampled_from([0, 1, 2, 9]),
    partitions=st.sampled_from([1, 3]),
    partitioner=st.sampled_from(["default-2.4", "round-robin", "random"]),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    buffer_bytes=st.sampled_from([1, 400, 1 << 20]),
    row_bytes=st.sampled_from([1, 100, 4096]),
    writers=st.sampled_from([1, 2, 3]),
    seed=st.integers(0, 5),
)
def test_both_plans_write_the_same_files(
    tmp_path_factory,
    dialect,
    before,
    partitions,
    partitioner,
    cuts,
    buffer_bytes,
    row_bytes,
    writers,
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
        patch.setattr(staged_logs, "_BUFFER_BYTES", buffer_bytes)
        patch.setattr(staged_logs, "_PIECE_BYTES", buffer_bytes)
        results = [
            one.run_task(job, RunsWriter, in_batches(piece, 10)) for piece in reversed(pieces)
        ]
        found = [run for written, _ in results for run in written]
        runs = [run for _, run in sorted(found, key=lambda run: run.first)]
        filled = [p for p in expected if expected[p]]
        # As a second attempt would: the result is the same, and the runs are still whole.
        again = _join(job, runs, filled) if filled else []
        staged = join(LocalTasks(), job, runs)
    assert [s.digest for s in again] == [s.digest for s in staged]
    publish(one.path, Manifest("r", "t", staged, {}))
    assert content_of(one.path, "t") == content
    assert verify_storage(LogDir(one.path)).verdict == "ok"

    other = Jobs(tmp_path / "sorted", dialect, partitions, before)
    job = other.job("s", partitioner)
    shuffled = packed(job, rows, 7, row_bytes)
    tasks = [shuffled[:writers], shuffled[writers:]]  # of which the second may have nothing
    results_sorted = [other.run_task(job, SortedWriter, in_tens(task)) for task in tasks]
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
    """What Spark would hand to a task, for each partition."""
    choose, found = job.chooser(), {}
    for batch in in_batches(rows, size):
        marks, messages = pack(batch, job, choose)
        firsts, messages = join_groups(messages, marks, row_bytes)
        for mark, message in zip(marks[firsts].tolist(), messages, strict=True):
            found.setdefault(max(mark, 0), []).append(message.as_py())
    return [messages for _, messages in sorted(found.items())]


def in_tens(partitions):
    messages = list(chain(*partitions))
    for start in range(0, len(messages), 10):
        yield pa.record_batch({"messages": pa.array(messages[start : start + 10], pa.binary())})


def test_unpack_gives_what_was_packed_rejected_or_not(tmp_path, dialect):
    jobs = Jobs(tmp_path / "log", dialect, 3, 0)
    job = jobs.job("r", "round-robin")
    rows = [row for row in make_records(200, 1, 2) if row[5] or row[2] % 3 == 1]
    marks, messages = pack(batch_of(rows), job, job.chooser())
    below = [mark for mark in marks.tolist() if mark < 0]
    assert {mark for mark in marks.tolist() if mark >= 0} == {1}
    assert len(set(below)) == len(below) == len([row for row in rows if row[5]])
    ((partition, fine),), rejected = unpack(messages)
    assert partition == 1
    assert len(fine) == len([row for row in rows if row[5] is None])
    names = ["source_rank", "source_position", "source_row", "key", "value", "rejected"]
    assert [tuple(row[name] for name in names) for row in rejected.to_pylist()] == [
        row for row in rows if row[5]
    ]
    only = [row for row in rows if row[5]]
    assert unpack(pack(batch_of(only), job, job.chooser())[1])[0] == []
    marks, messages = pack(batch_of(make_records(90, 1, 3)), job, job.chooser())
    messages = messages.take(pa.array(np.argsort(marks, kind="stable")))
    found, _ = unpack(messages)
    assert [partition for partition, _ in found] == [0, 1, 2]
    assert sum(len(fine) for _, fine in found) == (marks >= 0).sum()


# ---- which plan


@pytest.mark.parametrize(
    ("free_bytes", "expected"),
    [
        (
            200,
            ("runs", "it needs no shuffle; it needs twice the 100 bytes of the messages, and 200"),
        ),
        (199, ("sorted", "runs would be faster, but it needs twice the 100 bytes of the messages")),
    ],
)
def test_auto_takes_runs_if_there_is_space_for_them_and_says_so(free_bytes, expected):
    plan, reason = _suitable(100, free_bytes)
    assert plan == expected[0]
    assert reason.startswith(expected[1])


def test_places_of_a_table_are_numbers_of_numpy():
    places = places_of(pa.Table.from_batches([batch_of([(1, 2, 3, b"", b"", None)])]))
    assert [part.tolist() for part in places] == [[1], [2], [3]]
    assert all(part.dtype == np.int64 for part in places)
