"""`kminilog verify`: are the stored files correct, and is every record of a source stored?

Without a source, the files are checked. With `--against`, every record of the source is accounted
for. This process or Spark does it. The exit code is 0 if all is ok, 1 for findings, 2 if a check
could not be done.
"""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kminilog.cli.shared.cluster_option import is_cluster
from kminilog.cli.shared.engines import engine_for, engine_option, master_option, spark_at_work
from kminilog.cli.shared.interrupts import interruptible_anywhere
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import failures_told, warn
from kminilog.cli.shared.output_files import OutputFile
from kminilog.cli.shared.progress import working
from kminilog.cli.shared.source_options import (
    is_reading_asked,
    reading_options,
    to_source,
)
from kminilog.cli.verify.saving import save_and_show
from kminilog.storage.log_dir.log_dir import LogDir, why_no_log_dir
from kminilog.system import SystemClock
from kminilog.verification.orphans import topics_to_check
from kminilog.verification.partition_checks import segment_check

if TYPE_CHECKING:
    from kminilog.jobs.source.description import Source
    from kminilog.verification.html_report import BytesOf
    from kminilog.verification.report import Report


class SourcesTogether(click.Command):
    """A command whose `--against` takes all words up to the next option: `--against logs/*.txt`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, `--against A B` as `--against A --against B`."""
        repeated: list[str] = []
        sources: int | None = None  # words since --against
        for arg in args:
            if arg.startswith("-") and arg != "-":
                sources = 0 if arg == "--against" else None
            elif sources is not None:
                repeated += ["--against"] * (sources > 0)
                sources += 1
            repeated.append(arg)
        return super().parse_args(ctx, repeated)


@click.command(
    "verify", cls=SourcesTogether, epilog=example("kminilog verify orders --report report.html")
)
@click.argument("topics", nargs=-1, metavar="[TOPIC]...")
@engine_option
@click.option(
    "--against",
    multiple=True,
    metavar="SOURCE...",
    help="Files or folders of the source that was ingested: account for each of its records.",
)
@reading_options
@click.option(
    "--same-places",
    is_flag=True,
    help="With --against: compare the partition and the offset of each message, too. The formats "
    "kcat and kminilog have them.",
)
@click.option(
    "--job",
    metavar="ID",
    help="With --against: id of an ingest job; check only the offsets that it wrote.",
)
@click.option(
    "--full",
    is_flag=True,
    help="Compare the SHA-256 of all bytes that jobs wrote. With --against: compare all rows, "
    "even if the sums of both sides are equal.",
)
@click.option(
    "--since-last",
    is_flag=True,
    help="Check what came after the last `ok`, and take the rest on trust. With --against it needs "
    "--job.",
)
@click.option(
    "--partitioner",
    metavar="NAME",
    help="Partitioner that placed the messages: check that each key is in its partition.",
)
@click.option(
    "--strict-index",
    is_flag=True,
    help="Report missing index entries in topics of the kafka dialect, too.",
)
@click.option(
    "--allow", multiple=True, metavar="CLASS", help="Class of findings to ignore. Repeatable."
)
@click.option(
    "--report",
    "report_file",
    type=OutputFile(),
    metavar="FILE",
    help="File for the report: HTML if it ends in .html, JSON if in .json, else text.",
)
@click.option(
    "--junit",
    "junit_file",
    type=OutputFile(),
    metavar="FILE",
    help="File for a JUnit report, as CI servers show it: a test case for each class of findings.",
)
@click.option(
    "--findings",
    "findings_file",
    type=OutputFile(".jsonl", ".parquet"),
    metavar="FILE",
    help="File for every finding, not samples: lines of JSON if it ends in .jsonl, Parquet if in "
    ".parquet.",
)
@master_option
@json_option
@click.pass_obj
def command(
    log_dir_path: Path,
    /,
    topics: tuple[str, ...],
    engine: str,
    against: tuple[str, ...],
    job: str | None,
    full: bool,
    since_last: bool,
    partitioner: str | None,
    strict_index: bool,
    allow: tuple[str, ...],
    report_file: Path | None,
    junit_file: Path | None,
    findings_file: Path | None,
    master: str | None,
    as_json: bool,
    **reading: Any,
) -> int:
    """Check all files of each TOPIC, or of all topics."""
    if job is not None and not against:
        raise click.UsageError("--job says which offsets to compare: it needs --against")
    if since_last and against and job is None:
        raise click.UsageError("--since-last with --against needs --job: else all is compared")
    if is_reading_asked(**reading) and not against:
        raise click.UsageError(
            "an option says how to read a source, but there is none: give --against"
        )
    checks: dict[str, Any] = {
        "partitioner": partitioner,
        "strict_index": strict_index,
        "allow": allow,
        "full": full,
        "since_last": since_last,
    }
    if is_cluster():
        if engine == "spark" or against or report_file or junit_file or findings_file:
            with_one = "--engine spark, --against, --report, --junit, --findings"
            raise click.UsageError(f"leave out {with_one}: --cluster takes none of them")
        from kminilog.cli.verify.brokers import verify_brokers, write_reports

        verified = verify_brokers(
            log_dir_path, topics, lambda *asked: _verify_here(*asked, **checks)
        )
        return write_reports(verified, as_json)
    log_dir = LogDir(log_dir_path)
    source = to_source(against, **reading) if against else None
    if source:
        checks |= {"against": source, "job": job}
    if findings_file:
        checks["findings"] = findings_file
    with failures_told(as_json):
        if source:
            _refuse_outputs_in(source, report_file, junit_file, findings_file)
        report = _verify(log_dir, topics, engine_for(engine, source, master), master, checks)
    save_and_show(report, partial(_bytes_of, log_dir), report_file, junit_file, as_json)
    if not topics and (why := why_no_log_dir(log_dir)):
        warn(why)
    return report.exit_code


