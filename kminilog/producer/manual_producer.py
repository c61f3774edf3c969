"""A producer made from its settings, without a thread: it works only when a method is called.

This module adds what a message does not need on its way: a user's classes, metrics, counts, and the
news of queues and stalled leaders that the `built-in` partitioner needs.

Source: S0 7, S1 3, S2; Kafka: KafkaProducer, KIP-794.
"""

from collections.abc import Callable, Mapping, Sequence

from kminilog.clock import Chance, Clock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.cluster.requests import Cluster
from kminilog.config import complete_config
from kminilog.format.names import TopicPartition
from kminilog.partitioners.interface import Partitioner
from kminilog.partitioners.registry import make_partitioner
from kminilog.producer.batch import Batch
from kminilog.producer.batch_counts import BatchCounts
from kminilog.producer.delivery import Step
from kminilog.producer.interceptors import ProducerInterceptor, ProducerInterceptors
from kminilog.producer.metrics import Metrics
from kminilog.producer.named_parts import load_interceptors, serializers
from kminilog.producer.producer import Parts, ProducerCore
from kminilog.producer.record import ProducerRecord
from kminilog.producer.stalls import Stalls
from kminilog.producer_settings import PRODUCER_SETTINGS


def _nothing() -> bool:
    return False


def _ignore(_: str) -> None:
    pass


class ManualProducer(ProducerCore):
    """A producer without a thread; as a context manager it closes itself.

    `config` has Kafka's dotted names, see producer_settings. A `partitioner` is used as it is,
    instead of the one that the settings name; `interceptors` come before those of the settings.
    While the producer waits it calls `alongside`, which lets others work and returns whether they
    did, as `cluster.replicate` does. `on_error` gets a line if an interceptor, a callback or a hook
    of a partitioner raises; no record is affected. `on_choice` gets each record and its partition,
    as soon as that is known. Raises SettingError, PluginError.
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
        on_choice: Callable[[ProducerRecord, int], object] | None = None,
    ) -> None:
        complete = complete_config(config or {}, PRODUCER_SETTINGS)
        self.metrics = Metrics(clock)
        self.batch_counts = BatchCounts()
        named = load_interceptors(complete["interceptor.classes"], complete)
        chain = ProducerInterceptors([*interceptors, *named], on_error=on_error)
        to_key, to_value = serializers(complete)
        if partitioner is None:
            name = complete["partitioner.class"]
            partitioner = make_partitioner(name, complete, chance=chance, clock=clock)
        self._stalls = Stalls()
        self._tell_choice = on_choice
        super().__init__(
            cluster,
            complete,
            Parts(partitioner, chain, to_key, to_value, self.metrics),
            clock=clock,
            alongside=alongside,
            on_error=on_error,
        )

    def step(self) -> Step:
        """Do one round of the sender's work; tell the partitioner the queues and the stalls."""
        cluster = self._cluster.metadata()
        sizes = self._accumulator.queue_sizes()
        self._routing.on_queues(sizes, self._stalled(sizes, cluster), cluster)
        ready = _leaders(cluster, self._accumulator.ready())
        step = super().step()
        served = _leaders(cluster, [batch.topic_partition for batch in step.sent])
        self._stalls.note(self._clock.now_ms(), ready=ready, served=served)
        return step

    def _on_choice(self, record: ProducerRecord, partition: int) -> None:
        if self._tell_choice:
            self._tell_choice(record, partition)

    def _finish(self, batch: Batch, first_offset: int, error: Exception | None) -> None:
        if error is None:
            self.batch_counts.note(batch)
        super()._finish(batch, first_offset, error)

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
