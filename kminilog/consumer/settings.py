"""The settings of a consumer: names, defaults, bounds and meanings.

Source: Kafka 0.8.2 ConsumerConfig, later ones for groups; the documents name only some (S1, S3).
"""

from kminilog.setting_kinds import switch, text
from kminilog.settings import INT32_MAX, INT64_MAX, table_of, whole_number

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
        "an assignor, or a path",
        kafka_classes=_ASSIGNORS,
    ),
    whole_number("consumer.timeout.ms", -1, -1, INT64_MAX, "give up waiting; -1: never"),
    whole_number("fetch.max.bytes", 2**20, 1, INT32_MAX, "bytes fetched at a time"),
    whole_number("max.poll.records", 500, 1, INT32_MAX, "messages handed over at once"),
    text("client.id", "consumer", "what the id of a group's member begins with"),
    text("group.id", "", "the group to belong to; empty: none"),
    text("group.instance.id", "", "a name that outlives a restart; empty: none"),
    whole_number("session.timeout.ms", 10_000, 1, INT32_MAX, "silent so long: dead"),
    whole_number("heartbeat.interval.ms", 3_000, 1, INT32_MAX, "sign of life so often"),
    switch("enable.auto.commit", True, "commit what was handed over"),
    whole_number("auto.commit.interval.ms", 5_000, 0, INT32_MAX, "commit so often"),
    text(
        "auto.offset.reset",
        "latest",
        "where to begin without a committed offset",
        ("earliest", "latest", "none"),
    ),
    whole_number("queued.max.messages", 10_000, 1, INT32_MAX, "a stream's queue"),
)
