"""Read settings: from `name=value` texts, and a topic's from its settings file. Source: ours."""

from collections.abc import Iterable, Mapping
from typing import Any

from kminilog.config import find_setting, read_value
from kminilog.errors import SettingError
from kminilog.settings import TOPIC_SETTINGS, Table, TopicSettings, check_setting


def topic_settings(config: Mapping[str, int]) -> TopicSettings:
    """Return a topic's settings from dotted names and values; the rest keep their defaults.

    Raises SettingError for an unknown name or a value out of bounds.

    >>> topic_settings({"segment.bytes": 512}).changed()
    {'segment.bytes': 512}
    """
    for name in config:
        find_setting(name, TOPIC_SETTINGS)
    return TopicSettings(**{name.replace(".", "_"): value for name, value in config.items()})


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
