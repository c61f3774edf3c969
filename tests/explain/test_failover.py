import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.cli.step.command import scene_command
from kminilog.explain.failover import document
from kminilog.explain.replays.failover import (
    DEFAULT_PLAN,
    PARTITIONS,
    FailoverPlan,
    replay_failover,
)
from tests.support.cli.command_line import CommandLine
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of

pytestmark = pytest.mark.usefixtures("without_fsync")
PLANS = st.integers(0, 3).flatmap(
    lambda dies: st.integers(dies + 1, dies + 3).flatmap(
        lambda returns: st.builds(
            FailoverPlan,
            st.just(dies),
            st.just(returns),
            st.integers(dies + 1, 7),
            st.integers(1, 4),
        )
    )
)


def replayed(is_switch_on, is_stopping=False, seed=0, plan=DEFAULT_PLAN):
    with tempfile.TemporaryDirectory() as path:
        chance = Random(seed)
        replay = replay_failover(
            Path(path), is_switch_on=is_switch_on, is_stopping=is_stopping, chance=chance, plan=plan
        )
        return list(replay)


def asked(found):
    return [step.ask for step in found.steps if step.ask]


def right(ask):
    return next(choice.answer for choice in ask.choices if choice.is_right)


@settings(max_examples=25)
@given(st.booleans(), st.booleans(), st.integers(0, 2**16), PLANS)
def test_failover_final_state_is_the_sum_of_the_replay(is_switch_on, is_stopping, seed, plan):
    seconds = replayed(is_switch_on, is_stopping, seed, plan)
    found = document(seconds, is_switch_on=is_switch_on, plan=plan)
    sums = {
        name: sum(getattr(second.report, name.replace(" ", "_")) for second in seconds)
        for name in ("acknowledged", "lost", "retries", "in doubt")
    }
    assert found.final.values == sums
    (table,) = found.final.tables
    arrived = [sum(one.by_partition[n] for one in seconds) for n in range(PARTITIONS)]
    assert table.rows[-1] == (None, *arrived, sums["retries"], sums["lost"], "in all")
    assert sum(arrived) == sums["acknowledged"]
    made = len(seconds) * PARTITIONS * plan.rounds
    assert found.steps[-1].say.startswith(f"{sums['acknowledged']} of {made} message")
    assert made - sums["lost"] == sums["acknowledged"]
    assert [row[0] for row in table.rows[:-1]] == [second.second for second in seconds]


@pytest.mark.parametrize(
    ("is_switch_on", "wanted"), [(True, ["8", "2"]), (False, ["6", "2"])], ids=["on", "off"]
)
def test_failover_asks_what_arrives_without_a_broker_and_with_it_again(is_switch_on, wanted):
    found = document(replayed(is_switch_on), is_switch_on=is_switch_on)
    assert [right(ask) for ask in asked(found)] == wanted


def test_failover_says_what_becomes_of_messages_without_a_leader():
    on = document(replayed(True), is_switch_on=True)
    assert on.steps[4].say.endswith("drawn at random for each: 2 to p2.")
    off = document(replayed(False), is_switch_on=False)
    assert (
        "tries 4 times to send the batch for partition 0, and 2 messages are lost."
        in off.steps[4].say
    )
    assert '"No leader for partition 0 of topic orders;' in off.steps[4].say
    stopped = document(replayed(False, is_stopping=True), is_switch_on=False)
    assert stopped.steps[4].say.endswith("The sender stops.")
    assert len(stopped.steps) == 6


def test_step_failover_takes_the_options_of_the_replay(tmp_path):
    run = CommandLine(tmp_path)
    on = run.ok("step", "failover", "--switch", "on", "--seed", 3, "--json").document
    assert on["steps"][-1]["state"]["values"]["lost"] == 0
    options = ["--switch", "off", "--on-failure", "stop"]
    stopped = run.ok("step", "failover", *options, "--json").document
    assert stopped["steps"][-1]["state"]["values"]["acknowledged"] == 30


@pytest.mark.parametrize("replicas", [2, 3, 4])
def test_step_failover_with_copies_loses_nothing_and_draws_main_and_secondary_ones(replicas):
    document = scene_command("failover").document(["--replicas", str(replicas)])
    assert document.final.values["acknowledged"] == 9 * 8
    assert document.final.values["lost"] == 0
    assert [right(ask) for ask in asked(document)] == ["8", "broker 1"]
    lanes = document.final.picture.lanes
    assert len(lanes) == PARTITIONS * replicas
    for number in range(PARTITIONS):
        copies = [lane for lane in lanes if lane.name.endswith(f", p{number}")]
        for second in range(9):
            labels = sorted(lane.bars[second].label for lane in copies)
            main = [label for label in labels if label.startswith("M")]
            dead = [lane.name for lane in copies if lane.bars[second].label == "down"]
            assert main == ["M 2"]
            assert set(labels) <= {"M 2", "S", "down"}
            has_copy = any(lane.name.startswith("broker 0") for lane in copies)
            assert bool(dead) == (has_copy and 3 <= second < 6)


@pytest.mark.parametrize("seed", range(40))
def test_failover_says_what_is_counted_by_hand(seed):
    chance = Random(seed)
    dies = chance.randint(0, 3)
    plan = FailoverPlan(dies, dies + chance.randint(1, 3), 7, chance.randint(1, 4))
    is_on = bool(seed % 2)
    seconds = replayed(is_on, False, seed, plan)
    found = document(seconds, is_switch_on=is_on, plan=plan)
    lost = 0 if is_on else plan.rounds * (plan.returns_at - plan.dies_at)
    made = 4 * plan.rounds * 7
    assert oracle.numbers(found.steps[-1].say)[:3] == [made - lost, made, lost]
    for number, step in enumerate(found.steps[1:-1]):
        is_down = plan.dies_at <= number < plan.returns_at
        noun = "message is" if plan.rounds == 1 else "messages are"
        assert (f"{plan.rounds} {noun} lost." in step.say) == (is_down and not is_on)
        if is_on and is_down:
            shares = step.say.rpartition(": ")[2].split(", ")
            assert sum(int(one.split()[0]) for one in shares) == plan.rounds
    oracle.assert_one_thing_is_one(words_of(found))
