"""Requests about topics: which there are, who leads them; create, delete, enlarge, describe them.

Topics that clients create are in the `kafka` dialect: their files are what clients read.
Source: Kafka: KafkaApis, AdminManager.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kminilog.clock import Chance
from kminilog.config import parse_config, topic_settings
from kminilog.consumer.coordinator import forget_topic
from kminilog.errors import KMiniLogError, TopicExistsError, UnknownTopicOrPartitionError
from kminilog.format.dialect import KAFKA
from kminilog.format.names import TopicPartition
from kminilog.settings import TOPIC_SETTINGS
from kminilog.storage.topics import Topic
from kminilog.wire.errors import Code, RefusedError, code_of, message_of
from kminilog.wire.schemas import Value
from kminilog.wire.served import Served

TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
_DEFAULT_SOURCE, _TOPIC_SOURCE = 5, 1  # Kafka: DescribeConfigsResponse.ConfigSource


class TopicRequests:
    """Answers the requests about topics. `on_deleted` is told of a deleted topic."""

    def __init__(
        self,
        served: Served,
        chance: Chance,
        on_deleted: Callable[[Topic], None],
        *,
        creates_unknown: bool = False,
        default_partitions: int = 1,
        default_replicas: int = 1,
    ) -> None:
        self._served = served
        self._chance = chance
        self._on_deleted = on_deleted
        self._creates_unknown = creates_unknown
        self._default_partitions = default_partitions
        self._default_replicas = default_replicas

    def topic(self, name: str) -> Topic:
        """Return a topic; UnknownTopicOrPartitionError if there is none."""
        if name not in self._served.topics:
            raise UnknownTopicOrPartitionError(name)
        return self._served.topics[name]

    def topic_id(self, name: str) -> str | None:
        """Return the identity of a topic; raises as `topic`."""
        return self.topic(name).topic_id

    def partition_counts(self) -> dict[str, int]:
        """Return how many partitions each topic has."""
        return {topic.name: topic.partitions for topic in self._served.topics.values()}

    # ---- metadata

    def metadata(self, request: Value, version: int) -> Value:
        """Answer Metadata: who leads what. It may create topics that do not exist."""
        names = request["topics"]
        if names is None or (version == 0 and not names):
            names = sorted(self._served.topics)
        may_create = self._creates_unknown and request.get("allow_auto_topic_creation", True)
        nodes = self._served.nodes()
        return {
            "brokers": [
                {"node_id": node, **address._asdict(), "rack": None}
                for node, address in sorted(nodes.items())
            ],
            "cluster_id": "kminilog",
            "controller_id": min(nodes, default=-1),
            "topics": [
                self._metadata_of(name, may_create=may_create) for name in dict.fromkeys(names)
            ],
        }

    def _metadata_of(self, name: str, *, may_create: bool) -> Value:
        try:
            if name not in self._served.topics and may_create:
                self._create(Topic(name, self._default_partitions, KAFKA))
            topic = self.topic(name)
        except (KMiniLogError, RefusedError, OSError) as error:
            return {"name": name, "error_code": code_of(error)}
        return {"name": name, "partitions": [*map(self._led, topic.all_partitions())]}

    def _led(self, partition: TopicPartition) -> Value:
        replicas, leader, epoch, in_sync = self._served.leadership(partition)
        nodes = self._served.nodes()
        return {
            "error_code": Code.LEADER_NOT_AVAILABLE if leader is None else Code.NONE,
            "partition_index": partition.partition,
            "leader_id": -1 if leader is None else leader,
            "leader_epoch": epoch,
            "replica_nodes": replicas,
            "isr_nodes": in_sync,
            "offline_replicas": [node for node in replicas if node not in nodes],
        }

    def coordinator(self, request: Value, node: int) -> Value:
        """Answer FindCoordinator: the broker that is asked. Groups are files that all can reach.

        There are no transactions.
        """
        if request.get("key_type", 0):
            return {
                "error_code": Code.INVALID_REQUEST,
                "error_message": "there are no transactions here",
                "node_id": -1,
                "port": -1,
            }
        address = self._served.nodes().get(node)
        if address is None:  # it has just crashed
            return {"error_code": Code.COORDINATOR_NOT_AVAILABLE, "node_id": -1, "port": -1}
        return {"node_id": node, **address._asdict(), "error_message": None}

    # ---- changes

    def _create(self, topic: Topic, replicas: int = -1) -> None:
        if replicas == -1:
            replicas = self._default_replicas
        brokers = len(self._served.nodes())
        if not 1 <= replicas <= brokers:
            reason = f"{replicas} replicas, and the number of brokers is {brokers}"
            raise RefusedError(Code.INVALID_REPLICATION_FACTOR, reason)
        self._served.create(topic, replicas, self._chance)

    def create(self, request: Value) -> Value:
        """Answer CreateTopics."""

        def create_one(asked: Value) -> None:
            partitions, replicas = asked["num_partitions"], asked["replication_factor"]
            if asked["assignments"]:
                partitions = len(asked["assignments"])
                replicas = max(len(one["broker_ids"]) for one in asked["assignments"])
                if len(self._served.nodes()) > 1:
                    reason = "which brokers have the copies is decided here; name their number"
                    raise RefusedError(Code.INVALID_REPLICA_ASSIGNMENT, reason)
            if partitions == -1:
                partitions = self._default_partitions
            texts = [f"{each['name']}={each['value']}" for each in asked["configs"]]
            settings = topic_settings(parse_config(texts, TOPIC_SETTINGS))
            topic = self._checked(asked["name"], partitions, settings)
            if topic.name in self._served.topics:
                raise TopicExistsError(topic.name)
            if not request.get("validate_only"):
                self._create(topic, replicas)

        return {"topics": [_outcome(each, create_one) for each in request["topics"]]}

    def _checked(self, name: str, partitions: int, settings: Any) -> Topic:
        try:
            return Topic(name, partitions, KAFKA, settings)
        except ValueError as error:
            raise RefusedError(Code.INVALID_PARTITIONS, str(error)) from None

    def delete(self, request: Value) -> Value:
        """Answer DeleteTopics: with its messages, and the offsets that groups have committed."""

        def delete_one(asked: Value) -> None:
            topic = self.topic(asked["name"])
            self._served.delete(topic.name)
            self._on_deleted(topic)
            forget_topic(self._served.path, topic.name)

        asked = [{"name": name} for name in request["topic_names"]]
        return {"responses": [_outcome(each, delete_one) for each in asked]}

    def add_partitions(self, request: Value) -> Value:
        """Answer CreatePartitions."""

        def add(asked: Value) -> None:
            topic = self.topic(asked["name"])
            if asked["count"] <= topic.partitions:
                reason = f"{topic.name} has {topic.partitions} partitions already"
                raise RefusedError(Code.INVALID_PARTITIONS, reason)
            self._checked(topic.name, asked["count"], topic.settings)
            if not request["validate_only"]:
                self._served.enlarge(topic.name, asked["count"])

        return {"results": [_outcome(each, add) for each in request["topics"]]}

    # ---- settings

    def describe_configs(self, request: Value, settings: Mapping[str, object]) -> Value:
        """Answer DescribeConfigs, for topics and for this broker, whose `settings` these are."""
        asked = {
            (each["resource_type"], each["resource_name"]): each for each in request["resources"]
        }
        return {"results": [self._config(each, settings) for each in asked.values()]}

    def _config(self, resource: Value, settings: Mapping[str, object]) -> Value:
        kind, name = resource["resource_type"], resource["resource_name"]
        answer = {"resource_type": kind, "resource_name": name, "error_message": None}
        try:
            if kind == TOPIC_RESOURCE:
                found = self.topic(name).settings
                values: Mapping[str, object] = found.to_config()
                changed = {*found.changed()}
            elif kind == BROKER_RESOURCE:
                values, changed = settings, set()
            else:
                raise RefusedError(Code.INVALID_REQUEST, f"resource type {kind}")
        except (KMiniLogError, RefusedError) as error:
            return answer | {"error_code": code_of(error), "error_message": message_of(error)}
        wanted = resource["configuration_keys"]
        configs = [
            {
                "name": each,
                "value": _text(value),
                "read_only": kind == BROKER_RESOURCE,
                "is_default": each not in changed,
                "config_source": _TOPIC_SOURCE if each in changed else _DEFAULT_SOURCE,
            }
            for each, value in values.items()
            if wanted is None or each in wanted
        ]
        return answer | {"configs": configs}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _outcome(asked: Value, change: Callable[[Value], None]) -> Value:
    """Make one change, and return its answer."""
    try:
        change(asked)
    except (KMiniLogError, RefusedError, OSError) as error:
        return {
            "name": asked["name"],
            "error_code": code_of(error),
            "error_message": message_of(error),
        }
    return {"name": asked["name"], "error_message": None}
