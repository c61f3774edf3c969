"""`kminilog ls`: the segments of all topics, or of one, with ranges, sizes and index entries.

With `--html` it writes a page: each partition as a picture, with groups and what `verify` finds.
"""

from pathlib import Path

import click

from kminilog.cli.layout import describe_topic, offset_range
from kminilog.cli.options import allow_gaps_option, example, json_option
from kminilog.cli.output import write_document, write_line, write_lines, write_page
from kminilog.notices import OnGap
from kminilog.plain_text import count, table
from kminilog.storage.log_dir import LogDir
from kminilog.storage.topics import Topic

HEADINGS = ("partition", "segment", "offsets", "messages", "log bytes", "index entries")


@click.command("ls", epilog=example("kminilog ls orders"))
@click.argument("topic", required=False)
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a page with a picture of each partition: its segments, its index entries, "
    "how far groups have read it, and what `verify` finds. Reads every byte.",
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
) -> None:
    """List the segments of TOPIC, or of all topics."""
    log_dir = LogDir(log_dir_path)
    topics = log_dir.topics() if topic is None else [log_dir.topic(topic)]
    if html:
        told = _write_page(html, log_dir, topics, on_gap)
        if not as_json:
            write_line(told)
            return
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


def _write_page(html: Path, log_dir: LogDir, topics: list[Topic], on_gap: OnGap | None) -> str:
    """Write the page; return a line that says what is on it."""
    from kminilog.cli.log_dir_look import look_at
    from kminilog.steps.page.log_dir import render_log_dir

    look = look_at(log_dir, topics, on_gap=on_gap)
    write_page(html, render_log_dir(look))
    found = sum(total for _, total, _ in look.counts)
    return f"{html}: {count(len(look.partitions), 'partition')}, {count(found, 'finding')}"
