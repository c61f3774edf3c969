"""The names, defaults, types and bounds of all settings, in one table.

Kafka's dotted name where Kafka has one (`segment.bytes` in files and on the command line), the same
words joined by `_` in Python (`segment_bytes`). Who uses a setting: its scope. What it takes is
told by its default: a whole number within bounds, true or false, or a text.

Source: Kafka 0.8.2 LogConfig, ProducerConfig and ConsumerConfig, 0.9 to 3.3 ProducerConfig; the
documents name only some (S0, S1 5.1, S2, S3, S4).
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from typing import Any, NamedTuple

from kminilog.errors import MessageTooLargeError, SettingError

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


class Setting(NamedTuple):
    """One row of the table; bounds hold for whole numbers, `choices` for texts that have some."""

    scope: str
    name: str
    default: int | bool | str
    minimum: int
    maximum: int
    meaning: str
    choices: tuple[str, ...] = ()


def _number(
    scope: str, name: str, default: int, minimum: int, maximum: int, meaning: str
) -> Setting:
    return Setting(scope, name, default, minimum, maximum, meaning)


def _switch(scope: str, name: str, default: bool, meaning: str) -> Setting:
    return Setting(scope, name, default, 0, 1, meaning)


def _text(
    scope: str, name: str, default: str, meaning: str, choices: tuple[str, ...] = ()
) -> Setting:
    return Setting(scope, name, default, 0, 0, meaning, choices)


DAY_MS = 86_400_000
SETTINGS = {
    setting.name: setting
    for setting in (
        _number("topic", "segment.bytes", 2**30, 14, INT32_MAX, "largest .log file"),
        _number("topic", "segment.ms", 7 * DAY_MS, 1, INT64_MAX, "roll a segment older than this"),
        _number("topic", "index.interval.bytes", 4096, 0, INT32_MAX, "log bytes between entries"),
        _number("topic", "segment.index.bytes", 10 * 2**20, 8, INT32_MAX, "largest .index file"),
        _number("topic", "retention.ms", 7 * DAY_MS, -1, INT64_MAX, "delete older segments"),
        _number("topic", "retention.bytes", -1, -1, INT64_MAX, "delete until not above; -1: never"),
        _number(
            "topic", "max.message.bytes", 1_000_012, 1, INT32_MAX, "largest message, with size"
        ),
        _number("topic", "flush.messages", INT64_MAX, 1, INT64_MAX, "fsync after so many messages"),
        _number("topic", "flush.ms", INT64_MAX, 0, INT64_MAX, "fsync an append so long after it"),
        _number("topic", "file.delete.delay.ms", 60_000, 0, INT64_MAX, "keep .deleted files"),
        _text("producer", "bootstrap.servers", "", "accepted; the cluster is in this process"),
        _text("producer", "serializer.class", "bytes", "bytes, string, integer, or a dotted path"),
        _text("producer", "key.serializer", "", "the same for keys; empty: serializer.class"),
        _text("producer", "value.serializer", "", "the same for values; empty: serializer.class"),
        _number("producer", "acks", 1, -1, 1, "0: none, 1: the leader, -1: all in-sync replicas"),
        _number("producer", "batch.size", 16_384, 0, INT32_MAX, "bytes handed over at a time"),
        _number("producer", "linger.ms", 0, 0, INT64_MAX, "let a batch wait so long for more"),
        _number("producer", "buffer.memory", 2**25, 1, INT64_MAX, "bytes for unsent batches"),
        _number("producer", "max.block.ms", 60_000, 0, INT64_MAX, "wait so long for memory"),
        _number("producer", "retries", 3, 0, INT32_MAX, "try a failed batch again so often"),
        _number("producer", "retry.backoff.ms", 100, 0, INT64_MAX, "wait before trying again"),
        _number("producer", "request.timeout.ms", 30_000, 1, INT64_MAX, "wait so long for acks -1"),
        _text("producer", "interceptor.classes", "", "dotted paths, separated by commas"),
        _text("producer", "partitioner.class", "default-2.4", "a name of the suite, or a path"),
        _switch("producer", "send.switch.broker.enable", False, "0.8: go where a leader is"),
        _text("producer", "default-0.8.abs", "mask", "0.8.0 and 0.8.1, or 0.8.2", ("mask", "abs")),
        _number(
            "producer",
            "topic.metadata.refresh.interval.ms",
            600_000,
            -1,
            INT64_MAX,
            "0.8: forget cached partitions; -1: only after a failure",
        ),
        _switch("producer", "round-robin.double-call-bug", False, "skip as Kafka 2.4 to 3.9 do"),
        _switch("producer", "partitioner.ignore.keys", False, "3.3: place as if there were none"),
        _switch(
            "producer", "partitioner.adaptive.partitioning.enable", True, "3.3: shorter queues"
        ),
        _number(
            "producer",
            "partitioner.availability.timeout.ms",
            0,
            0,
            INT64_MAX,
            "3.3: leave out a leader that takes nothing for so long; 0: never",
        ),
        _text("consumer", "partition.assignment.strategy", "range", "an assignor, or a path"),
        _number("consumer", "consumer.timeout.ms", -1, -1, INT64_MAX, "give up waiting; -1: never"),
        _number("consumer", "fetch.max.bytes", 2**20, 1, INT32_MAX, "bytes fetched at a time"),
        _number("consumer", "max.poll.records", 500, 1, INT32_MAX, "messages handed over at once"),
        _text("consumer", "client.id", "consumer", "what the id of a group's member begins with"),
        _text("consumer", "group.id", "", "the group to belong to; empty: none"),
        _text("consumer", "group.instance.id", "", "a name that outlives a restart; empty: none"),
        _number("consumer", "session.timeout.ms", 10_000, 1, INT32_MAX, "silent so long: dead"),
        _number("consumer", "heartbeat.interval.ms", 3_000, 1, INT32_MAX, "sign of life so often"),
        _switch("consumer", "enable.auto.commit", True, "commit what was handed over"),
        _number("consumer", "auto.commit.interval.ms", 5_000, 0, INT32_MAX, "commit so often"),
        _text(
            "consumer",
            "auto.offset.reset",
            "latest",
            "where to begin without a committed offset",
            ("earliest", "latest", "none"),
        ),
        _number("consumer", "queued.max.messages", 10_000, 1, INT32_MAX, "a stream's queue"),
    )
}
# What older releases call a setting; accepted everywhere.
OLDER_NAMES = {
    "key.serializer.class": "key.serializer",
    "metadata.broker.list": "bootstrap.servers",
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
}


def _default(name: str) -> int:
    return int(SETTINGS[name].default)


@dataclass(frozen=True)
class TopicSettings:
    """The settings of one topic; see SETTINGS for bounds and meanings.

    >>> TopicSettings(segment_bytes=512).segment_bytes
    512
    >>> TopicSettings().changed()
    {}
    """

    segment_bytes: int = _default("segment.bytes")
    segment_ms: int = _default("segment.ms")
    index_interval_bytes: int = _default("index.interval.bytes")
    segment_index_bytes: int = _default("segment.index.bytes")
    retention_ms: int = _default("retention.ms")
    retention_bytes: int = _default("retention.bytes")
    max_message_bytes: int = _default("max.message.bytes")
    flush_messages: int = _default("flush.messages")
    flush_ms: int = _default("flush.ms")
    file_delete_delay_ms: int = _default("file.delete.delay.ms")

    def __post_init__(self) -> None:
        for name, value in self.to_config().items():
            check_setting(name, value)

    @classmethod
    def from_config(cls, config: Mapping[str, int]) -> "TopicSettings":
        """Return the settings for dotted names; those not named keep their defaults.

        Raises SettingError for an unknown name or a value out of bounds.

        >>> TopicSettings.from_config({"segment.bytes": 512}).changed()
        {'segment.bytes': 512}
        """
        for name in config:
            find_setting(name, scope="topic")
        return cls(**{name.replace(".", "_"): value for name, value in config.items()})

    @property
    def largest_message_bytes(self) -> int:
        """How many bytes a message of the topic has at most."""
        return min(self.max_message_bytes, self.segment_bytes)

    def check_message(self, size_bytes: int, *, is_at_least: bool = False) -> None:
        """Raise MessageTooLargeError if a message of so many bytes has no place in the topic."""
        for setting, limit_bytes in (
            ("max.message.bytes", self.max_message_bytes),
            ("segment.bytes", self.segment_bytes),
        ):
            if size_bytes > limit_bytes:
                raise MessageTooLargeError(
                    size_bytes=size_bytes,
                    limit_bytes=limit_bytes,
                    setting=setting,
                    is_at_least=is_at_least,
                )

    def to_config(self) -> dict[str, int]:
        """Return all settings under their dotted names."""
        return {name.replace("_", "."): value for name, value in asdict(self).items()}

    def changed(self) -> dict[str, int]:
        """Return the settings that differ from their defaults, under their dotted names."""
        defaults = {field.name.replace("_", "."): field.default for field in fields(self)}
        return {name: value for name, value in self.to_config().items() if value != defaults[name]}


def find_setting(name: str, *, scope: str) -> Setting:
    """Return the setting of that name, or formerly of that name, and scope.

    Raises SettingError that lists the names of that scope that are near.

    >>> find_setting("retention.hours", scope="topic")
    Traceback (most recent call last):
    ...
    kminilog.errors.SettingError: setting retention.hours: unknown; did you mean \
