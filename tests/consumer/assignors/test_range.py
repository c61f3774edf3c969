import pytest

from kminilog.consumer.assignors.interface import Member
from kminilog.consumer.assignors.range import Range, runs
from tests.support.consumer.assignors.groups import group, same, shown


def test_runs_of_the_documents_example_are_theirs():
    assert runs(10, 3) == [(0, 4), (4, 3), (7, 3)]


@pytest.mark.parametrize(
    ("partitions", "members", "counts"),
    [
        (10, 4, [3, 3, 2, 2]),
        (4, 3, [2, 1, 1]),
        (4, 2, [2, 2]),
        (3, 1, [3]),
        (2, 4, [1, 1, 0, 0]),
        (0, 2, [0, 0]),
    ],
)
def test_runs_give_the_first_ones_one_more(partitions, members, counts):
    found = runs(partitions, members)
    assert [count for _, count in found] == counts
    assert [start for start, _ in found] == [sum(counts[:i]) for i in range(members)]


def test_range_of_the_documents_example_gives_0_to_3_4_to_6_and_7_to_9():
    given = Range().assign({"t": 10}, same("t", "c2", "c0", "c1"))
    assert {id: [number for _, number in found] for id, found in given.items()} == {
        "c0": [0, 1, 2, 3],
        "c1": [4, 5, 6],
        "c2": [7, 8, 9],
    }


@pytest.mark.parametrize(
    ("topics", "members", "expected"),
    [
        ({"t": 3}, [], {}),
        ({"t": 3}, group(a="missing", b=""), {"a": "", "b": ""}),
        ({"t": 2}, same("t", "c10", "c2", "c1"), {"c1": "t-0", "c10": "t-1", "c2": ""}),
        (
            {"t0": 1, "t1": 1, "t2": 1},
            same("t0 t1 t2", "a", "b"),
            {"a": "t0-0 t1-0 t2-0", "b": ""},
        ),
        (
            {"t0": 2, "t1": 2},
            group(a="t0", b="t0 t1 missing", c="t1"),
            {"a": "t0-0", "b": "t0-1 t1-0", "c": "t1-1"},
        ),
        (
            {"t": 3},
            [Member("a", ("t",)), Member("b", ("t",), "z"), Member("c", ("t",), "y")],
            {"c": "t-0", "b": "t-1", "a": "t-2"},
        ),
    ],
    ids=["nobody", "nothing", "surplus", "extras pile up", "mixed", "static first"],
)
def test_range_works_topic_by_topic(topics, members, expected):
    assert shown(Range().assign(topics, members)) == expected
