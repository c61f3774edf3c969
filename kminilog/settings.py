"""The names, defaults, types and bounds of all settings, in one table.

Kafka's dotted name where Kafka has one (`segment.bytes` in files and on the command line), the same
words joined by `_` in Python (`segment_bytes`). Who uses a setting: its scope.

Source: Kafka 0.8.2 LogConfig and ConsumerConfig; the documents name only some (S1 5.1, S3).
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from typing import NamedTuple

from kminilog.errors import SettingError

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


class Setting(NamedTuple):
    scope: str
    name: str
    default: int
    minimum: int
    maximum: int
    meaning: str


DAY_MS = 86_400_000
SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("topic", "segment.bytes", 2**30, 14, INT32_MAX, "largest .log file"),
        Setting("topic", "segment.ms", 7 * DAY_MS, 1, INT64_MAX, "roll a segment older than this"),
        Setting("topic", "index.interval.bytes", 4096, 0, INT32_MAX, "log bytes between entries"),
        Setting("topic", "segment.index.bytes", 10 * 2**20, 8, INT32_MAX, "largest .index file"),
        Setting("topic", "retention.ms", 7 * DAY_MS, -1, INT64_MAX, "delete older segments"),
        Setting("topic", "retention.bytes", -1, -1, INT64_MAX, "delete until not above; -1: never"),
        Setting(
            "topic", "max.message.bytes", 1_000_012, 1, INT32_MAX, "largest message, with size"
        ),
        Setting("topic", "flush.messages", INT64_MAX, 1, INT64_MAX, "fsync after so many messages"),
        Setting("topic", "flush.ms", INT64_MAX, 0, INT64_MAX, "fsync an append so long after it"),
        Setting("topic", "file.delete.delay.ms", 60_000, 0, INT64_MAX, "keep .deleted files"),
        Setting("producer", "batch.size", 16_384, 0, INT32_MAX, "bytes handed over at a time"),
        Setting("consumer", "consumer.timeout.ms", -1, -1, INT64_MAX, "give up waiting; -1: never"),
        Setting("consumer", "fetch.max.bytes", 2**20, 1, INT32_MAX, "bytes fetched at a time"),
    )
}


@dataclass(frozen=True)
class TopicSettings:
    """The settings of one topic; see SETTINGS for bounds and meanings.

    >>> TopicSettings(segment_bytes=512).segment_bytes
    512
    >>> TopicSettings().changed()
    {}
    """

    segment_bytes: int = SETTINGS["segment.bytes"].default
    segment_ms: int = SETTINGS["segment.ms"].default
    index_interval_bytes: int = SETTINGS["index.interval.bytes"].default
    segment_index_bytes: int = SETTINGS["segment.index.bytes"].default
    retention_ms: int = SETTINGS["retention.ms"].default
    retention_bytes: int = SETTINGS["retention.bytes"].default
    max_message_bytes: int = SETTINGS["max.message.bytes"].default
    flush_messages: int = SETTINGS["flush.messages"].default
    flush_ms: int = SETTINGS["flush.ms"].default
    file_delete_delay_ms: int = SETTINGS["file.delete.delay.ms"].default

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

    def to_config(self) -> dict[str, int]:
        """Return all settings under their dotted names."""
        return {name.replace("_", "."): value for name, value in asdict(self).items()}

    def changed(self) -> dict[str, int]:
        """Return the settings that differ from their defaults, under their dotted names."""
        defaults = {field.name.replace("_", "."): field.default for field in fields(self)}
        return {name: value for name, value in self.to_config().items() if value != defaults[name]}


def find_setting(name: str, *, scope: str) -> Setting:
    """Return the setting of that name and scope.

    Raises SettingError that lists the names of that scope that are near.

    >>> find_setting("retention.hours", scope="topic")
    Traceback (most recent call last):
    ...
    kminilog.errors.SettingError: setting retention.hours: unknown; did you mean \
retention.bytes or retention.ms?
    """
    known = {setting.name for setting in SETTINGS.values() if setting.scope == scope}
    if name in known:
        return SETTINGS[name]
    near = sorted(get_close_matches(name, known, n=3, cutoff=0.6))
    advice = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(known))}"
    raise SettingError(name, reason=f"unknown; {advice}")


def check_setting(name: str, value: object) -> None:
    """Raise SettingError if a value of a known setting is not an integer within its bounds."""
    setting = SETTINGS[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise SettingError(name, reason=f"{value!r} is not a whole number")
    if not setting.minimum <= value <= setting.maximum:
        raise SettingError(
            name, reason=f"{value} is outside of {setting.minimum} to {setting.maximum}"
        )


def parse_config(assignments: Iterable[str], *, scope: str) -> dict[str, int]:
    """Return the settings given as `name=value` texts, checked; the last one of a name wins.

    Raises SettingError for a text without `=`, an unknown name or a bad value.

    >>> parse_config(["segment.bytes=512", "retention.ms=-1"], scope="topic")
    {'segment.bytes': 512, 'retention.ms': -1}
    """
    config: dict[str, int] = {}
    for assignment in assignments:
        name, separator, text = assignment.partition("=")
        if not separator:
            raise SettingError(assignment, reason="give it as name=value")
        find_setting(name, scope=scope)
        try:
            config[name] = int(text)
        except ValueError:
            raise SettingError(name, reason=f"{text!r} is not a whole number") from None
        check_setting(name, config[name])
    return config
