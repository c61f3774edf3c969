"""Logs that bulk jobs and producers wrote, as `ingest` writes them by both plans, without Spark.

A log is a list of steps, each with its records: `runs` and `sorted` are jobs by these plans,
`producer` appends as `produce` does, `retain` deletes all segments but the last two.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kminilog.columns.partitioning import Places, chooser
from kminilog.columns.staged_logs import join_logs, seal
from kminilog.columns.writing import ColumnWriter
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import Manifest, StagedPartition
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.retention import delete_expired
from kminilog.storage.publish.publication import (
    open_staged_log,
    publish,
    staging_path,
)
from kminilog.storage.topics import Topic

TOPIC = "orders"
KeyValue = tuple[bytes | None, bytes]


class Step(NamedTuple):
    """What is done next; a job has an id, and perhaps the path of the one file that it read."""

    kind: str
    records: Sequence[KeyValue] = ()
    job: str = ""
    path: str = ""
    run_count: int = 3


class JobLogs:
    """Writes the steps of one topic."""

    def __init__(self, writer: LogDirWriter, topic: Topic, partitioner: str) -> None:
        self._writer, self._topic, self._partitioner = writer, topic, partitioner

    def take(self, step: Step) -> None:
        if step.kind == "retain":
            self._retain()
        elif step.kind == "producer":
            for number, records in self._divided(step.records, 0).items():
                self._writer.log(TopicPartition(TOPIC, number)).append(records)
        else:
            self._run(step)

    def _retain(self) -> None:
        for topic_partition in self._topic.all_partitions():
            log = self._writer.log(topic_partition)
            for segment in log.segments()[:-2]:
                os.utime(segment.log_path, ns=(0, 0))
            delete_expired(log, now_ms=time.time_ns() // 1_000_000)
            self._writer.release(topic_partition)

    def _divided(self, records: Sequence[KeyValue], first_row: int) -> dict[int, list[KeyValue]]:
        rows = np.arange(first_row, first_row + len(records))
        keys = pa.array([key for key, _ in records], pa.binary())
        choose = chooser(self._partitioner, self._topic.partitions)
        found: dict[int, list[KeyValue]] = {}
        chosen = choose(keys, Places(np.zeros_like(rows), rows, rows)).tolist()
        for record, partition in zip(records, chosen, strict=True):
            found.setdefault(partition, []).append(record)
        return dict(sorted(found.items()))

    def _run(self, step: Step) -> None:
        path, staging = self._writer.path, staging_path(self._writer.path, step.job)
        ends = {tp: self._writer.log(tp).log_end_offset for tp in self._topic.all_partitions()}
        for topic_partition in ends:
            self._writer.release(topic_partition)
        staged = self._sorted(step, staging, ends)
        if step.kind == "runs":
            staged = self._joined(step, staging, ends)
        facts = {
            "source": {"paths": [step.path]},
            "files": 1,
            "partitions": self._topic.partitions,
            "partitioner": self._partitioner,
            "seed": 0,
            "plan": step.kind,
            "count": len(step.records),
            "rejected": 0,
        }
        publish(path, Manifest(step.job, TOPIC, staged, facts))

    def _sorted(
        self, step: Step, staging: Path, ends: dict[TopicPartition, int]
    ) -> list[StagedPartition]:
        if step.kind != "sorted":
            return []
        return [
            self._stage(staging, staging, number, records, ends[TopicPartition(TOPIC, number)])
            for number, records in self._divided(step.records, 0).items()
        ]

    def _joined(
        self, step: Step, staging: Path, ends: dict[TopicPartition, int]
    ) -> list[StagedPartition]:
        runs: dict[int, list[StagedPartition]] = {}
        length = -(-len(step.records) // step.run_count)
        for row in range(0, len(step.records), length):
            divided = self._divided(step.records[row : row + length], row)
            for number, records in divided.items():
                run = self._stage(staging, staging / f"run-{row}", number, records, 0)
                runs.setdefault(number, []).append(run)
        return [
            join_logs(
                self._open(staging / "joined", number, ends[TopicPartition(TOPIC, number)]),
                staging,
                found,
            )
            for number, found in sorted(runs.items())
        ]

    def _stage(
        self, staging: Path, attempt: Path, number: int, records: list[KeyValue], start: int
    ) -> StagedPartition:
        columns = ColumnWriter(self._open(attempt, number, start))
        keys, values = zip(*records, strict=True)
        columns.append(pa.array(keys, pa.binary()), pa.array(values, pa.binary()))
        columns.flush()
        return seal(columns.reopen(), staging, start)

    def _open(self, attempt: Path, number: int, first_offset: int) -> PartitionLog:
        attempt.mkdir(parents=True, exist_ok=True)
        return open_staged_log(
            attempt,
            self._topic,
            number,
            target=self._writer.directory(TopicPartition(TOPIC, number)),
            first_offset=first_offset,
        )


def write_job_log(
    path: Path,
    dialect: Dialect,
    steps: Sequence[Step],
    *,
    partitions: int,
    settings: TopicSettings,
    partitioner: str = "default-2.4",
) -> None:
    """Write a log dir with one topic, step by step."""
    with LogDirWriter.open(path, create=True) as writer:
        topic = Topic(TOPIC, partitions, dialect, settings)
        writer.create_topic(topic)
        logs = JobLogs(writer, topic, partitioner)
        for step in steps:
            logs.take(step)
