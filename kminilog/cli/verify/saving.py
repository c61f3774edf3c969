"""What `verify` writes: its report to stdout, `--report` and `--junit`. Source: ours."""

from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kminilog.cli.shared.options import ARGUMENTS
from kminilog.cli.shared.output import json_bytes, width, write_document, write_lines
from kminilog.cli.shared.output_files import write_output, write_page

if TYPE_CHECKING:
    from kminilog.verification.html_report import BytesOf
    from kminilog.verification.report import Report


def save_and_show(
    report: "Report",
    bytes_of: "Callable[[], BytesOf]",
    report_file: Path | None,
    junit_file: Path | None,
    as_json: bool,
) -> None:
    """Write the files that are named, by their endings, and the report to stdout.

    `bytes_of` makes what gives the bytes of a finding, for a page.
    """
    try:
        _save(report, bytes_of, report_file, junit_file)
    finally:  # the result of a long check is shown, even if a file cannot be written
        if as_json:
            write_document(report.to_json())
        else:
            write_lines(report.to_lines(width()))


def _save(
    report: "Report",
    bytes_of: "Callable[[], BytesOf]",
    report_file: Path | None,
    junit_file: Path | None,
) -> None:
    if report_file:
        suffix = report_file.suffix.lower()
        if suffix == ".json":
            write_output(report_file, json_bytes(report.to_json(), indent=2) + b"\n")
        elif suffix in (".html", ".htm"):
            write_page(report_file, _page(report, bytes_of))
        else:
            text = report.to_text().encode(errors="backslashreplace")
            write_output(report_file, text + b"\n")
    if junit_file:
        from kminilog.verification.junit_report import render_junit

        write_output(junit_file, render_junit(report))


def _page(report: "Report", bytes_of: "Callable[[], BytesOf]") -> str:
    from kminilog.verification.commands import quoted
    from kminilog.verification.html_report import ReportOrigin

    words = click.get_current_context().meta.get(ARGUMENTS, ())
    made = ReportOrigin(
        time=f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        version=import_module("kminilog").__version__,
        directory=_directory(),
        command=" ".join(["kminilog", *map(quoted, words)]),
    )
    return report.to_html(bytes_of(), made)


def _directory() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # somebody has removed it
        return "a directory that is gone"
