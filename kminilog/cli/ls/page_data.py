"""A log dir or a cluster read for its page: what `ls`, `group describe` and `verify` say together.

Of a cluster, the leader's copy of each partition is shown; of the others, how far they go, and what
`verify` finds in them. What cannot be read does not stop the rest: the page says what it is, and
why. Source: ours.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kminilog.cli.ls.contents import contents_of
from kminilog.cli.ls.look import (
    MAX_TICKS,
    ContentsOf,
    CopyLook,
    FindingLook,
    GroupLook,
    LogDirLook,
    PartitionLook,
    SegmentLook,
)
from kminilog.cli.shared.group_offsets import coordinator_of, group_offsets, offsets_of
from kminilog.cli.shared.interrupts import interruptible, interruptible_anywhere
from kminilog.cli.shared.progress import working
from kminilog.cli.shared.topic_files import describe_partition
from kminilog.cli.verify.brokers import Verified, verify_brokers
from kminilog.cli.verify.damaged_bytes import damaged_bytes
from kminilog.cluster.cluster_files import ClusterFiles
from kminilog.consumer.interface import MessageSource
from kminilog.errors import KMiniLogError, in_words
from kminilog.format.names import LOG_SUFFIX, TopicPartition
from kminilog.storage.checkpoint import CHECKPOINT_FILE, known_offsets, parse_checkpoint
from kminilog.storage.files import read_regular
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.notices import OnGap
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.topics import Topic
from kminilog.verification.commands import quoted
from kminilog.verification.coverage import Unchecked
from kminilog.verification.findings import Aspect, Cause, Finding
from kminilog.verification.html_report import headline, worst
from kminilog.verification.partition_checks import segment_check
from kminilog.verification.report import Report, verify_storage
from kminilog.verification.summaries import readable_in_words

Json = Mapping[str, Any]
Groups = Mapping[TopicPartition, Sequence[GroupLook]]
_UNREADABLE = (KMiniLogError, OSError)
_SEVERITIES = ("ok", "warning", "error")


class _NotRead:
    """What could not be read, in words; `on_broken` gets each as an error."""

    def __init__(self, on_broken: Callable[[Exception], object]) -> None:
        self.texts: list[str] = []
        self._on_broken = on_broken

    def __call__(self, what: str, error: Exception) -> None:
        self.texts.append(f"{what}: {in_words(error)}")
        self._on_broken(KMiniLogError(self.texts[-1]))


class _Place:
    """Where topics are, and what `verify` says of them, broker by broker.

    That is a cluster, or a log dir, which counts as broker 0.
    """

    def __init__(self, log_dir: LogDir, topics: Sequence[Topic], not_read: _NotRead) -> None:
        """Verify the topics; what cannot be verified adds to `not_read`."""
        self._log_dir = log_dir
        self.cluster = log_dir if isinstance(log_dir, ClusterFiles) else None
        self.verified = _verified(log_dir, tuple(topic.name for topic in topics), not_read)
        self.reports = self.verified.reports
        self.rows: dict[TopicPartition, dict[int, Json]] = defaultdict(dict)
        for broker, report in self.reports.items():
            for row in report.partitions:
                self.rows[TopicPartition(row["topic"], row["partition"])][broker] = row
        self.has_unkept_errors = any(
            total > len(report.tally.samples(kind)) and kind.severity == "error"
            for report in self.reports.values()
            for kind, total in report.tally.counts().items()
        )

    def log_dir_of(self, broker: int) -> LogDir:
        return self.cluster.broker(broker) if self.cluster else self._log_dir

    def home(self, partition: TopicPartition) -> int:
        """Return whose copy is shown: the leader's, or without one that of a broker with a copy."""
        if not self.cluster:
            return 0
        leadership = self.cluster.leadership(partition)
        return leadership.replicas[0] if leadership.leader is None else leadership.leader

    def reader(self, partition: TopicPartition, on_gap: OnGap | None = None) -> PartitionReader:
        """Return a reader of the copy that is shown."""
        return self.log_dir_of(self.home(partition)).reader(partition, on_gap=on_gap)

    def said_of(self, broker: int, said: str) -> str:
        return f"broker {broker}: {said}" if self.cluster else said


