"""What a topic is, and the file that says so: `<topic>.json` in the log dir.

    {"topic": "orders", "partitions": 2, "dialect": "documented", "config": {"segment.bytes": 4096}}

The file is written last when a topic is created, so a directory without it is no topic; and deleted
last when it goes, so that what a crash has left can still be deleted. Settings that are not named
have their defaults. Source: ours; Kafka keeps the same facts in ZooKeeper.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from kminilog.client_errors import UnknownTopicOrPartitionError
from kminilog.config_parsing import topic_settings
from kminilog.format.dialect import DIALECTS, DOCUMENTED, Dialect
from kminilog.format.names import TopicPartition
from kminilog.format.topic_names import check_topic
from kminilog.settings import TopicSettings
from kminilog.storage.durable_file import replace_file
from kminilog.storage.json_file import read_json, typed

TOPIC_SUFFIX = ".json"
MAX_PARTITIONS = 100_000


@dataclass(frozen=True)
class Topic:
    """A topic's name, number of partitions, dialect and settings.

    Raises InvalidTopicError for a name that Kafka does not allow, ValueError for a number of
    partitions below 1 or above MAX_PARTITIONS.
    """

    name: str
    partitions: int = 1
    dialect: Dialect = DOCUMENTED
    settings: TopicSettings = field(default_factory=TopicSettings)

    def __post_init__(self) -> None:
        check_topic(self.name)
        if type(self.partitions) is not int or not 1 <= self.partitions <= MAX_PARTITIONS:
            raise ValueError(f"a topic has 1 to {MAX_PARTITIONS} partitions, not {self.partitions}")

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """Return the topic that `to_json` told of.

        Raises KeyError, TypeError, ValueError or one of our errors for facts that tell of none.
        """
        return cls(
            typed(facts["topic"], str),
            facts["partitions"],
            _dialect(facts["dialect"]),
            topic_settings(typed(facts["config"], dict)),
        )

    def partition(self, number: int) -> TopicPartition:
        """Return the name of one partition; UnknownTopicOrPartitionError if there is none."""
        if not 0 <= number < self.partitions:
            raise UnknownTopicOrPartitionError(
                self.name, partition=number, partitions=self.partitions
            )
        return TopicPartition(self.name, number)

    def all_partitions(self) -> list[TopicPartition]:
        """Return the names of all partitions, ascending."""
        return [TopicPartition(self.name, number) for number in range(self.partitions)]

    def to_json(self) -> dict[str, Any]:
        """Return what the settings file holds."""
        return {
            "topic": self.name,
            "partitions": self.partitions,
            "dialect": self.dialect.name,
            "config": self.settings.changed(),
        }


def _dialect(name: Any) -> Dialect:
    if typed(name, str) not in DIALECTS:
        raise ValueError(f"{name!r} is no dialect; there is: {', '.join(DIALECTS)}")
    return DIALECTS[name]


def read_topics(log_dir: Path) -> list[Topic]:
    """Return all topics of a log dir by name; LogDirError if a settings file is broken."""
    return [_read(path) for path in sorted(log_dir.glob(f"*{TOPIC_SUFFIX}"))]


def read_topic(log_dir: Path, name: str) -> Topic:
    """Return one topic; UnknownTopicOrPartitionError if it is not there."""
    check_topic(name)
    path = log_dir / (name + TOPIC_SUFFIX)
    try:
        return _read(path)
    except FileNotFoundError:
        raise UnknownTopicOrPartitionError(name) from None


def write_topic(log_dir: Path, topic: Topic) -> None:
    """Write a topic's settings file; once it returns, it survives a power failure."""
    data = json.dumps(topic.to_json(), indent=2) + "\n"
    replace_file(log_dir / (topic.name + TOPIC_SUFFIX), data.encode())


def _read(path: Path) -> Topic:
    def parse(document: Any) -> Topic:
        topic = Topic.from_json(typed(document, dict))
        if topic.name + TOPIC_SUFFIX != path.name:
            raise ValueError(f"it names the topic {topic.name!r}")
        return topic

    return read_json(path, parse, what="topic settings")
