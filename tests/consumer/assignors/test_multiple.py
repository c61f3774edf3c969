import pytest

from kminilog.consumer.assignors.interface import Member
from kminilog.consumer.assignors.multiple import Multiple
from tests.support.consumer.assignors.groups import group, same, shown


def test_multiple_of_the_documents_example_gives_two_each():
    assert shown(Multiple().assign({"P": 4}, same("P", "C0", "C1"))) == {
        "C0": "P-0 P-1",
        "C1": "P-2 P-3",
    }


@pytest.mark.parametrize(
    ("partitions", "members", "counts"),
    [
        (10, 4, [3, 3, 3, 1]),
        (4, 3, [2, 2, 0]),
        (10, 3, [4, 4, 2]),
        (2, 4, [1, 1, 0, 0]),
        (5, 1, [5]),
    ],
)
def test_multiple_gives_m_to_each_as_long_as_there_are_any(partitions, members, counts):
    given = Multiple().assign({"t": partitions}, same("t", *[f"c{i}" for i in range(members)]))
    assert [len(found) for found in given.values()] == counts
    assert [number for found in given.values() for _, number in found] == list(range(partitions))


def test_multiple_goes_by_member_ids_whether_members_are_static_or_not():
    emoji, private = chr(0x1F600), chr(0xE000)  # by code points the other way round
    static_ids = {"a": None, "b": "z", "c": "y", emoji: None, private: "x"}
    members = [Member(id, ("t",), static_id) for id, static_id in static_ids.items()]
    given = Multiple().assign({"t": 5}, members[::-1])
    assert [shown(given)[id] for id in static_ids] == ["t-0", "t-1", "t-2", "t-3", "t-4"]


@pytest.mark.parametrize(
    ("topics", "members", "expected"),
    [
        ({"t": 3}, [], {}),
        ({"t": 3}, group(a="missing"), {"a": ""}),
        (
            {"t0": 3, "t1": 3},
            group(a="t0", b="t0 t1", c="t1"),
            {"a": "t0-0 t0-1", "b": "t0-2 t1-0 t1-1", "c": "t1-2"},
        ),
    ],
    ids=["nobody", "nothing", "mixed"],
)
def test_multiple_works_topic_by_topic(topics, members, expected):
    assert shown(Multiple().assign(topics, members)) == expected
