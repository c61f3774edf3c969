"""A producer made of what its settings name, without a thread: it works when it is told to.

Around the producer stands here what a message does not need on its way: classes of the user's,
metrics, and what the `built-in` partitioner wants to hear of queues and stalled leaders.

Source: S0 7, S1 3, S2; Kafka: KafkaProducer, KIP-794.
"""

from collections.abc import Callable, Mapping, Sequence

from kminilog.chance import Chance
from kminilog.clock import Clock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.cluster.requests import Cluster
from kminilog.config import complete_config
from kminilog.format.names import TopicPartition
from kminilog.partitioners.interface import Partitioner
from kminilog.partitioners.registry import make_partitioner
from kminilog.producer.delivery import Step
from kminilog.producer.interceptors import ProducerInterceptor, ProducerInterceptors
from kminilog.producer.metrics import Metrics
from kminilog.producer.named_parts import load_interceptors, serializers
from kminilog.producer.producer import BareProducer, Parts
from kminilog.producer.stalls import Stalls
from kminilog.producer_settings import PRODUCER_SETTINGS


def _nothing() -> bool:
    return False


def _ignore(_: str) -> None:
    pass


class HandDrivenProducer(BareProducer):
    """A producer that works when it is told to; a context manager that closes it.

    `config` has Kafka's dotted names, see producer.settings. A `partitioner` is used, as it is,
    instead of the one that the settings name; `interceptors` come before those of the settings.
    `alongside` is called while the producer waits, to let others work, and tells if they did:
    `cluster.replicate` is one. `on_error` is told what interceptors, callbacks and hooks of a
    partitioner have raised, which harms no record. Raises SettingError, PluginError.
    """

    def __init__(
        self,
        cluster: Cluster,
        config: Mapping[str, object] | None = None,
        *,
        clock: Clock,
        chance: Chance,
        partitioner: Partitioner | None = None,
        interceptors: Sequence[ProducerInterceptor] = (),
        alongside: Callable[[], object] = _nothing,
        on_error: Callable[[str], object] = _ignore,
    ) -> None:
        complete = complete_config(config or {}, PRODUCER_SETTINGS)
        self.metrics = Metrics(clock)
        named = load_interceptors(complete["interceptor.classes"], complete)
        chain = ProducerInterceptors([*interceptors, *named], on_error=on_error)
        to_key, to_value = serializers(complete)
        if partitioner is None:
            name = complete["partitioner.class"]
            partitioner = make_partitioner(name, complete, chance=chance, clock=clock)
        self._stalls = Stalls()
        super().__init__(
            cluster,
            complete,
            Parts(partitioner, chain, to_key, to_value, self.metrics),
            clock=clock,
            alongside=alongside,
            on_error=on_error,
        )

    def step(self) -> Step:
        """Do one round of the sender's work, and tell the partitioner of queues and stalls."""
        cluster = self._cluster.metadata()
        sizes = self._accumulator.queue_sizes()
        self._routing.on_queues(sizes, self._stalled(sizes, cluster), cluster)
        ready = _leaders(cluster, self._accumulator.ready())
        step = super().step()
        served = _leaders(cluster, [batch.topic_partition for batch in step.sent])
        self._stalls.note(self._clock.now_ms(), ready=ready, served=served)
        return step

    def _stalled(
        self, topics: Mapping[str, object], cluster: ClusterMetadata
    ) -> dict[str, list[int]]:
        """Return by topic the partitions whose leader has taken nothing for too long."""
        timeout_ms = self.config["partitioner.availability.timeout.ms"]
        nodes = self._stalls.nodes(timeout_ms) if timeout_ms else set()
        return {
            topic: [
                info.partition
                for info in cluster.available_partitions_for_topic(topic)
                if info.leader and info.leader.id in nodes
            ]
            for topic in topics
        }


def _leaders(cluster: ClusterMetadata, places: Sequence[TopicPartition]) -> set[int]:
    leaders = (cluster.leader_for(topic, partition) for topic, partition in places)
    return {leader.id for leader in leaders if leader}
