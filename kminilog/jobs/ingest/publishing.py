"""What a job has staged becomes part of its topic; the lock is held for that only.

    staged without the lock      offsets as if nobody else appended meanwhile
    the lock is taken            does each partition still end where its messages begin?
        all do                   publish
        else                     release the lock, let tasks join these partitions again, at the
                                 ends that were seen, and come back

So other writers go on while a job reads, sorts and joins. A log dir has one lock, but most writers
append to other topics, and then nothing is joined twice. If others append to the same partitions
again and again, the job would never end: the last time it joins under the lock. Messages that
others append while the job works stand before those of the job. Source: ours.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from kminilog.errors import PublicationError, UnknownTopicOrPartitionError
from kminilog.jobs.ingest.job_writer import publishing_from
from kminilog.jobs.ingest.runs import Moved
from kminilog.progress import Progress, untold
from kminilog.storage.log_dir.writer import LogDirWriter, log_end_offsets
from kminilog.storage.manifests import Manifest, StagedPartition, is_under_way
from kminilog.storage.publish.publication import publish
from kminilog.storage.topics import Topic
from kminilog.text import count

Result = TypeVar("Result")
JoinAgain = Callable[[Sequence[Moved]], list[StagedPartition]]
_TRIES = 3


@dataclass(frozen=True)
class StagedJob:
    """What a job has staged in its own directory, for a topic as it was when the job began.

    `is_new` means that there was no such topic, and the job creates it.
    """

    manifest: Manifest
    directory: Path
    topic: Topic
    is_new: bool = False


def publish_staged(
    job: StagedJob,
    open_locked: Callable[[], LogDirWriter],
    committed: Callable[[LogDirWriter], Result | None],
    join_again: JoinAgain,
    progress: Progress = untold,
) -> StagedJob | Result:
    """Publish a job, and return it as it was published.

    `open_locked` takes the lock. If `committed` then returns something, another process has
    committed this job meanwhile: that is the result, and nothing is published. `join_again` gives
    partitions other offsets, in tasks. Once it returns, the whole job survives a power failure.
    Raises PublicationError if the topic is gone, or another one has its name; the topic is then
    unchanged. Raises what its arguments raise, and what `publish` raises. O(files), and O(bytes)
    of the partitions to which others have appended, at most _TRIES times.
    """
    for tries_left in reversed(range(_TRIES)):
        with open_locked() as writer:
            if (result := committed(writer)) is not None:
                return result
            now, topic = existing_topic(writer, job.topic.name), job.topic
            if now is None and not job.is_new:
                reason = f"{topic.name} was deleted while it was written"
                raise PublicationError(job.manifest.job_id, reason=reason)
            if now:
                check_not_made_anew(job.manifest.job_id, topic, now, is_new=job.is_new)
            partitions = [staged.partition for staged in job.manifest.partitions]
            ends = log_end_offsets(writer, now, partitions) if now else {}
            moved = [
                Moved(staged, ends.get(staged.partition, 0))
                for staged in job.manifest.partitions
                if staged.first_offset != ends.get(staged.partition, 0)
            ]
            if moved and not tries_left:
                job, moved = _with_other_offsets(job, moved, join_again), []
            if not moved:
                progress(f"publishing {count(job.manifest.facts['count'], 'message')}")
                _publish(writer, job, ends, progress)
                break
        job = _with_other_offsets(job, moved, join_again)
    return job


def existing_topic(writer: LogDirWriter, name: str) -> Topic | None:
    """Return a topic of a log dir; None if it has none with this name."""
    with suppress(UnknownTopicOrPartitionError):
        return writer.topic(name)
    return None


def check_not_made_anew(job_id: str, topic: Topic, now: Topic, *, is_new: bool = False) -> None:
    """Raise PublicationError if messages for a topic must not go to the one that is there now.

    `is_new` means that the job was to create the topic: it may add to one that another job made.
    """
    if now.dialect != topic.dialect:
        what = f", as {now.dialect.name},"
    elif now.partitions < topic.partitions:
        what = f", with {count(now.partitions, 'partition')},"
    elif now.topic_id != topic.topic_id and not is_new:
        what = ""
    else:
        return
    raise PublicationError(
        job_id, reason=f"{topic.name} was made anew{what} while it was written; run the job again"
    )


def _with_other_offsets(job: StagedJob, moved: Sequence[Moved], join_again: JoinAgain) -> StagedJob:
    found = {staged.partition: staged for staged in join_again(moved)}
    partitions = [found.get(staged.partition, staged) for staged in job.manifest.partitions]
    return replace(job, manifest=replace(job.manifest, partitions=partitions))


def _publish(
    writer: LogDirWriter, job: StagedJob, ends: Mapping[int, int], progress: Progress
) -> None:
    topic, job_id = job.topic, job.manifest.job_id
    creates = existing_topic(writer, topic.name) is None
    try:
        with publishing_from(writer.path, job_id, job.directory):
            if creates:
                written = {topic.partition(staged.partition) for staged in job.manifest.partitions}
                writer.create_topic(
                    topic, bare=written, progress=lambda step: progress(f"creating {step}")
                )
            publish(writer.path, job.manifest, writer.ends, ends)
    except (OSError, PublicationError):
        is_left = creates and not is_under_way(writer.path, job_id)
        if is_left and existing_topic(writer, topic.name):
            writer.delete_topic(topic.name)
        raise
