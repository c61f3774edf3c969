"""The tasks of an ingest as a Spark data sink: each writes one partition's segments in staging.

A task has the messages of one partition, in order, and writes them with the engine's own
`PartitionLog` into a directory that no other attempt of any task shares. What it says of them is a
`StagedPartition`. Spark hands those of the attempts that count to `commit`, which runs in a Python
process of its own beside the driver and so puts them into a file. Nothing is published here.
"""

import json
import pickle
from base64 import b64decode, b64encode
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kminilog.errors import LogDirError, WriteFailedError
from kminilog.format.names import TopicPartition
from kminilog.storage.durable_file import replace_file
from kminilog.storage.publication import StagedPartition, open_staged_log, seal
from kminilog.storage.topics import Topic

_STAGED_FILE = "staged.json"


@dataclass(frozen=True)
class StagingJob:
    """What the tasks of a job must know; `first_offsets` has one for each partition."""

    log_dir: str
    directory: str
    topic: Topic
    first_offsets: list[int]

    def run(self, messages: DataFrame) -> list[StagedPartition]:
        """Write messages (columns partition, key, value) and return what is in staging now.

        Each task must hold those of one partition only, in order. Partitions without messages are
        left out. No message reaches the driver. Raises Spark's exceptions.
        """
        messages.sparkSession.dataSource.register(_StagingSink)
        job = b64encode(pickle.dumps(self)).decode()
        messages.write.format(_StagingSink.name()).mode("append").option("job", job).save()
        staged = json.loads(Path(self.directory, _STAGED_FILE).read_bytes())
        return [StagedPartition(**facts) for facts in staged]


@dataclass
class _Staged(WriterCommitMessage):
    partition: StagedPartition | None


class _StagingSink(DataSource):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._job: StagingJob = pickle.loads(b64decode(options["job"]))

    @classmethod
    def name(cls) -> str:
        return "kminilog-staging"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return _StagingWriter(self._job)


class _StagingWriter(DataSourceArrowWriter):
    def __init__(self, job: StagingJob) -> None:
        self._job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        batches = filter(len, iterator)
        first = next(batches, None)
        if first is None:
            return _Staged(None)
        try:
            return _Staged(self._write(first, batches))
        except (OSError, WriteFailedError) as error:
            reason = f"a task cannot write its staged files: {error}"
            raise LogDirError(self._job.log_dir, reason=reason) from error

    def _write(self, first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> StagedPartition:
        job = self._job
        partition = first.column("partition")[0].as_py()
        topic_partition = TopicPartition(job.topic.name, partition)
        first_offset = job.first_offsets[partition]
        attempt = Path(job.directory, uuid4().hex)
        attempt.mkdir()  # fails if the driver has given the job up meanwhile
        log = open_staged_log(
            attempt,
            topic_partition,
            job.topic.dialect,
            job.topic.settings,
            target=Path(job.log_dir, str(topic_partition)),
            first_offset=first_offset,
        )
        try:
            for batch in chain([first], others):
                assert pc.all(pc.equal(batch.column("partition"), partition)).as_py()
                keys, values = batch.column("key"), batch.column("value")
                log.append(zip(keys.to_pylist(), values.to_pylist(), strict=True))
            return seal(log, Path(job.directory), first_offset)
        finally:
            log.close()

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        staged = [m.partition for m in messages if isinstance(m, _Staged) and m.partition]
        staged.sort(key=lambda partition: partition.partition)
        data = json.dumps([asdict(partition) for partition in staged])
        replace_file(Path(self._job.directory, _STAGED_FILE), data.encode())
