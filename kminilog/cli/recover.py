"""`kminilog recover`: the recovery of one partition, run by hand, and shown before it is done.

It reads the whole partition and ignores the clean-shutdown marker and the recovery point. It
truncates a torn tail, rebuilds indexes and removes leftover files. It only reports damage, with
exit code 1; `--force` cuts it, and first reports the loss. Side files keep what is cut off. With
`--dry-run` the exit code is 1, too, if the log would lose something, or has lost something.

Each damage is said in the words of `verify`, then what is done:

    orders-0/00000000000000000005.log, offset 7, byte 32: bad-crc: crc is ..., the bytes give ...
        would be cut: 436 bytes with 12 whole messages lost
    orders-0/00000000000000000009.index: orphan-file: an index without a log; ...
        would be removed

Source: ours.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from kminilog.cli.shared.interrupts import interruptible_anywhere
from kminilog.cli.shared.options import example, json_option, to_topic_partition
from kminilog.cli.shared.output import warn, warn_all, write_document, write_line, write_lines
from kminilog.cli.shared.progress import working_if_long
from kminilog.cli.shared.recovery_reading import shown_scanner
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.recovery import NOT_DUE, RecoveryPlan, ValidEnd
from kminilog.text import BAD, DOUBTFUL, Span, StyledText, count
from kminilog.verification.findings import Finding, FindingClass, Tally
from kminilog.verification.partition_checks import check_partition, segment_check
from kminilog.verification.records import read_small_files
from kminilog.verification.summaries import readable_in_words


class ExplainedPlan(NamedTuple):
    """A plan, the findings of `verify` that it is about, and how far the log is readable."""

    plan: RecoveryPlan
    findings: list[Finding]
    readable: str = ""

    @property
    def has_lost_messages(self) -> bool:
        """Tell if the log would lose something at its end, or has lost something already."""
        return bool(self.plan.cut or self.plan.damage or self.lost)

    @property
    def lost(self) -> list[Finding]:
        """What the log has lost."""
        return [found for found in self.findings if found.kind == FindingClass.LOST_END]

    def of_end(self, found: ValidEnd) -> str:
        """Return class, place and fault of the place where the valid part of the log ends."""
        finding = self._finding_of(found)
        if finding:
            return words_of(finding)
        where = f"{self.plan.topic_partition}/{found.segment.log_path.name}"
        return f"{where}, offset {self.plan.log_end_offset}, byte {found.position}: {found.reason}"

    def end_json(self, found: ValidEnd | None) -> dict[str, Any] | None:
        """Return such a place as `recover --json` has it."""
        if found is None:
            return None
        finding = self._finding_of(found)
        said = {"class": finding and finding.kind.value}
        reason = f"{finding.kind}: {finding.detail}" if finding else found.reason
        return {
            "segment": found.segment.name,
            "position": found.position,
            "reason": reason,
            "lost_bytes": found.lost_bytes,
            "lost_messages": found.lost.message_count,
            "lost_batches": found.lost.batch_count,
            **said,
        }

    def lines(self, would: str) -> Iterator[str]:
        """Yield what is wrong, and below each what is done, or `would` be."""
        for finding in self.lost:
            yield StyledText(Span(words_of(finding), BAD))
        for found in (self.plan.cut, self.plan.damage):
            if found:
                yield StyledText(Span(self.of_end(found), BAD))
                yield f"    {would}cut: {loss_of(found)}"
        for segment, _ in self.plan.rebuilt_indexes:
            of_it = [f for f in self.findings if f.segment == segment.name and _is_of_index(f)]
            not_due = f"{self.plan.topic_partition}/{segment.index.path.name}: {NOT_DUE}"
            for words in [*map(words_of, of_it)] or [not_due]:
                yield StyledText(Span(words, DOUBTFUL))
            yield f"    {would}rebuilt: {segment.index.path}"
        for finding in self.findings:
            if finding.kind == FindingClass.ORPHAN_FILE:
                yield StyledText(Span(words_of(finding), DOUBTFUL))
        yield from (f"    {would}removed: {path}" for path in self.plan.leftovers)
        yield from (f"    left alone: {path}" for path in self.plan.strays)

    def _finding_of(self, found: ValidEnd) -> Finding | None:
        """The first finding at such a place or after it; None if `verify` has none there."""
        place = (found.segment.base_offset, found.position)
        at_or_after = [
            (where, finding)
            for finding in self.findings
            if finding.kind.severity == "error"
            and finding.kind != FindingClass.LOST_END
            and (where := _place_in_file_order(finding))
            and where >= place
        ]
        return min(at_or_after, key=lambda pair: pair[0])[1] if at_or_after else None


@click.command("recover", epilog=example("kminilog recover orders-0 --dry-run"))
@click.argument("topic_partition", metavar="TOPIC-P", type=to_topic_partition)
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
    that do not match their log are rebuilt. With --dry-run, the exit code is 1 if the
    command would cut something off the log, or if messages are lost already.
    """
    with (
        working_if_long("Recovering") as at,
        LogDirWriter.open(log_dir_path, recover=False, scanner=shown_scanner(at)) as writer,
    ):
        warn_all(writer.warnings)
        plan = writer.recovery_plan(topic_partition)
        at(f"naming the faults of {topic_partition}")
        explained = explain(writer, topic_partition, plan)
        is_refused = plan.damage is not None and not force
        side_files: list[Path] = []
        if not dry_run and not is_refused:
            if plan.damage:
                cut = plan.damage
                warn(f"--force cuts {explained.of_end(cut)}; {loss_of(cut)}")
            side_files = writer.recover(plan, force=force)
    if as_json:
        write_document(_to_json(topic_partition, explained, side_files, dry_run=dry_run))
    else:
        write_line(f"{topic_partition}: {explained.readable}")
        would = "would be " if dry_run or is_refused else ""
        write_lines(list(explained.lines(would)) or ["nothing to do"])
        write_lines(f"kept in {path}" for path in side_files)
        if is_refused:
            write_line("nothing was changed; --force cuts the log there, and loses what follows")
    return int(is_refused or (dry_run and explained.has_lost_messages))


