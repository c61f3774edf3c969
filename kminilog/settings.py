"""The settings of a topic: name, default, bounds and meaning of each, and one topic's values.

A setting has Kafka's dotted name if Kafka has the setting: `segment.bytes`. Python code joins the
same words by `_`: `segment_bytes`. All settings of a topic are whole numbers. `config` knows those
of producers and consumers, too.

Source: Kafka 0.8.2 LogConfig; the documents name only some (S1 5.1).
"""

from dataclasses import asdict, dataclass, fields
from typing import NamedTuple

from kminilog.errors import MessageTooLargeError, SettingError

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
DAY_MS = 86_400_000


class Setting(NamedTuple):
    """One row of the table; both bounds are allowed values."""

    name: str
    default: int
    minimum: int
    maximum: int
    meaning: str


_ROWS = (
    # 14 bytes at least, as in Kafka: Message.MinHeaderSize.
    Setting("segment.bytes", 2**30, 14, INT32_MAX, "largest .log file, in bytes"),
    Setting(
        "segment.ms", 7 * DAY_MS, 1, INT64_MAX, "age at which the next append begins a new segment"
    ),
    Setting(
        "index.interval.bytes", 4096, 0, INT32_MAX, "bytes of the log between two index entries"
    ),
    Setting("segment.index.bytes", 10 * 2**20, 8, INT32_MAX, "largest .index file, in bytes"),
    Setting(
        "retention.ms",
        7 * DAY_MS,
        -1,
        INT64_MAX,
        "delete segments last written longer ago; -1: never",
    ),
    Setting(
        "retention.bytes",
        -1,
        -1,
        INT64_MAX,
        "delete the oldest segment as long as the rest still has this many bytes; -1: never",
    ),
    Setting("max.message.bytes", 1_000_012, 1, INT32_MAX, "largest message, with offset and size"),
    Setting(
        "flush.messages",
        INT64_MAX,
        1,
        INT64_MAX,
        "messages after which the log is flushed to the disk",
    ),
    Setting(
        "flush.ms",
        INT64_MAX,
        0,
        INT64_MAX,
        "time after which an append flushes the log to the disk",
    ),
    Setting("file.delete.delay.ms", 60_000, 0, INT64_MAX, "how long .deleted files are kept"),
    Setting(
        "message.drop.headers", 0, 0, 1, "1: a client's record with headers is stored without them"
    ),
)
TOPIC_SETTINGS = {row.name: row for row in _ROWS}


def _default(name: str) -> int:
    return TOPIC_SETTINGS[name].default


@dataclass(frozen=True)
class TopicSettings:
    """The settings of one topic; see TOPIC_SETTINGS for bounds and meanings.

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
    message_drop_headers: int = _default("message.drop.headers")

    def __post_init__(self) -> None:
        for name, value in self.to_config().items():
            setting = TOPIC_SETTINGS[name]
            check_whole_number(name, value, setting.minimum, setting.maximum)

    @property
    def largest_message_bytes(self) -> int:
        """The size of the largest message that the topic can store."""
        return min(self.max_message_bytes, self.segment_bytes)

    def check_message(self, size_bytes: int, *, is_at_least: bool = False) -> None:
        """Raise MessageTooLargeError if the topic cannot store a message of `size_bytes`.

        Every writer calls this; for a batch, checking its largest message is enough.
        """
        if size_bytes > self.largest_message_bytes:
            is_setting = size_bytes > self.max_message_bytes
            raise MessageTooLargeError(
                size_bytes=size_bytes,
                limit_bytes=self.max_message_bytes if is_setting else self.segment_bytes,
                setting="max.message.bytes" if is_setting else "segment.bytes",
                is_at_least=is_at_least,
            )

    def to_config(self) -> dict[str, int]:
        """Return all settings under their dotted names."""
        return {name.replace("_", "."): value for name, value in asdict(self).items()}

    def changed(self) -> dict[str, int]:
        """Return the settings that differ from their defaults, under their dotted names."""
        defaults = {field.name.replace("_", "."): field.default for field in fields(self)}
        return {name: value for name, value in self.to_config().items() if value != defaults[name]}


def check_whole_number(name: str, value: object, minimum: int, maximum: int) -> None:
    """Raise SettingError if the setting of this name cannot have this value."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise SettingError(name, reason=f"{value!r} is not a whole number")
    if not minimum <= value <= maximum:
        raise SettingError(name, reason=f"{value} is outside of {minimum} to {maximum}")
