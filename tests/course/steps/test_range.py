import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.consumer.assignor_registry import make_assignor
from kminilog.consumer.assignors.interface import Member
from kminilog.course.steps.range import ASSIGNORS, GAINED, OWNED, document
from kminilog.errors import InvalidTopicError
from tests.support.cli.command_line import CommandLine
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of

topic_counts = st.dictionaries(
    st.sampled_from(["t", "t10", "t2", "u"]), st.integers(1, 32), min_size=1
)
ids = st.lists(
    st.text(min_size=1, max_size=5) | st.sampled_from(["c2", "c10", "\ud800", "<b>"]),
    min_size=2,
    max_size=12,
    unique=True,
)


def owners_shown(state, topics):
    """Return (assignor, topic, partition) -> member, as the grids of a state have it."""
    return {
        (assignor, table.title, int(column)): member
        for table in state.tables
        if table.title in topics
        for assignor, member, *cells, _ in table.rows
        for column, cell in zip(table.columns[2:], cells, strict=False)
        if cell in (OWNED, GAINED)
    }


@given(topic_counts, ids)
def test_range_final_grids_are_what_the_assignors_answer(topics, everybody):
    *members, joining = everybody
    asking = [Member(id, tuple(topics)) for id in everybody]
    assert owners_shown(document(topics, members, joining).final, topics) == {
        (name, topic, partition): member
        for name in ASSIGNORS
        for member, owned in make_assignor(name).assign(topics, asking).items()
        for topic, partition in owned
    }


def test_range_of_the_documents_example_gives_the_first_member_one_more():
    runs = [step.state.values for step in document({"t": 10}, ("C0", "C1", "C2")).steps[3:6]]
    assert [(values["start"], values["count"]) for values in runs] == [(0, 4), (4, 3), (7, 3)]


def test_range_final_state_equals_assign_on_the_command_line(tmp_path):
    kminilog = CommandLine(tmp_path / "log-dir")
    topics = ["--topic", "orders=10", "--topic", "views=4"]
    three = ["--member", "C2", "--member", "C0", "--member", "C1"]
    final = document().final
    for name in ASSIGNORS:
        run = kminilog.ok("assign", *topics, *three, "--strategy", name, "--json")
        (tmp_path / "before").write_text(run.out)
        more = ["--member", "C3", "--previous", tmp_path / "before"]
        answer = kminilog.ok("assign", *topics, *three, *more, "--strategy", name, "--json")
        assert {
            (name, topic, number): member
            for member, given in answer.document["assignment"].items()
            for topic, number in given
        }.items() <= owners_shown(final, ("orders", "views")).items()
        assert final.values[name] == len(answer.document["moved"])


def test_range_asks_with_the_usual_mistakes():
    asked = {step.ask.question: step.ask for step in document().steps if step.ask}
    choices = {
        question: {choice.answer: choice.is_right for choice in ask.choices}
        for question, ask in asked.items()
    }
    assert list(choices.values()) == [
        {"C0": True, "C1": False, "C2": False},
        {"3, 3, 3": False, "3, 3, 4": False, "4, 3, 3": True, "4, 4, 2": False},
        {"4, 4, 6": False, "5, 5, 4": False, "6, 4, 4": True},
        {"2": True, "3": False, "4": False, "5": False},
        {"0": True, "1": False, "2": False, "3": False},
        {"C0": False, "C1": True, "C2": False},
        {"0": False, "3": False, "7": True, "14": False},
        {"0": False, "2": False, "7": True, "14": False},
        {"0": False, "3": False, "9": True, "14": False},
    ]


def test_range_with_one_member_has_nothing_to_ask_before_another_one_joins():
    steps = document({"t": 3}, ("a",), "b").steps
    assert not any(step.ask for step in steps[:5])
    assert any(step.ask for step in steps)


@pytest.mark.parametrize(
    ("topics", "members", "joining", "reason"),
    [
        ({}, ("a",), "b", "at least one"),
        ({"t": 1}, (), "b", "at least one"),
        ({"t": 33}, ("a",), "b", "t: .* 32 partitions"),
        ({"t": 0}, ("a",), "b", "t: .* 32 partitions"),
        ({"t": 1}, ("a", ""), "b", "empty"),
        ({"t": 1}, ("a", "b"), "b", "an id of its own"),
        ({"t": 1}, tuple("abcdefghijkl"), "m", "12 members"),
        ({f"t{n}": 1 for n in range(7)}, ("a",), "b", "6 topics"),
    ],
)
def test_range_refuses_what_no_grid_can_show(topics, members, joining, reason):
    with pytest.raises(ValueError, match=reason):
        document(topics, members, joining)


def test_range_refuses_a_topic_with_an_impossible_name():
    with pytest.raises(InvalidTopicError):
        document({"a/b": 1})


def test_range_shows_what_each_member_has_gained_and_lost():
    by_range = next(step for step in document().steps if step.say.startswith("C3 joins"))
    assert ["".join(map(str, row[1:-1])) for row in by_range.state.tables[0].rows] == [
        "■■■−······",
        "···+■■−···",
        "······+■−−",
        "········++",
    ]


def shares_by_hand(rule, topics, members):
    """Return member -> its (topic, number)s, by counting them out."""
    given = {member: [] for member in sorted(members)}
    ids, dealt = list(given), 0
    for topic in sorted(topics):
        left = topics[topic]
        numbers = iter(range(left))
        most = -(-left // len(ids))
        for place, member in enumerate(ids):
            if rule == "range":
                taken = -(-left // (len(ids) - place))
            else:
                taken = min(most, left)
            if rule != "roundrobin":
                given[member] += [(topic, next(numbers)) for _ in range(taken)]
                left -= taken
        if rule == "roundrobin":
            for number in numbers:
                given[ids[dealt % len(ids)]].append((topic, number))
                dealt += 1
    return given


@pytest.mark.parametrize("seed", range(60))
def test_range_says_what_is_counted_out_by_hand(seed):
    chance = random.Random(seed)
    topics = {f"t{n}": chance.choice((1, 2, 5, 6, 32)) for n in range(chance.randint(1, 4))}
    everybody = [f"m{n}" for n in range(chance.randint(2, 9))]
    chance.shuffle(everybody)
    *members, joining = everybody
    steps = document(topics, members, joining).steps
    for rule, step in zip(ASSIGNORS, steps[-4:-1], strict=True):
        old, new = (shares_by_hand(rule, topics, some) for some in (members, everybody))
        owner = {one: member for member, owned in old.items() for one in owned}
        moved = sum(owner[one] != member for member, owned in new.items() for one in owned)
        noun = "partition" if moved == 1 else "partitions"
        assert f". {moved} {noun} moved." in step.say
        if step.ask:
            why = next(choice.why for choice in step.ask.choices if choice.is_right)
            gained = len(new[joining])
            assert oracle.numbers(why.replace(joining, "it")) == [gained, moved - gained]
    runs = [step.say for step in steps if " starts at " in step.say]
    first = sorted(topics)[0]
    for said, owned in zip(runs, shares_by_hand("range", topics, members).values(), strict=True):
        mine = [number for topic, number in owned if topic == first]
        assert f"and takes {len(mine)}." in said
        assert not mine or f" = {mine[0]}, " in said
    words = list(words_of(document(topics, members, joining)))
    assert not any("before the last one takes M" in one or "no runs" in one for one in words)
    assert not any(re.search(r"(?<!\d)1 go ", one) or "But the runs" in one for one in words)
    oracle.assert_one_thing_is_one(words)
