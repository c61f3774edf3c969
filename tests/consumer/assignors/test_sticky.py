import pytest

from kminilog.consumer.assignors.interface import Member
from kminilog.consumer.assignors.sticky import Sticky
from tests.support.consumer.assignors.groups import after, group, moved, named, same, shown, without


def owner(id, topics, owned, generation=1):
    return Member(id, tuple(topics.split()), owned=named(*owned.split()), generation=generation)


@pytest.mark.parametrize(
    ("topics", "members", "expected"),
    [
        ({"t": 3}, [], {}),
        ({"t": 3}, group(a="missing", b=""), {"a": "", "b": ""}),
        ({"t": 1}, same("t", "a", "b"), {"a": "t-0", "b": ""}),
        ({"t": 5}, same("t", "a", "b"), {"a": "t-0 t-2 t-4", "b": "t-1 t-3"}),
        ({"t0": 2, "t1": 1}, group(a="t0", b="t0 t1"), {"a": "t0-0 t0-1", "b": "t1-0"}),
        ({"t0": 1, "t1": 4}, group(a="t0", b="t0 t1"), {"a": "t0-0", "b": "t1-0 t1-1 t1-2 t1-3"}),
    ],
    ids=["nobody", "nothing", "surplus", "as round robin", "scarce first", "as even as it gets"],
)
def test_sticky_without_claims_is_as_even_as_it_can_be(topics, members, expected):
    assert shown(Sticky().assign(topics, members)) == expected


def test_sticky_example_of_the_docstring_holds():
    members = [
        owner("a", "t", "t-0 t-1 t-2 t-3"),
        owner("b", "t", "t-4 t-5 t-6"),
        *same("t", "c"),
    ]
    given = Sticky().assign({"t": 7}, members)
    assert shown(given) == {"a": "t-0 t-1 t-2", "b": "t-4 t-5", "c": "t-3 t-6"}
    assert moved(members, given) == set(named("t-3", "t-6"))


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (
            [owner("a", "t", "t-3 t-0"), owner("b", "t", "t-2 t-1")],
            {"a": "t-0 t-3", "b": "t-1 t-2"},
        ),
        (
            [owner("a", "t", "t-0 t-1", 4), owner("b", "t", "t-0", 5)],
            {"a": "t-1 t-2", "b": "t-0 t-3"},
        ),
        (
            [owner("a", "t", "t-2", 4), owner("b", "t", "", 5)],
            {"a": "t-0 t-2", "b": "t-1 t-3"},
        ),
        (
            [owner("a", "t", "t-3"), owner("b", "t", "t-3 t-0")],
            {"a": "t-1 t-2", "b": "t-0 t-3"},
        ),
        (
            [owner("a", "t", "t-4 gone-0 missing-0"), owner("b", "t", "t-0 t-0")],
            {"a": "t-1 t-2", "b": "t-0 t-3"},
        ),
        (
            [owner("a", "t", "t-0", -1), owner("b", "t", "t-1 t-2", -1)],
            {"a": "t-0 t-3", "b": "t-1 t-2"},
        ),
    ],
    ids=[
        "kept as they are",
        "older generation against a newer one",
        "older generation of what nobody else claims",
        "two claim the same",
        "gone partition, said twice",
        "no generation at all",
    ],
)
def test_sticky_keeps_only_valid_claims(members, expected):
    # What nobody keeps goes in order to the one with the fewest, to a if both have as many.
    assert shown(Sticky().assign({"t": 4}, members)) == expected


def test_sticky_with_ids_above_ffff_takes_them_in_javas_order():
    first, last = chr(0x1F600), chr(0xE000)  # by code points the other way round
    assert shown(Sticky().assign({"t": 1}, same("t", last, first))) == {first: "t-0", last: ""}
    # Both have as many, and both could give one to the new member: the last one does.
    members = [owner(first, "t", "t-0 t-1"), owner(last, "t", "t-2 t-3"), *same("t", "c")]
    given = Sticky().assign({"t": 4}, members)
    assert shown(given) == {first: "t-0 t-1", last: "t-2", "c": "t-3"}


