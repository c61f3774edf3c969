"""`verify --cluster`: the files of each broker are checked, and one verdict is given.

A broker that is down is checked, too: its files are what it will start with. Source: ours.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.cli.shared.cluster_option import cluster_at
from kminilog.cli.shared.output import warn_all, width, write_document, write_line, write_lines
from kminilog.errors import KMiniLogError
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.text import count, indented, printable, wrap
from kminilog.verification.coverage import Unchecked
from kminilog.verification.findings import Aspect
from kminilog.verification.report import Report
from kminilog.verification.text_report import totals_line

Verify = Callable[[LogDir, tuple[str, ...]], Report]
# The first of them that a report of a broker has is the verdict of the cluster.
_VERDICTS = ("findings", "partial", "ok")


class Verified(NamedTuple):
    """The reports of brokers by number, why others have none, and what is unchecked in all."""

    reports: dict[int, Report]
    unreadable: dict[int, str]
    without_copies: list[int]
    unchecked: list[Unchecked]

    @property
    def verdict(self) -> str:
        """The verdict on all of them."""
        found = {report.verdict for report in self.reports.values()}
        found |= {"partial"} if self.unreadable else {"ok"}
        return next(one for one in _VERDICTS if one in found)

    @property
    def exit_code(self) -> int:
        """2 if a broker could not be checked, else the highest one of the reports."""
        codes = [report.exit_code for report in self.reports.values()]
        return max([2 if self.unreadable else 0, *codes])


def verify_brokers(path: Path, topics: tuple[str, ...], verify: Verify) -> Verified:
    """Return the report of each broker that holds copies of some topics, or of any topics.

    Raises NoClusterError, and UnknownTopicOrPartitionError.
    """
    cluster = cluster_at(path)
    state = cluster.state()
    wanted = {cluster.topic(name).name for name in topics} or set(state.topics)
    verified = Verified({}, {}, [], [])
    if any(len(one.replicas) > 1 for p, one in state.partitions.items() if p.topic in wanted):
        why = "each is checked by itself, not compared with the others"
        verified.unchecked.append(Unchecked(Aspect.COPIES, str(path), why))
    for broker in state.brokers:
        held = {p.topic for p, one in state.partitions.items() if broker in one.replicas}
        try:
            files = cluster.broker(broker)
            log_dir = LogDir(files.path)
            orphaned = {one.topic for one in log_dir.orphans()}
            for name in held & wanted - orphaned:
                files.topic(name)  # which says what to do if it is gone
            names = tuple(sorted(held & wanted | (set() if topics else orphaned)))
        except (KMiniLogError, OSError) as error:
            verified.unreadable[broker] = str(error)
            continue
        if names:
            verified.reports[broker] = verify(log_dir, names)
        else:
            verified.without_copies.append(broker)
    return verified


def write_reports(verified: Verified, as_json: bool) -> int:
    """Print the reports and the verdict on all of them; return the exit code."""
    reports, unreadable, without_copies, unchecked = verified
    warn_all(f"broker {broker} is not checked: {why}" for broker, why in unreadable.items())
    if as_json:
        document = _document(verified.verdict, {b: one.to_json() for b, one in reports.items()})
        document["unchecked"] += [
            {"what": "files", "where": f"broker {b}", "why": why, "option": None, "asked": True}
            for b, why in unreadable.items()
        ]
        document["unchecked"] += [one.to_json() for one in unchecked]
        write_document(document)
    else:
        for broker, report in reports.items():
            write_line(f"broker {broker}")
            write_lines(indented(line, "    ") for line in report.to_lines(width() - 4))
        for one in unchecked:
            line = f"not checked: {printable(one.in_words())}"
            write_lines(wrap(line, width(), later="    "))
        total = len(reports) + len(unreadable) + len(without_copies)
        left_out = [f"broker {broker} is not checked" for broker in unreadable]
        left_out += [f"broker {broker} has no copy" for broker in without_copies]
        checked = f"{len(reports)} of " if left_out else ""
        said = [verified.verdict, totals_line([*reports.values()]), *left_out]
        write_line(f"verdict on {checked}{count(total, 'broker')}: {'; '.join(said)}")
    return verified.exit_code


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
