"""`kminilog compact`: many small segments and manifests of a topic become few, by hand.

What is not valid stays as it is; it is named, with exit code 2, and the rest is done.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import click

from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import show, warn_all
from kminilog.cli.shared.progress import working_if_long
from kminilog.cli.shared.recovery_reading import open_writer, recovery_reading, shown_scanner
from kminilog.storage.log_dir.compaction import compact, plan_compaction
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.text import count


@click.command("compact", epilog=example("kminilog compact orders --dry-run"))
@click.argument("topic")
@click.option("--dry-run", is_flag=True, help="Print what would be joined, and change nothing.")
@json_option
@click.pass_obj
def command(log_dir_path: Path, topic: str, dry_run: bool, as_json: bool) -> int:
    """Join the small segments of TOPIC, and manifests of its jobs.

    Each bulk job begins new segments. Neighbours become one segment if it fits segment.bytes and is
    at least twice as large as the largest of them. Messages and offsets stay as they are, and
    readers go on. After a crash all is done, or nothing.
    """
    if dry_run:
        log_dir = LogDir(log_dir_path)
        with recovery_reading("Reading") as scanner:
            done = plan_compaction(log_dir, log_dir.topic(topic), scanner=scanner)
    else:
        with (
            open_writer(log_dir_path) as writer,
            working_if_long("Compacting") as at,
        ):
            warn_all(writer.warnings)
            known = writer.topic(topic)
            done = compact(writer, known, str(uuid4()), scanner=shown_scanner(at), progress=at)
    warn_all(done.warnings)
    document = {
        "topic": topic,
        "dry_run": dry_run,
        "joined": [one.to_json() for one in done.joined],
        "joined_manifests": done.manifest_count,
    }
    show(document, as_json, _lines)
    return 2 if done.warnings else 0


def _lines(done: dict[str, Any]) -> Iterator[str]:
    would = "would be joined" if done["dry_run"] else "joined"
    for one in done["joined"]:
        yield (
            f"{would}: {done['topic']}-{one['partition']}/{one['segment']}, "
            f"{count(len(one['segments']), 'segment')}, {count(one['bytes'], 'byte')}"
        )
    if done["joined_manifests"]:
        yield f"{would}: {count(done['joined_manifests'], 'manifest')}"
    if not done["joined"] and not done["joined_manifests"]:
        yield "nothing to join"
