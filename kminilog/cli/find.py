"""`kminilog find`: locate one message, and with --explain show every step of the search.

The steps are those of `kminilog step find-offset`, as text, and of the search that has run.
"""

import re
from pathlib import Path
from typing import Any

import click

from kminilog.cli.message_fields import message_json
from kminilog.cli.options import (
    allow_gaps_option,
    example,
    json_option,
    to_offset,
    topic_partition_argument,
)
from kminilog.cli.output import write_document, write_line, write_lines
from kminilog.cli.places import broker_of, topics_at
from kminilog.errors import OffsetOutOfRangeError
from kminilog.format.names import TopicPartition, segment_name
from kminilog.notices import OnGap
from kminilog.painted import Painted, Span
from kminilog.plain_text import shown
from kminilog.steps.lookup.find_offset import of_search
from kminilog.steps.lookup.search import Search
from kminilog.steps.text import render_text
from kminilog.storage.lookup import ENTRIES, NAMES
from kminilog.storage.partition_reader import Found


class NegativeOffset(click.Command):
    """A command that takes a negative number for an argument, not for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, negative numbers last: they are refused for what they are."""
        numbers = [word for word in args if re.fullmatch(r"-[0-9]+", word)]
        if numbers and "--" not in args:
            args = [*(word for word in args if word not in numbers), "--", *numbers]
        return super().parse_args(ctx, args)


@click.command(
    "find",
    cls=NegativeOffset,
    epilog=example("kminilog find orders-0 7 --explain"),
)
@topic_partition_argument
@click.argument("offset", callback=to_offset)
@click.option(
    "--explain",
    "is_explained",
    is_flag=True,
    help="Show every probe of the search, and the message byte by byte.",
)
@allow_gaps_option
@json_option
@click.pass_obj
def command(
    log_dir_path: Path,
    topic_partition: TopicPartition,
    offset: int,
    is_explained: bool,
    on_gap: OnGap | None,
    as_json: bool,
) -> None:
    """Find the message with OFFSET in the partition TOPIC-P."""
    reader = topics_at(log_dir_path).reader(topic_partition, on_gap=on_gap)
    broker = broker_of(log_dir_path, topic_partition)
    search = Search(reader, offset)
    try:
        found = search.run()
    except OffsetOutOfRangeError:
        if is_explained and not as_json and reader.segments():
            write_lines(render_text(of_search(search)))
        raise
    if as_json:
        where = {} if broker is None else {"broker": broker}
        write_document({**found_json(search, found), **where})
    elif is_explained:
        write_lines(render_text(of_search(search)))
    else:
        message = found.located.message
        place = topic_partition if broker is None else f"broker-{broker}/{topic_partition}"
        file = f"{place}/{found.segment.log_path.name}"
        write_line(
            Painted(
                f"{file}, ",
                Span(f"offset {offset}", "offset"),
                f", byte {found.located.position}: key ",
                Span(shown(message.key), "key"),
                ", value ",
                Span(shown(message.value), "value"),
            )
        )


def found_json(search: Search, found: Found) -> dict[str, Any]:
    """Return what `find --json` prints."""
    reader, trace = search.reader, search.trace
    segment, located = found
    entry = located.index_entry
    entries_probed = trace.probes(ENTRIES)
    return {
        "topic": reader.topic_partition.topic,
        "partition": reader.topic_partition.partition,
        "offset": search.offset,
        "segment": segment.name,
        "segments_probed": [segment_name(probe.value) for probe in trace.probes(NAMES)],
        "index_entry": entry
        and {
            "offset": segment.base_offset + entry.relative_offset,
            "position": entry.position,
            "relative_offset": entry.relative_offset,
        },
        "index_probes": len(entries_probed),
        "index_offsets_probed": [segment.base_offset + probe.value for probe in entries_probed],
        "scanned_messages": located.scanned_messages,
        "scanned_bytes": located.scanned_bytes,
        "position": located.position,
        "message": message_json(located.position, located.message),
    }
