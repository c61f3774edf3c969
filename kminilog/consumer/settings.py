"""The settings of a consumer: names, defaults, bounds and meanings.

Source: Kafka 0.8.2 ConsumerConfig, later ones for groups; the documents name only some (S1, S3).
"""

from kminilog.config import switch, table_of, text, whole_number
from kminilog.settings import INT32_MAX, INT64_MAX

_ASSIGNORS = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
}
CONSUMER_SETTINGS = table_of(
    text(
        "partition.assignment.strategy",
        "range",
        "the assignor of the group: its name, or a dotted path",
        kafka_classes=_ASSIGNORS,
    ),
    whole_number(
        "consumer.timeout.ms",
        -1,
        -1,
        INT64_MAX,
        "how long a stream waits for a record; -1: for ever",
    ),
    whole_number("fetch.max.bytes", 2**20, 1, INT32_MAX, "most bytes of a fetch"),
    whole_number("max.poll.records", 500, 1, INT32_MAX, "most records that poll returns"),
    text(
        "client.id",
        "consumer",
        "beginning of the id of a group's member; members are in the order of their ids",
        older_name="consumer.id",
    ),
    text("group.id", "", "the group of the consumer; empty: none"),
    text("group.instance.id", "", "name of a static member, which a restart keeps; empty: none"),
    whole_number(
        "session.timeout.ms",
        10_000,
        1,
        INT32_MAX,
        "how long a member may be silent before it counts as dead",
    ),
    whole_number("heartbeat.interval.ms", 3_000, 1, INT32_MAX, "time between two heartbeats"),
    switch("enable.auto.commit", True, "commit positions automatically"),
    whole_number(
        "auto.commit.interval.ms", 5_000, 0, INT32_MAX, "time between two automatic commits"
    ),
    text(
        "auto.offset.reset",
        "latest",
        "where to begin without a committed offset; none: an error",
        ("earliest", "latest", "none"),
    ),
    whole_number(
        "queued.max.messages", 10_000, 1, INT32_MAX, "most records in the queue of a stream"
    ),
)