retention.bytes or retention.ms?
    >>> find_setting("request.required.acks", scope="producer").name
    'acks'
    """
    known = {setting.name for setting in SETTINGS.values() if setting.scope == scope}
    current = OLDER_NAMES.get(name, name)
    if current in known:
        return SETTINGS[current]
    near = sorted(get_close_matches(name, known, n=3, cutoff=0.6))
    advice = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(known))}"
    raise SettingError(name, reason=f"unknown; {advice}")


def check_setting(name: str, value: object) -> None:
    """Raise SettingError if a known setting cannot have this value."""
    setting = SETTINGS[name]
    if isinstance(setting.default, bool):
        if not isinstance(value, bool):
            raise SettingError(name, reason=f"{value!r} is neither true nor false")
    elif isinstance(setting.default, str):
        if not isinstance(value, str):
            raise SettingError(name, reason=f"{value!r} is not a text")
        if setting.choices and value not in setting.choices:
            raise SettingError(name, reason=f"{value!r} is not {' or '.join(setting.choices)}")
    elif not isinstance(value, int) or isinstance(value, bool):
        raise SettingError(name, reason=f"{value!r} is not a whole number")
    elif not setting.minimum <= value <= setting.maximum:
        raise SettingError(
            name, reason=f"{value} is outside of {setting.minimum} to {setting.maximum}"
        )


def complete_config(config: Mapping[str, object], *, scope: str) -> dict[str, Any]:
    """Return all settings of a scope: those given, checked, and the defaults of the others.

    Values given as text are read as `parse_config` does; others must have the right type. Raises
    SettingError.

    >>> complete_config({"request.required.acks": "all"}, scope="producer")["acks"]
    -1
    """
    complete: dict[str, Any] = {
        setting.name: setting.default for setting in SETTINGS.values() if setting.scope == scope
    }
    for given, value in config.items():
        setting = find_setting(given, scope=scope)
        complete[setting.name] = _read(setting, value) if isinstance(value, str) else value
        check_setting(setting.name, complete[setting.name])
    return complete


def parse_config(assignments: Iterable[str], *, scope: str) -> dict[str, Any]:
    """Return the settings given as `name=value` texts, checked; the last one of a name wins.

    Raises SettingError for a text without `=`, an unknown name or a bad value.

    >>> parse_config(["segment.bytes=512", "retention.ms=-1"], scope="topic")
    {'segment.bytes': 512, 'retention.ms': -1}
    >>> parse_config(["partitioner.ignore.keys=true"], scope="producer")
    {'partitioner.ignore.keys': True}
    """
    config: dict[str, Any] = {}
    for assignment in assignments:
        name, separator, text = assignment.partition("=")
        if not separator:
            raise SettingError(assignment, reason="give it as name=value")
        setting = find_setting(name, scope=scope)
        config[setting.name] = _read(setting, text)
        check_setting(setting.name, config[setting.name])
    return config


def _read(setting: Setting, text: str) -> int | bool | str:
    if isinstance(setting.default, str):
        return text
    if isinstance(setting.default, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    if setting.name == "acks" and text == "all":
        return -1
    try:
        return int(text)
    except ValueError:
        raise SettingError(setting.name, reason=f"{text!r} is not a whole number") from None
