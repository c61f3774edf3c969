"""Settings: those given, and the others by default. Source: Kafka: ConfigDef."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from kminilog.errors import SettingError
from kminilog.settings import Setting, Table, check_setting


def find_setting(name: str, table: Table) -> Setting:
    """Return the setting of that name, or formerly of that name.

    Raises SettingError that lists the names of the table that are near.

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
    near = sorted(get_close_matches(name, table, n=3, cutoff=0.6))
    advice = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(table))}"
    raise SettingError(name, reason=f"unknown; {advice}")


def complete_config(config: Mapping[str, object], table: Table) -> dict[str, Any]:
    """Return all settings of a table: those given, checked, and the defaults of the others.

    Values given as text are read as `parse_config` does; others must have the right type. Raises
    SettingError.

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


def read_value(setting: Setting, text: str) -> int | bool | str:
    """Return the value that a text gives a setting, unchecked; SettingError if it is no number."""
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
