"""`verify --cluster`: the files of each broker are checked, and one verdict is given.

A broker that is down is checked, too: its files are what it will start with. Source: ours.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kminilog.cli.output import write_document, write_line, write_lines
from kminilog.cli.places import cluster_at
from kminilog.storage.log_dir import LogDir
from kminilog.verification.report import Report

Verify = Callable[[LogDir, tuple[str, ...]], Report]
# The first of them that a report of a broker has is the verdict of the cluster.
_VERDICTS = ("findings", "partial", "ok")


def verify_brokers(path: Path, topics: tuple[str, ...], verify: Verify) -> dict[int, Report]:
    """Return the report of each broker that holds copies of some topics, or of any topics.

    Raises NoClusterError, and UnknownTopicOrPartitionError.
    """
    cluster = cluster_at(path)
    state = cluster.state()
    wanted = {cluster.topic(name).name for name in topics} or set(state.topics)
    reports = {}
    for broker in state.brokers:
        held = {p.topic for p, one in state.partitions.items() if broker in one.replicas}
        log_dir = cluster.broker(broker)
        orphaned = set() if topics else {one.topic for one in log_dir.orphans()}
        if names := tuple(sorted(held & wanted | orphaned)):
            reports[broker] = verify(log_dir, names)
    return reports


def write_reports(reports: dict[int, Report], as_json: bool) -> int:
    """Print the reports and the verdict on all of them; return the exit code."""
    found = {report.verdict for report in reports.values()} or {"ok"}
    verdict = next(one for one in _VERDICTS if one in found)
    if as_json:
        write_document(_document(verdict, {b: one.to_json() for b, one in reports.items()}))
    else:
        for broker, report in reports.items():
            write_line(f"broker {broker}")
            write_lines("    " + line for line in report.to_text().rstrip("\n").split("\n"))
        write_line(f"verdict on {len(reports)} brokers: {verdict}")
    return max((report.exit_code for report in reports.values()), default=0)


def _document(verdict: str, reports: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Return one document as `verify --json` prints; what belongs to a broker names it."""
    findings: dict[str, dict[str, Any]] = {}
    for broker, report in reports.items():
        for found in report["findings"]:
            whole = findings.setdefault(found["class"], {**found, "count": 0, "samples": []})
            whole["count"] += found["count"]
            whole["samples"] += [{**sample, "broker": broker} for sample in found["samples"]]
    return {
        "verdict": verdict,
        "engine": "local",
        "seconds": sum(report["seconds"] or 0 for report in reports.values()),
        "scope": {"brokers": {str(broker): one["scope"] for broker, one in reports.items()}},
        "conservation": {},
        "partitions": [
            {**one, "broker": broker}
            for broker, report in reports.items()
            for one in report["partitions"]
        ],
        "findings": list(findings.values()),
        "checked": _each(reports, "checked"),
        "unchecked": _each(reports, "unchecked"),
        "allowed": _each(reports, "allowed"),
    }


def _each(reports: dict[int, dict[str, Any]], name: str) -> list[Any]:
    """Return what the reports say under a name, each thing once."""
    said: list[Any] = []
    for report in reports.values():
        said += [one for one in report[name] if one not in said]
    return said
