"""docs/settings.md, made of the tables: `python -m tests.support.docs.settings_page`."""

from pathlib import Path

from kminilog.config import ClientSetting, Table
from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.producer_settings import PRODUCER_SETTINGS
from kminilog.settings import INT32_MAX, INT64_MAX, TOPIC_SETTINGS, Setting
from kminilog.wire.broker import BROKER_SETTINGS

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"
_HEAD = """# Settings

All settings, with their defaults. This page is made of the tables in the code, and a test compares
the two. The names are Kafka's, if Kafka has the setting. On the command line a setting is given as
`--config name=value`; an unknown name is an error that lists the near ones.
"""
_OF_TOPICS = """
## Settings of a topic

`topic create` and `topic alter` take them, and `ingest`, if it creates the topic. `topic describe`
shows them. In Python they are the fields of `TopicSettings`, with `_` for `.`.
[The format](format.md) explains segments, the index and [retention](format.md#how-old-segments-go).
"""
_OF_PRODUCERS = """
## Settings of a producer

`produce` and `partition` take them; in Python, `Producer`. [The producer](producer.md) explains
them. If a meaning begins with the name of a [partitioner](partitioners.md), only that partitioner
reads the setting; others ignore it, and one line says so.
"""
_OF_CONSUMERS = """
## Settings of a consumer

`consume` takes them; in Python, `Consumer` and `open_streams`. [The consumer](consumer.md) and
[Groups](groups.md) explain them.
"""
_OF_BROKERS = """
## Settings of a broker

`serve` takes them. [Kafka's clients](serve.md) explains it.
"""
_LARGE = {INT32_MAX: "2³¹ − 1", INT64_MAX: "2⁶³ − 1"}


def page() -> str:
    """Return the page that the tables give."""
    return "".join(
        (
            *(_HEAD, _OF_TOPICS, _table(TOPIC_SETTINGS)),
            *(_OF_PRODUCERS, _table(PRODUCER_SETTINGS)),
            *(_OF_CONSUMERS, _table(CONSUMER_SETTINGS)),
            *(_OF_BROKERS, _table(BROKER_SETTINGS)),
        )
    )


def _table(settings: Table) -> str:
    rows = [
        f"| `{one.name}` | {_default(one)} | {_values(one)} | {_meaning(one)} |"
        for one in settings.values()
    ]
    return "\n".join(
        ("", "| setting | default | values | meaning |", "|---|---|---|---|", *rows, "")
    )


def _number(value: int) -> str:
    return _LARGE.get(value, str(value).replace("-", "−"))


def _default(setting: Setting | ClientSetting) -> str:
    if isinstance(setting.default, bool):
        return f"`{str(setting.default).lower()}`"
    if isinstance(setting.default, str):
        return f"`{setting.default}`" if setting.default else "empty"
    return _number(setting.default)


def _values(setting: Setting | ClientSetting) -> str:
    if isinstance(setting.default, bool):
        return "`true`, `false`"
    if isinstance(setting.default, str):
        return ", ".join(f"`{choice}`" for choice in setting.choices) or "a text"
    return f"{_number(setting.minimum)} to {_number(setting.maximum)}"


def _meaning(setting: Setting | ClientSetting) -> str:
    if isinstance(setting, Setting):
        return setting.meaning
    older = f"; older name `{setting.older_name}`" if setting.older_name else ""
    reader = f"`{setting.reader}`: " if setting.reader else ""
    return f"{reader}{setting.meaning}{older}"


if __name__ == "__main__":
    PAGE.write_text(page())
