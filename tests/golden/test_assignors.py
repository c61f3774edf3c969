"""Assignments that Kafka's javadoc and the documents print; PROVENANCE.md says where."""

import pytest

from kminilog.consumer.assignors.interface import Assignment, Member, partitions_of
from kminilog.consumer.assignors.multiple import Multiple
from kminilog.consumer.assignors.range import Range
from kminilog.consumer.assignors.round_robin import RoundRobin
from kminilog.consumer.assignors.sticky import Sticky
from kminilog.format.names import TopicPartition

BOTH = ("t0", "t1")
UNEQUAL = {"t0": 1, "t1": 2, "t2": 3}


def members(topics: tuple[str, ...], *ids: str) -> list[Member]:
    return [Member(id, topics) for id in ids]


def static(**instance_ids: str) -> list[Member]:
    return [Member(id, BOTH, instance_id) for id, instance_id in instance_ids.items()]


def unequal(*ids: str) -> list[Member]:
    read = {"C0": ("t0",), "C1": ("t0", "t1"), "C2": ("t0", "t1", "t2")}
    return [Member(id, read[id]) for id in ids]


def as_printed(**printed: str) -> Assignment:
    """Return an assignment from the javadoc's way to write it: `C0="t0p0 t0p1"`."""
    return {
        member: sorted(
            TopicPartition(topic, int(number))
            for topic, number in (name.split("p") for name in names.split())
        )
        for member, names in printed.items()
    }


def test_range_of_the_document_3():
    given = Range().assign({"t": 10}, members(("t",), "C0-0", "C0-1", "C1-0"))
    numbers = [[number for _, number in found] for found in given.values()]
    assert numbers == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_multiple_of_the_document_1():
    given = Multiple().assign({"T": 4}, members(("T",), "C0", "C1"))
    assert given == {"C0": partitions_of("T", 4)[:2], "C1": partitions_of("T", 4)[2:]}


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (members(BOTH, "C0", "C1"), as_printed(C0="t0p0 t0p1 t1p0 t1p1", C1="t0p2 t1p2")),
        (members(BOTH, "C3", "C2"), as_printed(C2="t0p0 t0p1 t1p0 t1p1", C3="t0p2 t1p2")),
        (static(C0="I0", C1="I1"), as_printed(C0="t0p0 t0p1 t1p0 t1p1", C1="t0p2 t1p2")),
        (static(C3="I0", C2="I1"), as_printed(C3="t0p0 t0p1 t1p0 t1p1", C2="t0p2 t1p2")),
    ],
    ids=["example", "after a bounce", "static", "static, after a bounce"],
)
def test_range_of_the_javadoc(group: list[Member], expected: Assignment):
    assert Range().assign({"t0": 3, "t1": 3}, group) == expected


@pytest.mark.parametrize(
    ("topics", "group", "expected"),
    [
        (
            {"t0": 3, "t1": 3},
            members(BOTH, "C0", "C1"),
            as_printed(C0="t0p0 t0p2 t1p1", C1="t0p1 t1p0 t1p2"),
        ),
        (
            UNEQUAL,
            unequal("C0", "C1", "C2"),
            as_printed(C0="t0p0", C1="t1p0", C2="t1p1 t2p0 t2p1 t2p2"),
        ),
        (
            {"t0": 3, "t1": 3},
            members(BOTH, "C0", "C1", "C2"),
            as_printed(C0="t0p0 t1p0", C1="t0p1 t1p1", C2="t0p2 t1p2"),
        ),
        (
            {"t0": 3, "t1": 3},
            members(BOTH, "C5", "C3", "C4"),
            as_printed(C3="t0p0 t1p0", C4="t0p1 t1p1", C5="t0p2 t1p2"),
        ),
        (
            {"t0": 3, "t1": 3},
            static(C5="I0", C3="I1", C4="I2"),
            as_printed(C5="t0p0 t1p0", C3="t0p1 t1p1", C4="t0p2 t1p2"),
        ),
    ],
    ids=["two", "unequal", "three", "three after a bounce", "three static after a bounce"],
)
def test_round_robin_of_the_javadoc(
    topics: dict[str, int], group: list[Member], expected: Assignment
):
    assert RoundRobin().assign(topics, group) == expected


@pytest.mark.parametrize(
    ("topics", "group", "before", "gone", "after", "after_round_robin"),
    [
        (
            {"t0": 2, "t1": 2, "t2": 2, "t3": 2},
            members(("t0", "t1", "t2", "t3"), "C0", "C1", "C2"),
            as_printed(C0="t0p0 t1p1 t3p0", C1="t0p1 t2p0 t3p1", C2="t1p0 t2p1"),
            "C1",
            as_printed(C0="t0p0 t1p1 t3p0 t2p0", C2="t1p0 t2p1 t0p1 t3p1"),
            as_printed(C0="t0p0 t1p0 t2p0 t3p0", C2="t0p1 t1p1 t2p1 t3p1"),
        ),
        (
            UNEQUAL,
            unequal("C0", "C1", "C2"),
            as_printed(C0="t0p0", C1="t1p0 t1p1", C2="t2p0 t2p1 t2p2"),
            "C0",
            as_printed(C1="t1p0 t1p1 t0p0", C2="t2p0 t2p1 t2p2"),
            as_printed(C1="t0p0 t1p1", C2="t1p0 t2p0 t2p1 t2p2"),
        ),
    ],
    ids=["example 1", "example 2"],
)
def test_sticky_of_the_javadoc(
    topics: dict[str, int],
    group: list[Member],
    before: Assignment,
    gone: str,
    after: Assignment,
    after_round_robin: Assignment,
):
    assert Sticky().assign(topics, group) == before
    left = [
        member._replace(owned=tuple(before[member.id]), generation=1)
        for member in group
        if member.id != gone
    ]
    assert Sticky().assign(topics, left) == after
    assert RoundRobin().assign(topics, left) == after_round_robin
