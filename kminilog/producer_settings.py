"""The settings of a producer: names, defaults, bounds and meanings.

Source: Kafka 0.8.2 to 3.3 ProducerConfig; the documents name only some (S0, S1, S2, S4).
"""

from kminilog.setting_kinds import switch, text
from kminilog.settings import INT32_MAX, INT64_MAX, table_of, whole_number

_SERIALIZERS = {
    "org.apache.kafka.common.serialization.ByteArraySerializer": "bytes",
    "org.apache.kafka.common.serialization.StringSerializer": "string",
    "org.apache.kafka.common.serialization.IntegerSerializer": "integer",
    "kafka.serializer.DefaultEncoder": "bytes",
    "kafka.serializer.StringEncoder": "string",
}
_PARTITIONERS = {
    "org.apache.kafka.clients.producer.internals.DefaultPartitioner": "default-2.4",
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": "round-robin",
    "org.apache.kafka.clients.producer.UniformStickyPartitioner": "uniform-sticky",
    "kafka.producer.DefaultPartitioner": "default-0.8",
}
PRODUCER_SETTINGS = table_of(
    text(
        "bootstrap.servers",
        "",
        "accepted; the cluster is in this process",
        older_name="metadata.broker.list",
    ),
    text(
        "serializer.class",
        "bytes",
        "bytes, string, integer, or a dotted path",
        kafka_classes=_SERIALIZERS,
    ),
    text(
        "key.serializer",
        "",
        "the same for keys; empty: serializer.class",
        older_name="key.serializer.class",
        kafka_classes=_SERIALIZERS,
    ),
    text(
        "value.serializer",
        "",
        "the same for values; empty: serializer.class",
        kafka_classes=_SERIALIZERS,
    ),
    whole_number(
        "acks",
        1,
        -1,
        1,
        "0: none, 1: the leader, -1: all in-sync replicas",
        older_name="request.required.acks",
    ),
    whole_number("batch.size", 16_384, 0, INT32_MAX, "bytes handed over at a time"),
    whole_number("linger.ms", 0, 0, INT64_MAX, "let a batch wait so long for more"),
    whole_number("buffer.memory", 2**25, 1, INT64_MAX, "bytes for unsent batches"),
    whole_number("max.block.ms", 60_000, 0, INT64_MAX, "wait so long for memory"),
    whole_number(
        "retries",
        3,
        0,
        INT32_MAX,
        "try a failed batch again so often",
        older_name="message.send.max.retries",
    ),
    whole_number("retry.backoff.ms", 100, 0, INT64_MAX, "wait before trying again"),
    whole_number("request.timeout.ms", 30_000, 1, INT64_MAX, "wait so long for acks -1"),
    text("interceptor.classes", "", "dotted paths, separated by commas"),
    text(
        "partitioner.class",
        "default-2.4",
        "a name of the suite, or a path",
        kafka_classes=_PARTITIONERS,
    ),
    switch("send.switch.broker.enable", False, "0.8: go where a leader is"),
    text("default-0.8.abs", "mask", "0.8.0 and 0.8.1, or 0.8.2", ("mask", "abs")),
    whole_number(
        "topic.metadata.refresh.interval.ms",
        600_000,
        -1,
        INT64_MAX,
        "0.8: forget cached partitions; -1: only after a failure",
    ),
    switch("round-robin.double-call-bug", False, "skip as Kafka 2.4 to 3.9 do"),
    switch("partitioner.ignore.keys", False, "3.3: place as if there were none"),
    switch("partitioner.adaptive.partitioning.enable", True, "3.3: shorter queues"),
    whole_number(
        "partitioner.availability.timeout.ms",
        0,
        0,
        INT64_MAX,
        "3.3: leave out a leader that takes nothing for so long; 0: never",
    ),
)
