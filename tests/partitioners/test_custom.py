import re
from random import Random
from typing import ClassVar

import pytest

from kminilog.clock import ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.errors import (
    LeaderNotAvailableError,
    PluginError,
    UnknownTopicOrPartitionError,
)
from kminilog.partitioners.custom import CustomPartitioner, has_old_interface
from kminilog.partitioners.interface import Partitioner, ask_partitioner
from kminilog.partitioners.registry import make_partitioner

CLUSTER = ClusterMetadata.of_one_topic("orders", range(3))


class OldOne:
    def __init__(self, properties):
        self.properties = properties

    def partition(self, key, number_of_partitions):
        return self.properties["batch.size"] % number_of_partitions


class NewOne:
    """All methods of the interface, and a note of every call."""

    is_asked_again = False
    calls: ClassVar = []

    def configure(self, config):
        self.calls.append(("configure", config["batch.size"]))

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        self.calls.append(("partition", topic, key, key_bytes, value, value_bytes))
        return 1

    def on_new_batch(self, topic, cluster, previous_partition):
        self.calls.append(("on_new_batch", previous_partition))

    def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
        self.calls.append(("on_appended", partition, size_bytes, has_key, is_batch_full))

    def on_queues(self, topic, queue_sizes, cluster, *, stalled=()):
        self.calls.append(("on_queues", queue_sizes, stalled))

    def on_metadata_refresh(self):
        self.calls.append(("on_metadata_refresh",))

    def close(self):
        self.calls.append(("close",))


class OnlyPartition:
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        return 2


class TakesAnything:
    def partition(self, *arguments):
        return len(arguments) - 6


class StaticOld:
    def __init__(self, properties):
        pass

    @staticmethod
    def partition(key, number_of_partitions):
        return 0


class ClassNew:
    @classmethod
    def partition(cls, topic, key, key_bytes, value, value_bytes, cluster):
        return 0


class OursExtended(Partitioner):
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        return 0


class ThreeArguments:
    def partition(self, topic, key, cluster):
        return 0


class NoMethod:
    partition = 3


class Empty:
    pass


class CannotBeMade:
    def __init__(self, chance, clock):
        pass

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        return 0


class OldThatRaises:
    def __init__(self, properties):
        raise OSError("no such file")

    def partition(self, key, number_of_partitions):
        return 0


class Raises:
    """Raises in the method that is named by `where`."""

    where = "partition"

    def _raise_in(self, where):
        if self.where == where:
            raise KeyError(where)

    def configure(self, config):
        self._raise_in("configure")

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        self._raise_in("partition")
        return 0

    def on_new_batch(self, topic, cluster, previous_partition):
        self._raise_in("on_new_batch")

    def close(self):
        self._raise_in("close")


class RaisesOurs:
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        raise LeaderNotAvailableError(topic)


class Answers:
    answer = None

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        return self.answer


class OldAnswers:
    answer = None

    def __init__(self, properties):
        pass

    def partition(self, key, number_of_partitions):
        return self.answer


def made(found, **config):
    path = f"{__name__}.{found.__name__}"
    return make_partitioner(path, config, chance=Random(0), clock=ManualClock())


def ask(partitioner, key="k"):
    return ask_partitioner(partitioner, "orders", key, b"k", "v", b"v", CLUSTER)


@pytest.mark.parametrize(
    ("found", "is_old"),
    [
        (OldOne, True),
        (StaticOld, True),
        (NewOne, False),
        (OnlyPartition, False),
        (TakesAnything, False),
        (ClassNew, False),
        (OursExtended, False),
    ],
)
def test_interface_is_told_by_the_signature(found, is_old):
    assert has_old_interface(found, "p") == is_old
    assert 0 <= ask(made(found)) < 3


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (ThreeArguments, "partition takes neither (key, number_of_partitions) nor (topic, key,"),
        (NoMethod, "it has no method partition"),
        (Empty, "it has no method partition"),
        (CannotBeMade, "CannotBeMade raised TypeError"),
        (OldThatRaises, "OldThatRaises raised OSError: no such file"),
    ],
)
def test_class_that_cannot_be_used_is_named_with_the_reason(found, reason):
    with pytest.raises(PluginError) as caught:
        made(found)
    assert caught.value.setting == "partitioner.class"
    assert caught.value.path == f"{__name__}.{found.__name__}"
    assert reason in str(caught.value)