def _verified(log_dir: LogDir, names: tuple[str, ...], not_read: _NotRead) -> Verified:
    def check(log_dir: LogDir, names: tuple[str, ...]) -> Report:
        segments = interruptible_anywhere(segment_check())
        with working("Verifying") as at:
            return verify_storage(log_dir, names, progress=at, check_segment=segments)

    if isinstance(log_dir, ClusterFiles):
        return verify_brokers(log_dir.path, names, check)
    report = Report({})
    try:
        if names:  # without names, it would check all topics
            report = check(log_dir, names)
    except _UNREADABLE as error:
        not_read("verify", error)
        report.unchecked.append(Unchecked(Aspect.MESSAGES, "", in_words(error), asked=True))
    return Verified({0: report}, {}, [], [])


def look_at(
    log_dir: LogDir,
    topics: Sequence[Topic],
    *,
    on_gap: OnGap | None,
    on_broken: Callable[[Exception], object],
) -> tuple[LogDirLook, ContentsOf]:
    """Return what a log dir or a cluster holds of some topics, and what reads their messages.

    Reads every byte of them, as `verify` does. `on_broken` gets the error of each thing that cannot
    be read.
    """
    not_read = _NotRead(on_broken)
    place = _Place(log_dir, topics, not_read)
    points = {} if place.cluster else _recovery_points(log_dir.path, not_read)
    groups = _groups(log_dir, offsets_of(log_dir, on_gap=on_gap), not_read)
    findings = _findings(place)
    partitions = []
    for topic in topics:
        for partition in interruptible(topic.all_partitions()):
            rows, copies = place.rows[partition], _copies(place.cluster, partition)
            look = PartitionLook(
                name=str(partition),
                recovery_point=points.get(partition),
                copies=copies,
                groups=tuple(groups.get(partition, ())),
                findings=tuple(findings.pop(str(partition), ())),
                finding_count=sum(row["finding_count"] for row in rows.values()),
                is_checked=bool(rows) and all(copy.broker in rows for copy in copies),
            )
            try:
                partitions.append(_as_stored(look, place, partition, on_gap))
            except _UNREADABLE as error:
                on_broken(error)
                partitions.append(look._replace(failure=in_words(error)))
            for copy in copies:
                if copy.failure and copy.broker != place.home(partition):
                    on_broken(KMiniLogError(copy.failure))
    verified, reports = place.verified, place.reports.values()
    not_read.texts += [f"broker {b}: {why}" for b, why in verified.unreadable.items()]
    said = [
        place.said_of(broker, headline(report))
        for broker, report in place.reports.items()
        if report.verdict != "ok"
    ]
    said += [f"broker {b} is not checked." for b in verified.unreadable]
    severities = ["warning" if verified.unreadable else "ok", *map(worst, reports)]
    counts, kept = Counter[str](), Counter[str]()
    for report in reports:
        counts.update(report.tally.counts())
        kept.update(sample.kind for sample in report.tally.findings())
    unchecked = [*(one for report in reports for one in report.unchecked), *verified.unchecked]
    title, option = ("Cluster", "--cluster") if place.cluster else ("Log dir", "--log-dir")
    whole = LogDirLook(
        title=f"{title} {log_dir.path}",
        command=f"kminilog {option} {quoted(str(log_dir.path))}",
        verdict=verified.verdict,
        said=" ".join(said) or headline(Report({})),
        severity=max(severities, key=_SEVERITIES.index),
        partitions=tuple(partitions),
        settings={topic.name: _settings(topic) for topic in topics},
        elsewhere=tuple(finding for found in findings.values() for finding in found),
        counts=tuple((kind, total, kept[kind]) for kind, total in counts.items()),
        not_checked=tuple(dict.fromkeys(one.in_words() for one in unchecked)),
        not_read=tuple(not_read.texts),
    )
    return whole, contents_of(place.reader)


def _settings(topic: Topic) -> str:
    """Return the dialect of a topic, and what is set for it that is not the default."""
    own = [f"{name} {value}" for name, value in topic.settings.changed().items()]
    return ", ".join([f"{topic.dialect.name} dialect", *own])


def _copies(files: ClusterFiles | None, partition: TopicPartition) -> tuple[CopyLook, ...]:
    """Return what each copy in a cluster is like."""
    if not files:
        return ()
    leadership, state, copies = files.leadership(partition), files.state(), []
    for broker in leadership.replicas:
        role = "in sync" if broker in leadership.in_sync else "not in sync"
        role = "leads" if broker == leadership.leader else role
        role += "" if state.brokers[broker] else ", down"
        try:
            end = files.broker(broker).reader(partition).log_end_offset
            copies.append(CopyLook(broker, role, end, files.high_watermark(partition, broker)))
        except _UNREADABLE as error:
            copies.append(CopyLook(broker, role, failure=in_words(error)))
    return tuple(copies)


