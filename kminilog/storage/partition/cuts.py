"""Cut messages off the end of a log, and keep a record of that for ever.

    .cuts   {"cuts": [{"topic": "orders", "partition": 0, "first_offset": 5, "next_offset": 40,
                       "reason": "lost", "jobs": ["load-1"], "is_done": true}]}

    lost         the log ended below its recovery point, up to which it had been on the disk
    recovery     forced recovery cut the log at damage, and whole messages stood after it
    truncation   a follower cut off what its leader does not have; this loses no message

After a cut the log assigns the offsets from `first_offset` on again. So verification must know, for
ever, that other messages had them, and which `jobs` wrote those. A torn tail needs no record: it
holds no whole message. The record is durable before the cut. If a crash interrupts the cut, the
next writer that opens the partition compares the record with the log's end (`finish_cut`). Deleting
a topic deletes its records.

*Truncation* leaves the files of a log that never had the messages. So a segment whose first message
is cut is deleted, unless it is the first segment. Segments are deleted from the last one backwards,
each durably before the next. So after a crash the log only ends later than asked, perhaps with an
index that recovery rebuilds.

Source: Kafka: Log.truncateTo; the record is ours. Differs: Kafka keeps an empty segment if the cut
falls on its first message.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from kminilog.format.names import TopicPartition, check_topic
from kminilog.storage.changes import change_count, count_change
from kminilog.storage.checkpoint import lower_checkpoint
from kminilog.storage.durable_files import replace_file
from kminilog.storage.json_file import number, read_json, typed
from kminilog.storage.manifests import (
    Manifest,
    StagedPartition,
    check_job_id,
    committed_manifests,
)
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.segment.search import find_in_segment
from kminilog.storage.segment.segment import Segment

CUTS_FILE = ".cuts"


class Reason(StrEnum):
    """Why messages were cut off a log."""

    LOST = "lost"
    RECOVERY = "recovery"
    TRUNCATION = "truncation"


@dataclass(frozen=True)
class Cut:
    """Offsets `first_offset` to `next_offset` - 1 were cut off a partition.

    `jobs` are the ids of the jobs that wrote some of them. Unless `is_done`, a crash may have
    interrupted the cut: then all of the messages, or the first few, may still be there.
    """

    topic: str
    partition: int
    first_offset: int
    next_offset: int
    reason: Reason
    jobs: list[str]
    is_done: bool

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition that was cut."""
        return TopicPartition(self.topic, self.partition)


def read_cuts(log_dir: Path) -> list[Cut]:
    """Return all cuts on record, in the order in which they were made.

    Raises OSError, and LogDirError if the file is invalid.
    """
    try:
        return read_json(log_dir / CUTS_FILE, _cuts, what="record of cuts", remedy="move it away")
    except FileNotFoundError:
        return []


def cuts_of_job(manifest: Manifest, staged: StagedPartition, cuts: Iterable[Cut]) -> list[Cut]:
    """Return the cuts that removed messages of a job from a partition, limited to its offsets.

    `staged` is the partition's entry in the manifest. `cuts` are in the order in which they were
    made; only finished ones count. The cuts in the result do not overlap. O(cuts).
    """
    place, end = TopicPartition(manifest.topic, staged.partition), staged.next_offset
    found = []
    for cut in cuts:
        first = max(cut.first_offset, staged.first_offset)
        is_of_job = cut.topic_partition == place and manifest.job_id in cut.jobs
        if cut.is_done and is_of_job and first < end:
            found.append(replace(cut, first_offset=first, next_offset=end))
            end = first  # above this, a later cut took messages of other writers
    return found


@contextmanager
def recorded_cut(
    log_dir: Path, topic_partition: TopicPartition, offsets: range, reason: Reason
) -> Iterator[None]:
    """Record that these offsets are cut off; the body of the `with` block makes the cut.

    Lowers the recovery point in its file, too, before the cut. Each step survives a power failure.
    Does nothing for an empty range, or in a directory that no writer has opened as a log dir.
    """
    if not offsets or change_count(log_dir) is None:
        yield
        return
    _announce(log_dir, topic_partition, offsets, reason)
    lower_checkpoint(log_dir, {topic_partition: offsets.start})
    yield
    finish_cut(log_dir, topic_partition, offsets.start)


