"""What a setting is: name, default, type and bounds; and the table of a topic's settings.

Kafka's dotted name where Kafka has one (`segment.bytes` in files and on the command line), the same
words joined by `_` in Python (`segment_bytes`). Its default says what a setting takes: a whole
number within bounds, true or false, or a text. Producers and consumers have tables of their own.

Source: Kafka 0.8.2 LogConfig; the documents name only some (S1 5.1).
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from typing import Any, NamedTuple

from kminilog.errors import MessageTooLargeError, SettingError

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


class Setting(NamedTuple):
    """One row of a table; bounds hold for whole numbers, `choices` for texts that have some.

    `older_name` is what older releases call it; it is accepted everywhere.
    """

    name: str
    default: int | bool | str
    minimum: int
    maximum: int
    meaning: str
    choices: tuple[str, ...] = ()
    older_name: str = ""


Table = Mapping[str, Setting]


def whole_number(
    name: str, default: int, minimum: int, maximum: int, meaning: str, *, older_name: str = ""
) -> Setting:
    return Setting(name, default, minimum, maximum, meaning, older_name=older_name)


def switch(name: str, default: bool, meaning: str) -> Setting:
    return Setting(name, default, 0, 1, meaning)


def text(
    name: str, default: str, meaning: str, choices: tuple[str, ...] = (), *, older_name: str = ""
) -> Setting:
    return Setting(name, default, 0, 0, meaning, choices, older_name)


def table_of(*settings: Setting) -> Table:
    return {setting.name: setting for setting in settings}


DAY_MS = 86_400_000
TOPIC_SETTINGS = table_of(
    whole_number("segment.bytes", 2**30, 14, INT32_MAX, "largest .log file"),
    whole_number("segment.ms", 7 * DAY_MS, 1, INT64_MAX, "roll a segment older than this"),
    whole_number("index.interval.bytes", 4096, 0, INT32_MAX, "log bytes between entries"),
    whole_number("segment.index.bytes", 10 * 2**20, 8, INT32_MAX, "largest .index file"),
    whole_number("retention.ms", 7 * DAY_MS, -1, INT64_MAX, "delete older segments"),
    whole_number("retention.bytes", -1, -1, INT64_MAX, "delete until not above; -1: never"),
    whole_number("max.message.bytes", 1_000_012, 1, INT32_MAX, "largest message, with size"),
    whole_number("flush.messages", INT64_MAX, 1, INT64_MAX, "fsync after so many messages"),
    whole_number("flush.ms", INT64_MAX, 0, INT64_MAX, "fsync an append so long after it"),
    whole_number("file.delete.delay.ms", 60_000, 0, INT64_MAX, "keep .deleted files"),
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

    @classmethod
    def from_config(cls, config: Mapping[str, int]) -> "TopicSettings":
        """Return the settings for dotted names; those not named keep their defaults.

        Raises SettingError for an unknown name or a value out of bounds.

        >>> TopicSettings.from_config({"segment.bytes": 512}).changed()
        {'segment.bytes': 512}
        """
        for name in config:
            find_setting(name, TOPIC_SETTINGS)
        return cls(**{name.replace(".", "_"): value for name, value in config.items()})

    @property
    def largest_message_bytes(self) -> int:
        """How many bytes a message of the topic has at most."""
        return min(self.max_message_bytes, self.segment_bytes)

    def check_message(self, size_bytes: int, *, is_at_least: bool = False) -> None:
        """Raise MessageTooLargeError if a message of so many bytes has no place in the topic.

        Every writer asks this; who writes batches may ask it of the largest message only.
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


def find_setting(name: str, table: Table) -> Setting:
    """Return the setting of that name, or formerly of that name.

    Raises SettingError that lists the names of the table that are near.

    >>> find_setting("retention.hours", TOPIC_SETTINGS)
    Traceback (most recent call last):
    ...
    kminilog.errors.SettingError: setting retention.hours: unknown; did you mean \
retention.bytes or retention.ms?
    """
    for setting in table.values():
        if name in (setting.name, setting.older_name):
            return setting
    near = sorted(get_close_matches(name, table, n=3, cutoff=0.6))
    advice = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(table))}"
    raise SettingError(name, reason=f"unknown; {advice}")


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


def complete_config(config: Mapping[str, object], table: Table) -> dict[str, Any]:
    """Return all settings of a table: those given, checked, and the defaults of the others.

    Values given as text are read as `parse_config` does; others must have the right type. Raises
    SettingError.

    >>> complete_config({"segment.bytes": "512"}, TOPIC_SETTINGS)["segment.bytes"]
    512
    """
    complete: dict[str, Any] = {name: setting.default for name, setting in table.items()}
    for given, value in config.items():
        setting = find_setting(given, table)
        complete[setting.name] = _read(setting, value) if isinstance(value, str) else value
        check_setting(setting, complete[setting.name])
    return complete


def parse_config(assignments: Iterable[str], table: Table) -> dict[str, Any]:
    """Return the settings given as `name=value` texts, checked; the last one of a name wins.

    Raises SettingError for a text without `=`, an unknown name or a bad value.

    >>> parse_config(["segment.bytes=512", "retention.ms=-1"], TOPIC_SETTINGS)
    {'segment.bytes': 512, 'retention.ms': -1}
    """
    config: dict[str, Any] = {}
    for assignment in assignments:
        name, separator, text = assignment.partition("=")
        if not separator:
            raise SettingError(assignment, reason="give it as name=value")
        setting = find_setting(name, table)
        config[setting.name] = _read(setting, text)
        check_setting(setting, config[setting.name])
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
