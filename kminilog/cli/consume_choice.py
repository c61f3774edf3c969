"""Which topics and partitions `consume` reads: those of one name, or all that match a pattern.

With a pattern, a topic or a partition that cannot be read is left out and named, and the others are
read. MessageSource: ours; Kafka: TopicFilter.
"""

import re
from collections.abc import Iterable

import click

from kminilog.cli.output import Broken, in_words, warn
from kminilog.consumer.interface import MessageSource
from kminilog.errors import KMiniLogError, OffsetOutOfRangeError
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir import LogDir
from kminilog.storage.topics import Topic


def chosen_topics(log_dir: LogDir, topic: str | None, pattern: str | None) -> list[Topic]:
    """Return the topic of this name, or all whose whole name matches the pattern.

    Raises UsageError, and ValueError if no topic matches.
    """
    if (topic is None) == (pattern is None):
        raise click.UsageError("name one TOPIC, or several with --pattern")
    if topic is not None:
        return [log_dir.topic(topic)]
    try:
        matches = re.compile(pattern or "").fullmatch
    except re.error as error:
        raise click.UsageError(f"--pattern {pattern!r}: {error}") from None
    found = [known for known in log_dir.topics(_warn) if matches(known.name)]
    if not found:
        raise ValueError(f"no topic matches {pattern!r}; `kminilog topic list` shows all there are")
    return found


def _warn(error: Exception) -> None:
    warn(in_words(error))


def chosen_partitions(topics: Iterable[Topic], partition: int | None) -> list[TopicPartition]:
    """Return the partition with this number of each topic, or all partitions."""
    if partition is not None:
        return [topic.partition(partition) for topic in topics]
    return [found for topic in topics for found in topic.all_partitions()]


def readable(
    source: MessageSource, partitions: Iterable[TopicPartition], broken: Broken
) -> list[TopicPartition]:
    """Return the partitions that can be read at both ends; `broken` gets the errors of others."""
    found = []
    for partition in partitions:
        try:
            source.end(partition)
            source.fetch(partition, source.beginning(partition), 1)
        except OffsetOutOfRangeError:
            pass  # retention is at work
        except (KMiniLogError, OSError) as error:
            broken(error)
            continue
        found.append(partition)
    return found
