"""Bulk ingest: the records of a source become messages of a topic, all of them or none.

    source --> partition id --> one task a partition, in source order --> staging --> publication

A record with a key goes where the partitioner's keyed rule says; one without a key goes round robin
by its ordinal in its file, or in the piece of the file that one task reads, so the same source is
spread in the same way each time. Tasks write into staging; the driver holds the log dir's lock from
the beginning, never sees a message, and publishes when all tasks are done. In an empty topic the
files are those that the same messages, appended one by one, would make.
"""

import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.functions import arrow_udf

from kminilog.errors import LogDirError, PublicationError, SourceError
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.message import encoded_bytes
from kminilog.producer.partitioners.keyed import keyed_rule
from kminilog.settings import TopicSettings
from kminilog.spark.failures import spark_failures
from kminilog.spark.source import Place, Source, locate, read_source
from kminilog.spark.source_files import SourceFile, list_files
from kminilog.spark.staging import StagingJob
from kminilog.storage.log_dir import LogDirWriter
from kminilog.storage.publication import (
    Manifest,
    committed_manifests,
    is_under_way,
    publish,
    staging_path,
)
from kminilog.storage.topics import Topic

_REJECTED = re.compile(r"rejected: file (\d+), position (\d+), row (\d+): (.*)")


@dataclass(frozen=True)
class IngestResult:
    """A committed job; `already_committed` if it was that before, and nothing was written now."""

    manifest: Manifest
    seconds: float
    already_committed: bool

    def to_json(self) -> dict[str, Any]:
        """Return what `ingest --json` prints."""
        partitions = [
            {
                "partition": staged.partition,
                "first_offset": staged.first_offset,
                "next_offset": staged.next_offset,
                "count": staged.count,
                "bytes": staged.bytes,
                "digest": staged.digest,
            }
            for staged in self.manifest.partitions
        ]
        return {
            "job_id": self.manifest.job_id,
            "topic": self.manifest.topic,
            "already_committed": self.already_committed,
            "count": self.manifest.facts["count"],
            "rejected": self.manifest.facts["rejected"],
            "seconds": round(self.seconds, 3),
            "partitions": partitions,
        }