def finish_cut(log_dir: Path, topic_partition: TopicPartition, log_end_offset: int) -> None:
    """Adjust the record to where the log ends now, if a crash interrupted the cut. Idempotent."""

    def finish(cut: Cut) -> list[Cut]:
        if cut.is_done or cut.topic_partition != topic_partition:
            return [cut]
        first_offset = max(cut.first_offset, log_end_offset)
        if first_offset >= cut.next_offset:
            return []  # the cut was never made
        return [replace(cut, first_offset=first_offset, is_done=True)]

    _rewrite(log_dir, finish)


def truncate_log(log: PartitionLog, offset: int) -> None:
    """Cut off the messages of a log from `offset` on, and an empty segment at its end.

    Records the cut first (cuts.py); once it returns, the cut survives a power failure. Does nothing
    above the log end. Raises ValueError below the first message, LogClosedError, CorruptLogError.
    """
    log.check_is_open()
    if offset < log.log_start_offset:
        raise ValueError(f"{log.topic_partition} has nothing below {log.log_start_offset}")
    if offset <= log.log_end_offset:
        log_dir, cut = log.directory.parent, range(offset, log.log_end_offset)
        with recorded_cut(log_dir, log.topic_partition, cut, Reason.TRUNCATION):
            gone = cut_off(log.segments(), offset)
            count_change(log_dir)
        log.continue_from(offset, gone)


def cut_off(segments: list[Segment], offset: int) -> list[Segment]:
    """Cut off all messages from `offset` on, and return the segments that it deleted.

    `segments` are those of a partition, ascending; `offset` is not below the first message. Once it
    returns, the cut survives a power failure. Modification times stay. Raises CorruptLogError, with
    nothing changed, if the search for `offset` meets damage.
    """
    gone = [segment for segment in segments[1:] if segment.first_offset >= offset]
    last = segments[-len(gone) - 1]
    last.open()
    following_offset = gone[0].first_offset if gone else None
    found = find_in_segment(last, offset, following_offset=following_offset)
    for segment in reversed(gone):
        segment.remove()
    if found:
        entries = last.index.entries()
        kept = sum(entry.position < found.position for entry in entries)
        last.truncate_to(found.position, kept)
        last.flush()
    return gone


def forget_cuts(log_dir: Path, topic: str) -> None:
    """Delete the records of a topic that is deleted or created again."""
    _rewrite(log_dir, lambda cut: [] if cut.topic == topic else [cut])


def _announce(
    log_dir: Path, topic_partition: TopicPartition, offsets: range, reason: Reason
) -> None:
    jobs = [
        manifest.job_id
        for manifest in committed_manifests(log_dir, topic_partition.topic)
        for staged in manifest.partitions
        if staged.partition == topic_partition.partition and staged.next_offset > offsets.start
    ]
    first_offset, next_offset = offsets.start, offsets.stop
    others = []
    for cut in read_cuts(log_dir):
        if cut.is_done or (cut.topic_partition, cut.reason) != (topic_partition, reason):
            others.append(cut)
        else:  # a crash interrupted this cut, and recovery repeats it
            first_offset = min(first_offset, cut.first_offset)
            next_offset = max(next_offset, cut.next_offset)
    _write(
        log_dir, [*others, Cut(*topic_partition, first_offset, next_offset, reason, jobs, False)]
    )


def _rewrite(log_dir: Path, become: Callable[[Cut], list[Cut]]) -> None:
    before = read_cuts(log_dir)
    after = [new for cut in before for new in become(cut)]
    if after != before:
        _write(log_dir, after)


def _write(log_dir: Path, cuts: list[Cut]) -> None:
    document = {"cuts": [asdict(cut) for cut in cuts]}
    replace_file(log_dir / CUTS_FILE, json.dumps(document, indent=2).encode())


def _cuts(document: Any) -> list[Cut]:
    return [_cut(**typed(facts, dict)) for facts in typed(typed(document, dict)["cuts"], list)]


def _cut(reason: str, jobs: list[str], is_done: bool, **place: Any) -> Cut:
    cut = Cut(**place, reason=Reason(reason), jobs=typed(jobs, list), is_done=typed(is_done, bool))
    check_topic(typed(cut.topic, str))
    for job in cut.jobs:
        check_job_id(typed(job, str))
    for value in (cut.partition, cut.first_offset, cut.next_offset):
        number(value)
    return cut
