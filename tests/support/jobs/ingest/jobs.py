"""Records as the tasks of an ingest have them, and jobs that are done by hand, task after task."""

import random

import numpy as np
import pyarrow as pa

from kminilog.columns.partitioning import Places, chooser
from kminilog.jobs.ingest.quarantine import RejectedWriter
from kminilog.jobs.ingest.staging import StagingJob
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.publish.publication import staging_path
from kminilog.storage.topics import Topic

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
        return StagingJob(
            str(self.path), str(directory), self.topic, False, partitioner, 0, 10**6, []
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
