from functools import partial

import pytest

from kminilog.errors import SettingError
from kminilog.settings import (
    OLDER_NAMES,
    SETTINGS,
    TopicSettings,
    check_setting,
    complete_config,
    find_setting,
    parse_config,
)

NUMBERS = [setting for setting in SETTINGS.values() if type(setting.default) is int]


@pytest.mark.parametrize("setting", NUMBERS, ids=lambda setting: setting.name)
def test_setting_takes_its_bounds_and_nothing_beyond(setting):
    for value in (setting.minimum, setting.default, setting.maximum):
        check_setting(setting.name, value)
    for value in (setting.minimum - 1, setting.maximum + 1, "1", 1.0, True):
        with pytest.raises(SettingError, match=setting.name):
            check_setting(setting.name, value)


def test_topic_settings_have_every_setting_of_their_scope_with_its_default():
    in_scope = {s.name: s.default for s in SETTINGS.values() if s.scope == "topic"}
    assert TopicSettings().to_config() == in_scope


def test_topic_settings_to_config_and_back_are_the_same():
    settings = TopicSettings(segment_bytes=512, retention_ms=-1)
    assert TopicSettings.from_config(settings.changed()) == settings
    assert settings.changed() == {"segment.bytes": 512, "retention.ms": -1}


def test_parse_config_takes_the_last_value_of_a_name():
    assert parse_config(["segment.bytes=20", "segment.bytes=30"], scope="topic") == {
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
        parse_config([text], scope="topic")


def test_find_setting_looks_in_its_scope_only():
    assert find_setting("batch.size", scope="producer").default == 16_384
    with pytest.raises(SettingError):
        find_setting("segment.bytes", scope="producer")


def test_switch_is_true_or_false_and_nothing_else():
    parse = partial(parse_config, scope="producer")
    assert parse(["partitioner.ignore.keys=TRUE"]) == {"partitioner.ignore.keys": True}
    assert parse(["partitioner.ignore.keys=false"]) == {"partitioner.ignore.keys": False}
    for text in ("1", "yes", ""):
        with pytest.raises(SettingError, match="neither true nor false"):
            parse([f"partitioner.ignore.keys={text}"])
    with pytest.raises(SettingError, match="neither true nor false"):
        check_setting("partitioner.ignore.keys", 1)


def test_text_is_one_of_its_choices_if_it_has_some():
    check_setting("default-0.8.abs", "abs")
    check_setting("partitioner.class", "my.own.Class")
    with pytest.raises(SettingError, match="'hash' is not mask or abs"):
        check_setting("default-0.8.abs", "hash")
    with pytest.raises(SettingError, match="not a text"):
        check_setting("partitioner.class", 5)


@pytest.mark.parametrize(("older", "name"), OLDER_NAMES.items())
def test_older_name_of_a_setting_means_the_same(older, name):
    assert parse_config([f"{older}=1"], scope="producer") == {name: type(SETTINGS[name].default)(1)}


def test_complete_config_has_every_setting_of_its_scope():
    complete = complete_config({"acks": "all", "linger.ms": 5, "retries": "0"}, scope="producer")
    assert complete["acks"] == -1
    assert (complete["linger.ms"], complete["retries"], complete["batch.size"]) == (5, 0, 16_384)
    assert set(complete) == {s.name for s in SETTINGS.values() if s.scope == "producer"}
    with pytest.raises(SettingError, match=r"did you mean linger\.ms"):
        complete_config({"linger": 5}, scope="producer")
    with pytest.raises(SettingError, match="not a whole number"):
        complete_config({"linger.ms": 5.0}, scope="producer")
