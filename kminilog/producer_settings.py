"""The settings of a producer: names, defaults, bounds and meanings.

Source: Kafka 0.8.2 to 3.3 ProducerConfig; the documents name only some (S0, S1, S2, S4).
"""

from kminilog.config import switch, table_of, text, whole_number
from kminilog.settings import INT32_MAX, INT64_MAX

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
        "accepted, but not used: the cluster is in this process",
        older_name="metadata.broker.list",
    ),
    text(
        "serializer.class",
        "bytes",
        "serialiser of keys and values: bytes, string, integer, or a dotted path",
        kafka_classes=_SERIALIZERS,
    ),
    text(
        "key.serializer",
        "",
        "serialiser of keys; empty: serializer.class",
        older_name="key.serializer.class",
        kafka_classes=_SERIALIZERS,
    ),
    text(
        "value.serializer",
        "",
        "serialiser of values; empty: serializer.class",
        kafka_classes=_SERIALIZERS,
    ),
    whole_number(
        "acks",
        1,
        -1,
        1,
        "who must have a batch; 0: nobody, 1: the leader, -1 or all: all in-sync replicas",
        older_name="request.required.acks",
    ),
    whole_number(
        "batch.size",
        16_384,
        0,
        INT32_MAX,
        "bytes of a full batch; a larger record has a batch of its own",
    ),
    whole_number("linger.ms", 0, 0, INT64_MAX, "how long a batch waits for more records"),
    whole_number(
        "buffer.memory", 2**25, 1, INT64_MAX, "bytes of memory for batches that are not yet sent"
    ),
    whole_number("max.block.ms", 60_000, 0, INT64_MAX, "how long send waits for memory"),
    whole_number(
        "retries",
        3,
        0,
        INT32_MAX,
        "how often a failed batch is sent again",
        older_name="message.send.max.retries",
    ),
    whole_number("retry.backoff.ms", 100, 0, INT64_MAX, "time before a batch is sent again"),
    whole_number(
        "request.timeout.ms", 30_000, 1, INT64_MAX, "how long acks = -1 waits for the replicas"
    ),
    text("interceptor.classes", "", "classes of interceptors: dotted paths, separated by commas"),
    text(
        "partitioner.class",
        "default-2.4",
        "the partitioner: its name, or a dotted path",
        kafka_classes=_PARTITIONERS,
    ),
    switch(
        "send.switch.broker.enable",
        False,
        "send to another partition if one has no leader",
        reader="default-0.8",
    ),
    text(
        "default-0.8.abs",
        "mask",
        "how a hash code becomes non-negative, in 0.8.0 and 0.8.1 or in 0.8.2",
        ("mask", "abs"),
        reader="default-0.8",
    ),
    whole_number(
        "topic.metadata.refresh.interval.ms",
        600_000,
        -1,
        INT64_MAX,
        "how long a partition is cached; -1: until a failure",
        reader="default-0.8",
    ),
    switch(
        "round-robin.double-call-bug",
        False,
        "skip partitions, as Kafka 2.4 to 3.9 does (KAFKA-9965)",
        reader="round-robin",
    ),
    switch(
        "partitioner.ignore.keys",
        False,
        "place a record with a key as one without",
        reader="built-in",
    ),
    switch(
        "partitioner.adaptive.partitioning.enable",
        True,
        "prefer partitions with shorter queues",
        reader="built-in",
    ),
    whole_number(
        "partitioner.availability.timeout.ms",
        0,
        0,
        INT64_MAX,
        "leave out a leader that has accepted nothing for this many ms; 0: never",
        reader="built-in",
    ),
)
