"""Members come, go and hang: what the replay shows is what the rules say."""

import json
from random import Random

import pytest

from kminilog.errors import PluginError, SettingError
from kminilog.explain.replays.rebalance import (
    HANGS,
    JOINS,
    LEAVES,
    WAKES,
    Event,
    RebalancePlan,
    RebalanceSecond,
    read_by_other_group,
    replay_rebalance,
)

pytestmark = pytest.mark.usefixtures("without_fsync")


def replay(
    path, *, strategy: str = "range", plan: RebalancePlan | None = None
) -> list[RebalanceSecond]:
    path.mkdir(exist_ok=True)
    plan = plan or RebalancePlan()
    return list(replay_rebalance(path, strategy=strategy, chance=Random(0), plan=plan))


def readers(second: RebalanceSecond) -> str:
    return "".join(reader or "-" for reader in second.reader_by_partition.values())


# What each strategy has made of four partitions shortly before the next event.
SETTLED = {
    "range": {3: "AAAA", 8: "AABB", 13: "AABC", 19: "AACC", 31: "CCCC", 37: "AACC"},
    "roundrobin": {3: "AAAA", 8: "ABAB", 13: "ABCA", 19: "ACAC", 31: "CCCC", 37: "ACAC"},
}


@pytest.mark.parametrize("strategy", SETTLED)
def test_replay_shares_out_after_each_event_as_the_strategy_says(tmp_path, strategy):
    seen = replay(tmp_path, strategy=strategy)
    expected = SETTLED[strategy]
    assert {second: readers(seen[second]) for second in expected} == expected
    assert all(seen[second].state == "Stable" for second in expected)
    assert [seen[second].generation for second in expected] == [1, 2, 3, 4, 5, 6]


# A commits in second 16 and hangs before it reads in second 20: 4 messages in each of its two
# partitions. In turn, it gets one of C's as well, who gave it up a second earlier.
READ_AGAIN = {"range": 8, "multiple": 8, "roundrobin": 9, "sticky": 8, "cooperative-sticky": 8}


@pytest.mark.parametrize(("strategy", "messages"), READ_AGAIN.items())
def test_replay_reads_twice_only_what_the_member_that_hangs_had_not_committed(
    tmp_path, strategy, messages
):
    seen = replay(tmp_path, strategy=strategy)
    assert {s.second: s.read_again for s in seen if s.read_again} == {29: messages}


def test_replay_a_member_that_hangs_is_expired_after_its_session_and_not_before(tmp_path):
    seen = replay(tmp_path)
    last_heard = 17  # the heartbeat in second 20 does not come any more
    assert [s.second for s in seen if s.state == "PreparingRebalance" and s.second > 20] == (
        [last_heard + 10]
    )


def test_replay_refuses_the_commit_of_a_member_that_wakes_up(tmp_path):
    seen = replay(tmp_path)
    (refused,) = [second for second in seen if second.error]
    assert (refused.second, refused.event) == (32, "A wakes up")
    assert "is no member of group readers" in refused.error


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
@pytest.mark.parametrize("partitions", range(1, 9))
def test_replay_goes_on_if_a_rebalance_refuses_a_commit(tmp_path, strategy, partitions):
    seen = replay(tmp_path, strategy=strategy, plan=RebalancePlan(partitions=partitions))
    assert len(seen) == RebalancePlan().seconds
    assert seen[-1].state == "Stable"
    assert all(
        "sent generation" in second.error for second in seen if second.second < 32 and second.error
    )


def test_replay_eager_members_stop_and_cooperative_ones_read_on(tmp_path):
    eager = replay(tmp_path / "eager", strategy="sticky")
    cooperative = replay(tmp_path / "cooperative", strategy="cooperative-sticky")

    def pauses(seen: list[RebalanceSecond]) -> int:
        return sum(readers(second).count("-") for second in seen[:20])

    assert pauses(cooperative) < pauses(eager)
    for second in cooperative[:20]:
        assert second.reader_by_partition[0] == "A", "nothing ever takes it away"


def test_replay_more_members_than_partitions_leaves_some_idle(tmp_path):
    events = tuple(Event(0, name, JOINS) for name in "ABC")
    seen = replay(tmp_path, plan=RebalancePlan(events=events, partitions=2, seconds=8))
    assert readers(seen[-1]) == "AB"
    assert seen[-1].idle == ("C",)
    assert seen[0].event == "A joins, B joins, C joins"


def test_replay_of_a_group_that_nobody_has_joined_yet_is_empty(tmp_path):
    events = (Event(1, "A", JOINS), Event(1, "A", LEAVES), Event(3, "B", JOINS))
    seen = replay(tmp_path, plan=RebalancePlan(events=events, seconds=6))
    assert [(s.state, s.generation, s.members) for s in seen[:3]] == [("Empty", 0, ())] * 3
    assert [readers(second) for second in seen] == ["----"] * 3 + ["BBBB"] * 3


def test_replay_a_member_that_hangs_before_it_has_joined_commits_nothing(tmp_path):
    joins = (Event(0, "B", JOINS), Event(4, "A", JOINS), Event(4, "A", HANGS))
    seen = replay(tmp_path, plan=RebalancePlan(events=(*joins, Event(8, "A", WAKES)), seconds=14))
    assert readers(seen[7]) == "BBBB"
    assert (seen[8].error, seen[8].committed_by_partition) == ("", seen[7].committed_by_partition)
    assert readers(seen[-1]) == "AABB"


def test_replay_is_the_same_each_time(tmp_path):
    assert replay(tmp_path / "a") == replay(tmp_path / "b")


@pytest.mark.parametrize(("strategy", "error"), [("rang", SettingError), ("a.B", PluginError)])
def test_replay_with_no_such_strategy_is_an_error(tmp_path, strategy, error):
    with pytest.raises(error):
        replay(tmp_path, strategy=strategy)


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_other_group_reads_all_and_leaves_the_first_one_alone(tmp_path, strategy):
    (*_, last) = replay_rebalance(tmp_path, strategy=strategy, chance=Random(0))
    file = tmp_path / ".groups" / "readers.json"
    before = file.read_bytes()
    other = read_by_other_group(tmp_path, strategy=strategy, chance=Random(1))
    assert file.read_bytes() == before
    assert other.is_untouched
    assert other.read_by_partition == dict.fromkeys(range(4), 38)
    assert other.committed_by_partition == last.committed_by_partition
    committed = json.loads((tmp_path / ".groups" / "archive.json").read_text())
    assert "38" in json.dumps(committed)
