"""kminilog: a Kafka-like log store, and Kafka's partitioning, to read and to step through.

    from kminilog import LogDirWriter, Topic

`__all__` lists the public names; `docs/architecture.md` is the map of all modules. Importing the
package loads none of their modules, so neither Spark nor numpy. The first use of a public name
loads its module.
"""

TYPE_CHECKING = False  # typing's, which takes as long to import as all the rest here
if TYPE_CHECKING:
    from kminilog.cluster.metadata import ClusterMetadata, Node, PartitionInfo
    from kminilog.cluster.mini_cluster import MiniCluster
    from kminilog.consumer.consumer import Consumer
    from kminilog.consumer.coordinator import Coordinator
    from kminilog.consumer.readers import ClusterSource, LogDirSource
    from kminilog.consumer.stream import KafkaStream, open_streams
    from kminilog.errors import KMiniLogError
    from kminilog.format.dialect import DOCUMENTED, KAFKA
    from kminilog.format.hashing import murmur2, to_positive
    from kminilog.format.message import Message
    from kminilog.format.names import TopicPartition
    from kminilog.partitioners.interface import Partitioner
    from kminilog.producer.interceptors import ProducerInterceptor
    from kminilog.producer.manual_producer import ManualProducer
    from kminilog.producer.record import ProducerRecord, RecordMetadata
    from kminilog.producer.sender import Producer, replicating
    from kminilog.settings import TopicSettings
    from kminilog.storage.log_dir.log_dir import LogDir
    from kminilog.storage.log_dir.writer import LogDirWriter
    from kminilog.storage.partition.notices import KMiniLogWarning
    from kminilog.storage.topics import Topic, new_topic_id
    from kminilog.system import SystemClock

__version__ = "0.1.0"
_HOMES = {
    "ClusterMetadata": "cluster.metadata",
    "ClusterSource": "consumer.readers",
    "Consumer": "consumer.consumer",
    "Coordinator": "consumer.coordinator",
    "DOCUMENTED": "format.dialect",
    "ManualProducer": "producer.manual_producer",
    "KAFKA": "format.dialect",
    "KMiniLogError": "errors",
    "KMiniLogWarning": "storage.partition.notices",
    "KafkaStream": "consumer.stream",
    "LogDir": "storage.log_dir.log_dir",
    "LogDirSource": "consumer.readers",
    "LogDirWriter": "storage.log_dir.writer",
    "Message": "format.message",
    "MiniCluster": "cluster.mini_cluster",
    "Node": "cluster.metadata",
    "PartitionInfo": "cluster.metadata",
    "Partitioner": "partitioners.interface",
    "Producer": "producer.sender",
    "ProducerInterceptor": "producer.interceptors",
    "ProducerRecord": "producer.record",
    "RecordMetadata": "producer.record",
    "SystemClock": "system",
    "Topic": "storage.topics",
    "TopicPartition": "format.names",
    "TopicSettings": "settings",
    "murmur2": "format.hashing",
    "new_topic_id": "storage.topics",
    "open_streams": "consumer.stream",
    "replicating": "producer.sender",
    "to_positive": "format.hashing",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Not at the top: the command imports this package before it can make Ctrl-C silent.
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
