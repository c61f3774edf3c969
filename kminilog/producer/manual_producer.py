"""A producer made from its settings, without a thread: it works only when a method is called.

This module adds what a message does not need on its way: a user's classes, metrics, counts, and the
news of queues and stalled leaders that the `built-in` partitioner needs.

A user's class is made without arguments, and configured if it has `configure`. `key.serializer` and
`value.serializer` name the serialisers. If one of them is not given, `serializer.class` counts in
its place, as in 0.8.

Source: S0 7, S1 3, S2 2; Kafka: KafkaProducer, RecordAccumulator.NodeLatencyStats (KIP-794); 0.8:
ProducerConfig.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kminilog.clock import Chance, Clock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.cluster.requests import Cluster
from kminilog.config import complete_config, short_name
from kminilog.errors import PluginError
from kminilog.format.names import TopicPartition
from kminilog.partitioners.interface import Partitioner
from kminilog.partitioners.registry import make_partitioner
from kminilog.plugins import guarded, load_class
from kminilog.producer.batch import Batch
from kminilog.producer.batch_counts import BatchCounts
from kminilog.producer.delivery import DeliveryStep
from kminilog.producer.interceptors import ProducerInterceptor, ProducerInterceptors
from kminilog.producer.metrics import Metrics
from kminilog.producer.producer import Parts, ProducerCore
from kminilog.producer.record import ProducerRecord
from kminilog.producer.serializers import Serializer, built_in_serializer
from kminilog.producer_settings import PRODUCER_SETTINGS

# ---- leaders that take nothing


class Stalls:
    """The times at which each node last had a batch ready, and last took one.

    >>> stalls = Stalls()
    >>> stalls.note(0, ready=[1, 2], served=[1, 2])
    >>> stalls.note(500, ready=[1, 2], served=[2])
    >>> stalls.nodes(400), stalls.nodes(500)
    ({1}, set())
    """

    def __init__(self) -> None:
        self._ready_ms: dict[int, int] = {}
        self._served_ms: dict[int, int] = {}

    def note(self, now_ms: int, *, ready: Iterable[int], served: Iterable[int]) -> None:
        """Record for which nodes a batch is ready now, and which of them took one."""
        for node in ready:
            self._ready_ms[node] = now_ms
            self._served_ms.setdefault(node, now_ms)
        for node in served:
            self._served_ms[node] = now_ms

    def nodes(self, timeout_ms: int) -> set[int]:
        """Return the nodes that took nothing for longer than this while a batch was ready."""
        return {
            node
            for node, ready_ms in self._ready_ms.items()
            if ready_ms - self._served_ms[node] > timeout_ms
        }


# ---- what the settings name


_INTERCEPTORS = "interceptor.classes"


def serializer(name: str, setting: str, config: Mapping[str, Any] | None = None) -> Serializer:
    """Return the serialiser of a name or dotted path; `setting` is the setting that names it.

    A user's class is made, and configured with `config`. Raises PluginError if that fails, or if
    the class has no method `serialize`.

    >>> serializer("integer", "key.serializer")("orders", -2)
    b'\\xff\\xff\\xff\\xfe'
    """
    name = short_name(PRODUCER_SETTINGS[setting], name)
    found = built_in_serializer(name, setting)
    if found:
        return found
    made = guarded(setting, name, load_class(name, setting=setting))
    if hasattr(made, "configure"):
        guarded(setting, name, made.configure, config or {})
    if not callable(getattr(made, "serialize", None)):
        raise PluginError(setting, path=name, reason="it has no method serialize(topic, data)")
    return Serializer(name, setting, made.serialize, getattr(made, "close", None))


def serializers(config: Mapping[str, Any]) -> tuple[Serializer, Serializer]:
    """Return the serialisers of keys and of values that complete settings of a producer name.

    >>> from kminilog.producer_settings import PRODUCER_SETTINGS
    >>> from kminilog.config import complete_config
    >>> given = {"serializer.class": "string", "key.serializer": "integer"}
    >>> [each.name for each in serializers(complete_config(given, PRODUCER_SETTINGS))]
    ['integer', 'string']
    """
    of_keys, of_values = (
        serializer(config[setting] or config["serializer.class"], setting, config)
        for setting in ("key.serializer", "value.serializer")
    )
    return of_keys, of_values


def load_interceptors(paths: str, config: Mapping[str, Any]) -> list[ProducerInterceptor]:
    """Return the interceptors of classes named by dotted paths, separated by commas, configured.

    Raises PluginError for one that cannot be imported, made or configured; those made before it
    are closed again.

    >>> load_interceptors("", {})
    []
    >>> path = "kminilog.producer.interceptors:ProducerInterceptor"
    >>> [type(each).__name__ for each in load_interceptors(f"{path}, {path}", {})]
    ['ProducerInterceptor', 'ProducerInterceptor']
    """
    interceptors: list[ProducerInterceptor] = []
    try:
        for path in filter(None, map(str.strip, paths.split(","))):
            interceptor_class = load_class(path, setting=_INTERCEPTORS)
            interceptor: ProducerInterceptor = guarded(_INTERCEPTORS, path, interceptor_class)
            if hasattr(interceptor, "configure"):
                guarded(_INTERCEPTORS, path, interceptor.configure, config)
            interceptors.append(interceptor)
    except BaseException:
        ProducerInterceptors(interceptors).close()
        raise
    return interceptors


# ---- the producer


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
        super().__init__(
            cluster,
            complete,
            Parts(partitioner, chain, to_key, to_value, self.metrics),
            clock=clock,
            alongside=alongside,
            on_error=on_error,
            on_choice=on_choice,
        )

    def step(self) -> DeliveryStep:
        """Do one round of the sender's work; tell the partitioner the queues and the stalls."""
        cluster = self._cluster.metadata()
        sizes = self._accumulator.queue_sizes()
        self._routing.on_queues(sizes, self._stalled(sizes, cluster), cluster)
        ready = _leaders(cluster, self._accumulator.ready())
        step = super().step()
        served = _leaders(cluster, [batch.topic_partition for batch in step.sent])
        self._stalls.note(self._clock.now_ms(), ready=ready, served=served)
        return step

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
