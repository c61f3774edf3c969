"""Make rows of a settings table: a switch (true or false), or a text."""

from collections.abc import Mapping

from kminilog.settings import Setting


def switch(name: str, default: bool, meaning: str) -> Setting:
    """Return the row of a setting that is true or false."""
    return Setting(name, default, 0, 1, meaning)


def text(
    name: str,
    default: str,
    meaning: str,
    choices: tuple[str, ...] = (),
    *,
    older_name: str = "",
    kafka_classes: Mapping[str, str] | None = None,
) -> Setting:
    """Return the row of a setting that is a text: one of `choices`, if there are any."""
    return Setting(name, default, 0, 0, meaning, choices, older_name, kafka_classes or {})
