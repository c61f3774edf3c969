"""A log dir read for its page: the values of `ls`, `group describe` and `verify` together.

What cannot be read does not stop the rest: the page says what it is, and why. Source: ours.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kminilog.cli.ls.page import (
    MAX_PARTITIONS,
    MAX_TICKS,
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
from kminilog.columns.twins import segment_check
from kminilog.consumer.readers import LogDirSource
from kminilog.errors import KMiniLogError, in_words
from kminilog.format.names import TopicPartition
from kminilog.storage.checkpoint import CHECKPOINT_FILE, parse_checkpoint
from kminilog.storage.files import read_regular
from kminilog.storage.log_dir import LogDir
from kminilog.storage.notices import OnGap
from kminilog.storage.topics import Topic
from kminilog.verification.coverage import Aspect, Unchecked
from kminilog.verification.findings import Cause, severity
from kminilog.verification.report import verify_storage
from kminilog.verification.results import Results

Json = Mapping[str, Any]
Groups = Mapping[TopicPartition, Sequence[GroupLook]]
_UNREADABLE = (KMiniLogError, OSError)


class _NotRead:
    """What could not be read, in words; `on_broken` gets each as an error."""

    def __init__(self, on_broken: Callable[[Exception], object]) -> None:
        self.texts: list[str] = []
        self._on_broken = on_broken

    def __call__(self, what: str, error: Exception) -> None:
        self.texts.append(f"{what}: {in_words(error)}")
        self._on_broken(KMiniLogError(self.texts[-1]))


def look_at(
    log_dir: LogDir,
    topics: Sequence[Topic],
    *,
    on_gap: OnGap | None,
    on_broken: Callable[[Exception], object],
) -> LogDirLook:
    """Return what a log dir holds of some topics. Reads every byte of them, as `verify` does.

    `on_broken` gets the error of each thing that cannot be read.
    """
    not_read = _NotRead(on_broken)
    points = _recovery_points(log_dir.path, not_read)
    groups = _groups(log_dir, not_read, on_gap)
    results = _verified(log_dir, topics, not_read)
    found = _findings(results)
    everything = [partition for topic in topics for partition in topic.all_partitions()]
    partitions = []
    for partition in interruptible(everything[:MAX_PARTITIONS]):
        look = _partition(log_dir, partition, on_gap, on_broken)
        partitions.append(
            look._replace(
                recovery_point=points.get(partition),
                groups=tuple(groups.get(partition, ())),
                findings=tuple(found.pop(str(partition), ())),
                finding_count=_finding_count(results, partition),
            )
        )
    return LogDirLook(
        path=str(log_dir.path),
        verdict=results.verdict,
        partitions=tuple(partitions),
        elsewhere=tuple(finding for findings in found.values() for finding in findings),
        counts=tuple(
            (kind, total, len(results.tally.samples(kind)))
            for kind, total in results.tally.counts().items()
        ),
        not_checked=tuple(map(Unchecked.in_words, results.unchecked)),
        not_read=tuple(not_read.texts),
        left_out=len(everything) - len(partitions),
    )


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
    return {}


def _groups(log_dir: LogDir, not_read: _NotRead, on_gap: OnGap | None) -> Groups:
    """Return the groups of each partition. A group that cannot be read adds to `not_read`."""
    source = LogDirSource(log_dir, on_gap=on_gap)
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


def _verified(log_dir: LogDir, topics: Sequence[Topic], not_read: _NotRead) -> Results:
    """Return what `verify` says of these topics."""
    if not topics:  # without names, it would check all topics
        return Results({})
    try:
        names = [topic.name for topic in topics]
        check = interruptible_anywhere(segment_check())
        with working("Verifying") as at:
            return verify_storage(log_dir, names, progress=at, check_segment=check)
    except _UNREADABLE as error:
        not_read("verify", error)
        return Results({}, unchecked=[Unchecked(Aspect.MESSAGES, "", in_words(error), asked=True)])


def _findings(results: Results) -> dict[str, list[FindingLook]]:
    """Return the findings by partition, each with the command that shows it."""
    findings: dict[str, list[FindingLook]] = defaultdict(list)
    for kind in results.tally.counts():
        for sample in results.tally.samples(kind):
            partition = str(TopicPartition(sample.topic, sample.partition))
            findings[partition].append(
                FindingLook(
                    kind=kind,
                    severity=severity(kind),
                    partition=partition,
                    place=sample.place,
                    detail=sample.detail,
                    command=results.command(sample),
                    offset=sample.offset,
                    last_offset=sample.last_offset,
                    comes_from=_comes_from(sample.cause),
                )
            )
    return findings


def _comes_from(cause: Cause | None) -> str:
    if not cause:
        return ""
    certainty = "comes" if cause.is_certain else "may come"
    return f"{certainty} from {cause.kind}: {cause.place}"


def _finding_count(results: Results, partition: TopicPartition) -> int:
    for one in results.partitions:
        if (one["topic"], one["partition"]) == partition:
            return int(one["finding_count"])
    return 0


def _partition(
    log_dir: LogDir,
    partition: TopicPartition,
    on_gap: OnGap | None,
    on_broken: Callable[[Exception], object],
) -> PartitionLook:
    try:
        reader = log_dir.reader(partition, on_gap=on_gap)
        described = describe_partition(reader)
    except _UNREADABLE as error:
        on_broken(error)
        return PartitionLook(str(partition), failure=in_words(error))
    entries = {segment.name: segment.index.entries() for segment in reader.segments()}
    is_drawn = sum(len(of_segment) for of_segment in entries.values()) <= MAX_TICKS

    def offsets(segment: Json) -> Iterator[int]:
        if is_drawn:
            for entry in entries.get(segment["name"], ()):
                yield segment["base_offset"] + entry.relative_offset

    return PartitionLook(
        name=str(partition),
        log_start_offset=described["log_start_offset"],
        log_end_offset=described["log_end_offset"],
        size_bytes=described["size_bytes"],
        segments=tuple(
            SegmentLook(
                segment["name"],
                segment["first_offset"],
                segment["next_offset"],
                segment["log_bytes"],
                segment["index_entries"],
                tuple(offsets(segment)),
            )
            for segment in described["segments"]
        ),
    )
