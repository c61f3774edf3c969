"""`kminilog ls`: the segments of all topics, or of one, with ranges, sizes and index entries."""

from pathlib import Path

import click

from kminilog.cli.layout import describe_topic, offset_range
from kminilog.cli.options import allow_gaps_option, example, json_option
from kminilog.cli.output import write_document, write_lines
from kminilog.notices import OnGap
from kminilog.plain_text import table
from kminilog.storage.log_dir import LogDir

HEADINGS = ("partition", "segment", "offsets", "messages", "log bytes", "index entries")


@click.command("ls", epilog=example("kminilog ls orders"))
@click.argument("topic", required=False)
@allow_gaps_option
@json_option
@click.pass_obj
def command(log_dir_path: Path, topic: str | None, on_gap: OnGap | None, as_json: bool) -> None:
    """List the segments of TOPIC, or of all topics."""
    log_dir = LogDir(log_dir_path)
    topics = log_dir.topics() if topic is None else [log_dir.topic(topic)]
    segments = [
        {"topic": found.name, "partition": partition["partition"], **segment}
        for found in topics
        for partition in describe_topic(log_dir, found, on_gap=on_gap)["partitions"]
        for segment in partition["segments"]
    ]
    if as_json:
        write_document(segments)
        return
    rows = [
        (
            f"{segment['topic']}-{segment['partition']}",
            segment["name"],
            offset_range(segment["first_offset"], segment["next_offset"]),
            segment["message_count"],
            segment["log_bytes"],
            segment["index_entries"],
        )
        for segment in segments
    ]
    write_lines(table(HEADINGS, rows) if rows else ["no segments"])
