"""A group, one call after the other: who is let in, who is refused, and when partitions move."""

import pytest

from kminilog.consumer.assignor_registry import make_assignor
from kminilog.consumer.errors import (
    DuplicateInstanceError,
    GroupInUseError,
    IllegalGenerationError,
    InconsistentStrategyError,
    UnknownMemberError,
)
from kminilog.consumer.group import EMPTY, PREPARING, STABLE, Group, Moment
from kminilog.consumer.members import Assigned, JoinRequest, Membership
from kminilog.errors import SettingError
from kminilog.format.names import TopicPartition
from tests.support.invariants import check_group

ORDERS = [TopicPartition("orders", number) for number in range(8)]
SESSION_MS = 100


class Room:
    """A group in which the time passes and topics change; members have the ids they are told."""

    def __init__(self, strategy: str = "range", orders: int = 4) -> None:
        self.group = Group("readers")
        self.strategy = strategy
        self.partitions = {"orders": orders, "bills": 2}
        self.now_ms = 1_000

    @property
    def moment(self) -> Moment:
        return Moment(self.now_ms, self.partitions, make_assignor)

    def join(self, name: str, *topics: str, **more: object) -> Membership:
        """Join as a new member; as one that joins again with `member_id`."""
        request = JoinRequest(
            topics=topics or ("orders",),
            strategy=self.strategy,
            session_timeout_ms=SESSION_MS,
        )._replace(**more)
        membership = self.group.join(request, new_id=name, moment=self.moment)
        self.check()
        return membership

    def check(self) -> None:
        check_group(self.group, is_cooperative=make_assignor(self.strategy).is_cooperative)

    def again(self, membership: Membership, *topics: str, **more: object) -> Membership:
        return self.join(
            "", *topics, member_id=membership.member_id, instance_id=membership.instance_id, **more
        )

    def sync(self, membership: Membership) -> Assigned | None:
        answer = self.group.sync(membership, self.moment)
        self.check()
        return answer

    def owns(self, membership: Membership) -> Assigned:
        answer = self.sync(membership)
        assert answer
        return answer

    def beat(self, membership: Membership) -> str:
        answer = self.group.heartbeat(membership, self.moment)
        self.check()
        return answer

    def commit(self, offset: int, membership: Membership | None, number: int = 0) -> None:
        self.group.commit({ORDERS[number]: offset}, membership, self.now_ms)

    def now_of(self, membership: Membership) -> Membership:
        """The same member with the generation of now."""
        return membership._replace(generation=self.group.generation)

    def of_two(self) -> tuple[Membership, Membership]:
        """Two members in a stable group."""
        one, two = self.join("one"), self.join("two")
        self.again(one)
        return self.owns(one).membership, self.owns(two).membership


def test_first_member_gets_all_at_once():
    room = Room()
    one = room.join("one")
    assert (room.group.state, room.group.generation) == (STABLE, 1)
    assert room.owns(one) == Assigned(Membership("one", 1), tuple(ORDERS[:4]))
    assert room.beat(Membership("one", 1)) == "ok"


def test_second_member_waits_until_the_first_has_joined_again():
    room = Room()
    one = room.owns(room.join("one")).membership
    two = room.join("two")
    assert (room.group.state, room.group.generation) == (PREPARING, 1)
    assert room.sync(two) is None
    assert room.beat(one) == "rebalance"
    assert room.beat(two) == "ok", "it has joined already"
    room.again(one)
    assert (room.group.state, room.group.generation) == (STABLE, 2)
    assert room.owns(two) == Assigned(Membership("two", 2), tuple(ORDERS[2:4]))
    assert room.owns(one) == Assigned(Membership("one", 2), tuple(ORDERS[:2]))


def test_member_that_has_not_joined_cannot_ask_for_its_share():
    room = Room()
    one = room.owns(room.join("one")).membership
    room.join("two")
    with pytest.raises(ValueError, match="one has to join before"):
        room.sync(one)


def test_member_that_waits_is_still_waiting_in_the_next_rebalance():
    room = Room()
    room.join("one")
    room.join("two")
    room.join("three")
    assert (room.group.state, room.group.generation) == (STABLE, 3), "nobody had asked before"


def test_idle_members_are_named_in_javas_order_of_ids():
    room = Room()
    ids = ["c", chr(0x1F600), chr(0xE000)]  # by code points the last two change places
    for id in reversed(ids):
        room.join(id, "missing")
    assert room.group.state == STABLE
    assert room.group.idle == ids


# ---- rebalances: what begins one, and what does not