def test_sticky_topic_no_longer_subscribed_is_given_up():
    members = [owner("a", "t1", "t0-0 t1-0"), owner("b", "t0 t1", "t1-1")]
    given = Sticky().assign({"t0": 1, "t1": 2}, members)
    assert shown(given) == {"a": "t1-0", "b": "t0-0 t1-1"}


def test_sticky_new_partitions_go_to_the_fewest_and_nothing_moves():
    members = after(same("t", "a", "b"), Sticky().assign({"t": 3}, same("t", "a", "b")))
    given = Sticky().assign({"t": 6}, members)
    assert shown(given) == {"a": "t-0 t-2 t-4", "b": "t-1 t-3 t-5"}
    assert moved(members, given) == set()


def test_sticky_who_owned_more_than_its_share_keeps_the_extra():
    members = [owner("a", "t", "t-0"), owner("z", "t", "t-1 t-2 t-3 t-4")]
    given = Sticky().assign({"t": 5}, members)
    assert shown(given) == {"a": "t-0 t-4", "z": "t-1 t-2 t-3"}


def test_sticky_with_different_subscriptions_evens_out_what_was_owned():
    members = [
        owner("a", "t0", ""),
        owner("b", "t0 t1", "t0-0 t0-1 t0-2 t0-3"),
        owner("c", "t1", "t1-0"),
    ]
    given = Sticky().assign({"t0": 4, "t1": 1}, members)
    assert shown(given) == {"a": "t0-2 t0-3", "b": "t0-0 t0-1", "c": "t1-0"}


def test_sticky_with_different_subscriptions_moves_what_was_free_first():
    # a has got t0-2, t2-0: d, with nothing, is to have one of t0, and t0-2 was nobody's before.
    members = [
        owner("a", "t0 t1 t2", ""),
        owner("b", "t0 t1 t2", "t0-0 t0-1"),
        owner("c", "t1 t2", ""),
        owner("d", "t0", ""),
    ]
    given = Sticky().assign({"t0": 3, "t1": 1, "t2": 1}, members)
    assert shown(given) == {"a": "t2-0", "b": "t0-0 t0-1", "c": "t1-0", "d": "t0-2"}
    assert moved(members, given) == set()


def test_sticky_who_owned_too_much_keeps_low_numbers_of_every_topic():
    members = [owner("a", "t0 t1", "t0-0 t0-1 t1-0 t1-1"), owner("b", "t0 t1", "")]
    given = Sticky().assign({"t0": 2, "t1": 2}, members)
    assert shown(given) == {"a": "t0-0 t1-0", "b": "t0-1 t1-1"}


def test_sticky_who_gives_gives_first_what_it_did_not_own():
    # a gets t-0 and t-2, b gets t-1. Then c takes u-0 of b, and b takes one of a: t-2, not t-4.
    members = [
        owner("a", "t", "t-3 t-4"),
        owner("b", "t u w", "u-0 w-0"),
        owner("c", "u", ""),
    ]
    given = Sticky().assign({"t": 5, "u": 1, "w": 1}, members)
    assert shown(given) == {"a": "t-0 t-3 t-4", "b": "t-1 t-2 w-0", "c": "u-0"}
    assert moved(members, given) == set(named("u-0"))


def test_sticky_with_different_subscriptions_the_fullest_gives_first():
    # If b took t0-0 of a, which has two more, too, then a would have to take one of c.
    members = [
        owner("a", "t0 t1 t2", "t0-0 t1-0"),
        owner("b", "t0", ""),
        owner("c", "t0 t1 t2", "t0-1 t1-1 t2-0"),
    ]
    given = Sticky().assign({"t0": 2, "t1": 2, "t2": 1}, members)
    assert shown(given) == {"a": "t0-0 t1-0", "b": "t0-1", "c": "t1-1 t2-0"}
    assert moved(members, given) == set(named("t0-1"))


def test_sticky_member_that_leaves_has_its_partitions_shared_out():
    topics = {"t": 9}
    members = same("t", "a", "b", "c")
    left = without(after(members, Sticky().assign(topics, members)), "b")
    given = Sticky().assign(topics, left)
    assert sorted(map(len, given.values())) == [4, 5]
    assert moved(left, given) == set()