def _to_json(
    topic_partition: TopicPartition,
    explained: ExplainedPlan,
    side_files: list[Path],
    *,
    dry_run: bool,
) -> dict[str, Any]:
    plan = explained.plan
    return {
        **topic_partition._asdict(),
        "dry_run": dry_run,
        "log_end_offset": plan.log_end_offset,
        "cut": explained.end_json(plan.cut),
        "damage": explained.end_json(plan.damage),
        "side_files": [str(path) for path in side_files],
        "rebuilt_indexes": [str(segment.index.path) for segment, _ in plan.rebuilt_indexes],
        "removed_files": [str(path) for path in plan.leftovers],
        "stray_files": [str(path) for path in plan.strays],
        "warnings": [words_of(found) for found in explained.lost],
    }


def explain(log_dir: LogDir, topic_partition: TopicPartition, plan: RecoveryPlan) -> ExplainedPlan:
    """Return a plan with what `verify` finds in the partition; reads it once more: O(bytes)."""
    topic = log_dir.topic(topic_partition.topic)
    known = read_small_files(log_dir.path).partitions_of(topic)[topic_partition.partition]
    jobs = replace(known, placement=())  # recovery does not ask where keys belong
    reader, check = log_dir.reader(topic_partition), interruptible_anywhere(segment_check())
    checked = check_partition(reader, jobs, check_segment=check)
    is_empty = plan.log_end_offset <= checked.log_start_offset
    end = "empty" if is_empty else f"readable up to offset {plan.log_end_offset - 1}"
    readable = readable_in_words(checked.to_json()) or end
    return ExplainedPlan(plan, Tally(checked.findings).findings(), readable)


def words_of(finding: Finding) -> str:
    """Return a finding as `verify` says it: its place, its class, its fault."""
    return f"{finding.place}: {finding.kind}: {finding.detail}"


def loss_of(found: ValidEnd) -> str:
    """Return how much a cut loses."""
    return f"{count(found.lost_bytes, 'byte')} with {found.lost} lost"


def _is_of_index(finding: Finding) -> bool:
    return finding.kind.severity == "warning"


def _place_in_file_order(finding: Finding) -> tuple[int, int] | None:
    if finding.segment is None or finding.position is None:
        return None
    return int(finding.segment), finding.position
