"""The small file of a cluster: its brokers, its topics, and who leads which partition.

    {"brokers": [{"id": 0, "live": true}, {"id": 1, "live": false}],
     "topics": [{"topic": "orders", "partitions": 1, "dialect": "documented", "config": {}}],
     "partitions": {"orders-0": {"replicas": [0, 1], "leader": 0, "leader_epoch": 0,
                                 "in_sync": [0]}}}

A broker that is not live has crashed or was stopped, and stays down until it is started. The file
is replaced as a whole, so a reader needs no lock. Somebody may have changed it: what it says is
checked when it is read. Source: ours; Kafka keeps the same facts in ZooKeeper, under /brokers.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.cluster.leadership import Leadership
from kminilog.errors import NoClusterError
from kminilog.format.names import TopicPartition, parse_topic_partition
from kminilog.storage.durable_files import replace_file
from kminilog.storage.json_file import number, read_json, typed
from kminilog.storage.log_dir.log_dir import CLUSTER_FILE
from kminilog.storage.topics import Topic

STATE_FILE = CLUSTER_FILE
MAX_BROKERS = 100


class StoredState(NamedTuple):
    """What the file says: for each broker if it is live, the topics by name, the leaderships."""

    brokers: Mapping[int, bool]
    topics: Mapping[str, Topic]
    partitions: Mapping[TopicPartition, Leadership]

    @property
    def live(self) -> list[int]:
        """The brokers that are live, ascending."""
        return sorted(node for node, is_live in self.brokers.items() if is_live)


NEW_CLUSTER = StoredState({}, {}, {})


def read_state(directory: Path) -> StoredState:
    """Return the state of a cluster. O(partitions).

    Raises FileNotFoundError if there is no such file, NoClusterError if it has the settings of a
    topic, LogDirError if it is broken.
    """

    def parse(document: Any) -> StoredState | None:
        return None if "topic" in typed(document, dict) else _parse(document)

    state = read_json(directory / STATE_FILE, parse, what="state of a cluster")
    if state is None:
        raise NoClusterError(str(directory), file=STATE_FILE, is_topic=True)
    return state


def write_state(directory: Path, state: StoredState) -> None:
    """Replace the file atomically; once it returns, the state survives a power failure."""
    document = {
        "brokers": [{"id": node, "live": is_live} for node, is_live in state.brokers.items()],
        "topics": [topic.to_json() for topic in state.topics.values()],
        "partitions": {
            str(topic_partition): leadership._asdict()
            for topic_partition, leadership in state.partitions.items()
        },
    }
    replace_file(directory / STATE_FILE, (json.dumps(document, indent=2) + "\n").encode())


def broker_path(directory: Path, node: int) -> Path:
    """Return the log dir of a broker."""
    return directory / f"broker-{node}"


def _parse(document: Any) -> StoredState:
    state = typed(document, dict)
    brokers = {
        number(broker["id"], highest=MAX_BROKERS - 1): typed(broker["live"], bool)
        for broker in (typed(facts, dict) for facts in typed(state["brokers"], list))
    }
    if len(brokers) < len(state["brokers"]):
        raise ValueError("it names a broker twice")
    topics = [Topic.from_json(typed(facts, dict)) for facts in typed(state["topics"], list)]
    partitions = dict(_partition(*item) for item in typed(state["partitions"], dict).items())
    if sorted(partitions) != sorted(tp for topic in topics for tp in topic.all_partitions()):
        raise ValueError("the partitions are not those of the topics")
    for name, leadership in partitions.items():
        if not set(leadership.replicas) <= brokers.keys():
            raise ValueError(f"{name}: a replica is on none of the brokers")
        if leadership.leader is not None and not brokers[leadership.leader]:
            raise ValueError(f"{name}: the leader is not live")
    return StoredState(brokers, {topic.name: topic for topic in topics}, partitions)


def _partition(name: str, facts: Any) -> tuple[TopicPartition, Leadership]:
    topic_partition = parse_topic_partition(name)
    if topic_partition is None:
        raise ValueError(f"{name!r} names no partition")
    replicas, leader = _nodes(facts["replicas"]), facts["leader"]
    in_sync, epoch = _nodes(facts["in_sync"]), number(facts["leader_epoch"])
    if not set(in_sync) <= set(replicas) or not in_sync:
        raise ValueError(f"{name}: in_sync is not some of its replicas")
    if leader is not None and number(leader) not in in_sync:
        raise ValueError(f"{name}: the leader is none of in_sync")
    return topic_partition, Leadership(replicas, leader, epoch, in_sync)


def _nodes(value: Any) -> tuple[int, ...]:
    nodes = tuple(map(number, typed(value, list)))
    if len(set(nodes)) < len(nodes):
        raise ValueError(f"{list(nodes)} names a broker twice")
    return nodes