CHANGES = {
    "a member joins": lambda room, one, two: room.join("three"),
    "a member leaves": lambda room, one, two: room.group.leave(two, room.moment),
    "a topic grows": lambda room, one, two: room.partitions.update(orders=5),
    "a topic goes": lambda room, one, two: room.partitions.pop("orders"),
    "other topics": lambda room, one, two: room.again(two, "orders", "bills"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_change_makes_the_others_join_again(change):
    room = Room()
    one, two = room.of_two()
    change(room, one, two)
    assert room.beat(one) == "rebalance"
    room.again(one)
    if two.member_id in room.group.members:
        room.again(two, *room.group.members["two"].topics)
    assert room.group.state == STABLE
    assert room.group.generation == 3


NO_CHANGES = {
    "a heartbeat": lambda room, one, two: room.beat(two),
    "joins with the same": lambda room, one, two: room.again(two),
    "the same topics, twice": lambda room, one, two: room.again(two, "orders", "orders"),
    "a topic nobody reads grows": lambda room, one, two: room.partitions.update(bills=7),
    "a commit": lambda room, one, two: room.commit(5, two),
}


@pytest.mark.parametrize("change", NO_CHANGES.values(), ids=NO_CHANGES.keys())
def test_no_change_leaves_the_group_as_it_is(change):
    room = Room()
    one, two = room.of_two()
    before = dict(room.group.assignment)
    change(room, one, two)
    assert room.beat(one) == "ok"
    assert room.owns(two).membership == two
    assert (room.group.generation, room.group.assignment) == (2, before)


def test_topic_that_is_made_later_is_shared_out_then():
    room = Room()
    one = room.owns(room.join("one", "letters")).membership
    assert room.group.assignment == {"one": ()}
    room.partitions["letters"] = 1
    assert room.beat(one) == "rebalance"
    room.again(one, "letters")
    assert room.owns(one).partitions == (TopicPartition("letters", 0),)


def test_members_beyond_partitions_get_nothing():
    room = Room(orders=1)
    room.of_two()
    assert room.group.assignment == {"one": (ORDERS[0],), "two": ()}


@pytest.mark.parametrize("is_leaving", [True, False], ids=["leaves", "is expired"])
def test_last_member_goes_and_the_next_one_finds_the_offsets(is_leaving):
    room = Room()
    one = room.owns(room.join("one")).membership
    room.commit(17, one)
    if is_leaving:
        room.group.leave(one, room.moment)
    else:
        room.now_ms += SESSION_MS
        room.group.expire(room.now_ms)
    room.check()
    assert (room.group.state, room.group.generation) == (EMPTY, 2)
    room.join("two")
    assert (room.group.generation, room.group.committed) == (3, {ORDERS[0]: 17})


# ---- silence


def test_silent_member_is_expired_after_exactly_its_session_and_loses_its_partitions():
    room = Room()
    one, two = room.of_two()
    room.now_ms += SESSION_MS - 1
    assert room.beat(two) == "ok"
    room.now_ms += 1
    assert room.beat(two) == "rebalance"
    room.again(two)
    assert room.owns(two).partitions == tuple(ORDERS[:4])
    with pytest.raises(UnknownMemberError, match="one is no member of group readers"):
        room.beat(one)


def test_member_is_expired_by_its_own_late_heartbeat_too():
    room = Room()
    one = room.owns(room.join("one")).membership
    room.now_ms += SESSION_MS
    with pytest.raises(UnknownMemberError):
        room.beat(one)
    assert room.group.state == EMPTY


@pytest.mark.parametrize("sign", ["heartbeat", "commit", "sync", "join"])
def test_each_sign_of_life_begins_the_session_anew(sign):
    room = Room()
    one = room.owns(room.join("one")).membership
    room.now_ms += SESSION_MS - 1
    if sign == "heartbeat":
        room.beat(one)
    elif sign == "commit":
        room.commit(1, one)
    elif sign == "sync":
        room.sync(one)
    else:
        room.again(one)
    room.now_ms += SESSION_MS - 1
    assert room.owns(one).membership == one


def test_member_that_only_sends_heartbeats_does_not_hold_up_a_rebalance_for_ever():
    room = Room()
    one = room.owns(room.join("one")).membership
    room.now_ms += SESSION_MS - 1
    two = room.join("two")
    assert room.beat(one) == "rebalance"
    told_ms = room.now_ms
    while room.group.state == PREPARING:
        room.now_ms += 11
        assert room.now_ms <= told_ms + SESSION_MS + 11
        if "one" in room.group.members and room.now_ms < told_ms + SESSION_MS:
            assert room.beat(one) == "rebalance"
            room.commit(3, one)
        room.sync(two)
    assert room.owns(two).partitions == tuple(ORDERS[:4])
    assert room.group.committed == {ORDERS[0]: 3}


def test_member_that_never_joins_gets_no_more_time_when_others_join():
    room = Room()
    one = room.owns(room.join("one")).membership
    room.join("two")
    assert room.beat(one) == "rebalance"
    room.now_ms += SESSION_MS - 1
    room.join("three")
    assert room.beat(one) == "rebalance"
    room.now_ms += 1
    with pytest.raises(UnknownMemberError):
        room.beat(one)


def test_member_that_waits_is_expired_too():
    room = Room()
    one = room.owns(room.join("one")).membership
    room.join("two")
    room.now_ms += SESSION_MS - 1
    assert room.beat(one) == "rebalance"
    room.now_ms += 1
    room.again(one)
    assert room.owns(one).partitions == tuple(ORDERS[:4])


def test_clock_that_is_set_back_keeps_nobody_alive_for_ever():
    room = Room()
    room.join("one")
    room.now_ms -= 900
    room.group.expire(room.now_ms)
    assert room.group.state == STABLE
    room.group.expire(room.now_ms + SESSION_MS)
    assert room.group.state == EMPTY


# ---- fencing


def test_commit_of_the_old_generation_counts_until_the_new_one_begins():
    room = Room()
    one = room.owns(room.join("one")).membership
    two = room.join("two")
    room.beat(one)
    room.commit(5, one)
    room.again(one)
    with pytest.raises(IllegalGenerationError, match=r"one sent generation 1, .* is in 2"):
        room.commit(9, one)
    with pytest.raises(IllegalGenerationError):
        room.beat(one)
    assert room.group.committed == {ORDERS[0]: 5}
    room.commit(6, room.owns(one).membership)
    room.commit(7, room.owns(two).membership, 2)
    assert room.group.committed == {ORDERS[0]: 6, ORDERS[2]: 7}


def test_commit_of_an_expired_member_is_refused_before_anybody_has_noticed():
    room = Room()
    one, _ = room.of_two()
    room.now_ms += SESSION_MS
    with pytest.raises(UnknownMemberError):
        room.commit(5, one)
    assert room.group.committed == {}


def test_commit_without_membership_counts_only_while_the_group_is_empty():
    room = Room()
    room.commit(3, None)
    one = room.owns(room.join("one")).membership
    with pytest.raises(GroupInUseError, match=r"has members \(1\)"):
        room.commit(4, None)
    room.group.leave(one, room.moment)
    room.commit(5, None)
    assert room.group.committed == {ORDERS[0]: 5}


def test_commit_may_go_back_but_not_below_zero():
    room = Room()
    one = room.owns(room.join("one")).membership
    room.commit(5, one)
    room.commit(2, one)
    with pytest.raises(ValueError, match="orders-0: -1 is no offset"):
        room.commit(-1, one)
    assert room.group.committed == {ORDERS[0]: 2}


@pytest.mark.parametrize("call", ["beat", "sync", "again", "commit", "leave"])
def test_stranger_is_refused_and_nothing_changes(call):
    room = Room()
    room.of_two()
    before = dict(room.group.assignment)
    stranger = Membership("stranger", 2)
    calls = {
        "beat": lambda: room.beat(stranger),
        "sync": lambda: room.sync(stranger),
        "again": lambda: room.again(stranger),
        "commit": lambda: room.commit(5, stranger),
        "leave": lambda: room.group.leave(stranger, room.moment),
    }
    with pytest.raises(UnknownMemberError):
        calls[call]()
    assert (room.group.assignment, room.group.state) == (before, STABLE)


def test_other_strategy_is_refused_unless_the_member_is_alone():
    room = Room()
    one, two = room.of_two()
    with pytest.raises(InconsistentStrategyError, match="the assignor range, not sticky"):
        room.join("three", strategy="sticky")
    with pytest.raises(InconsistentStrategyError):
        room.again(one, strategy="sticky")
    room.group.leave(two, room.moment)
    room.again(one, strategy="sticky")
    assert (room.group.strategy, room.group.state) == ("sticky", STABLE)
    room.group.leave(one, room.moment)
    room.join("four", strategy="roundrobin")
    assert room.group.strategy == "roundrobin"


def test_unknown_strategy_is_refused():
    with pytest.raises(SettingError, match="no assignor 'rang'"):
        Room("rang").join("one")


# ---- static members


def test_static_member_that_comes_back_keeps_its_partitions_without_a_rebalance():
    room = Room()
    room.join("x-1", instance_id="x")
    room.join("y-1", instance_id="y")
    before = room.group.assignment["x-1"]
    generation = room.group.generation
    room.now_ms += SESSION_MS - 1
    back = room.join("x-2", instance_id="x")
    assert (room.group.state, room.group.generation) == (STABLE, generation)
    assert room.owns(back) == Assigned(Membership("x-2", generation, "x"), before)
    assert sorted(room.group.members) == ["x-2", "y-1"]


@pytest.mark.parametrize("call", ["beat", "sync", "again", "commit", "leave"])
def test_two_members_with_one_static_id_the_earlier_is_told_at_its_next_call(call):
    room = Room()
    first = room.owns(room.join("x-1", instance_id="x")).membership
    second = room.owns(room.join("x-2", instance_id="x")).membership
    calls = {
        "beat": lambda: room.beat(first),
        "sync": lambda: room.sync(first),
        "again": lambda: room.again(first),
        "commit": lambda: room.commit(5, first),
        "leave": lambda: room.group.leave(first, room.moment),
    }
    with pytest.raises(DuplicateInstanceError, match=r"with group\.instance\.id x"):
        calls[call]()
    room.commit(6, second)
    assert room.group.owners == dict.fromkeys(ORDERS[:4], "x-2")


def test_member_that_joins_again_cannot_take_the_static_id_of_another():
    room = Room()
    first = room.owns(room.join("x-1", instance_id="x")).membership
    room.join("y-1", instance_id="y")
    room.again(first._replace(instance_id="y"))
    assert room.group.members["x-1"].instance_id == "x"


def test_static_member_that_stays_away_is_expired():
    room = Room()
    room.join("x-1", instance_id="x")
    two = room.join("two")
    room.now_ms += SESSION_MS - 1
    room.beat(room.owns(two).membership)
    room.now_ms += 1
    assert room.beat(Membership("two", room.group.generation)) == "rebalance"
    back = room.join("x-2", instance_id="x")
    assert room.sync(back) is None
    room.again(two)
    assert len(room.owns(back).partitions) == 2


def test_static_member_that_comes_back_with_other_topics_begins_a_rebalance():
    room = Room()
    room.join("x-1", instance_id="x")
    room.join("x-2", "orders", "bills", instance_id="x")
    assert room.group.generation == 2
    assert len(room.group.assignment["x-2"]) == 6


def test_static_member_that_comes_back_in_a_rebalance_has_joined():
    room = Room()
    room.owns(room.join("x-1", instance_id="x"))
    two = room.join("two")
    room.join("x-2", instance_id="x")
    assert room.owns(two).partitions == tuple(ORDERS[2:4])


# ---- strategies that know what was before


def test_sticky_group_moves_as_little_as_it_must():
    room = Room("sticky", orders=6)
    one, two = room.of_two()
    before = dict(room.group.assignment)
    three = room.join("three")
    room.again(one)
    room.again(two)
    moved = set(room.owns(three).partitions)
    assert len(moved) == 2
    assert all(
        set(before[name]) - moved == set(now)
        for name, now in room.group.assignment.items()
        if name in before
    )


def test_cooperative_group_takes_two_rounds_and_stops_nobody():
    room = Room("cooperative-sticky")
    one = room.owns(room.join("one")).membership
    two = room.join("two")
    assert room.beat(one) == "rebalance"
    room.again(one, owned=tuple(ORDERS[:4]))
    first_round = room.owns(one)
    kept = first_round.partitions
    given_up = set(ORDERS[:4]) - set(kept)
    assert len(given_up) == 2
    assert room.owns(two).partitions == (), "they are read by the other still"
    room.commit(8, first_round.membership)
    room.again(one, owned=kept)
    assert room.beat(room.now_of(two)) == "rebalance"
    room.again(two, owned=())
    assert set(room.owns(two).partitions) == given_up
    assert room.owns(one).partitions == kept
    assert room.group.generation == 3
    room.again(one, owned=kept)
    assert room.group.generation == 3, "nothing is left to share out"


def test_cooperative_group_shares_out_what_an_expired_member_had_not_given_up():
    room = Room("cooperative-sticky")
    one = room.owns(room.join("one")).membership
    two = room.join("two")
    room.again(one, owned=tuple(ORDERS[:4]))
    two = room.owns(two).membership
    room.now_ms += SESSION_MS - 1
    room.beat(two)
    room.now_ms += 1
    assert room.beat(two) == "rebalance"
    room.again(two)
    assert set(room.owns(two).partitions) == set(ORDERS[:4])


def test_new_member_cannot_claim_partitions():
    room = Room("cooperative-sticky")
    room.owns(room.join("one"))
    room.join("two", owned=tuple(ORDERS[:4]))
    assert room.group.members["two"].owned == ()
