"""`kminilog find`: locate one message, and with --explain show every step of the search."""

from pathlib import Path

import click

from kminilog.cli.explain_find import explain, found_json
from kminilog.cli.options import (
    allow_gaps_option,
    example,
    json_option,
    to_offset,
    topic_partition_argument,
)
from kminilog.cli.output import write_document, write_line, write_lines
from kminilog.errors import OffsetOutOfRangeError
from kminilog.format.names import TopicPartition
from kminilog.notices import OnGap
from kminilog.plain_text import shown
from kminilog.storage.log_dir import LogDir
from kminilog.trace import Trace


# A negative offset looks like an option; let through, it is refused for what it is.
@click.command(
    "find",
    context_settings={"ignore_unknown_options": True},
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
    reader = LogDir(log_dir_path).reader(topic_partition, on_gap=on_gap)
    trace = Trace()
    try:
        found = reader.find(offset, trace)
    except OffsetOutOfRangeError:
        if is_explained and not as_json:
            write_lines(explain(reader, offset, None, trace))
        raise
    if as_json:
        write_document(found_json(reader, offset, found, trace))
    elif is_explained:
        write_lines(explain(reader, offset, found, trace))
    else:
        message = found.located.message
        write_line(
            f"{topic_partition} offset {offset}: {found.segment.name}.log at byte "
            f"{found.located.position}, key {shown(message.key)}, value {shown(message.value)}"
        )
