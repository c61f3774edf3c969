"""Directories that hold messages but belong to no topic: nobody reads them, so nobody misses them.

    b-1/    and no b.json                          the settings file is gone
    b-1/    and b.json says "partitions": 1        the settings are not those of this topic

Source: ours.
"""

from collections.abc import Collection, Sequence

from kminilog.errors import UnknownTopicOrPartitionError
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.topics import TOPIC_SUFFIX, OnBroken, Topic
from kminilog.text import count
from kminilog.verification.findings import Finding, FindingClass


def orphan_findings(log_dir: LogDir, topics: Collection[str] = ()) -> list[Finding]:
    """Return a finding for each such directory; with `topics`, only for those named after them."""
    orphans = [one for one in log_dir.orphans() if not topics or one.topic in topics]
    return [Finding(FindingClass.ORPHAN_PARTITION, *p, _detail(log_dir, p)) for p in orphans]


def topics_to_check(
    log_dir: LogDir, names: Sequence[str], on_broken: OnBroken | None = None
) -> list[Topic]:
    """Return the topics with these names, or all if none is named.

    A name of which there are only such directories is left out. Raises
    UnknownTopicOrPartitionError for a name of which there is nothing, and as `LogDir.topics`.
    """
    if not names:
        return log_dir.topics(on_broken)
    found = []
    for name in dict.fromkeys(names):
        try:
            found.append(log_dir.topic(name))
        except UnknownTopicOrPartitionError:
            if not orphan_findings(log_dir, [name]):
                raise
    return found


def _detail(log_dir: LogDir, partition: TopicPartition) -> str:
    file = partition.topic + TOPIC_SUFFIX
    try:
        partitions = log_dir.topic(partition.topic).partitions
    except UnknownTopicOrPartitionError:
        return f"it holds messages, but {file} is missing; put that file back, or move this away"
    has = count(partitions, "partition")
    return f"it holds messages, but {file} says {has}; mend that file, or move this away"
