"""`kminilog ingest`: all records of a source into a topic, in bulk, here or by Spark."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kminilog.cli.shared.engines import engine_for, engine_option, master_option, spark_at_work
from kminilog.cli.shared.interrupts import interruptible_anywhere, interruptible_call
from kminilog.cli.shared.named_files import InputFile
from kminilog.cli.shared.options import config_option, dialect_option, example, json_option
from kminilog.cli.shared.output import failures_told, show, warn
from kminilog.cli.shared.progress import progress_option, working
from kminilog.cli.shared.source_options import (
    reading_options,
    to_source,
)
from kminilog.cli.shared.topic_files import offset_range
from kminilog.config import parse_config, topic_settings
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.plugins import look_in_current_directory
from kminilog.settings import TOPIC_SETTINGS
from kminilog.storage.publish.publication import staging_path
from kminilog.storage.topics import Topic
from kminilog.text import count

if TYPE_CHECKING:
    from kminilog.jobs.ingest.job import IngestResult
    from kminilog.jobs.source.description import Source


@click.command(
    "ingest",
    epilog=example(
        "kminilog ingest orders.txt --topic purchases --partitions 2 --key-regex '^([^:]*):'"
    ),
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "--topic",
    required=True,
    metavar="T",
    help="Topic to write to. It is created if it does not exist.",
)
@reading_options
@click.option(
    "--partitions", type=int, metavar="N", help="Number of partitions, if the topic is created."
)
@click.option(
    "--partitioner",
    default="default-2.4",
    metavar="NAME",
    help="Partitioner: its name (`kminilog partition --help` lists them), or your own class as "
    "package.module.Class.",
)
@click.option("--seed", type=int, default=0, help="Seed for the random choices of the partitioner.")
@dialect_option
@config_option("Setting of the topic, if it is created. Repeatable.")
@click.option(
    "--job-id",
    metavar="ID",
    help="Id of the job. A job that is committed is not written again: ingest is idempotent.  "
    "[default: a new id; with --only, one made from the records]",
)
@click.option(
    "--plan",
    type=click.Choice(["auto", "sorted", "runs"]),
    default="auto",
    help="Plan for the work of Spark tasks: runs needs no shuffle, but twice the space in the log "
    "dir; sorted shuffles. The local engine always makes one run. All give the same files.",
)
@click.option(
    "--max-rejected",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="How many records may be rejected before the job fails.",
)
@click.option(
    "--only",
    type=InputFile(),
    metavar="FINDINGS",
    help="File that `verify --findings` has written: ingest only the records of the source that it "
    "lists as missing, as a new job. They go to the end of their partitions. If the source no "
    "longer has one of them in its place, the job fails.",
)
@click.option(
    "--lock-timeout",
    "lock_timeout_ms",
    type=click.IntRange(min=0),
    default=60_000,
    metavar="MS",
    help="How long to wait for another writer of the log dir, at the beginning and to publish, in "
    "milliseconds; 0 does not wait.",
)
@engine_option
@master_option
@progress_option
@json_option
@click.pass_obj
def command(
    log_dir_path: Path,
    /,
    sources: tuple[str, ...],
    topic: str,
    partitions: int | None,
    partitioner: str,
    seed: int,
    dialect: Dialect | None,
    config: tuple[str, ...],
    job_id: str | None,
    plan: str,
    max_rejected: int,
    only: Path | None,
    lock_timeout_ms: int,
    engine: str,
    master: str | None,
    progress_format: str | None,
    as_json: bool,
    **reading: Any,
) -> int:
    """Ingest every record of each SOURCE into a topic.

    A source is a file, a folder or a pattern. The named partitioner places records
    without a key. default-2.4, built-in, uniform-sticky and sticky-cache stay in one partition for
    128 rows of a file; default-0.8 draws one partition for the whole job; default-0.9 and
    round-robin go in turn. A partitioner of your own is called record by record, which is slow. A
    record that cannot become a message (undecodable, too large, or null in the
    documented dialect) is rejected. It goes to .quarantine/JOB-ID.jsonl in the log dir if
    --max-rejected allows it; else the job fails. If messages of a committed job were later cut off
    the log, the command says so, and the exit code is 1.
    """
    from kminilog.columns.partitioning import checked_partitioner

    look_in_current_directory()
    checked_partitioner(partitioner)
    settings = topic_settings(parse_config(config, TOPIC_SETTINGS)) if config else None
    # Bad ones end here, before Spark starts.
    Topic(topic, 1 if partitions is None else partitions)
    if job_id is not None:
        staging_path(log_dir_path, job_id)
    source = replace(to_source(sources, **reading), only=None if only is None else str(only))
    options = {
        "topic": topic,
        "partitions": partitions,
        "dialect": dialect,
        "settings": settings,
        "partitioner": partitioner,
        "seed": seed,
        "job_id": job_id,
        "plan": plan,
        "max_rejected": max_rejected,
        "lock_timeout_ms": lock_timeout_ms,
        "warn": interruptible_call(warn),
    }
    with failures_told(as_json):
        ingest = _ingest_here if engine_for(engine, source, master) == "local" else _ingest_by_spark
        done = ingest(log_dir_path, source, master, progress_format == "json", **options)
    show(done.to_json(), as_json, ingest_lines)
    return 1 if done.cut_off else 0


def _ingest_here(
    log_dir_path: Path, source: "Source", _: str | None, as_json: bool, **options: Any
) -> "IngestResult":
    from kminilog.jobs.ingest.job import ingest_with
    from kminilog.jobs.ingest.local_engine import LocalIngest

    class InterruptibleIngest(LocalIngest):
        """A signal ends staging at once: it writes only what the job then deletes."""

        stage = interruptible_anywhere(LocalIngest.stage)

    with working("Ingesting", as_json=as_json) as at:
        return ingest_with(InterruptibleIngest(at), log_dir_path, source, progress=at, **options)


def _ingest_by_spark(
    log_dir_path: Path, source: "Source", master: str | None, as_json: bool, **options: Any
) -> "IngestResult":
    with spark_at_work("Ingesting with Spark", master, as_json=as_json) as (start, at):
        from kminilog.jobs.spark.ingest.job import ingest

        return ingest(start, log_dir_path, source, progress=at, **options)


def ingest_lines(result: dict[str, Any]) -> Iterator[str]:
    """Yield what an ingest has done: a line for each partition, and one for all."""
    for partition in result["partitions"]:
        name = TopicPartition(result["topic"], partition["partition"])
        offsets = offset_range(partition["first_offset"], partition["next_offset"])
        yield (
            f"{name}: offsets {offsets} ({count(partition['count'], 'message')}, "
            f"{count(partition['bytes'], 'byte')}, sha256 {partition['digest'][:12]}…)"
        )
    written = count(sum(partition["count"] for partition in result["partitions"]), "message")
    plan = f", plan {result['plan']}" if result["plan"] else ""
    if result["engine"] == "local" and result["plan"] == "sorted":
        plan = ", one run with the files of plan sorted"
    origin = ", ".join(result["source"]["paths"]) if result["source"] else "a DataFrame"
    already = f"; it was committed before, from {origin}; nothing was written now"
    if result["source"] and result["source"].get("only"):
        yield (
            "these records were missing; they stand at the end of their partitions, after records "
            "that follow them in the source"
        )
    if result["left_out"]:
        from kminilog.jobs.source.broker_topics import in_words

        yield from in_words(result["left_out"])
    yield (
        f"job {result['job_id']}: {written} into {result['topic']}, {result['rejected']} rejected"
        f"{plan}, {result['seconds']:.1f} s{already if result['already_committed'] else ''}"
    )