def _recovery_points(log_dir: Path, not_read: _NotRead) -> dict[TopicPartition, int]:
    path = log_dir / CHECKPOINT_FILE
    try:
        return parse_checkpoint(read_regular(path))
    except FileNotFoundError:
        not_read.texts.append(f"recovery points: there is no file {path}")
    except OSError as error:
        not_read("recovery points", error)
    except ValueError as error:
        not_read(f"recovery points: {path}", error)
        return known_offsets(error)
    return {}


def _groups(log_dir: LogDir, source: MessageSource, not_read: _NotRead) -> Groups:
    """Return the groups of each partition. A group that cannot be read adds to `not_read`."""
    coordinator = coordinator_of(log_dir, source)
    found: dict[TopicPartition, list[GroupLook]] = defaultdict(list)
    try:
        names = coordinator.groups()
    except _UNREADABLE as error:
        not_read("groups", error)
        return found
    for name in interruptible(names):
        try:
            fields = group_offsets(coordinator.describe(name), source)
        except _UNREADABLE as error:
            not_read(f"group {name}", error)
            continue
        for one in fields:
            group = GroupLook(name, one["committed"], one["lag"], one["above_log_end"])
            found[TopicPartition(one["topic"], one["partition"])].append(group)
    return found


def _findings(place: _Place) -> dict[str, list[FindingLook]]:
    """Return the findings by partition, each with its bytes and the command that shows it."""
    findings: dict[str, list[FindingLook]] = defaultdict(list)
    for broker, results in place.reports.items():
        bytes_of = damaged_bytes(place.log_dir_of(broker))
        for sample in results.tally.findings():
            partition = TopicPartition(sample.topic, sample.partition)
            is_home = not place.cluster or place.home(partition) == broker
            findings[str(partition)].append(
                FindingLook(
                    kind=sample.kind,
                    severity=sample.kind.severity,
                    partition=str(partition),
                    place=place.said_of(broker, sample.place),
                    detail=sample.detail,
                    command=results.command(sample),
                    offset=sample.offset,
                    last_offset=sample.last_offset,
                    comes_from=_comes_from(sample.cause),
                    segment=sample.segment or "" if is_home else "",
                    tables=bytes_of(sample),
                )
            )
    return findings


def _comes_from(cause: Cause | None) -> str:
    if not cause:
        return ""
    certainty = "comes" if cause.is_certain else "may come"
    return f"{certainty} from {cause.kind}: {cause.place}"


def _as_stored(
    look: PartitionLook, place: _Place, partition: TopicPartition, on_gap: OnGap | None
) -> PartitionLook:
    """Return a partition with its segments, as they are listed.

    Of a damaged log, `verify` reads what is after the damage, too: there its counts are shown.
    """
    reader, home = place.reader(partition, on_gap), place.home(partition)
    described = describe_partition(reader)
    segments = reader.segments()
    is_drawn = sum(len(segment.index) for segment in segments) <= MAX_TICKS
    entries = {one.name: one.index.entries() if is_drawn else [] for one in segments}
    row = place.rows[partition].get(home, {})
    readable = readable_in_words(row)
    checked = {one["segment"]: one for one in row.get("segments", ())}
    findings: dict[str | None, list[Finding]] = defaultdict(list)
    for one in place.reports[home].tally.findings() if home in place.reports else ():
        if (one.topic, one.partition) == partition:
            findings[one.segment].append(one)

    def segment(listed: Json) -> SegmentLook:
        name, next_offset = listed["name"], listed["next_offset"]
        counted, found = checked.get(name, {}), findings[name]
        count, last = counted.get("finding_count", 0), counted.get("last_offset")
        if readable and last is not None:
            next_offset = max(next_offset, last + 1)
        in_log = [one.position for one in found if one.kind.suffix == LOG_SUFFIX]
        return SegmentLook(
            name,
            listed["first_offset"],
            next_offset,
            listed["log_bytes"],
            listed["index_entries"],
            tuple(listed["base_offset"] + entry.relative_offset for entry in entries.get(name, ())),
            finding_count=count,
            near=min((at for at in in_log if at is not None), default=None),
            is_damaged=any(one.kind.severity == "error" for one in found)
            or (place.has_unkept_errors and count > len(found)),
            valid_count=counted.get("message_count") if readable else None,
        )

    return look._replace(
        log_start_offset=described["log_start_offset"],
        log_end_offset=max(described["log_end_offset"], row.get("log_end_offset", 0)),
        size_bytes=described["size_bytes"],
        segments=tuple(map(segment, described["segments"])),
        has_unkept_errors=place.has_unkept_errors,
        readable=readable,
    )