def _refuse_outputs_in(source: "Source", *outputs: Path | None) -> None:
    """Raise UsageError if an output would replace a file of the source."""
    there = {os.path.realpath(path): path for path in outputs if path and path.exists()}
    if there and source.format != "kminilog":  # no output is in a log dir
        from kminilog.jobs.source.source_files import list_files

        for file in list_files(source.paths):
            if path := there.get(os.path.realpath(file.path)):
                raise click.UsageError(f"{path} is a file of the source; name another one")


def _verify(
    log_dir: LogDir,
    topics: tuple[str, ...],
    engine: str,
    master: str | None,
    checks: dict[str, Any],
) -> "Report":
    if topics:  # an unknown one ends here, before a source is read or Spark starts
        topics_to_check(log_dir, topics)
    if engine == "local":
        return _verify_here(log_dir, topics, **checks)
    return _verify_by_spark(log_dir, topics, master, **checks)


def _verify_here(log_dir: LogDir, topics: tuple[str, ...], **options: Any) -> "Report":
    from kminilog.verification.account.engine import LocalEngine
    from kminilog.verification.account.job import verify_with

    with working("Verifying") as at:
        engine = LocalEngine(interruptible_anywhere(segment_check()), at)
        return verify_with(engine, SystemClock(), log_dir, topics, **options)


def _verify_by_spark(
    log_dir: LogDir, topics: tuple[str, ...], master: str | None, **options: Any
) -> "Report":
    if source := options.get("against"):
        from kminilog.jobs.source.description import files_of

        files_of(source)  # a missing one ends here, before Spark starts
    with spark_at_work("Verifying with Spark", master) as (start, at):
        spark = start()  # says so, before what loads pyspark
        from kminilog.verification.account.spark import verify

        return verify(spark, log_dir, topics, progress=at, **options)


def _bytes_of(log_dir: LogDir) -> "BytesOf":
    from kminilog.cli.verify.damaged_bytes import damaged_bytes

    return damaged_bytes(log_dir)