def ingest(
    spark: SparkSession,
    log_dir: Path,
    source: Source,
    *,
    topic: str,
    partitions: int | None = None,
    dialect: Dialect | None = None,
    settings: TopicSettings | None = None,
    partitioner: str = "default-2.4",
    job_id: str | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> IngestResult:
    """Append the records of a source to a topic, which is created if it is not there.

    A job id that is committed already is reported and not written again. Once it returns, all of
    the job survives a power failure. Raises KMiniLogErrors, SourceError among them, and ValueError
    for an unknown partitioner or a bad number of partitions; the topic is then unchanged.
    """
    started = time.monotonic()
    keyed_rule(partitioner)
    job_id = job_id or str(uuid4())
    staging = staging_path(log_dir.resolve(), job_id)
    with LogDirWriter.open(log_dir, create=True) as writer:
        committed = _committed(writer, job_id, topic)
        if committed:
            return IngestResult(committed, time.monotonic() - started, already_committed=True)
        target = _target(writer, job_id, topic, partitions, dialect, settings)
        is_new = target not in writer.topics()
        ends = [0 if is_new else writer.log(tp).log_end_offset for tp in target.all_partitions()]
        job = StagingJob(str(log_dir.resolve()), str(staging), target, ends)
        staging.mkdir(parents=True)
        try:
            progress(f"reading {source}")
            manifest = _stage(spark, source, job, partitioner, job_id)
            progress(f"publishing {manifest.facts['count']} messages")
            _publish(writer, target, manifest, is_new=is_new)
        finally:
            if not is_under_way(writer.path, job_id):
                shutil.rmtree(staging, ignore_errors=True)
    return IngestResult(manifest, time.monotonic() - started, already_committed=False)


def _committed(writer: LogDirWriter, job_id: str, topic: str) -> Manifest | None:
    for manifest in committed_manifests(writer.path):
        if manifest.job_id == job_id:
            if manifest.topic != topic:
                reason = f"this id is taken by a job that wrote to topic {manifest.topic}"
                raise PublicationError(job_id, reason=reason)
            return manifest
    return None


def _target(
    writer: LogDirWriter,
    job_id: str,
    name: str,
    partitions: int | None,
    dialect: Dialect | None,
    settings: TopicSettings | None,
) -> Topic:
    """The topic as it is, or as it will be created; an error if it is not as asked for."""
    topic = next((topic for topic in writer.topics() if topic.name == name), None)
    if topic is None:
        count = 1 if partitions is None else partitions
        return Topic(name, count, dialect or DOCUMENTED, settings or TopicSettings())
    for wanted, actual, words in (
        (partitions, topic.partitions, "{} partitions"),
        (dialect and dialect.name, topic.dialect.name, "the {} dialect"),
        (settings and settings.changed(), topic.settings.changed(), "the settings {}"),
    ):
        if wanted is not None and wanted != actual:
            reason = f"topic {name} has {words.format(actual)}, not {words.format(wanted)}"
            raise PublicationError(job_id, reason=reason)
    return topic


def _stage(
    spark: SparkSession, source: Source, job: StagingJob, partitioner: str, job_id: str
) -> Manifest:
    files = list_files(source.paths)
    records = read_source(spark, source, files)
    try:
        with spark_failures(str(source)):
            staged = job.run(_messages(records, job.topic, partitioner))
    except SourceError as error:
        raise _named(error, source, files) from error
    count = sum(partition.count for partition in staged)
    if not count:
        raise SourceError(str(source), reason="it holds no records")
    facts = {
        "source": source.to_json(),
        "files": len(files),
        "partitioner": partitioner,
        "count": count,
        "rejected": 0,
    }
    return Manifest(job_id, job.topic.name, staged, facts)


def _messages(records: DataFrame, topic: Topic, partitioner: str) -> DataFrame:
    keyed = _keyed_partition(partitioner, topic.partitions)("key")
    keyless = sql.pmod("source_row", sql.lit(topic.partitions)).cast("int")
    return (
        records.withColumns(
            {"value": _checked_value(topic), "partition": sql.coalesce(keyed, keyless)}
        )
        .repartitionById(topic.partitions, sql.col("partition"))
        .sortWithinPartitions("source_rank", "source_position", "source_row")
        .select("partition", "key", "value")
    )


def _keyed_partition(partitioner: str, partitions: int) -> Callable[..., Column]:
    def partition(keys: pa.Array) -> pa.Array:
        rule = keyed_rule(partitioner)
        chosen = (None if key is None else rule(key, partitions) for key in keys.to_pylist())
        return pa.array(chosen, pa.int32())

    return arrow_udf(partition, "int")  # type: ignore[call-overload,no-any-return]


def _checked_value(topic: Topic) -> Column:
    """The value; an error, when it is evaluated, if the record can be no message of this topic."""
    lengths = (sql.coalesce(sql.octet_length(name), sql.lit(0)) for name in ("key", "value"))
    size = sum(lengths, sql.lit(encoded_bytes(topic.dialect, None, None)).cast("long"))
    place = sql.concat_ws(
        "",
        sql.lit("rejected: file "),
        "source_rank",
        sql.lit(", position "),
        "source_position",
        sql.lit(", row "),
        "source_row",
        sql.lit(": "),
    )
    reason = sql.lit(None).cast("string")
    if not topic.dialect.has_value_length:
        no_null = f"the value is null, and the {topic.dialect.name} dialect has no null value"
        reason = sql.when(sql.col("value").isNull(), sql.lit(no_null))
    for setting, limit in (
        ("max.message.bytes", topic.settings.max_message_bytes),
        ("segment.bytes", topic.settings.segment_bytes),
    ):
        text = sql.concat(
            sql.lit("a message of "), size, sql.lit(f" bytes is larger than {setting} = {limit}")
        )
        reason = sql.coalesce(reason, sql.when(size > limit, text))
    return sql.when(
        reason.isNotNull(), sql.raise_error(sql.concat(place, reason)).cast("binary")
    ).otherwise(sql.col("value"))


def _named(error: SourceError, source: Source, files: Sequence[SourceFile]) -> SourceError:
    rejected = _REJECTED.search(error.reason)
    if not rejected:
        return error
    place = Place(int(rejected[1]), int(rejected[2]), int(rejected[3]))
    return SourceError(locate(source, files, [place])[place], reason=rejected[4])


def _publish(writer: LogDirWriter, topic: Topic, manifest: Manifest, *, is_new: bool) -> None:
    for topic_partition in topic.all_partitions():
        writer.release(topic_partition)
    try:
        if is_new:
            writer.create_topic(topic)
        publish(writer.path, manifest)
    except (OSError, PublicationError) as error:
        if is_under_way(writer.path, manifest.job_id):
            reason = (
                f"job {manifest.job_id} is committed, but not all of its files are in place "
                f"({error}); opening the log dir for writing finishes it"
            )
            raise LogDirError(str(writer.path), reason=reason) from error
        if is_new and topic in writer.topics():
            writer.delete_topic(topic.name)
        if isinstance(error, PublicationError):
            raise
        raise PublicationError(manifest.job_id, reason=f"cannot write: {error}") from error
