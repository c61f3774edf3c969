import pytest

from kminilog.consumer.assignors.interface import Assignor, Member, in_order, members_by_topic


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([], []),
        ([Member("c2", ()), Member("c10", ()), Member("c1", ())], ["c1", "c10", "c2"]),
        ([Member("a", ()), Member("b", (), "z"), Member("c", (), "y")], ["c", "b", "a"]),
        ([Member("b", (), "i"), Member("a", (), "i")], ["a", "b"]),
        ([Member("b", ()), Member("a", (), "")], ["a", "b"]),
    ],
    ids=["nobody", "as texts", "static first", "one static id", "empty static id"],
)
def test_in_order_puts_static_members_first_then_sorts_ids_as_texts(members, expected):
    assert [member.id for member in in_order(members)] == expected
    assert [member.id for member in in_order(reversed(members))] == expected


def test_in_order_sorts_ids_by_utf_16_units_as_java_does():
    # Units: 0063, D83D DE00, D83E (a lone surrogate), E000, FF21. By code points the emoji is last.
    expected = ["c", chr(0x1F600), chr(0xD83E), chr(0xE000), chr(0xFF21)]
    by_id = [Member(id, ()) for id in expected]
    by_static_id = [Member(str(9 - i), (), id) for i, id in enumerate(expected)]
    assert [member.id for member in in_order(reversed(by_id))] == expected
    assert [member.instance_id for member in in_order(reversed(by_static_id))] == expected


def test_members_by_topic_leaves_out_what_is_missing_or_unread():
    members = [Member("b", ("t2", "missing")), Member("a", ("t2", "t10"))]
    found = members_by_topic({"unread": 1, "t2": 1, "t10": 1}, members)
    assert {topic: [m.id for m in there] for topic, there in found.items()} == {
        "t10": ["a"],
        "t2": ["a", "b"],
    }
    assert list(found) == ["t10", "t2"]


def test_assignor_without_assign_says_so():
    with pytest.raises(NotImplementedError):
        Assignor().assign({}, [])