def test_old_interface_is_made_with_the_settings_and_never_sees_a_null_key():
    partitioner = made(OldOne, **{"batch.size": 8})
    assert ask(partitioner) == 2
    assert not partitioner.is_asked_again
    partitioner._key_partitioner = None  # nobody to ask
    assert ask(partitioner, key=None) in (0, 1, 2)


def test_new_interface_hears_of_everything(monkeypatch):
    monkeypatch.setattr(NewOne, "calls", [])
    partitioner = made(NewOne, **{"batch.size": 8})
    assert not partitioner.is_asked_again
    assert ask(partitioner) == 1
    partitioner.on_new_batch("orders", CLUSTER, 1)
    partitioner.on_appended("orders", 1, 30, has_key=False, is_batch_full=True, cluster=CLUSTER)
    partitioner.on_queues("orders", {1: 2}, CLUSTER, stalled=[1])
    partitioner.on_metadata_refresh()
    partitioner.close()
    assert NewOne.calls == [
        ("configure", 8),
        ("partition", "orders", "k", b"k", "v", b"v"),
        ("on_new_batch", 1),
        ("on_appended", 1, 30, False, True),
        ("on_queues", {1: 2}, [1]),
        ("on_metadata_refresh",),
        ("close",),
    ]


def test_new_interface_needs_no_method_but_partition():
    partitioner = made(OnlyPartition)
    assert partitioner.is_asked_again
    assert ask(partitioner) == 2
    partitioner.on_new_batch("orders", CLUSTER, 1)
    partitioner.on_appended("orders", 1, 30, has_key=False, is_batch_full=True, cluster=CLUSTER)
    partitioner.on_queues("orders", {}, CLUSTER)
    partitioner.on_metadata_refresh()
    partitioner.close()


@pytest.mark.parametrize("where", ["configure", "partition", "on_new_batch", "close"])
def test_exception_of_the_users_code_becomes_an_error_that_names_the_class(monkeypatch, where):
    monkeypatch.setattr(Raises, "where", where)
    reason = rf"test_custom\.Raises: {where} raised KeyError: '{where}'; nothing was done"
    partitioner = CustomPartitioner(Raises, f"{__name__}.Raises")
    calls = {
        "configure": lambda: partitioner.configure({}),
        "partition": lambda: ask(partitioner),
        "on_new_batch": lambda: partitioner.on_new_batch("orders", CLUSTER, 1),
        "close": partitioner.close,
    }
    with pytest.raises(PluginError, match=reason) as caught:
        calls.pop(where)()
    for call in calls.values():
        call()
    assert isinstance(caught.value.__cause__, KeyError)


def test_error_of_ours_that_the_users_code_raises_stays_what_it_is():
    with pytest.raises(LeaderNotAvailableError):
        ask(made(RaisesOurs))


@pytest.mark.parametrize("found", [Answers, OldAnswers])
@pytest.mark.parametrize("answer", [None, True, 1.0, "1", b"1"])
def test_answer_that_is_no_whole_number_is_an_error(monkeypatch, found, answer):
    monkeypatch.setattr(found, "answer", answer)
    reason = re.escape(f"{found.__name__}: partition answered {answer!r}, which is no whole number")
    with pytest.raises(PluginError, match=reason):
        ask(made(found))


@pytest.mark.parametrize("found", [Answers, OldAnswers])
@pytest.mark.parametrize("answer", [-1, 3, 2**40])
def test_answer_out_of_range_names_the_range(monkeypatch, found, answer):
    monkeypatch.setattr(found, "answer", answer)
    with pytest.raises(UnknownTopicOrPartitionError, match=rf"id: {answer} .* \[0, 2\]"):
        ask(made(found))
