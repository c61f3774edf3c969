"""Which topics and partitions `consume` reads: those of one name, or all that match a pattern.

With a pattern, a topic or a partition that cannot be read is left out and named, and the others are
read. The exit code is 2 then, unless the pattern does not match the topic. Source: ours; Kafka:
TopicFilter.
"""

from collections.abc import Iterable

import click

from kminilog.cli.output import Broken, warn_all
from kminilog.consumer.interface import MessageSource
from kminilog.errors import KMiniLogError, OffsetOutOfRangeError, in_words
from kminilog.format.names import TopicPartition
from kminilog.regex import compile_regex
from kminilog.storage.log_dir import LogDir
from kminilog.storage.topics import TOPIC_SUFFIX, Topic

_SETTINGS = f"*{TOPIC_SUFFIX}"


def chosen_topics(
    log_dir: LogDir, topic: str | None, pattern: str | None, broken: Broken
) -> list[Topic]:
    """Return the topic of this name, or all whose whole name matches the pattern.

    Each settings file that is broken is named. Then `broken` has the exit code 2 if one of them is
    that of a topic which matches. Raises UsageError, and ValueError if no topic matches.
    """
    if (topic is None) == (pattern is None):
        raise click.UsageError("name one TOPIC, or several with --pattern")
    if topic is not None:
        return [log_dir.topic(topic)]
    matches = compile_regex(pattern or "", "--pattern").fullmatch
    errors: list[KMiniLogError | OSError] = []
    topics = log_dir.topics(errors.append)
    if errors:
        warn_all(map(in_words, errors))
        files = {path.name.removesuffix(TOPIC_SUFFIX) for path in log_dir.path.glob(_SETTINGS)}
        if any(map(matches, files - {known.name for known in topics})):
            broken.exit_code = 2
    found = [known for known in topics if matches(known.name)]
    if not found:
        raise ValueError(f"no topic matches {pattern!r}; `kminilog topic list` shows all there are")
    return found


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
