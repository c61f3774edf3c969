"""`kminilog ls`: the segments of all topics, or of one, with ranges, sizes and index entries.

In a cluster, each broker's copy is listed, whether it is live or not. With `--html` it writes a
page: from topics to messages, with groups and what `verify` finds.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from kminilog.cli.shared.cluster_option import cluster_at, is_cluster, topics_at
from kminilog.cli.shared.interrupts import interruptible_anywhere
from kminilog.cli.shared.options import allow_gaps_option, example, json_option
from kminilog.cli.shared.output import Broken, show, warn, width, write_line
from kminilog.cli.shared.output_files import OutputFile, write_page
from kminilog.cli.shared.topic_files import (
    describe_partition,
    describe_topic,
    segment_lines,
    warn_of_orphans,
)
from kminilog.errors import CorruptLogError, KMiniLogError, LogDirError, OffsetOutOfRangeError
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.notices import OnGap
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.topics import Topic
from kminilog.text import count
from kminilog.verification.partition_checks import check_partition, segment_check
from kminilog.verification.summaries import readable_in_words


@click.command("ls", epilog=example("kminilog ls orders"))
@click.argument("topic", required=False)
@click.option(
    "--html",
    type=OutputFile(),
    metavar="FILE",
    help="Write a page that goes from topics to messages, with a picture of each partition: its "
    "segments, copies, groups, and what `verify` finds. Reads every byte.",
)
@allow_gaps_option
@json_option
@click.pass_obj
def command(
    log_dir_path: Path,
    topic: str | None,
    html: Path | None,
    on_gap: OnGap | None,
    as_json: bool,
) -> int:
    """List the segments of TOPIC, or of all topics.

    Messages are counted by their offsets, so damaged messages and gaps count, too. `verify` counts
    whole messages. If there is damage after the last index entries, the log ends there, and a line
    says what is valid after it.

    If a topic, a partition or a broker's copy cannot be read, the others are shown, and the exit
    code is 2.
    """
    broken = Broken()
    log_dir = topics_at(log_dir_path)
    topics = log_dir.topics(broken) if topic is None else [log_dir.topic(topic)]
    if not is_cluster():
        warn_of_orphans(log_dir, topic)
    if html:
        told = _write_page(html, log_dir, topics, on_gap, broken)
        if not as_json:
            write_line(told)
            return broken.exit_code
    segments_of = _of_all_brokers if is_cluster() else _segments
    segments = segments_of(log_dir, topics, on_gap, broken)
    show(segments, as_json, lambda _: segment_lines(segments, width()))
    return broken.exit_code


def _segments(
    log_dir: LogDir, topics: list[Topic], on_gap: OnGap | None, broken: Broken
) -> list[dict[str, Any]]:
    segments: list[dict[str, Any]] = []
    for found in topics:
        described = describe_topic(log_dir, found, on_gap=on_gap, on_broken=broken)
        for partition in described["partitions"]:
            number = partition["partition"]
            if on_gap is None:
                _warn_if_damaged(log_dir.reader(found.partition(number)), partition)
            where = {"topic": found.name, "partition": number}
            segments += [{**where, **segment} for segment in partition["segments"]]
    return segments


def _warn_if_damaged(reader: PartitionReader, described: dict[str, Any], who: str = "") -> None:
    """Write a line if a log does not end where its last messages seem to: what is valid after it.

    Reads the end of the log, and all of it only if there is damage.
    """
    with suppress(LogDirError, OSError):  # gone meanwhile
        try:
            ends = [segment["next_offset"] for segment in described["segments"]]
            begins = [segment["first_offset"] for segment in described["segments"]]
            if ends[:-1] == begins[1:]:
                reader.read(described["log_end_offset"], 1)
                return
        except (CorruptLogError, OffsetOutOfRangeError):
            pass
        checked = check_partition(reader, check_segment=interruptible_anywhere(segment_check()))
        if words := readable_in_words(checked.to_json()):
            warn(f"{who}{reader.topic_partition}: {words}")


def _of_all_brokers(
    log_dir: LogDir, topics: list[Topic], on_gap: OnGap | None, broken: Broken
) -> list[dict[str, Any]]:
    """Return the segments of all copies in a cluster, partition by partition.

    `broken` gets what keeps a copy from being read.
    """
    cluster = cluster_at(log_dir.path)
    segments: list[dict[str, Any]] = []
    for found in topics:
        for partition in found.all_partitions():
            for broker in cluster.leadership(partition).replicas:
                try:
                    reader = cluster.broker(broker).reader(partition, on_gap=on_gap)
                    described = describe_partition(reader)
                    _warn_if_damaged(reader, described, f"broker {broker}: ")
                except (KMiniLogError, OSError) as error:
                    broken(error)
                    continue
                where = {"topic": found.name, "partition": partition.partition}
                copy = ({**where, **segment, "broker": broker} for segment in described["segments"])
                segments += copy
    return segments


def _write_page(
    html: Path, log_dir: LogDir, topics: list[Topic], on_gap: OnGap | None, broken: Broken
) -> str:
    """Write the page; return a line that says what is on it."""
    from kminilog.cli.ls.page import render_log_dir
    from kminilog.cli.ls.page_data import look_at

    look, contents_of = look_at(log_dir, topics, on_gap=on_gap, on_broken=broken)
    write_page(html, render_log_dir(look, contents_of))
    found = sum(total for _, total, _ in look.counts)
    return f"{html}: {count(len(look.partitions), 'partition')}, {count(found, 'finding')}"
