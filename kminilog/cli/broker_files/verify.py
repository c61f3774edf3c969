"""`kminilog verify` of a Kafka broker's log directory: the same options, report and exit codes.

What would write there, or needs what a broker does not keep, is refused. Source: ours.
"""

import os
from pathlib import Path
from typing import Any

import click

from kminilog.cli.shared.options import example
from kminilog.cli.shared.output import failures_told
from kminilog.cli.shared.progress import working
from kminilog.cli.shared.source_options import is_reading_asked
from kminilog.cli.verify.command import SourcesTogether
from kminilog.cli.verify.command import command as verify
from kminilog.cli.verify.saving import save_and_show
from kminilog.system import SystemClock
from kminilog.verification.broker_files.report import verify_broker

_REFUSED = {
    "against": "verify compares a broker's files with no source",
    "job": "no ingest job has written there",
    "partitioner": "the placement of keys is not checked there",
    "master": "this process does it",
}


def _verify(
    log_dir_path: Path,
    /,
    topics: tuple[str, ...],
    engine: str,
    full: bool,
    since_last: bool,
    strict_index: bool,
    allow: tuple[str, ...],
    report_file: Path | None,
    junit_file: Path | None,
    findings_file: Path | None,
    as_json: bool,
    **others: Any,
) -> int:
    """Check all files of each TOPIC of a Kafka broker, or of all topics; nothing is written there.

    --full decodes every record. What --since-last has seen is kept in $XDG_STATE_HOME/kminilog, by
    default in ~/.local/state/kminilog.
    """
    for name, why in _REFUSED.items():
        if others.get(name):
            option = "--" + name.replace("_", "-")
            raise click.UsageError(f"{log_dir_path} is a Kafka broker's: no {option}, {why}")
    if is_reading_asked(**{name: others[name] for name in others.keys() - _REFUSED}):
        why = f"no option about a source, {_REFUSED['against']}"
        raise click.UsageError(f"{log_dir_path} is a Kafka broker's: {why}")
    if engine == "spark":
        why = f"no --engine spark, {_REFUSED['master']}"
        raise click.UsageError(f"{log_dir_path} is a Kafka broker's: {why}")
    from kminilog.verification.account.findings_file import every_finding

    with (
        failures_told(as_json),
        working("Verifying") as at,
        every_finding(findings_file) as all_findings,
    ):
        report = verify_broker(
            log_dir_path,
            topics,
            clock=SystemClock(),
            strict_index=strict_index,
            allow=allow,
            full=full,
            since_last=_state_directory() if since_last else None,
            all_findings=all_findings,
            progress=at,
        )
    save_and_show(report, lambda: lambda sample: (), report_file, junit_file, as_json)
    return report.exit_code


def _state_directory() -> Path:
    """Return where programs of this user keep what they know from one run to the next."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "kminilog" / "verified"


command = SourcesTogether(
    "verify",
    callback=click.pass_obj(_verify),
    params=verify.params,
    help=_verify.__doc__,
    epilog=example("kminilog verify"),
)
