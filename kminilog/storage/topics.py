"""A topic, and its settings file `<topic>.json` in the log dir.

    {"topic": "orders", "topic_id": "mnwWBMMJ1r5yq4w8sFP1hA", "partitions": 2,
     "dialect": "documented", "config": {"segment.bytes": 4096}}

Creating a topic writes this file last: without it there is no topic. Deleting a topic first marks
it for deletion here, and deletes this file last: after a crash, the rest can still be deleted. A
setting that it does not name has its default.

The id tells a topic from a later one of the same name. It is drawn at random when the topic is
created, whoever creates it, and never changes. Whoever remembers something of a topic, such as a
committed offset, remembers its id, too. A topic without an id was made by an earlier release:
having none is an identity, too. Source: ours; Kafka: KIP-516 (2.8) for the id; Kafka keeps the
same facts in ZooKeeper.
"""

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from kminilog.clock import Chance
from kminilog.config import topic_settings
from kminilog.errors import KMiniLogError, LogDirError, UnknownTopicOrPartitionError
from kminilog.format.dialect import DIALECTS, DOCUMENTED, Dialect
from kminilog.format.names import TopicPartition, check_topic, parse_topic_partition
from kminilog.settings import TopicSettings
from kminilog.storage.durable_files import replace_file
from kminilog.storage.json_file import number, read_json, typed

TOPIC_SUFFIX = ".json"
MAX_PARTITIONS = 100_000
_ID_BYTES = 16
_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_REMEDY = "mend it or move it away: without it there is no topic, and nobody reads its messages"


def new_topic_id(chance: Chance) -> str:
    """Return an id for a new topic: 128 random bits, written as Kafka writes them.

    >>> from random import Random
    >>> new_topic_id(Random(1))
    'zWE-MNjxat-Rt1hKImWx9Q'
    """
    drawn = chance.getrandbits(_ID_BYTES * 8).to_bytes(_ID_BYTES, "big")
    return urlsafe_b64encode(drawn).decode().rstrip("=")


@dataclass(frozen=True)
class Topic:
    """A topic's name, number of partitions, dialect, settings and id.

    `has_grown` tells if it had fewer partitions once: then older keys may be elsewhere than new
    ones. `widest_index_interval` is the largest index.interval.bytes that it has had, if that is
    above today's, else 0: it judges older indexes. A topic that is marked for deletion is about to
    be deleted, or a crash has interrupted that. Raises InvalidTopicError for a name that Kafka does
    not allow, ValueError for a number of
    partitions below 1 or above MAX_PARTITIONS, and for an id that is none.
    """

    name: str
    partitions: int = 1
    dialect: Dialect = DOCUMENTED
    settings: TopicSettings = field(default_factory=TopicSettings)
    has_grown: bool = False
    topic_id: str | None = None
    is_marked_for_deletion: bool = False
    widest_index_interval: int = 0

    def __post_init__(self) -> None:
        check_topic(self.name)
        if type(self.partitions) is not int or not 1 <= self.partitions <= MAX_PARTITIONS:
            raise ValueError(f"a topic has 1 to {MAX_PARTITIONS} partitions, not {self.partitions}")
        if self.topic_id is not None and not _ID.fullmatch(self.topic_id):
            raise ValueError(f"{self.topic_id!r} is no topic id")

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """Return the topic of a settings file: the inverse of `to_json`.

        Raises KeyError, TypeError, ValueError or KMiniLogError for facts that are invalid.
        """
        return cls(
            typed(facts["topic"], str),
            facts["partitions"],
            _dialect(facts["dialect"]),
            topic_settings(typed(facts["config"], dict)),
            typed(facts.get("has_grown", False), bool),
            typed(facts["topic_id"], str) if "topic_id" in facts else None,
            typed(facts.get("marked_for_deletion", False), bool),
            number(facts.get("widest_index_interval", 0)),
        )

    def partition(self, number: int) -> TopicPartition:
        """Return the name of one partition; UnknownTopicOrPartitionError if out of range."""
        if not 0 <= number < self.partitions:
            raise UnknownTopicOrPartitionError(
                self.name, partition=number, partitions=self.partitions
            )
        return TopicPartition(self.name, number)

    def all_partitions(self) -> list[TopicPartition]:
        """Return the names of all partitions, ascending."""
        return [TopicPartition(self.name, number) for number in range(self.partitions)]

    def to_json(self) -> dict[str, Any]:
        """Return the content of the settings file."""
        return {
            "topic": self.name,
            **({"topic_id": self.topic_id} if self.topic_id else {}),
            "partitions": self.partitions,
            "dialect": self.dialect.name,
            "config": self.settings.changed(),
            **({"has_grown": True} if self.has_grown else {}),
            **({"marked_for_deletion": True} if self.is_marked_for_deletion else {}),
            **({"widest_index_interval": widest} if (widest := self.widest_index_interval) else {}),
        }


def with_topic_id(topic: Topic, chance: Chance) -> Topic:
    """Return a new topic with an id: its own, or one that is drawn now."""
    return topic if topic.topic_id else replace(topic, topic_id=new_topic_id(chance))


def _dialect(name: Any) -> Dialect:
    if typed(name, str) not in DIALECTS:
        raise ValueError(f"{name!r} is no dialect; there is: {', '.join(DIALECTS)}")
    return DIALECTS[name]


OnBroken = Callable[[KMiniLogError | OSError], None]
"""Gets the error of a topic that cannot be used; the other topics are returned."""


def read_topics(log_dir: Path, on_broken: OnBroken | None = None) -> list[Topic]:
    """Return all topics of a log dir by name, also those that are marked for deletion.

    Raises LogDirError, or OSError, for a settings file that cannot be read, unless `on_broken`
    takes the error.
    """
    found = []
    for path in sorted(log_dir.glob(f"*{TOPIC_SUFFIX}")):
        try:
            found.append(_read(path))
        except (LogDirError, OSError) as error:
            if on_broken is None:
                raise
            on_broken(error)
    return found


def read_topic(log_dir: Path, name: str) -> Topic:
    """Return one topic, also if it is marked for deletion.

    Raises UnknownTopicOrPartitionError, and LogDirError if its file is invalid.
    """
    check_topic(name)
    path = log_dir / (name + TOPIC_SUFFIX)
    try:
        return _read(path)
    except FileNotFoundError:
        error, partition = UnknownTopicOrPartitionError(name), parse_topic_partition(name)
        if partition and (log_dir / (partition.topic + TOPIC_SUFFIX)).exists():
            error.add_note(f"{name} is a partition of topic {partition.topic}: name the topic")
        raise error from None


def write_topic(log_dir: Path, topic: Topic) -> None:
    """Write a topic's settings file atomically; once it returns, it survives a power failure."""
    data = json.dumps(topic.to_json(), indent=2) + "\n"
    replace_file(log_dir / (topic.name + TOPIC_SUFFIX), data.encode())


def _read(path: Path) -> Topic:
    def parse(document: Any) -> Topic:
        topic = Topic.from_json(typed(document, dict))
        if topic.name + TOPIC_SUFFIX != path.name:
            raise ValueError(f"it names the topic {topic.name!r}")
        return topic

    return read_json(path, parse, what="topic settings", remedy=_REMEDY)
