"""`kminilog find`: locate one message, and with --explain show every step of the search.

With --key it locates all messages with a key (find_key.py). The steps are those of `kminilog step
find-offset`, as text, and of the search that has run.
"""

import re
from typing import Any

import click

from kminilog.cli.find_key import find_key, found_lines
from kminilog.cli.message_fields import message_json
from kminilog.cli.options import (
    allow_gaps_option,
    example,
    json_option,
    key_option,
    to_offset,
    to_topic_partition,
)
from kminilog.cli.output import write_document, write_lines
from kminilog.cli.places import broker_of, topics_at
from kminilog.course.steps.find_offset import Search, of_search
from kminilog.course.steps.text import render_text
from kminilog.errors import OffsetOutOfRangeError
from kminilog.format.names import segment_name
from kminilog.storage.lookup import ENTRIES, NAMES
from kminilog.storage.notices import OnGap
from kminilog.storage.partition_reader import Found, PartitionReader


def _to_offset(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    return None if value is None else to_offset(ctx, param, value)


class NegativeOffset(click.Command):
    """A command that takes a negative number for an argument, not for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, negative numbers last: they are refused for what they are."""
        before = ["", *args]
        numbers = [
            place
            for place, word in enumerate(args)
            if re.fullmatch(r"-[0-9]+", word) and before[place] != "--key"
        ]
        if numbers and "--" not in args:
            others = [word for place, word in enumerate(args) if place not in numbers]
            args = [*others, "--", *(args[place] for place in numbers)]
        return super().parse_args(ctx, args)


@click.command(
    "find",
    cls=NegativeOffset,
    epilog=example("kminilog find orders-0 7 --explain"),
)
@click.argument("where", metavar="TOPIC-P")
@click.argument("offset", required=False, callback=_to_offset)
@key_option("Find all messages with this key, by reading all; TOPIC-P may be a whole topic.")
@click.option(
    "--explain",
    "is_explained",
    is_flag=True,
    help="Show every probe of the search, and the message byte by byte.",
)
@allow_gaps_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    where: str,
    offset: int | None,
    key: bytes | None,
    is_explained: bool,
    on_gap: OnGap | None,
    as_json: bool,
) -> int:
    """Find the message with OFFSET in TOPIC-P, or all with a key."""
    if key is not None:
        if offset is not None or is_explained:
            raise click.UsageError("--key reads all messages: give no OFFSET and no --explain")
        return find_key(ctx.obj, where, key, on_gap=on_gap, as_json=as_json)
    if offset is None:
        raise click.UsageError("give an OFFSET, or a key with --key")
    partition = to_topic_partition(ctx, ctx.command.params[0], where)
    reader = topics_at(ctx.obj).reader(partition, on_gap=on_gap)
    _find_offset(reader, offset, broker_of(ctx.obj, partition), is_explained, as_json)
    return 0


def _find_offset(
    reader: PartitionReader, offset: int, broker: int | None, is_explained: bool, as_json: bool
) -> None:
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
        write_lines(found_lines(reader.topic_partition, found, broker))


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
