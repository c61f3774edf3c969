import pytest

from kminilog.consumer.assignors.interface import Member
from kminilog.consumer.assignors.round_robin import RoundRobin
from tests.support.consumer.assignors.groups import group, same, shown


@pytest.mark.parametrize(
    ("topics", "members", "expected"),
    [
        ({"t": 3}, [], {}),
        ({"t": 3}, group(a="missing", b=""), {"a": "", "b": ""}),
        ({"t": 1}, same("t", "a", "b"), {"a": "t-0", "b": ""}),
        (
            {"t1": 1, "t0": 2},
            same("t0 t1", "b", "a"),
            {"a": "t0-0 t1-0", "b": "t0-1"},
        ),
        (
            {"t0": 3, "t1": 3},
            group(a="t0", b="t1", c="t0 t1"),
            {"a": "t0-0 t0-2", "b": "t1-0 t1-2", "c": "t0-1 t1-1"},
        ),
        (
            {"t": 3},
            [Member("a", ("t",)), Member("b", ("t",), "z"), Member("c", ("t",), "y")],
            {"c": "t-0", "b": "t-1", "a": "t-2"},
        ),
    ],
    ids=["nobody", "nothing", "surplus", "topics in turn", "mixed", "static first"],
)
def test_round_robin_deals_partitions_in_turn(topics, members, expected):
    assert shown(RoundRobin().assign(topics, members)) == expected


def test_round_robin_passed_over_member_has_lost_its_turn():
    # After a got t0-0, it is b's turn, who does not read t0: c gets t0-1, and a the next one.
    given = RoundRobin().assign({"t0": 3, "t1": 1}, group(a="t0 t1", b="t1", c="t0 t1"))
    assert shown(given) == {"a": "t0-0 t0-2", "b": "t1-0", "c": "t0-1"}
