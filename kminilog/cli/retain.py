"""`kminilog retain`: retention of all topics, run by hand, at a given time or now.

Segments are deleted by age (retention.ms) and by size (retention.bytes), the oldest first. Their
files are renamed to `.deleted`, and removed after file.delete.delay.ms, on a full disk at once. A
partition that is damaged or cannot be read is not changed; it is named, with exit code 2, and the
others are done. In a cluster all live brokers delete the same segments: those that the leader's
copy is to lose.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kminilog.cli.shared.cluster_option import cluster_at, is_cluster
from kminilog.cli.shared.clusters import let_followers_copy, open_cluster
from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import Broken, show, warn_all
from kminilog.cli.shared.recovery_reading import open_writer, recovery_reading
from kminilog.cluster.cluster_files import expired_in_copies
from kminilog.errors import KMiniLogError
from kminilog.format.names import TopicPartition
from kminilog.settings import INT64_MAX, TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter, next_recovery
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.retention import (
    deletable,
    delete_expired,
    expired_segments,
    marked_files_due,
    unlink_marked,
    without_delay_if_full,
)
from kminilog.storage.segment.scan import SegmentScanner
from kminilog.storage.segment.segment import Segment
from kminilog.text import count

if TYPE_CHECKING:
    from kminilog.cluster.mini_cluster import MiniCluster

Retained = tuple[list[dict[str, Any]], Sequence[Path | str]]
"""The segments that retention deletes of one partition, and the files whose delay is over."""
DoAll = Callable[[LogDir, Callable[[TopicPartition], Retained]], None]


@click.command("retain", epilog=example("kminilog retain --dry-run"))
@click.option(
    "--now",
    "now_ms",
    type=click.IntRange(0, INT64_MAX),
    metavar="MS",
    help="Time to use as now, in milliseconds since 1970.  [default: the clock's]",
)
@click.option("--dry-run", is_flag=True, help="Print what would be deleted, and change nothing.")
@json_option
@click.pass_obj
def command(log_dir_path: Path, now_ms: int | None, dry_run: bool, as_json: bool) -> int:
    """Delete segments by retention.ms and retention.bytes.

    It looks at all topics, and deletes whole segments only: those last written longer ago than
    retention.ms (7 days by default), and the oldest ones, as long as the rest still has
    retention.bytes. No other command deletes segments: run this one regularly, for example by
    cron. With --cluster all live brokers delete the same segments.
    """
    if now_ms is None:
        now_ms = time.time_ns() // 1_000_000
    broken, deleted, removed = Broken(), list[dict[str, Any]](), list[str]()

    def do_all(log_dir: LogDir, retained: Callable[[TopicPartition], Retained]) -> None:
        for topic in log_dir.topics(broken):
            for partition in interruptible(topic.all_partitions()):
                try:
                    segments, files = retained(partition)
                except (KMiniLogError, OSError) as error:
                    broken(error)
                else:
                    deleted.extend(segments)
                    removed.extend(map(str, files))

    if is_cluster():
        _of_brokers(log_dir_path, do_all, now_ms, dry_run=dry_run)
    elif dry_run:
        log_dir = LogDir(log_dir_path)
        free_bytes = shutil.disk_usage(log_dir.path).free
        with recovery_reading("Reading") as scanner:
            plan = partial(_plan, log_dir, now_ms=now_ms, free_bytes=free_bytes, scanner=scanner)
            do_all(log_dir, plan)
    else:
        with open_writer(log_dir_path) as writer:
            free_bytes = shutil.disk_usage(writer.path).free
            do_all(writer, partial(_delete, writer, now_ms=now_ms, free_bytes=free_bytes))
            warn_all(writer.warnings)
    facts = {"now_ms": now_ms, "dry_run": dry_run}
    show({**facts, "deleted_segments": deleted, "removed_files": removed}, as_json, _lines)
    return broken.exit_code


def _lines(document: dict[str, Any]) -> Iterator[str]:
    would = "would be " if document["dry_run"] else ""
    for one in document["deleted_segments"]:
        where = f"broker-{one['broker']}/" if "broker" in one else ""
        yield (
            f"{would}deleted: {where}{one['topic']}-{one['partition']}/{one['segment']}, "
            f"{count(one['bytes'], 'byte')}, by {one['reason']}"
        )
    yield from (f"{would}removed: {path}" for path in document["removed_files"])
    if not document["deleted_segments"] and not document["removed_files"]:
        yield "nothing to delete"


def _delete(
    writer: LogDirWriter, partition: TopicPartition, now_ms: int, free_bytes: int
) -> Retained:
    log = writer.log(partition)
    described = {expired["segment"]: expired for expired in _describe(log, log.segments(), now_ms)}
    deleted = delete_expired(log, now_ms)
    settings = without_delay_if_full(log.settings, free_bytes)
    removed = unlink_marked(log.directory, settings, now_ms)
    return [described[segment.name] for segment in deleted], removed


def _plan(
    log_dir: LogDir,
    partition: TopicPartition,
    now_ms: int,
    free_bytes: int,
    scanner: SegmentScanner,
) -> Retained:
    """What `_delete` would do."""
    reader = log_dir.reader(partition)
    sizes = next_recovery(log_dir, reader, scanner).sizes_after(reader.segments())
    torn_bytes = sum(segment.file_bytes - kept for segment, kept in sizes.items())
    settings = reader.settings
    if settings.retention_bytes >= 0:  # what recovery cuts off does not count
        settings = replace(settings, retention_bytes=settings.retention_bytes + torn_bytes)
    expired = expired_segments([*sizes], settings, now_ms)
    deleted = deletable(reader, expired)
    settings = without_delay_if_full(reader.settings, free_bytes)
    removed = marked_files_due(reader.directory, settings, now_ms, deleted)
    return _describe(reader, deleted, now_ms), removed


def _of_brokers(path: Path, do_all: DoAll, now_ms: int, *, dry_run: bool) -> None:
    """The same in a cluster: each copy on a live broker loses what the leader's copy does."""
    files = cluster_at(path)
    free_bytes = shutil.disk_usage(files.path).free

    def retained(partition: TopicPartition, cluster: "MiniCluster | None") -> Retained:
        expired = expired_in_copies(files, partition, now_ms)
        described = [
            {**one, "broker": node}
            for node, segments in expired.items()
            for one in _describe(files.reader(partition), segments, now_ms)
        ]
        if cluster:
            return described, cluster.retain(partition, expired, now_ms, free_bytes)
        removed = list[Path]()
        for node, segments in expired.items():
            log_dir = files.broker(node)
            copy = log_dir.reader(partition)
            next_recovery(log_dir, copy)
            settings = without_delay_if_full(copy.settings, free_bytes)
            removed += marked_files_due(copy.directory, settings, now_ms, segments)
        return described, removed

    if dry_run:
        do_all(files, lambda partition: retained(partition, None))
        return
    with open_cluster(path) as cluster:
        let_followers_copy(cluster)
        do_all(files, lambda partition: retained(partition, cluster))
    down = [node for node, is_live in files.state().brokers.items() if not is_live]
    warn_all(f"broker {node} is down: its copies stay as they are" for node in down)


def _describe(
    log: PartitionLog | PartitionReader, segments: list[Segment], now_ms: int
) -> list[dict[str, Any]]:
    settings: TopicSettings = replace(log.settings, retention_bytes=-1)
    by_age = {segment.name for segment in expired_segments(log.segments(), settings, now_ms)}
    return [
        {
            **log.topic_partition._asdict(),
            "segment": segment.name,
            "bytes": segment.file_bytes,
            "reason": "retention.ms" if segment.name in by_age else "retention.bytes",
        }
        for segment in segments
    ]
