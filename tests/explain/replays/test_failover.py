"""S4's two figures, replayed on a real cluster."""

from random import Random

import pytest

from kminilog.explain.replays.failover import FailoverPlan, FailoverSecond, replay_failover

pytestmark = pytest.mark.usefixtures("without_fsync")
EVEN = {0: 2, 1: 2, 2: 2, 3: 2}
UP_AGAIN = [0, 1, 2, 6, 7, 8]


def replay(
    path, *, is_switch_on: bool, is_stopping: bool = False, seed: int = 0
) -> list[FailoverSecond]:
    chance = Random(seed)
    return list(
        replay_failover(path, is_switch_on=is_switch_on, is_stopping=is_stopping, chance=chance)
    )


@pytest.mark.parametrize("is_switch_on", [True, False])
def test_replay_while_all_brokers_are_up_every_partition_gets_its_own(tmp_path, is_switch_on):
    seen = replay(tmp_path, is_switch_on=is_switch_on)
    assert [second.second for second in seen] == list(range(9))
    assert [seen[number].by_partition for number in UP_AGAIN] == [EVEN] * 6
    events = {second.second: second.event for second in seen if second.event}
    assert events == {3: "broker 0 dies", 6: "broker 0 returns"}


def test_replay_with_the_switch_on_sends_all_messages_elsewhere_and_loses_none(tmp_path):
    substitutes = set()
    for seed in range(5):
        for second in replay(tmp_path / str(seed), is_switch_on=True, seed=seed)[3:6]:
            assert second.by_partition[0] == 0
            assert sum(second.by_partition.values()) == 8
            assert second.report.lost == second.report.retries == 0
            substitutes |= {p for p, count in second.by_partition.items() if count > EVEN[p]}
    assert substitutes == {1, 2, 3}, "drawn anew for each message"


def test_replay_with_the_switch_off_loses_messages_after_three_retries_and_goes_on(tmp_path):
    for second in replay(tmp_path, is_switch_on=False)[3:6]:
        assert second.by_partition == {**EVEN, 0: 0}
        assert (second.report.retries, second.report.lost) == (3, 2)
        assert "No leader for partition 0 of topic orders" in second.error


def test_replay_that_stops_ends_with_the_first_loss(tmp_path):
    seen = replay(tmp_path, is_switch_on=False, is_stopping=True)
    assert len(seen) == 4
    assert seen[-1].event == "broker 0 dies, the sender stops"


def test_replay_is_the_same_for_the_same_seed(tmp_path):
    runs = [replay(tmp_path / name, is_switch_on=True, seed=7) for name in "ab"]
    assert runs[0] == runs[1]


def test_replay_follows_another_plan(tmp_path):
    plan = FailoverPlan(dies_at=1, returns_at=2, seconds=3, rounds=5)
    seen = list(
        replay_failover(
            tmp_path, is_switch_on=False, is_stopping=False, chance=Random(1), plan=plan
        )
    )
    assert [second.by_partition[0] for second in seen] == [5, 0, 5]
    assert [second.report.lost for second in seen] == [0, 5, 0]
