"""What a setting is: name, default, type and bounds; and the table of a topic's settings.

A setting has Kafka's dotted name if Kafka has the setting: `segment.bytes`. Python code joins the
same words by `_`: `segment_bytes`. The type of the default is the type of the setting: a whole
number, true or false, or a text. Producers and consumers have tables of their own.

Source: Kafka 0.8.2 LogConfig; the documents name only some (S1 5.1).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import NamedTuple

from kminilog.errors import MessageTooLargeError, SettingError

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
_NO_CLASSES: Mapping[str, str] = MappingProxyType({})


class Setting(NamedTuple):
    """One row of a table; bounds are for whole numbers, `choices` for texts (empty: any text).

    The last three fields are for producers and consumers; no topic setting has them. `older_name`
    is the name in older releases of Kafka; it is accepted everywhere. `kafka_classes` maps names of
    Kafka's classes to the values that stand for them here. `reader` is the one partitioner that
    reads the setting; empty: the setting is not for a partitioner.
    """

    name: str
    default: int | bool | str
    minimum: int
    maximum: int
    meaning: str
    choices: tuple[str, ...] = ()
    older_name: str = ""
    kafka_classes: Mapping[str, str] = _NO_CLASSES
    reader: str = ""


Table = Mapping[str, Setting]


def whole_number(
    name: str,
    default: int,
    minimum: int,
    maximum: int,
    meaning: str,
    *,
    older_name: str = "",
    reader: str = "",
) -> Setting:
    """Return the row of a setting that is a whole number within bounds, both inclusive."""
    return Setting(name, default, minimum, maximum, meaning, (), older_name, reader=reader)


def switch(name: str, default: bool, meaning: str, *, reader: str = "") -> Setting:
    """Return the row of a setting that is true or false."""
    return Setting(name, default, 0, 1, meaning, reader=reader)


def text(
    name: str,
    default: str,
    meaning: str,
    choices: tuple[str, ...] = (),
    *,
    older_name: str = "",
    kafka_classes: Mapping[str, str] = _NO_CLASSES,
    reader: str = "",
) -> Setting:
    """Return the row of a setting that is a text: one of `choices`, if there are any."""
    return Setting(name, default, 0, 0, meaning, choices, older_name, kafka_classes, reader)


def table_of(*settings: Setting) -> Table:
    """Return a table of these settings, by name."""
    return {setting.name: setting for setting in settings}


DAY_MS = 86_400_000
TOPIC_SETTINGS = table_of(
    # 14 bytes at least, as in Kafka: Message.MinHeaderSize.
    whole_number("segment.bytes", 2**30, 14, INT32_MAX, "largest .log file, in bytes"),
    whole_number(
        "segment.ms", 7 * DAY_MS, 1, INT64_MAX, "age at which the next append begins a new segment"
    ),
    whole_number(
        "index.interval.bytes", 4096, 0, INT32_MAX, "bytes of the log between two index entries"
    ),
    whole_number("segment.index.bytes", 10 * 2**20, 8, INT32_MAX, "largest .index file, in bytes"),
    whole_number(
        "retention.ms",
        7 * DAY_MS,
        -1,
        INT64_MAX,
        "delete segments last written longer ago; -1: never",
    ),
    whole_number(
        "retention.bytes",
        -1,
        -1,
        INT64_MAX,
        "delete the oldest segment as long as the rest still has this many bytes; -1: never",
    ),
    whole_number(
        "max.message.bytes", 1_000_012, 1, INT32_MAX, "largest message, with offset and size"
    ),
    whole_number(
        "flush.messages",
        INT64_MAX,
        1,
        INT64_MAX,
        "messages after which the log is flushed to the disk",
    ),
    whole_number(
        "flush.ms",
        INT64_MAX,
        0,
        INT64_MAX,
        "time after which an append flushes the log to the disk",
    ),
    whole_number("file.delete.delay.ms", 60_000, 0, INT64_MAX, "how long .deleted files are kept"),
)


def _default(name: str) -> int:
    return int(TOPIC_SETTINGS[name].default)


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

    def __post_init__(self) -> None:
        for name, value in self.to_config().items():
            check_setting(TOPIC_SETTINGS[name], value)

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


def check_setting(setting: Setting, value: object) -> None:
    """Raise SettingError if a setting cannot have this value."""
    name = setting.name
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
