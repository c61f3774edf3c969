import pytest

from kminilog.consumer.assignor_registry import ASSIGNORS, make_assignor
from kminilog.consumer.assignors.cooperative import CooperativeSticky
from kminilog.consumer.assignors.custom import CustomAssignor
from kminilog.consumer.assignors.multiple import Multiple
from kminilog.consumer.assignors.range import Range
from kminilog.consumer.assignors.round_robin import RoundRobin
from kminilog.consumer.assignors.sticky import Sticky
from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.errors import PluginError, SettingError
from tests.support.consumer.assignors.groups import same, shown

CLASSES = {
    "range": Range,
    "multiple": Multiple,
    "roundrobin": RoundRobin,
    "sticky": Sticky,
    "cooperative-sticky": CooperativeSticky,
}


class Everything:
    """Gives everything to the first one."""

    def assign(self, partitions, members):
        every = [(topic, n) for topic, count in partitions.items() for n in range(count)]
        return {members[0].id: every}


def test_assignors_have_the_names_of_the_command_line_contract():
    assert list(ASSIGNORS) == list(CLASSES)
    assert CONSUMER_SETTINGS["partition.assignment.strategy"].default == "range"


@pytest.mark.parametrize("name", ASSIGNORS)
def test_name_gives_its_class(name):
    assert type(make_assignor(name)) is CLASSES[name]


def test_name_of_a_class_of_kafka_gives_its_assignor():
    assert type(make_assignor("org.apache.kafka.clients.consumer.RoundRobinAssignor")) is RoundRobin
    assert type(make_assignor("StickyAssignor")) is Sticky


@pytest.mark.parametrize("separator", [".", ":"])
def test_path_gives_a_users_class(separator):
    found = make_assignor(f"{__name__}{separator}Everything")
    assert isinstance(found, CustomAssignor)
    assert shown(found.assign({"t": 2}, same("t", "a", "b"))) == {"a": "t-0 t-1", "b": ""}


def test_unknown_name_lists_those_that_there_are():
    with pytest.raises(SettingError) as caught:
        make_assignor("round-robin")
    assert str(caught.value) == (
        "setting partition.assignment.strategy: no assignor 'round-robin'; there is: "
        "range, multiple, roundrobin, sticky, cooperative-sticky, or package.module.Class"
    )


@pytest.mark.parametrize("path", ["no_such_module.Mine", "kminilog.errors.Missing", "json.dumps"])
def test_path_to_nothing_of_use_is_told(path):
    with pytest.raises(PluginError, match=r"partition\.assignment\.strategy"):
        make_assignor(path)
