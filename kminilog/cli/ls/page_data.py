"""A log dir or a cluster read for its page: what `ls`, `group describe` and `verify` say together.

Of a cluster, the leader's copy of each partition is shown; of the others, how far they go, and what
`verify` finds in them. What cannot be read does not stop the rest: the page says what it is, and
why. Source: ours.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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
from kminilog.cli.shared.group_offsets import coordinator_of, group_offsets
from kminilog.cli.shared.interrupts import interruptible, interruptible_anywhere
from kminilog.cli.shared.progress import working
from kminilog.cli.shared.topic_files import describe_partition
from kminilog.cli.verify.brokers import Verified, verify_brokers
from kminilog.cli.verify.damaged_bytes import damaged_bytes
from kminilog.cluster.cluster_files import ClusterFiles
from kminilog.consumer.interface import MessageSource
from kminilog.consumer.readers import ClusterFilesSource, LogDirSource
from kminilog.errors import KMiniLogError, in_words
from kminilog.format.index_entry import IndexEntry
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


class _Place(NamedTuple):
    """Where topics are: in a log dir, which counts as broker 0, or in a cluster.

    `home` tells whose copy of a partition is shown, `copies` what all of them are like.
    """

    path: Path
    option: str
    log_dir_of: Callable[[int], LogDir]
    home: Callable[[TopicPartition], int]
    copies: Callable[[TopicPartition], tuple[CopyLook, ...]]
    source: MessageSource
    verified: Verified

    @property
    def is_cluster(self) -> bool:
        return self.option == "--cluster"

    def checked(self) -> Mapping[TopicPartition, Mapping[int, Json]]:
        """Return what `verify` counts in each partition, by broker."""
        rows: dict[TopicPartition, dict[int, Json]] = defaultdict(dict)
        for broker, report in self.verified.reports.items():
            for row in report.partitions:
                rows[TopicPartition(row["topic"], row["partition"])][broker] = row
        return rows

    @property
    def has_unkept_errors(self) -> bool:
        """Tell if `verify` has found errors of which it keeps no sample."""
        return any(
            total > len(report.tally.samples(kind)) and kind.severity == "error"
            for report in self.verified.reports.values()
            for kind, total in report.tally.counts().items()
        )

    def reader(self, partition: TopicPartition, on_gap: OnGap | None = None) -> PartitionReader:
        """Return a reader of the copy that is shown."""
        log_dir = self.log_dir_of(self.home(partition))
        return log_dir.reader(partition, on_gap=on_gap)


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
    if isinstance(log_dir, ClusterFiles):
        place = _cluster(log_dir, topics)
        points: Mapping[TopicPartition, int] = {}
    else:
        place = _alone(log_dir, topics, on_gap, not_read)
        points = _recovery_points(log_dir.path, not_read)
    groups = _groups(log_dir, place.source, not_read)
    found, checked = _findings(place), place.checked()
    partitions = []
    for topic in topics:
        for partition in interruptible(topic.all_partitions()):
            rows, copies = checked.get(partition, {}), place.copies(partition)
            part = _partition(place, partition, rows, on_gap, on_broken)
            for copy in copies:
                if copy.failure and copy.broker != place.home(partition):
                    on_broken(KMiniLogError(copy.failure))
            partitions.append(
                part._replace(
                    recovery_point=points.get(partition),
                    copies=copies,
                    is_checked=bool(rows) and all(copy.broker in rows for copy in copies),
                    groups=tuple(groups.get(partition, ())),
                    findings=tuple(found.pop(str(partition), ())),
                )
            )
    elsewhere = tuple(finding for findings in found.values() for finding in findings)
    look = _concluded(place, tuple(partitions), elsewhere, not_read)
    settings = {topic.name: _settings(topic) for topic in topics}
    return look._replace(settings=settings), contents_of(place.reader)


def _settings(topic: Topic) -> str:
    """Return the dialect of a topic, and what is set for it that is not the default."""
    own = [f"{name} {value}" for name, value in topic.settings.changed().items()]
    return ", ".join([f"{topic.dialect.name} dialect", *own])


def _concluded(
    place: _Place,
    partitions: tuple[PartitionLook, ...],
    elsewhere: tuple[FindingLook, ...],
    not_read: _NotRead,
) -> LogDirLook:
    verified = place.verified
    reports = verified.reports
    wrong = {b: report for b, report in reports.items() if report.verdict != "ok"}
    said = [
        f"broker {b}: {headline(report)}" if place.is_cluster else headline(report)
        for b, report in wrong.items()
    ]
    said += [f"broker {b} is not checked." for b in verified.unreadable]
    severities = ["warning" if verified.unreadable else "ok", *map(worst, reports.values())]
    counts = Counter[str]()
    shown = Counter[str]()
    for report in reports.values():
        counts.update(report.tally.counts())
        shown.update({kind: len(report.tally.samples(kind)) for kind in report.tally.counts()})
    unchecked = [one for report in reports.values() for one in report.unchecked]
    not_read.texts += [f"broker {b}: {why}" for b, why in verified.unreadable.items()]
    return LogDirLook(
        title=f"{'Cluster' if place.is_cluster else 'Log dir'} {place.path}",
        command=f"kminilog {place.option} {quoted(str(place.path))}",
        verdict=verified.verdict,
        said=" ".join(said) or headline(Report({})),
        severity=max(severities, key=_SEVERITIES.index),
        partitions=partitions,
        elsewhere=elsewhere,
        counts=tuple((kind, total, shown[kind]) for kind, total in counts.items()),
        not_checked=tuple(dict.fromkeys(o.in_words() for o in [*unchecked, *verified.unchecked])),
        not_read=tuple(not_read.texts),
    )


# ---- a log dir, a cluster


def _alone(
    log_dir: LogDir, topics: Sequence[Topic], on_gap: OnGap | None, not_read: _NotRead
) -> _Place:
    verified = Verified({0: _verified(log_dir, topics, not_read)}, {}, [], [])
    source = LogDirSource(log_dir, on_gap=on_gap)
    return _Place(
        log_dir.path, "--log-dir", lambda _: log_dir, lambda _: 0, lambda _: (), source, verified
    )


def _cluster(files: ClusterFiles, topics: Sequence[Topic]) -> _Place:
    def home(partition: TopicPartition) -> int:
        """Return the leader, or without one a broker that has a copy."""
        leadership = files.leadership(partition)
        return leadership.replicas[0] if leadership.leader is None else leadership.leader

    def check(log_dir: LogDir, names: tuple[str, ...]) -> Report:
        with working("Verifying") as at:
            segments = interruptible_anywhere(segment_check())
            return verify_storage(log_dir, names, progress=at, check_segment=segments)

    verified = verify_brokers(files.path, tuple(topic.name for topic in topics), check)
    return _Place(
        files.path,
        "--cluster",
        files.broker,
        home,
        partial(_copies, files),
        ClusterFilesSource(files, let_copy=lambda: None),
        verified,
    )


def _copies(files: ClusterFiles, partition: TopicPartition) -> tuple[CopyLook, ...]:
    return tuple(_copy(files, partition, broker) for broker in files.leadership(partition).replicas)


def _copy(files: ClusterFiles, partition: TopicPartition, broker: int) -> CopyLook:
    leadership = files.leadership(partition)
    role = "in sync" if broker in leadership.in_sync else "not in sync"
    role = "leads" if broker == leadership.leader else role
    role += "" if files.state().brokers[broker] else ", down"
    try:
        end = files.broker(broker).reader(partition).log_end_offset
        committed = files.high_watermark(partition, broker)
    except _UNREADABLE as error:
        return CopyLook(broker, role, failure=in_words(error))
    return CopyLook(broker, role, end, committed)


# ---- what is known besides


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


def _verified(log_dir: LogDir, topics: Sequence[Topic], not_read: _NotRead) -> Report:
    """Return what `verify` says of these topics."""
    if not topics:  # without names, it would check all topics
        return Report({})
    try:
        names = [topic.name for topic in topics]
        check = interruptible_anywhere(segment_check())
        with working("Verifying") as at:
            return verify_storage(log_dir, names, progress=at, check_segment=check)
    except _UNREADABLE as error:
        not_read("verify", error)
        return Report({}, unchecked=[Unchecked(Aspect.MESSAGES, "", in_words(error), asked=True)])


def _findings(place: _Place) -> dict[str, list[FindingLook]]:
    """Return the findings by partition, each with its bytes and the command that shows it."""
    findings: dict[str, list[FindingLook]] = defaultdict(list)
    for broker, results in place.verified.reports.items():
        bytes_of = damaged_bytes(place.log_dir_of(broker))
        where = f"broker {broker}: " if place.is_cluster else ""
        for kind in results.tally.counts():
            for sample in results.tally.samples(kind):
                partition = TopicPartition(sample.topic, sample.partition)
                is_home = not place.is_cluster or place.home(partition) == broker
                findings[str(partition)].append(
                    FindingLook(
                        kind=kind,
                        severity=kind.severity,
                        partition=str(partition),
                        place=where + sample.place,
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


def _in_segments(report: Report | None, partition: TopicPartition) -> dict[str, list[Finding]]:
    """Return the findings in each segment of a partition, by its name."""
    found: dict[str, list[Finding]] = defaultdict(list)
    for one in report.tally.findings() if report else ():
        if (one.topic, one.partition) == partition and one.segment:
            found[one.segment].append(one)
    return found


def _in_log(findings: Iterable[Finding]) -> int | None:
    """Return the first byte of a `.log` that a finding is about; None if there is none."""
    found = (one.position for one in findings if one.kind.suffix == LOG_SUFFIX)
    return min((at for at in found if at is not None), default=None)


def _segment(
    place: _Place,
    listed: Json,
    checked: Json,
    entries: Sequence[IndexEntry],
    findings: Sequence[Finding],
    is_damaged: bool,
) -> SegmentLook:
    """Return a segment, as it is listed and, in a damaged log, as `verify` counts it."""
    count, base_offset = checked.get("finding_count", 0), listed["base_offset"]
    return SegmentLook(
        listed["name"],
        listed["first_offset"],
        _end(listed, checked) if is_damaged else listed["next_offset"],
        listed["log_bytes"],
        listed["index_entries"],
        tuple(base_offset + entry.relative_offset for entry in entries),
        count,
        _in_log(findings),
        any(each.kind.severity == "error" for each in findings)
        or (place.has_unkept_errors and count > len(findings)),
        checked.get("message_count") if is_damaged else None,
    )


def _end(listed: Json, checked: Json) -> int:
    """Return where a segment of a damaged log ends: `verify` reads behind the damage."""
    last: int | None = checked.get("last_offset")
    return max(int(listed["next_offset"]), -1 if last is None else last + 1)


def _partition(
    place: _Place,
    partition: TopicPartition,
    rows: Mapping[int, Json],
    on_gap: OnGap | None,
    on_broken: Callable[[Exception], object],
) -> PartitionLook:
    """Return a partition; `rows` has what `verify` counts in it, by broker."""
    found = sum(row["finding_count"] for row in rows.values())
    try:
        reader = place.reader(partition, on_gap)
        described = describe_partition(reader)
    except _UNREADABLE as error:
        on_broken(error)
        return PartitionLook(str(partition), finding_count=found, failure=in_words(error))
    segments = reader.segments()
    is_drawn = sum(len(segment.index) for segment in segments) <= MAX_TICKS
    entries = {one.name: one.index.entries() if is_drawn else [] for one in segments}
    home = place.home(partition)
    row = rows.get(home, {})
    readable = readable_in_words(row)  # if so, what verify counts is more than can be read
    checked = {one["segment"]: one for one in row.get("segments", ())}
    findings = _in_segments(place.verified.reports.get(home), partition)

    def look(one: Json) -> SegmentLook:
        found, offsets = findings[one["name"]], entries.get(one["name"], ())
        return _segment(place, one, checked.get(one["name"], {}), offsets, found, bool(readable))

    return PartitionLook(
        name=str(partition),
        log_start_offset=described["log_start_offset"],
        log_end_offset=max(described["log_end_offset"], row.get("log_end_offset", 0)),
        size_bytes=described["size_bytes"],
        segments=tuple(map(look, described["segments"])),
        finding_count=found,
        has_unkept_errors=place.has_unkept_errors,
        readable=readable,
    )
