"""Complete a configuration: given settings, and defaults for the rest. Source: Kafka: ConfigDef."""

from collections.abc import Mapping
from typing import Any

from kminilog.errors import SettingError
from kminilog.settings import Setting, Table, check_setting


def find_setting(name: str, table: Table) -> Setting:
    """Return the setting with this name, or with this older name.

    Raises SettingError for an unknown name; the error suggests similar names.

    >>> from kminilog.settings import TOPIC_SETTINGS
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


def complete_config(config: Mapping[str, object], table: Table) -> dict[str, Any]:
    """Return all settings of a table: the given values, checked, and defaults for the rest.

    Texts are parsed as `parse_config` does; other values must have the right type. Raises
    SettingError for an unknown name or a bad value.

    >>> from kminilog.settings import TOPIC_SETTINGS
    >>> complete_config({"segment.bytes": "512"}, TOPIC_SETTINGS)["segment.bytes"]
    512
    """
    complete: dict[str, Any] = {name: setting.default for name, setting in table.items()}
    for given, value in config.items():
        setting = find_setting(given, table)
        complete[setting.name] = read_value(setting, value) if isinstance(value, str) else value
        check_setting(setting, complete[setting.name])
    return complete


def short_name(setting: Setting, name: str) -> str:
    """Return the name here of one of Kafka's classes, with its package or without; others as given.

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
    if setting.name == "acks" and text == "all":
        return -1
    try:
        return int(text)
    except ValueError:
        raise SettingError(setting.name, reason=f"{text!r} is not a whole number") from None
