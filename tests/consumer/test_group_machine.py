"""Random members, failures and topics, and what a group promises whatever happens.

The clients are as simple as can be, and always a step late: they learn of a change only when they
ask. What they believe to own is compared with the group after each step: two members never believe
to own the same partition. The group goes through its file's form in every step.
"""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kminilog.consumer.assignor_registry import make_assignor
from kminilog.consumer.errors import (
    DuplicateInstanceError,
    IllegalGenerationError,
    UnknownMemberError,
)
from kminilog.consumer.group import EMPTY, STABLE, Group, Moment
from kminilog.consumer.group_file import from_json, to_json
from kminilog.consumer.members import JoinRequest, Membership
from kminilog.format.names import TopicPartition
from tests.support.invariants import check_group

TOPICS = ("bills", "orders")
SESSION_MS = 100
FENCED = (UnknownMemberError, IllegalGenerationError, DuplicateInstanceError)
subscriptions = st.sampled_from([("orders",), ("bills",), TOPICS])
picks = st.integers(0, 100)


class Client:
    """A consumer: what it wants, and what it believes."""

    def __init__(self, topics: tuple[str, ...], instance_id: str | None) -> None:
        self.topics = topics
        self.instance_id = instance_id
        self.membership: Membership | None = None
        self.is_waiting = False
        self.owned: tuple[TopicPartition, ...] = ()


