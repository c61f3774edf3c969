"""Read settings from texts and from a topic's file, and complete them by defaults.

The settings of a topic (`settings`) are whole numbers. Those of a *client*, a producer or a
consumer, may also be true or false, or a text. The type of the default is the type of the setting.
Source: Kafka: ConfigDef.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from kminilog.errors import SettingError
from kminilog.settings import TOPIC_SETTINGS, Setting, TopicSettings, check_whole_number

_NO_CLASSES: Mapping[str, str] = MappingProxyType({})


class ClientSetting(NamedTuple):
    """A setting of a client: one row of a table.

    Bounds are for whole numbers, `choices` for texts (empty: any text). `older_name` is the name in
    older releases of Kafka; it is accepted everywhere. `kafka_classes` maps names of Kafka's
    classes to the values that stand for them here. `reader` is the one partitioner that reads the
    setting; empty: the setting is not for a partitioner.
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


Table = Mapping[str, Setting] | Mapping[str, ClientSetting]


def whole_number(
    name: str,
    default: int,
    minimum: int,
    maximum: int,
    meaning: str,
    *,
    older_name: str = "",
    reader: str = "",
) -> ClientSetting:
    """Return the row of a setting that is a whole number within bounds, both inclusive."""
    return ClientSetting(name, default, minimum, maximum, meaning, (), older_name, reader=reader)


def switch(name: str, default: bool, meaning: str, *, reader: str = "") -> ClientSetting:
    """Return the row of a setting that is true or false."""
    return ClientSetting(name, default, 0, 1, meaning, reader=reader)


def text(
    name: str,
    default: str,
    meaning: str,
    choices: tuple[str, ...] = (),
    *,
    older_name: str = "",
    kafka_classes: Mapping[str, str] = _NO_CLASSES,
    reader: str = "",
) -> ClientSetting:
    """Return the row of a setting that is a text: one of `choices`, if there are any."""
    return ClientSetting(name, default, 0, 0, meaning, choices, older_name, kafka_classes, reader)


def table_of(*settings: ClientSetting) -> dict[str, ClientSetting]:
    """Return a table of these settings, by name."""
    return {setting.name: setting for setting in settings}


def find_setting(name: str, table: Table) -> Setting | ClientSetting:
    """Return the setting with this name, or with this older name.

    Raises SettingError for an unknown name; the error suggests similar names.

    >>> find_setting("retention.hours", TOPIC_SETTINGS)
    Traceback (most recent call last):
    ...
    kminilog.errors.SettingError: setting retention.hours: unknown; did you mean \
retention.bytes or retention.ms?
    """
    for setting in table.values():
        if name == setting.name:
            return setting
        if isinstance(setting, ClientSetting) and name == setting.older_name:
            return setting
    from difflib import get_close_matches  # most commands never need it

    near = sorted(get_close_matches(name, table, n=3, cutoff=0.6))
    advice = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(table))}"
    raise SettingError(name, reason=f"unknown; {advice}")


def parse_config(assignments: Iterable[str], table: Table) -> dict[str, Any]:
    """Return the checked settings of `name=value` texts; the last value for a name wins.

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
        config[setting.name] = read_value(setting, text)
        check_setting(setting, config[setting.name])
    return config


def complete_config(config: Mapping[str, object], table: Table) -> dict[str, Any]:
    """Return all settings of a table: the given values, checked, and defaults for the rest.

    Texts are parsed as `parse_config` does; other values must have the right type. Raises
    SettingError for an unknown name or a bad value.

    >>> complete_config({"segment.bytes": "512"}, TOPIC_SETTINGS)["segment.bytes"]
    512
    """
    complete: dict[str, Any] = {name: setting.default for name, setting in table.items()}
    for given, value in config.items():
        setting = find_setting(given, table)
        complete[setting.name] = read_value(setting, value) if isinstance(value, str) else value
        check_setting(setting, complete[setting.name])
    return complete


def topic_settings(config: Mapping[str, int]) -> TopicSettings:
    """Return a topic's settings from dotted names and values; the rest keep their defaults.

    Raises SettingError for an unknown name or a value out of bounds.

    >>> topic_settings({"segment.bytes": 512}).changed()
    {'segment.bytes': 512}
    """
    for name in config:
        find_setting(name, TOPIC_SETTINGS)
    return TopicSettings(**{name.replace(".", "_"): value for name, value in config.items()})


def short_name(setting: ClientSetting, name: str) -> str:
    """Return kminilog's name for a class of Kafka; any other name as it is.

    Kafka's name may have its package or not.

    >>> from kminilog.producer_settings import PRODUCER_SETTINGS
    >>> partitioner = PRODUCER_SETTINGS["partitioner.class"]
    >>> short_name(partitioner, "org.apache.kafka.clients.producer.RoundRobinPartitioner")
    'round-robin'
    >>> short_name(partitioner, "RoundRobinPartitioner"), short_name(partitioner, "my_module.Mine")
    ('round-robin', 'my_module.Mine')
    """
    for path, short in setting.kafka_classes.items():
        if name in (path, path.rpartition(".")[2]):
            return short
    return name


def read_value(setting: Setting | ClientSetting, text: str) -> int | bool | str:
    """Return the value that a text means, unchecked; SettingError if it should be a number."""
    if isinstance(setting, ClientSetting) and isinstance(setting.default, str):
        return short_name(setting, text)
    if isinstance(setting.default, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    if setting.name == "acks" and text == "all":  # the one number that Kafka also takes as a word
        return -1
    if (setting.minimum, setting.maximum) == (0, 1) and text in ("true", "false"):
        return int(text == "true")
    try:
        return int(text)
    except ValueError:
        raise SettingError(setting.name, reason=f"{text!r} is not a whole number") from None


def check_setting(setting: Setting | ClientSetting, value: object) -> None:
    """Raise SettingError if a setting cannot have this value."""
    name = setting.name
    if isinstance(setting.default, bool):
        if not isinstance(value, bool):
            raise SettingError(name, reason=f"{value!r} is neither true nor false")
    elif isinstance(setting, ClientSetting) and isinstance(setting.default, str):
        if not isinstance(value, str):
            raise SettingError(name, reason=f"{value!r} is not a text")
        if setting.choices and value not in setting.choices:
            raise SettingError(name, reason=f"{value!r} is not {' or '.join(setting.choices)}")
    else:
        check_whole_number(name, value, setting.minimum, setting.maximum)
