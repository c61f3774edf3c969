from itertools import pairwise
from random import Random

import pytest

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.errors import UnknownTopicOrPartitionError
from kminilog.partitioners.dry_run import OpenBatches
from kminilog.partitioners.interface import Partitioner
from kminilog.partitioners.placement import Placement
from kminilog.partitioners.sticky import UniformSticky

CLUSTER = ClusterMetadata.of_one_topic("orders", range(3))


class Scripted(Partitioner):
    """Gives these answers in turn, and notes what it hears."""

    def __init__(self, *answers, is_asked_again=True):
        self.answers = list(answers)
        self.is_asked_again = is_asked_again
        self.heard = []

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        self.heard.append((topic, key, key_bytes, value, value_bytes))
        return self.answers.pop(0)

    def on_new_batch(self, topic, cluster, previous_partition):
        self.heard.append((topic, previous_partition))


def place(partitioner, with_room=(), topic="orders"):
    asked = []

    def has_room(topic, partition, size_bytes):
        asked.append((topic, partition, size_bytes))
        return partition in with_room

    placement = Placement(partitioner, has_room)
    return placement.place(topic, "k", b"k", "v", b"v", CLUSTER, 30), asked


RECORD = ("orders", "k", b"k", "v", b"v")


def test_place_with_room_in_the_open_batch_asks_once():
    partitioner = Scripted(1)
    assert place(partitioner, with_room=[1]) == (1, [("orders", 1, 30)])
    assert partitioner.heard == [RECORD]


def test_place_without_room_tells_of_the_new_batch_and_asks_again():
    partitioner = Scripted(1, 2)
    assert place(partitioner)[0] == 2
    assert partitioner.heard == [RECORD, ("orders", 1), RECORD]


def test_place_by_one_that_is_asked_once_holds_whatever_room_there_is():
    partitioner = Scripted(1, is_asked_again=False)
    assert place(partitioner)[0] == 1
    assert partitioner.heard == [RECORD]


@pytest.mark.parametrize("answers", [(3,), (1, 3)])
def test_place_out_of_range_is_an_error_the_first_and_the_second_time(answers):
    with pytest.raises(UnknownTopicOrPartitionError, match=r"id: 3 .* \[0, 2\]"):
        place(Scripted(*answers))


def test_place_in_an_unknown_topic_does_not_ask():
    with pytest.raises(UnknownTopicOrPartitionError, match="Topic bills doesn't exist"):
        place(Scripted(), topic="bills")


def test_sticky_placement_fills_batch_after_batch():
    batches = OpenBatches(batch_size_bytes=60)
    placement = Placement(UniformSticky(Random(0)), batches.has_room)
    chosen = []
    for _ in range(400):
        chosen.append(placement.place("orders", None, None, None, b"", CLUSTER, 30))
        batches.append("orders", chosen[-1], 30)
    pairs = list(zip(chosen[::2], chosen[1::2], strict=True))
    assert all(one == two for one, two in pairs)
    assert all(one != two for (one, _), (two, _) in pairwise(pairs))
    assert {one for one, _ in pairs} == {0, 1, 2}


# ---- open batches


def test_open_batch_takes_an_exact_fit_and_no_byte_more():
    batches = OpenBatches(100)
    assert not batches.has_room("orders", 0, 1)
    assert not batches.append("orders", 0, 70)
    assert batches.has_room("orders", 0, 30)
    assert not batches.has_room("orders", 1, 1)
    assert not batches.has_room("bills", 0, 1)
    assert batches.append("orders", 0, 30)


def test_open_batch_is_closed_by_who_hears_that_it_has_no_room():
    batches = OpenBatches(100)
    batches.append("orders", 0, 70)
    assert not batches.has_room("orders", 0, 31)
    assert not batches.has_room("orders", 0, 1)
    assert not batches.append("orders", 0, 70)


def test_record_that_does_not_fit_begins_a_batch():
    batches = OpenBatches(100)
    batches.append("orders", 0, 70)
    assert not batches.append("orders", 0, 50)
    assert batches.has_room("orders", 0, 50)
    assert not batches.has_room("orders", 0, 51)


def test_record_above_the_batch_size_has_a_batch_of_its_own():
    batches = OpenBatches(100)
    assert batches.append("orders", 0, 500)
    assert not batches.has_room("orders", 0, 1)


def test_batch_size_of_0_makes_batches_of_one_record():
    batches = OpenBatches(0)
    assert batches.append("orders", 0, 26)
    assert not batches.has_room("orders", 0, 26)
