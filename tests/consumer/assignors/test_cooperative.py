import pytest

from kminilog.consumer.assignors.cooperative import CooperativeSticky
from kminilog.consumer.assignors.interface import Member
from kminilog.consumer.assignors.sticky import Sticky
from tests.support.consumer.assignors.groups import (
    after,
    named,
    owned_by,
    run_rounds,
    same,
    shown,
    without,
)

T4 = {"t": 4}


def test_cooperative_says_that_it_is_and_sticky_does_not():
    assert (CooperativeSticky().is_cooperative, Sticky().is_cooperative) == (True, False)


def test_cooperative_without_claims_is_sticky():
    members = same("t", "a", "b", "c")
    assert CooperativeSticky().assign(T4, members) == Sticky().assign(T4, members)


def test_cooperative_join_leaves_out_what_another_still_owns_then_gives_it():
    members = [*after(same("t", "a"), {"a": list(named("t-0", "t-1", "t-2", "t-3"))})]
    members += same("t", "b")
    first = CooperativeSticky().assign(T4, members)
    assert shown(first) == {"a": "t-0 t-1", "b": ""}
    second = CooperativeSticky().assign(T4, after(members, first, generation=2))
    assert shown(second) == {"a": "t-0 t-1", "b": "t-2 t-3"}
    assert second == Sticky().assign(T4, members)


def test_cooperative_leave_needs_one_round():
    members = same("t", "a", "b")
    left = without(after(members, Sticky().assign(T4, members)), "a")
    assert shown(CooperativeSticky().assign(T4, left)) == {"b": "t-0 t-1 t-2 t-3"}


@pytest.mark.parametrize(
    ("a", "b", "first", "second"),
    [
        (
            Member("a", ("t",), owned=named("t-0", "t-1"), generation=5),
            Member("b", ("t",), owned=named("t-0", "t-2"), generation=5),
            {"a": "t-1", "b": "t-2 t-3"},
            {"a": "t-0 t-1", "b": "t-2 t-3"},
        ),
        (
            Member("a", ("t",), owned=named("t-3"), generation=4),
            Member("b", ("t",), owned=named("t-2"), generation=5),
            {"a": "t-0 t-1", "b": "t-2"},
            {"a": "t-0 t-1", "b": "t-2 t-3"},
        ),
        (
            Member("a", ("t",), owned=named("t-2"), generation=4),
            Member("b", ("t",), owned=named("t-2"), generation=5),
            {"a": "t-0 t-1", "b": "t-2 t-3"},
            {"a": "t-0 t-1", "b": "t-2 t-3"},
        ),
    ],
    ids=["two claim the same", "an old claim may still be read", "an old claim takes nothing away"],
)
def test_cooperative_disputed_partition_waits_until_it_is_given_up(a, b, first, second):
    found = CooperativeSticky().assign(T4, [a, b])
    assert shown(found) == first
    assert shown(CooperativeSticky().assign(T4, after([a, b], found, generation=6))) == second


def test_cooperative_two_rounds_end_with_one_owner_of_each_partition():
    members = [
        Member("a", ("t",), owned=named("t-0", "t-1", "t-2", "t-3"), generation=3),
        *same("t", "b", "c"),
    ]
    end = run_rounds(CooperativeSticky(), T4, members, rounds=2)
    assert sorted(p for owned in owned_by(end).values() for p in owned) == list(
        named("t-0", "t-1", "t-2", "t-3")
    )
    assert sorted(len(member.owned) for member in end) == [1, 1, 2]
