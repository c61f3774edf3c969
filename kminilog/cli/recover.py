"""`kminilog recover`: the recovery of one partition, run by hand, and shown before it is done.

It reads the whole partition and ignores the clean-shutdown marker and the recovery point. It
truncates a torn tail, rebuilds indexes and removes leftover files. It only reports damage, with
exit code 1; `--force` cuts it, and first reports the loss. Side files keep what is cut off.
"""

from pathlib import Path
from typing import Any

import click

from kminilog.cli.options import example, json_option, topic_partition_argument
from kminilog.cli.output import warn, write_document, write_line, write_lines
from kminilog.cli.recovery_reading import recovery_reading
from kminilog.format.names import TopicPartition
from kminilog.plain_text import count
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.recovery import Break, RecoveryPlan


@click.command("recover", epilog=example("kminilog recover orders-0 --dry-run"))
@topic_partition_argument
@click.option("--dry-run", is_flag=True, help="Print what would be done, and change nothing.")
@click.option(
    "--force",
    is_flag=True,
    help="Truncate the log at the first damage. Side files keep everything that is cut off.",
)
@json_option
@click.pass_obj
def command(
    log_dir_path: Path, topic_partition: TopicPartition, dry_run: bool, force: bool, as_json: bool
) -> int:
    """Truncate the torn tail of the partition TOPIC-P.

    A torn tail is the unfinished message that a crash left at the end of the log. Indexes
    that do not match their log are rebuilt.
    """
    with (
        recovery_reading("Recovering") as scans,
        LogDirWriter.open(log_dir_path, recover=False, scans=scans) as writer,
    ):
        plan = writer.recovery_plan(topic_partition)
        is_refused = plan.damage is not None and not force
        side_files: list[Path] = []
        if not dry_run and not is_refused:
            if plan.damage:
                warn(f"--force cuts {_describe_loss(plan.damage)}")
            side_files = writer.recover(plan, force=force)
    if as_json:
        write_document(_to_json(topic_partition, plan, side_files, dry_run=dry_run))
    else:
        write_line(f"{topic_partition}: sound up to offset {plan.log_end_offset}")
        write_lines(_what(plan, would="would be " if dry_run or is_refused else ""))
        write_lines(f"kept in {path}" for path in side_files)
        if is_refused:
            write_line("nothing was changed; --force cuts the log there, and loses what is behind")
    return int(is_refused)


def _to_json(
    topic_partition: TopicPartition, plan: RecoveryPlan, side_files: list[Path], *, dry_run: bool
) -> dict[str, Any]:
    return {
        **topic_partition._asdict(),
        "dry_run": dry_run,
        "log_end_offset": plan.log_end_offset,
        "cut": _break_json(plan.cut),
        "damage": _break_json(plan.damage),
        "side_files": [str(path) for path in side_files],
        "rebuilt_indexes": [str(segment.index.path) for segment, _ in plan.rebuilt_indexes],
        "removed_files": [str(path) for path in plan.leftovers],
        "stray_files": [str(path) for path in plan.strays],
        "warnings": plan.warnings,
    }


def _break_json(found: Break | None) -> dict[str, Any] | None:
    return found and {**found._asdict(), "segment": found.segment.name}


def _what(plan: RecoveryPlan, *, would: str) -> list[str]:
    lines = [*plan.warnings]
    if plan.cut:
        lines.append(f"torn tail {would}cut: {_describe_loss(plan.cut)}")
    if plan.damage:
        lines.append(f"damage {would}cut: {_describe_loss(plan.damage)}")
    for segment, _ in plan.rebuilt_indexes:
        lines.append(f"index {would}rebuilt: {segment.index.path}")
    lines += [f"{would}removed: {path}" for path in plan.leftovers]
    lines += [f"left alone, not a file of a partition: {path}" for path in plan.strays]
    return lines if lines else ["nothing to do"]


def _describe_loss(found: Break) -> str:
    return (
        f"{found.segment.log_path} at byte {found.position} ({found.reason}); "
        f"{count(found.lost_bytes, 'byte')} with {count(found.lost_messages, 'whole message')} "
        "lost"
    )
