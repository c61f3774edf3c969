"""`kminilog recover`: the recovery of one partition, run by hand, and shown before it is done.

It reads the whole partition and ignores the clean-shutdown marker and the recovery point. It
truncates a torn tail, rebuilds indexes and removes leftover files. It only reports damage, with
exit code 1; `--force` cuts it, and first reports the loss. Side files keep what is cut off. With
`--dry-run` the exit code is 1, too, if the log would lose something, or has lost something.
"""

from pathlib import Path
from typing import Any

import click

from kminilog.cli.options import example, json_option, topic_partition_argument
from kminilog.cli.output import warn, warn_all, write_document, write_line, write_lines
from kminilog.cli.progress import working_if_long
from kminilog.cli.recovery_reading import shown_scanner
from kminilog.cli.recovery_words import Diagnosis, diagnose, loss_of, words_of
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir_writer import LogDirWriter


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
    that do not match their log are rebuilt. With --dry-run, the exit code is 1 if something would
    be cut off the log, or is lost already.
    """
    with (
        working_if_long("Recovering") as at,
        LogDirWriter.open(log_dir_path, recover=False, scanner=shown_scanner(at)) as writer,
    ):
        warn_all(writer.warnings)
        plan = writer.recovery_plan(topic_partition)
        at(f"naming the faults of {topic_partition}")
        diagnosis = diagnose(writer, topic_partition, plan)
        is_refused = plan.damage is not None and not force
        side_files: list[Path] = []
        if not dry_run and not is_refused:
            if plan.damage:
                cut = plan.damage
                warn(f"--force cuts {diagnosis.of_break(cut)}; {loss_of(cut)}")
            side_files = writer.recover(plan, force=force)
    if as_json:
        write_document(_to_json(topic_partition, diagnosis, side_files, dry_run=dry_run))
    else:
        write_line(f"{topic_partition}: valid up to offset {plan.log_end_offset}")
        would = "would be " if dry_run or is_refused else ""
        write_lines(list(diagnosis.lines(would)) or ["nothing to do"])
        write_lines(f"kept in {path}" for path in side_files)
        if is_refused:
            write_line("nothing was changed; --force cuts the log there, and loses what follows")
    return int(is_refused or (dry_run and diagnosis.has_lost_messages))


def _to_json(
    topic_partition: TopicPartition,
    diagnosis: Diagnosis,
    side_files: list[Path],
    *,
    dry_run: bool,
) -> dict[str, Any]:
    plan = diagnosis.plan
    return {
        **topic_partition._asdict(),
        "dry_run": dry_run,
        "log_end_offset": plan.log_end_offset,
        "cut": diagnosis.break_json(plan.cut),
        "damage": diagnosis.break_json(plan.damage),
        "side_files": [str(path) for path in side_files],
        "rebuilt_indexes": [str(segment.index.path) for segment, _ in plan.rebuilt_indexes],
        "removed_files": [str(path) for path in plan.leftovers],
        "stray_files": [str(path) for path in plan.strays],
        "warnings": [words_of(found) for found in diagnosis.lost],
    }
