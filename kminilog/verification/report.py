"""From findings to a verdict.

    findings   something is wrong that is not allowed         exit code 1
    partial    nothing is, but something was not checked      exit code 2
    ok         all was checked, and nothing is wrong          exit code 0

The report of a check of the storage, and of one against a source, has the same form: only the
latter has a `conservation`, the equation that accounts for every record. It is a contract that
scripts depend on. Source: ours.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from kminilog.producer.partitioners.keyed import KEYED_RULES, keyed_rule
from kminilog.storage.log_dir import LogDir
from kminilog.storage.publication import committed_manifests
from kminilog.storage.topics import Topic
from kminilog.verification.findings import FindingClass, Tally, parse_classes, severity
from kminilog.verification.partition_checks import PartitionSummary, check_partition
from kminilog.verification.segment_checks import PartitionOf

_EXIT_CODES = {"ok": 0, "findings": 1, "partial": 2}


@dataclass
class Report:
    """What was checked, what was found, and what was not checked."""

    scope: dict[str, Any]
    conservation: dict[str, Any] = field(default_factory=dict)
    partitions: list[dict[str, Any]] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    unchecked: list[str] = field(default_factory=list)
    allowed: frozenset[FindingClass] = frozenset()

    def add_partition(self, summary: PartitionSummary) -> None:
        """Add a partition with its findings and what was not checked in it."""
        self.partitions.append(summary.to_json())
        self.unchecked += summary.unchecked
        for finding in summary.findings:
            self.tally.add(finding)

    @property
    def verdict(self) -> str:
        """One of "ok", "findings" and "partial"."""
        if self.tally.counts().keys() - self.allowed:
            return "findings"
        return "partial" if self.unchecked else "ok"

    @property
    def exit_code(self) -> int:
        """The exit code that goes with the verdict."""
        return _EXIT_CODES[self.verdict]

    def to_json(self) -> dict[str, Any]:
        """Return what `verify --json` prints."""
        return {
            "verdict": self.verdict,
            "scope": self.scope,
            "conservation": self.conservation,
            "partitions": self.partitions,
            "findings": self.tally.to_json(),
            "unchecked": self.unchecked,
            "allowed": sorted(self.allowed),
        }

    def to_text(self) -> str:
        """Return it for a human eye: what was looked at, each sample with its place, the verdict.

        >>> print(Report(scope={}).to_text())
        0 partitions, 0 segments, 0 messages, 0 bytes
        verdict: ok
        """
        totals = [
            f"{sum(partition[number] for partition in self.partitions)} {unit}"
            for number, unit in (
                ("segment_count", "segments"),
                ("message_count", "messages"),
                ("size_bytes", "bytes"),
            )
        ]
        lines = [", ".join([f"{len(self.partitions)} partitions", *totals])]
        lines += [f"{name}: {value}" for name, value in self.conservation.items()]
        for kind, count in self.tally.counts().items():
            allowed = ", allowed" if kind in self.allowed else ""
            lines.append(f"{kind:<20}{severity(kind):<8}{count:>10}{allowed}")
            samples = self.tally.samples(kind)
            lines += [f"    {sample.place}: {sample.detail}" for sample in samples]
            if count > len(samples):
                lines.append(f"    and {count - len(samples)} more")
        lines += [f"not checked: {what}" for what in self.unchecked]
        return "\n".join([*lines, f"verdict: {self.verdict}"])


def verify_storage(
    log_dir: LogDir,
    topics: Sequence[str] = (),
    *,
    partitioner: str | None = None,
    allow: Collection[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Check everything that is stored of some topics, of all if none is named, in one process.

    Takes no lock; a writer may be at work. Raises UnknownTopicOrPartitionError, and ValueError for
    an unknown class in `allow` or an unknown partitioner. O(bytes), memory O(segments).
    """
    allowed = parse_classes(allow)
    found = [log_dir.topic(name) for name in dict.fromkeys(topics)] or log_dir.topics()
    rules = [(topic, partition_rule(log_dir, topic, partitioner)) for topic in found]
    scope = {
        "log_dir": str(log_dir.path),
        "topics": [topic.name for topic in found],
        "partitioner": partitioner,
        "engine": "local",
    }
    report = Report(scope, allowed=allowed)
    for topic, rule in rules:
        for topic_partition in topic.all_partitions():
            if progress:
                progress(f"checking {topic_partition}")
            report.add_partition(check_partition(log_dir.reader(topic_partition), rule))
    return report


def partition_rule(log_dir: LogDir, topic: Topic, partitioner: str | None) -> PartitionOf | None:
    """Return where keys of a topic belong: by this partitioner, else by the one on record.

    On record means that all committed jobs of the topic used it. None if there is none, or if it is
    not one that places keys. Raises ValueError for a given partitioner that is not one.
    """
    if partitioner is None:
        recorded = {
            manifest.facts.get("partitioner")
            for manifest in committed_manifests(log_dir.path, topic.name)
        }
        if len(recorded) != 1:
            return None
        (partitioner,) = recorded
        if partitioner not in KEYED_RULES:
            return None
    rule = keyed_rule(partitioner)
    return lambda key: rule(key, topic.partitions)
