import pytest

from kminilog.errors import SettingError
from kminilog.settings import SETTINGS, TopicSettings, check_setting, find_setting, parse_config


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=lambda setting: setting.name)
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
