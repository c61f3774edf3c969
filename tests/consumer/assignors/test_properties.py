"""What holds of every group, whatever its members, topics and history."""

from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.consumer.assignor_registry import ASSIGNORS, make_assignor
from kminilog.consumer.assignors.cooperative import CooperativeSticky
from kminilog.consumer.assignors.custom import check_answer
from kminilog.consumer.assignors.interface import Member, members_by_topic
from kminilog.consumer.assignors.multiple import Multiple
from kminilog.consumer.assignors.range import Range
from kminilog.consumer.assignors.round_robin import RoundRobin
from kminilog.consumer.assignors.sticky import Sticky
from tests.support.consumer.assignors.groups import (
    after,
    groups,
    moved,
    owned_by,
    run_rounds,
    without,
)


def sizes(assignment):
    return [len(found) for found in assignment.values()]


def counts_of(topic, assignment, members):
    return [sum(found == topic for found, _ in assignment[member.id]) for member in members]


@pytest.mark.parametrize("name", ASSIGNORS)
@given(group=groups(), chance=st.randoms())
def test_each_partition_has_one_owner_who_reads_it_whatever_the_order(name, group, chance):
    topics, members = group
    answer = make_assignor(name).assign(topics, members)
    check_answer(answer, topics, members)
    assert set(answer) == {member.id for member in members}
    assert all(found == sorted(found) for found in answer.values())
    shuffled = chance.sample(members, len(members))
    assert make_assignor(name).assign(topics, shuffled) == answer


@given(group=groups(with_claims=True))
def test_sticky_with_claims_gives_each_partition_to_one_who_reads_it(group):
    topics, members = group
    answer = Sticky().assign(topics, members)
    check_answer(answer, topics, members)
    assert set(answer) == {member.id for member in members}


@given(group=groups())
def test_range_is_balanced_in_each_topic(group):
    topics, members = group
    answer = Range().assign(topics, members)
    for topic, subscribers in members_by_topic(topics, members).items():
        found = counts_of(topic, answer, subscribers)
        assert found == sorted(found, reverse=True)
        assert found[0] - found[-1] <= 1


@given(group=groups())
def test_multiple_gives_m_partitions_or_what_is_left(group):
    topics, members = group
    answer = Multiple().assign(topics, members)
    for topic, subscribers in members_by_topic(topics, members).items():
        m = ceil(topics[topic] / len(subscribers))
        left = topics[topic]
        by_id = sorted(subscribers, key=lambda member: member.id)
        for found in counts_of(topic, answer, by_id):
            assert found == min(m, left)
            left -= found


@pytest.mark.parametrize("assignor", [RoundRobin(), Sticky()], ids=["roundrobin", "sticky"])
@given(group=groups(min_members=1, is_equal=True, with_claims=True))
def test_equal_subscriptions_are_balanced(assignor, group):
    found = sizes(assignor.assign(*group))
    assert max(found) - min(found) <= 1


@given(group=groups(min_members=1, with_claims=True))
def test_sticky_leaves_nobody_who_could_take_from_one_with_two_more(group):
    topics, members = group
    answer = Sticky().assign(topics, members)
    for poor in members:
        for owned in answer.values():
            could_take = any(topic in poor.topics for topic, _ in owned)
            assert not could_take or len(owned) <= len(answer[poor.id]) + 1


@given(group=groups(min_members=1, is_equal=True, with_claims=True))
def test_sticky_keeps_as_many_as_balance_allows(group):
    topics, members = group
    answer = Sticky().assign(topics, members)
    each, extras = divmod(sum(topics.values()), len(members))
    owned = [len(member.owned) for member in members]
    # Everybody may keep `each`, and as many members as there are extras one more.
    most = sum(min(count, each) for count in owned)
    most += min(extras, sum(count > each for count in owned))
    kept = sum(len(set(member.owned) & set(answer[member.id])) for member in members)
    assert kept == most


@given(group=groups(min_members=1, is_equal=True))
def test_sticky_join_moves_just_the_share_of_the_new_one(group):
    topics, members = group
    settled = after(members, Sticky().assign(topics, members))
    joined = [*settled, Member("a new one", members[0].topics)]
    answer = Sticky().assign(topics, joined)
    assert len(moved(joined, answer)) == sum(topics.values()) // len(joined)
    assert moved(joined, answer) <= set(answer["a new one"])


@given(group=groups(min_members=2, is_equal=True), chance=st.randoms())
def test_sticky_leave_moves_only_what_the_one_who_left_had(group, chance):
    topics, members = group
    settled = after(members, Sticky().assign(topics, members))
    left = without(settled, chance.choice(settled).id)
    assert moved(left, Sticky().assign(topics, left)) == set()


@given(group=groups(with_claims=True))
def test_sticky_moves_nothing_if_nothing_has_changed(group):
    topics, members = group
    answer = Sticky().assign(topics, members)
    assert Sticky().assign(topics, after(members, answer, generation=8)) == answer


@given(group=groups(min_members=1, is_equal=True), chance=st.randoms(), is_join=st.booleans())
def test_cooperative_reaches_the_sticky_result_of_a_join_or_leave_in_two_rounds(
    group, chance, is_join
):
    topics, members = group
    settled = after(members, Sticky().assign(topics, members))
    if is_join:
        changed = [*settled, Member("a new one", members[0].topics)]
    else:
        changed = without(settled, chance.choice(settled).id)
    end = run_rounds(CooperativeSticky(), topics, changed, rounds=2)
    assert owned_by(end) == Sticky().assign(topics, changed)


@given(group=groups(min_members=1, is_equal=True, with_claims=True))
def test_cooperative_after_any_history_is_balanced_in_two_rounds_and_rests(group):
    topics, members = group
    first = run_rounds(CooperativeSticky(), topics, members, rounds=1)
    second = run_rounds(CooperativeSticky(), topics, first, rounds=1)
    assert sorted(sizes(owned_by(second))) == sorted(sizes(Sticky().assign(topics, members)))
    check_answer(owned_by(second), topics, members)
    for before, now in zip(first, second, strict=True):
        assert set(before.owned) <= set(now.owned)
    assert owned_by(run_rounds(CooperativeSticky(), topics, second, rounds=1)) == owned_by(second)


@settings(max_examples=300)
@given(group=groups(min_members=1, is_equal=False, with_claims=True))
def test_cooperative_with_different_subscriptions_comes_to_rest(group):
    topics, members = group
    end = run_rounds(CooperativeSticky(), topics, members, rounds=8)
    check_answer(owned_by(end), topics, members)
    assert owned_by(run_rounds(CooperativeSticky(), topics, end, rounds=1)) == owned_by(end)