class GroupMachine(RuleBasedStateMachine):
    strategy = "range"

    def __init__(self) -> None:
        super().__init__()
        self.group = Group("readers")
        self.now_ms = 0
        self.partitions = {"bills": 1, "orders": 3}
        self.is_cooperative = make_assignor(self.strategy).is_cooperative
        self.clients: list[Client] = []
        self.old: list[Membership] = []
        self.committed: dict[TopicPartition, int] = {}
        self.generation = 0
        self.count = 0

    @property
    def moment(self) -> Moment:
        return Moment(self.now_ms, self.partitions, make_assignor)

    def pick(self, number: int) -> Client:
        return self.clients[number % len(self.clients)]

    # ---- clients

    @initialize()
    def begin(self) -> None:
        self.start(TOPICS, None)

    @precondition(lambda self: len(self.clients) < 6)
    @rule(topics=subscriptions, instance_id=st.sampled_from([None, None, "x", "y"]))
    def start(self, topics: tuple[str, ...], instance_id: str | None) -> None:
        client = Client(topics, instance_id)
        self.clients.append(client)
        self.join(client)

    @precondition(lambda self: self.clients)
    @rule(number=picks)
    def poll(self, number: int) -> None:
        self.step(self.pick(number))

    @precondition(lambda self: self.clients)
    @rule()
    def poll_all(self) -> None:
        for client in list(self.clients):
            self.step(client)

    @precondition(lambda self: self.clients)
    @rule(number=picks, topics=subscriptions)
    def subscribe(self, number: int, topics: tuple[str, ...]) -> None:
        client = self.pick(number)
        client.topics = topics
        self.join(client)

    @precondition(lambda self: self.clients)
    @rule(number=picks)
    def leave(self, number: int) -> None:
        client = self.pick(number)
        self.clients.remove(client)
        self.ask(client, lambda who: self.group.leave(who, self.moment))

    @precondition(lambda self: self.clients)
    @rule(number=picks)
    def die(self, number: int) -> None:
        client = self.pick(number)
        self.clients.remove(client)
        if client.membership:
            self.old.append(client.membership)

    @precondition(lambda self: self.clients)
    @rule(number=picks, offset=st.integers(0, 1000))
    def commit(self, number: int, offset: int) -> None:
        client = self.pick(number)
        if not client.membership or client.is_waiting or not client.owned:
            return
        owned = client.owned
        offsets = dict.fromkeys(owned, offset)
        if self.ask(client, lambda who: self.group.commit(offsets, who, self.now_ms)) is not FENCED:
            self.committed |= offsets

    @precondition(lambda self: self.old)
    @rule(number=picks, offset=st.integers(0, 1000))
    def commit_of_old(self, number: int, offset: int) -> None:
        """A membership of an earlier time: refused, unless it is still in force."""
        old = self.old[number % len(self.old)]
        is_in_force = old.generation == self.group.generation and any(
            member.id == old.member_id and not member.has_expired(self.now_ms)
            for member in self.group.members.values()
        )
        offsets = {TopicPartition("orders", 0): offset}
        try:
            self.group.commit(offsets, old, self.now_ms)
            assert is_in_force
            self.committed |= offsets
        except FENCED:
            assert not is_in_force

    # ---- time and topics

    @rule(duration_ms=st.sampled_from([1, 30, SESSION_MS // 2, SESSION_MS - 1, SESSION_MS]))
    def wait(self, duration_ms: int) -> None:
        self.now_ms += duration_ms

    @rule(topic=st.sampled_from(TOPICS), count=st.integers(0, 4))
    def alter(self, topic: str, count: int) -> None:
        self.partitions = {**self.partitions, topic: count}
        if count == 0:
            del self.partitions[topic]

    # ---- what a client does

    def ask(self, client: Client, call):
        """Call the group for a client; FENCED if it is told that it is no member any more."""
        if client.membership is None:
            return FENCED
        try:
            return call(client.membership)
        except FENCED:
            self.old.append(client.membership)
            client.membership, client.is_waiting, client.owned = None, False, ()
            return FENCED

    def step(self, client: Client) -> None:
        if client.membership is None:
            self.join(client)
        elif client.is_waiting:
            self.sync(client)
        elif self.ask(client, lambda who: self.group.heartbeat(who, self.moment)) == "rebalance":
            self.join(client)

    def join(self, client: Client) -> None:
        if not self.is_cooperative:
            client.owned = ()
        self.count += 1
        request = JoinRequest(
            topics=client.topics,
            strategy=self.strategy,
            session_timeout_ms=SESSION_MS,
            member_id=client.membership.member_id if client.membership else None,
            instance_id=client.instance_id,
            owned=client.owned,
        )
        new_id = f"{client.instance_id or 'consumer'}-{self.count}"
        try:
            membership = self.group.join(request, new_id=new_id, moment=self.moment)
        except FENCED:
            client.membership, client.is_waiting, client.owned = None, False, ()
            return
        client.membership, client.is_waiting = membership, True

    def sync(self, client: Client) -> None:
        answer = self.ask(client, lambda who: self.group.sync(who, self.moment))
        if answer is None or answer is FENCED:
            return
        assert client.membership
        self.old.append(client.membership)
        before, client.owned = client.owned, answer.partitions
        client.membership, client.is_waiting = answer.membership, False
        if set(before) - set(client.owned):
            self.join(client)

    # ---- what holds after every step

    @invariant()
    def promises_hold(self) -> None:
        check_group(self.group, is_cooperative=self.is_cooperative)
        assert self.group.generation >= self.generation
        self.generation = self.group.generation
        assert self.group.committed == self.committed
        again = from_json(to_json(self.group))
        assert again == self.group
        self.group = again

    @invariant()
    def nobody_believes_to_own_what_another_owns(self) -> None:
        believed = [
            partition
            for client in self.clients
            if client.membership and client.membership.member_id in self.group.members
            for partition in client.owned
        ]
        assert len(believed) == len(set(believed))

    @invariant()
    def stable_group_owns_everything_once(self) -> None:
        if self.group.state != STABLE:
            return
        owned = [p for partitions in self.group.assignment.values() for p in partitions]
        assert len(owned) == len(set(owned))
        expected = {
            TopicPartition(topic, number)
            for topic, count in self.group.partitions.items()
            for number in range(count)
        }
        assert set(owned) <= expected
        assert set(owned) == expected or self.is_cooperative

    def teardown(self) -> None:
        """When nothing happens any more but polls, all is soon shared out among those who poll."""
        seen = set()
        self.clients = [  # of those with one static id the last one stays
            client
            for client in reversed(self.clients)
            if client.instance_id is None
            or not (client.instance_id in seen or seen.add(client.instance_id))
        ][::-1]
        for _ in range(4 * SESSION_MS // 10):
            self.now_ms += 10
            for client in self.clients:
                self.step(client)
                self.promises_hold()
                self.nobody_believes_to_own_what_another_owns()
        if not self.clients:
            self.group.expire(self.now_ms)
            assert self.group.state == EMPTY
            return
        assert self.group.state == STABLE
        assert len(self.group.members) == len(self.clients)
        topics = {topic for client in self.clients for topic in client.topics}
        expected = {
            TopicPartition(topic, number)
            for topic in topics & self.partitions.keys()
            for number in range(self.partitions[topic])
        }
        assert {p for client in self.clients for p in client.owned} == expected
        for client in self.clients:
            assert client.membership
            assert self.group.assignment[client.membership.member_id] == client.owned


class StickyGroupMachine(GroupMachine):
    strategy = "sticky"


class CooperativeGroupMachine(GroupMachine):
    strategy = "cooperative-sticky"


class TestRangeGroup(GroupMachine.TestCase):  # type: ignore[name-defined,misc]
    pass


class TestStickyGroup(StickyGroupMachine.TestCase):  # type: ignore[name-defined,misc]
    pass


class TestCooperativeGroup(CooperativeGroupMachine.TestCase):  # type: ignore[name-defined,misc]
    pass
