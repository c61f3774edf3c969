import pytest

from kminilog.consumer.assignors.custom import CustomAssignor, check_answer
from kminilog.consumer.assignors.interface import Member
from kminilog.errors import PluginError, SettingError
from tests.support.consumer.assignors.groups import group, named, same, shown
from tests.support.errors import error_text

PATH = "my.Mine"


def answering(answer, **attributes):
    """Return a class whose `assign` answers this."""
    return type("Mine", (), {"assign": lambda self, partitions, members: answer, **attributes})


def assign(found, topics, members):
    return CustomAssignor(found, PATH).assign(topics, members)


def test_custom_answer_is_sorted_and_names_every_member():
    found = answering({"b": [("t", 1), ("t", 0)]})
    assert shown(assign(found, {"t": 2}, same("t", "a", "b"))) == {"a": "", "b": "t-0 t-1"}


def test_custom_class_is_asked_with_copies():
    class Greedy:
        def assign(self, partitions, members):
            first = members.pop(0)
            return {first.id: [("t", n) for n in range(partitions.pop("t"))]}

    topics, members = {"t": 2}, same("t", "a", "b")
    assert shown(assign(Greedy, topics, members)) == {"a": "t-0 t-1", "b": ""}
    assert (topics, members) == ({"t": 2}, same("t", "a", "b"))


WRONG = [
    (None, "answered None, which is no mapping"),
    ([("a", [("t", 0)])], "which is no mapping"),
    ({"x": [("t", 0)]}, "answered for 'x', who is no member"),
    ({"a": None}, "gave a None, which is no list"),
    ({"a": [("t",)]}, "gave ('t',), which is no (topic, partition)"),
    ({"a": ["t0"]}, "gave 't0', which is no (topic, partition)"),
    ({"a": [("t", "0")]}, "which is no (topic, partition)"),
    ({"a": [("t", True)]}, "which is no (topic, partition)"),
    ({"a": [("t", 0)]}, "gave t-1 to nobody"),
    ({}, "gave t-0 to nobody"),
    ({"a": [("t", 0), ("t", 1), ("t", 2)]}, "gave t-2; t has 2"),
    ({"a": [("t", 0), ("t", -1)]}, "gave t--1; t has 2"),
    ({"a": [("t", 0), ("t", 1)], "b": [("t", 1)]}, "gave t-1 twice: a and b"),
    ({"a": [("t", 0), ("t", 0), ("t", 1)]}, "gave t-0 twice: a and a"),
    ({"c": [("t", 0), ("t", 1)]}, "gave t-0 to c, who does not read t"),
    ({"c": [("unread", 0)]}, "gave unread-0 to c, who does not read unread"),
]


def test_custom_wrong_answer_is_told():
    members = group(a="t", b="t", c="u")
    offenders = []
    for answer, complaint in WRONG:
        said = error_text(PluginError, assign, answering(answer), {"t": 2, "unread": 1}, members)
        is_told = said.startswith("partition.assignment.strategy my.Mine: assign ")
        if not is_told or complaint not in said:
            offenders.append((answer, said))
    assert offenders == []


@pytest.mark.parametrize(("is_cooperative", "is_right"), [(True, True), (False, False)])
def test_custom_may_leave_out_owned_partitions_if_cooperative(is_cooperative, is_right):
    found = answering({"a": [("t", 0)]}, is_cooperative=is_cooperative)
    members = [Member("a", ("t",), owned=named("t-0", "t-1")), *same("t", "b")]
    assert CustomAssignor(found, PATH).is_cooperative == is_cooperative
    if is_right:
        assert shown(assign(found, {"t": 2}, members)) == {"a": "t-0", "b": ""}
    else:
        with pytest.raises(PluginError, match="t-1 to nobody"):
            assign(found, {"t": 2}, members)


def test_custom_cooperative_may_not_leave_out_what_nobody_owns():
    with pytest.raises(PluginError, match="t-0 to nobody"):
        assign(answering({}, is_cooperative=True), {"t": 1}, same("t", "a"))


class Raising:
    def assign(self, partitions, members):
        raise RuntimeError("no idea")


class RaisingOurs:
    def assign(self, partitions, members):
        raise SettingError("mine", reason="not set")


class Unmakeable:
    def __init__(self, needed):
        pass


class WithoutAssign:
    pass


@pytest.mark.parametrize(
    ("found", "error", "complaint"),
    [
        (Raising, PluginError, "assign raised RuntimeError: no idea"),
        (RaisingOurs, SettingError, "setting mine: not set"),
        (Unmakeable, PluginError, "Unmakeable raised TypeError"),
        (WithoutAssign, PluginError, "it has no method assign"),
    ],
)
def test_custom_class_that_fails_is_told(found, error, complaint):
    with pytest.raises(error, match=complaint):
        assign(found, {"t": 1}, same("t", "a"))


def test_check_answer_lets_nothing_pass_for_no_members():
    check_answer({}, {"t": 1}, [])
