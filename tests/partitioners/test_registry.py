import re
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from kminilog.clock import ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.columns.partitioning import Places, chooser
from kminilog.errors import PluginError, SettingError
from kminilog.partitioners.built_in import BuiltIn
from kminilog.partitioners.default_0_8 import Default08
from kminilog.partitioners.default_0_9 import Default09
from kminilog.partitioners.default_2_4 import Default24
from kminilog.partitioners.keyed_rules import KEYED_RULES, keyed_rule
from kminilog.partitioners.random_choice import RandomChoice
from kminilog.partitioners.registry import PARTITIONERS, is_path, make_partitioner
from kminilog.partitioners.round_robin import RoundRobin
from kminilog.partitioners.sticky import StickyCache, UniformSticky
from kminilog.producer_settings import PRODUCER_SETTINGS
from kminilog.storage.partition.notices import KMiniLogWarning

CLASSES = {
    "default-0.8": Default08,
    "default-0.9": Default09,
    "default-2.4": Default24,
    "built-in": BuiltIn,
    "round-robin": RoundRobin,
    "uniform-sticky": UniformSticky,
    "sticky-cache": StickyCache,
    "random": RandomChoice,
}


def make(name, **config):
    dotted = {key.replace("__", "-").replace("_", "."): value for key, value in config.items()}
    return make_partitioner(name, dotted, chance=Random(0), clock=ManualClock())


def test_suite_has_the_names_of_the_command_line_contract():
    assert list(PARTITIONERS) == list(CLASSES)
    assert PRODUCER_SETTINGS["partitioner.class"].default in PARTITIONERS
    assert set(KEYED_RULES) <= set(PARTITIONERS)


@pytest.mark.parametrize("name", PARTITIONERS)
def test_name_gives_its_class_configured_and_new_each_time(name):
    one, other = make(name), make(name)
    assert type(one) is CLASSES[name]
    assert one is not other
    cluster = ClusterMetadata.of_one_topic("orders", range(3))
    for key in ("k", None):
        assert 0 <= one.partition("orders", key, key and b"k", None, b"", cluster) < 3


def test_settings_reach_the_partitioner_as_text_or_as_values():
    cluster = ClusterMetadata.of_one_topic("orders", range(3))
    for value in ("abs", "mask"):
        chosen = make("default-0.8", default__0_8_abs=value)
        assert chosen.partition("orders", "order4", b"", None, b"", cluster) == (
            0 if value == "abs" else 2
        )
    for value in (True, "true"):
        assert make("built-in", partitioner_ignore_keys=value)._ignores_keys


@pytest.mark.parametrize(
    "name", ["nope", "default-2.5", "Default-2.4", "", "my-module.Class", "a."]
)
def test_unknown_name_is_an_error_that_lists_the_names(name):
    with pytest.raises(SettingError) as caught:
        make(name)
    assert f"no partitioner {name!r}" in str(caught.value)
    assert all(known in str(caught.value) for known in PARTITIONERS)


def test_path_that_leads_nowhere_is_an_error_that_names_it():
    with pytest.raises(PluginError, match=r"no_such_module\.Mine: cannot import no_such_module"):
        make("no_such_module.Mine")


def test_wrong_setting_is_an_error():
    with pytest.raises(SettingError, match=r"batch\.sizes: unknown"):
        make("random", batch_sizes=1)
    with pytest.raises(SettingError, match="neither true nor false"):
        make("round-robin", round__robin_double__call__bug="perhaps")


READERS = {
    "send.switch.broker.enable": ("default-0.8", True),
    "default-0.8.abs": ("default-0.8", "abs"),
    "topic.metadata.refresh.interval.ms": ("default-0.8", 1),
    "round-robin.double-call-bug": ("round-robin", True),
    "partitioner.ignore.keys": ("built-in", True),
    "partitioner.adaptive.partitioning.enable": ("built-in", False),
    "partitioner.availability.timeout.ms": ("built-in", 5),
}


@pytest.mark.parametrize("setting", READERS)
def test_setting_of_another_partitioner_is_told_to_have_no_effect(setting):
    reader, value = READERS[setting]
    options = {"chance": Random(0), "clock": ManualClock()}
    make_partitioner(reader, {setting: value}, **options)
    for name in PARTITIONERS:
        make_partitioner(name, {setting: PRODUCER_SETTINGS[setting].default}, **options)
        if name != reader:
            told = f"setting {setting} has no effect: {name} ignores it; it is for {reader}"
            with pytest.warns(KMiniLogWarning, match=f"^{re.escape(told)}$"):
                make_partitioner(name, {setting: value}, **options)


def test_class_of_a_user_may_read_any_setting():
    for path in ("AlwaysTwo", "CorrectedExample"):
        make(f"kminilog.partitioners.examples.{path}", send_switch_broker_enable=True)


def test_name_of_a_class_of_kafka_gives_the_partitioner_of_the_suite():
    assert type(make("org.apache.kafka.clients.producer.RoundRobinPartitioner")) is RoundRobin
    assert type(make("UniformStickyPartitioner")) is UniformSticky
    rule = keyed_rule("org.apache.kafka.clients.producer.internals.DefaultPartitioner")
    assert rule is KEYED_RULES["default-2.4"]
    choose = chooser("kafka.producer.DefaultPartitioner", 3)
    places = Places(*(np.zeros(1, np.int64) for _ in range(3)))
    assert choose(pa.array([b"order4"]), places).tolist() == [2]


def test_names_of_the_suite_are_no_paths():
    assert not [name for name in PARTITIONERS if is_path(name)]


@pytest.mark.parametrize("path", ["a.B", "a.b.C", "a.b:C", "a:B"])
def test_paths_are_paths(path):
    assert is_path(path)
