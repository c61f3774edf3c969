from functools import partial

import pytest

from kminilog.config import (
    check_setting,
    complete_config,
    find_setting,
    parse_config,
    read_value,
    topic_settings,
)
from kminilog.consumer.assignor_registry import ASSIGNORS
from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.errors import SettingError
from kminilog.partitioners.registry import PARTITIONERS
from kminilog.producer_settings import PRODUCER_SETTINGS
from kminilog.settings import TOPIC_SETTINGS, TopicSettings

TABLES = (TOPIC_SETTINGS, PRODUCER_SETTINGS, CONSUMER_SETTINGS)
SETTINGS = [setting for table in TABLES for setting in table.values()]
OF_CLIENTS = [*PRODUCER_SETTINGS.values(), *CONSUMER_SETTINGS.values()]
CLASSES = [(s, path, here) for s in OF_CLIENTS for path, here in s.kafka_classes.items()]
NUMBERS = [setting for setting in SETTINGS if type(setting.default) is int]
RENAMED = [setting for setting in OF_CLIENTS if setting.older_name]


def test_setting_takes_its_bounds_and_nothing_beyond():
    for setting in NUMBERS:
        for value in (setting.minimum, setting.default, setting.maximum):
            check_setting(setting, value)
        for value in (setting.minimum - 1, setting.maximum + 1, "1", 1.0, True):
            with pytest.raises(SettingError, match=setting.name):
                check_setting(setting, value)


def test_setting_takes_the_name_of_a_class_of_kafka():
    known = {"partitioner.class": PARTITIONERS, "partition.assignment.strategy": ASSIGNORS}
    for setting, path, here in CLASSES:
        table = next(table for table in TABLES if setting.name in table)
        assert parse_config([f"{setting.name}={path}"], table) == {setting.name: here}
        assert complete_config({setting.name: path}, table)[setting.name] == here
        assert read_value(setting, f"{path}.Other") == f"{path}.Other"
        assert here in known.get(setting.name, ("bytes", "string", "integer"))


def test_setting_takes_the_name_of_a_class_without_its_package():
    strategy = CONSUMER_SETTINGS["partition.assignment.strategy"]
    assert read_value(strategy, "RangeAssignor") == "range"
    partitioner = PRODUCER_SETTINGS["partitioner.class"]
    assert read_value(partitioner, "DefaultPartitioner") == "default-2.4"
    assert read_value(partitioner, "kafka.producer.DefaultPartitioner") == "default-0.8"


def test_topic_settings_have_every_setting_of_their_table_with_its_default():
    defaults = {name: setting.default for name, setting in TOPIC_SETTINGS.items()}
    assert TopicSettings().to_config() == defaults


def test_topic_settings_to_config_and_back_are_the_same():
    settings = TopicSettings(segment_bytes=512, retention_ms=-1)
    assert topic_settings(settings.changed()) == settings
    assert settings.changed() == {"segment.bytes": 512, "retention.ms": -1}


def test_parse_config_takes_the_last_value_of_a_name():
    assert parse_config(["segment.bytes=20", "segment.bytes=30"], TOPIC_SETTINGS) == {
        "segment.bytes": 30
    }


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("segment.bytes", "name=value"),
        ("segment.bytes=many", "not a whole number"),
        ("segment.bytes=1", "outside of 14 to"),
        ("segment.byte=100", "did you mean segment.bytes"),
        ("qqq=100", "known: "),
        ("batch.size=100", "unknown"),
    ],
)
def test_parse_config_of_a_bad_text_says_what_and_why(text, advice):
    with pytest.raises(SettingError, match=advice):
        parse_config([text], TOPIC_SETTINGS)


def test_find_setting_looks_in_its_table_only():
    assert find_setting("batch.size", PRODUCER_SETTINGS).default == 16_384
    with pytest.raises(SettingError):
        find_setting("segment.bytes", PRODUCER_SETTINGS)


def test_switch_is_true_or_false_and_nothing_else():
    parse = partial(parse_config, table=PRODUCER_SETTINGS)
    assert parse(["partitioner.ignore.keys=TRUE"]) == {"partitioner.ignore.keys": True}
    assert parse(["partitioner.ignore.keys=false"]) == {"partitioner.ignore.keys": False}
    for text in ("1", "yes", ""):
        with pytest.raises(SettingError, match="neither true nor false"):
            parse([f"partitioner.ignore.keys={text}"])
    with pytest.raises(SettingError, match="neither true nor false"):
        check_setting(PRODUCER_SETTINGS["partitioner.ignore.keys"], 1)


def test_text_is_one_of_its_choices_if_it_has_some():
    check_setting(PRODUCER_SETTINGS["default-0.8.abs"], "abs")
    check_setting(PRODUCER_SETTINGS["partitioner.class"], "my.own.Class")
    with pytest.raises(SettingError, match="'hash' is not mask or abs"):
        check_setting(PRODUCER_SETTINGS["default-0.8.abs"], "hash")
    with pytest.raises(SettingError, match="not a text"):
        check_setting(PRODUCER_SETTINGS["partitioner.class"], 5)


def test_older_name_of_a_setting_means_the_same():
    for setting in RENAMED:
        (table,) = (each for each in TABLES if setting.name in each)
        parsed = parse_config([f"{setting.older_name}=1"], table)
        assert parsed == {setting.name: type(setting.default)(1)}


def test_every_older_name_is_known():
    assert {setting.older_name: setting.name for setting in RENAMED} == {
        "consumer.id": "client.id",
        "key.serializer.class": "key.serializer",
        "metadata.broker.list": "bootstrap.servers",
        "request.required.acks": "acks",
        "message.send.max.retries": "retries",
    }


def test_complete_config_has_every_setting_of_its_table():
    complete = complete_config({"acks": "all", "linger.ms": 5, "retries": "0"}, PRODUCER_SETTINGS)
    assert complete["acks"] == -1
    assert (complete["linger.ms"], complete["retries"], complete["batch.size"]) == (5, 0, 16_384)
    assert complete.keys() == PRODUCER_SETTINGS.keys()
    with pytest.raises(SettingError, match=r"did you mean linger\.ms"):
        complete_config({"linger": 5}, PRODUCER_SETTINGS)
    with pytest.raises(SettingError, match="not a whole number"):
        complete_config({"linger.ms": 5.0}, PRODUCER_SETTINGS)
