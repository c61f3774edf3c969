import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.explain.rebalance import MOST_STEPS, NOBODY, document
from kminilog.explain.replays.rebalance import (
    HANGS,
    JOINS,
    LEAVES,
    WAKES,
    Event,
    OtherGroup,
    RebalancePlan,
    replay_rebalance,
)
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of

pytestmark = pytest.mark.usefixtures("without_fsync")
STRATEGIES = ("range", "multiple", "roundrobin", "sticky", "cooperative-sticky")
NEXT = {None: [JOINS], JOINS: [LEAVES, HANGS], LEAVES: [JOINS], HANGS: [WAKES], WAKES: [LEAVES]}


@st.composite
def plans(draw):
    """Up to twelve events, some in the same second, each possible after its member's last one."""
    last: dict[str, str | None] = dict.fromkeys("ABC")
    events, second = [], 0
    for member in draw(st.lists(st.sampled_from("ABC"), min_size=1, max_size=12)):
        last[member] = draw(st.sampled_from(NEXT[last[member]]))
        events.append(Event(second, member, last[member]))
        second += draw(st.integers(0, 12))
    seconds = second + draw(st.integers(1, 12))
    return RebalancePlan(tuple(events), seconds=seconds, partitions=draw(st.integers(1, 4)))


def replay(plan, strategy):
    with tempfile.TemporaryDirectory() as path:
        chance = Random(0)
        return list(replay_rebalance(Path(path), strategy=strategy, chance=chance, plan=plan))


@given(plans(), st.sampled_from(STRATEGIES))
@settings(max_examples=30)
def test_rebalance_final_state_is_the_last_second_of_the_replay(plan, strategy):
    seconds = replay(plan, strategy)
    made, last = document(seconds, strategy=strategy, plan=plan), seconds[-1]
    values, table = made.final.values, made.final.tables[0]
    assert (values["second"], values["state"]) == (last.second, last.state)
    assert values["generation"] == last.generation
    assert values["members"] == (", ".join(sorted(last.members)) or None)
    assert values["idle"] == (", ".join(last.idle) or None)
    assert values["read twice in all"] == sum(second.read_again for second in seconds)
    assert [row[:4] for row in table.rows] == [
        (
            f"orders-{number}",
            reader or NOBODY,
            last.read_to_by_partition[number],
            last.committed_by_partition[number],
        )
        for number, reader in last.reader_by_partition.items()
    ]
    assert len(made.steps) <= MOST_STEPS
    assert all(step.say for step in made.steps)


def test_rebalance_steps_are_the_seconds_that_change_something():
    plan = RebalancePlan()
    seconds = replay(plan, "range")
    steps = document(seconds, strategy="range", plan=plan).steps
    assert [step.state.values["second"] for step in steps] == (
        [0, 4, 6, 7, 9, 10, 12, 13, 14, 15, 16, 17, 20, 27, 28, 29, 32, 33, 37]
    )


def asked(strategy):
    plan = RebalancePlan()
    steps = document(replay(plan, strategy), strategy=strategy, plan=plan).steps
    return {
        step.state.values["second"]: {c.answer: c.is_right for c in step.ask.choices}
        for step in steps
        if step.ask
    }


def test_rebalance_asks_with_the_usual_mistakes():
    questions = asked("range")
    assert [right for choices in questions.values() for right in choices if choices[right]] == [
        "all of its partitions",
        "14",
        "27",
        "8",
        "it refuses the commit",
    ]
    assert list(questions[14]) == ["14", "17", "24", "27"]
    assert list(questions[27]) == ["20", "23", "27", "30"]
    assert list(questions[29]) == ["0", "8", "24", "32"]


def test_rebalance_of_a_cooperative_strategy_gives_up_what_moves():
    assert asked("cooperative-sticky")[7]["only the partitions that another member gets"] is True


def test_rebalance_a_member_that_wakes_up_in_time_may_commit():
    plan = RebalancePlan(
        (Event(0, "A", JOINS), Event(3, "A", HANGS), Event(6, "A", WAKES)), seconds=10
    )
    steps = document(replay(plan, "range"), strategy="range", plan=plan).steps
    (woken,) = [step for step in steps if step.ask]
    assert [c.answer for c in woken.ask.choices if c.is_right] == ["it accepts the commit"]
    assert "The group accepts it." in woken.say


def test_rebalance_asks_of_no_member_that_the_group_did_not_know():
    before = (Event(0, "A", JOINS), Event(1, "C", JOINS), Event(8, "A", HANGS))
    plan = RebalancePlan((*before, Event(30, "A", LEAVES), Event(30, "B", JOINS)), seconds=34)
    steps = document(replay(plan, "range"), strategy="range", plan=plan).steps
    (leaves,) = [step for step in steps if step.state.values["second"] == 30]
    assert "A rebalance begins." in leaves.say  # because B joins: A was removed before
    assert leaves.ask is None


def test_rebalance_uncommitted_messages_are_those_that_are_read_again():
    plan = RebalancePlan()
    steps = document(replay(plan, "range"), strategy="range", plan=plan).steps
    hangs, again = (s.state for s in steps if s.state.values["second"] in (20, 29))
    at_risk = [row[4] for row in hangs.tables[0].rows if row[1] == NOBODY]
    assert sum(at_risk) == again.tables[1].rows[-1][-1] == 8


def test_rebalance_with_too_many_changes_ends_with_the_last_second():
    events = [Event(second, "A", (JOINS, LEAVES)[second % 2]) for second in range(60)]
    plan = RebalancePlan(tuple(events), seconds=60)
    made = document(replay(plan, "range"), strategy="range", plan=plan)
    assert len(made.steps) == MOST_STEPS
    assert "(21 changes before this step are left out.)" in made.steps[-1].say
    assert made.final.values["second"] == 59


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("partitions", range(1, 10))
def test_rebalance_says_what_is_counted_in_the_seconds(strategy, partitions):
    plan = RebalancePlan(partitions=partitions)
    seconds = replay(plan, strategy)
    made = document(seconds, strategy=strategy, plan=plan)
    by_second = {second.second: second for second in seconds}
    again = sum(second.read_again for second in seconds)
    assert oracle.numbers(made.steps[-1].say)[0] == again
    for step in made.steps[:-1]:
        now = by_second[step.state.values["second"]]
        assert ("read a second time" in step.say) == (now.read_again > 0)
        if step.ask and "a second time" in step.ask.question:
            before = by_second[now.second - 1].reader_by_partition
            begun = [n for n, r in now.reader_by_partition.items() if r and r != before[n]]
            assert oracle.numbers(step.ask.question) == begun
            assert "stopped without a commit" not in step.ask.question
    oracle.assert_one_thing_is_one(words_of(made))


def test_rebalance_other_group_is_the_step_before_the_last():
    plan = RebalancePlan()
    seconds = replay(plan, "range")
    other = OtherGroup("X", dict.fromkeys(range(4), 38), dict.fromkeys(range(4), 36), True)
    made = document(seconds, strategy="range", plan=plan, other=other)
    without = document(seconds, strategy="range", plan=plan)
    assert (*made.steps[:-2], made.steps[-1]) == without.steps
    step = made.steps[-2]
    assert step.state.tables[0].rows == tuple((f"orders-{n}", 38, 38) for n in range(4))
    assert {choice.answer for choice in step.ask.choices} == {"38", "0", "2", "19"}
    assert "reads 152 messages" in step.say
