"""`ls` of a Kafka broker's log directory: the segments, and all that is no segment."""

from pathlib import Path
from typing import Any

import click

from kminilog.broker_files.directory import BrokerDirectory, OtherFile, SegmentFiles
from kminilog.broker_files.partition import BrokerPartition, offset_index
from kminilog.cli.broker_files.fields import no_gaps_option
from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import Broken, warn_all, width, write_document, write_lines
from kminilog.cli.shared.output_files import OutputFile, write_page
from kminilog.cli.shared.topic_files import SEGMENT_HEADINGS, segment_lines, segment_row
from kminilog.errors import KMiniLogError, in_words
from kminilog.format.names import TopicPartition
from kminilog.pages import render
from kminilog.text import count


@click.command("ls", epilog=example("kminilog ls orders"))
@click.argument("topic", required=False)
@click.option(
    "--html", type=OutputFile(), metavar="FILE", help="Write the same as a page, with all files."
)
@no_gaps_option
@json_option
@click.pass_obj
def command(path: Path, topic: str | None, html: Path | None, as_json: bool) -> int:
    """List the segments of TOPIC, or of all topics, in a Kafka broker's directory.

    Messages are counted by their offsets, so control records and records that compaction has
    removed count, too. Other files are listed, except the small files that every broker has. The
    command writes nothing there.
    """
    broken, broker = Broken(), BrokerDirectory(path)
    segments: list[dict[str, Any]] = []
    unread: list[str] = []
    others = [("", other) for other in broker.others()] if topic is None else []
    for topic_partition in interruptible(broker.partitions(topic)):
        try:
            partition = BrokerPartition(broker, topic_partition)
            segments += _segments(partition)
        except (KMiniLogError, OSError) as error:
            broken(error)
            unread.append(in_words(error))
            continue
        others += [(f"{topic_partition}/", other) for other in partition.files.others]
    unusual = [(place, other) for place, other in others if not other.is_usual]
    named = [f"{place}{other.name}: {_said(other)}" for place, other in unusual]
    if html:
        write_page(html, _page(path, segments, others, unread))
        if not as_json:
            write_lines([f"{html}: {count(len(segments), 'segment')}"])
            return broken.exit_code
    if as_json:
        write_document(segments)
        warn_all(f"{line}, not read" for line in named)
        return broken.exit_code
    write_lines(segment_lines(segments, width()))
    if named:
        write_lines(["", "not read:", *(f"  {line}" for line in named)])
    return broken.exit_code


def _segments(partition: BrokerPartition) -> list[dict[str, Any]]:
    """Return the segments of a partition; one that is deleted meanwhile is left out."""
    found = []
    for segment in interruptible(partition.segments):
        try:
            offsets = partition.start_of(segment), partition.end_of(segment)
            found.append(_described(partition.topic_partition, segment, *offsets))
        except FileNotFoundError:
            continue
    return found


def _described(
    place: TopicPartition, segment: SegmentFiles, first_offset: int, next_offset: int
) -> dict[str, Any]:
    return {
        **place._asdict(),
        "name": segment.name,
        "base_offset": segment.base_offset,
        "first_offset": first_offset,
        "next_offset": next_offset,
        "log_bytes": segment.log_bytes,
        "index_entries": len(offset_index(segment)),
        "message_count": next_offset - first_offset,
        "files": {segment.path(suffix).name: size for suffix, size in segment.sizes.items()},
    }


def _said(other: OtherFile) -> str:
    return f"{other.what} ({count(other.size_bytes, 'byte')})" if other.size_bytes else other.what


def _page(
    path: Path,
    segments: list[dict[str, Any]],
    others: list[tuple[str, OtherFile]],
    unread: list[str],
) -> str:
    return render(
        "broker_directory.html",
        path=str(path),
        headings=SEGMENT_HEADINGS,
        rows=[(segment_row(segment), _sizes(segment)) for segment in segments],
        unread=unread,
        others=[(place + other.name, other.size_bytes, other.what) for place, other in others],
    )


def _sizes(segment: dict[str, Any]) -> dict[str, int]:
    """Return the bytes of each file of a segment, by its suffix."""
    return {name.removeprefix(segment["name"]): size for name, size in segment["files"].items()}
