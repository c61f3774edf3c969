"""Read settings from texts and from a topic's file, and complete them by defaults.

Source: Kafka: ConfigDef.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kminilog.errors import SettingError
from kminilog.settings import TOPIC_SETTINGS, Setting, Table, TopicSettings, check_setting


def find_setting(name: str, table: Table) -> Setting:
    """Return the setting with this name, or with this older name.

    Raises SettingError for an unknown name; the error suggests similar names.

    >>> find_setting("retention.hours", TOPIC_SETTINGS)
    Traceback (most recent call last):
    ...
    kminilog.errors.SettingError: setting retention.hours: unknown; did you mean \
retention.bytes or retention.ms?
    """
    for setting in table.values():
        if name in (setting.name, setting.older_name):
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


def short_name(setting: Setting, name: str) -> str:
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


def read_value(setting: Setting, text: str) -> int | bool | str:
    """Return the value that a text means, unchecked; SettingError if it should be a number."""
    if isinstance(setting.default, str):
        return short_name(setting, text)
    if isinstance(setting.default, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    if setting.name == "acks" and text == "all":  # the one number that Kafka also takes as a word
        return -1
    try:
        return int(text)
    except ValueError:
        raise SettingError(setting.name, reason=f"{text!r} is not a whole number") from None
