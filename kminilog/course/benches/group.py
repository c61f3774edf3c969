"""The bench of a group: members come, go, die, sleep and wake; one row for each act.

    join A orders      A becomes a member, and the group shares out the partitions anew
    kill A, sleep A    the group hears nothing of A, and waits for it
    wait               the session time-out passes, so the group removes A
    wake A             A goes on; if it was removed, its heartbeat is refused, and it joins anew
    topic views 4      a new topic, or more partitions of one

Two groups with different assignors see the same acts: one beside the other. They are real groups
with real members, but in memory and on a simulated clock. Source: S1 4; ours.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import chain, count
from string import ascii_uppercase
from typing import Literal, NamedTuple

from kminilog.clock import ManualClock
from kminilog.consumer.assignor_registry import ASSIGNORS, make_assignor
from kminilog.consumer.group import EMPTY, PREPARING, STABLE, Group, Moment
from kminilog.consumer.members import Assigned, JoinRequest, Membership
from kminilog.consumer.membership import GroupMember, GroupSettings, Shares
from kminilog.course.benches.bench import Bench, BenchAct, BenchField, act_words, whole_number
from kminilog.explain.document import Bar, Document, Picture, PictureLane, Table, Value
from kminilog.explain.script import Script
from kminilog.format.names import TopicPartition

STEPS = ("An empty group", "join", "leave", "kill", "sleep", "wake", "wait", "topic")
SESSION_TIMEOUT_MS, HEARTBEAT_MS = 10_000, 3_000
NOBODY_BESIDE = "none"
MOST_MEMBERS, MOST_TOPICS, MOST_PARTITIONS = 12, 4, 16
_FIRST_TOPIC = "orders"
_NAME = re.compile("[A-Za-z0-9]{1,8}")
_STYLES = ("value", "size", "key", "crc", "offset", "magic", "key-length", "entry")
_SHOWN_ROWS = 12


class Row(NamedTuple):
    """What one group is like after an act: who reads each partition, and who is silent.

    `reader_by_partition` has None for nobody. `silent` are the partitions of a member of which the
    group hears nothing. `moved` are those that have another reader than their last one.
    """

    act: str
    reader_by_partition: dict[TopicPartition, str | None]
    silent: frozenset[TopicPartition]
    state: str
    generation: int
    moved: frozenset[TopicPartition]

    @property
    def unread(self) -> int:
        """How many partitions nobody reads."""
        return sum(not who or p in self.silent for p, who in self.reader_by_partition.items())


class _GroupInMemory:
    """What members ask of their group, as `Coordinator` answers it from a file."""

    def __init__(self, topics: Mapping[str, int], clock: ManualClock) -> None:
        self.state = Group("readers")
        self._topics = topics
        self._clock = clock

    def is_cooperative(self, strategy: str) -> bool:
        return make_assignor(strategy).is_cooperative

    def join(self, group: str, request: JoinRequest) -> Membership:
        names = chain([request.client_id], (f"{request.client_id}-{n}" for n in count(2)))
        new_id = next(name for name in names if name not in self.state.members)
        return self.state.join(request, new_id=new_id, moment=self._moment())

    def sync(self, group: str, membership: Membership) -> Assigned | None:
        return self.state.sync(membership, self._moment())

    def heartbeat(self, group: str, membership: Membership) -> Literal["ok", "rebalance"]:
        return self.state.heartbeat(membership, self._moment())

    def leave(self, group: str, membership: Membership) -> None:
        self.state.leave(membership, self._moment())

    def commit(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        membership: Membership | None = None,
        topic_ids: Mapping[TopicPartition, str | None] | None = None,
    ) -> None:
        self.state.commit(offsets, membership, self._clock.now_ms())

    def committed(self, group: str) -> dict[TopicPartition, int]:
        return self.state.committed

    def outdated(self, group: str) -> dict[TopicPartition, int]:
        return {}

    def expire(self) -> None:
        """Remove members whose session is over, as a look at the group does."""
        self.state.expire(self._clock.now_ms())

    def _moment(self) -> Moment:
        return Moment(self._clock.now_ms(), self._topics, make_assignor)


class _Played:
    """One group with its members, and a row for each act so far."""

    def __init__(self, strategy: str, topics: dict[str, int]) -> None:
        self.strategy = strategy
        self.rows: list[Row] = []
        self.asleep: set[str] = set()
        self.is_refused = False
        """Whether the group has removed the member that has just woken up."""
        self._clock = ManualClock()
        self._topics = topics
        self._group = _GroupInMemory(topics, self._clock)
        self._members: dict[str, GroupMember] = {}
        self._subscribed: dict[str, tuple[str, ...]] = {}
        self._last_reader: dict[TopicPartition, str] = {}

    @property
    def names(self) -> list[str]:
        """The members that live, asleep or not."""
        return list(self._members)

    def act(self, name: str, *words: str) -> None:
        """Do an act that is possible, let the members settle, and note a row."""
        if name == "join":
            member, topics = words
            settings = GroupSettings(
                "readers", self.strategy, SESSION_TIMEOUT_MS, HEARTBEAT_MS, member, None
            )
            shares = Shares(*[lambda partitions: None] * 3)  # there is nothing to read here
            self._members[member] = GroupMember(self._group, settings, shares, self._clock)
            self._subscribed[member] = tuple(topics.split(","))
        elif name == "leave":
            self._members.pop(words[0]).leave()
        elif name == "kill":
            del self._members[words[0]]
            self.asleep.discard(words[0])
        elif name == "sleep":
            self.asleep.add(words[0])
        elif name == "wake":
            self.asleep.remove(words[0])
            known = self._members[words[0]].membership
            self.is_refused = known is not None and known.member_id not in self._group.state.members
        elif name == "wait":
            for _ in range(2):
                self._clock.sleep_ms(SESSION_TIMEOUT_MS // 2)
                self._settle()
            self._group.expire()
        self._settle()
        self._note(" ".join((name, *words[:1])))

    def _settle(self) -> None:
        """Let members that are awake call their group until all know their shares.

        Or until nothing changes any more, because the group waits for a silent member.
        """
        awake = self._awake()
        seen: tuple[object, ...] = ()
        while True:
            for name, member in awake:
                member.keep(self._subscribed[name])
            group = self._group.state
            now = group.generation, *((member.owned, member.is_waiting) for _, member in awake)
            if now == seen or all(self._knows_its_share(member) for _, member in awake):
                return
            seen = now

    def _knows_its_share(self, member: GroupMember) -> bool:
        group, known = self._group.state, member.membership
        return (
            group.state == STABLE
            and known is not None
            and known.generation == group.generation
            and group.assignment.get(known.member_id) == member.owned
        )

    def _note(self, act: str) -> None:
        group = self._group.state
        reading = {
            partition: name
            for name, member in self._members.items()
            if name not in self.asleep
            for partition in member.owned
        }
        ids = {m.membership.member_id for n, m in self._awake() if m.membership}
        silent = {p: owner for p, owner in group.owners.items() if owner not in ids}
        moved = frozenset(p for p, who in reading.items() if self._last_reader.get(p, who) != who)
        self._last_reader |= reading
        every = [TopicPartition(t, n) for t, size in self._topics.items() for n in range(size)]
        readers = {partition: reading.get(partition, silent.get(partition)) for partition in every}
        is_silent = frozenset(silent.keys() - reading.keys())
        self.rows.append(Row(act, readers, is_silent, group.state, group.generation, moved))

    def _awake(self) -> list[tuple[str, GroupMember]]:
        return [each for each in self._members.items() if each[0] not in self.asleep]


def document(given: Mapping[str, str], acts: Sequence[str]) -> Document:
    """Return what the last of some acts has led to; ValueError for one that is not possible."""
    partitions = whole_number(given["partitions"], "partitions", 1, MOST_PARTITIONS)
    topics = {_FIRST_TOPIC: partitions}
    strategies = [given["assignor"], given["beside"]]
    names = [name for name in dict.fromkeys(strategies) if name != NOBODY_BESIDE]
    groups = [_Played(name, topics) for name in names]
    words = ["An empty group"]
    for act in acts:
        words = [*act_words(act)]
        if words[0] == "join" and not words[1]:
            words[1] = next(name for name in ascii_uppercase if name not in groups[0].names)
        _check(groups[0], topics, *words)
        if words[0] == "topic":
            topics[words[1]] = int(words[2])
        for group in groups:
            group.act(*words)
    told = Script(__file__, "group", STEPS, timeout=SESSION_TIMEOUT_MS // 1_000)
    lasts = {group.strategy: group.rows[-1] for group in groups if group.rows}
    told.tell(
        words[0],
        tables=[_now(lasts), _moves(groups)] if lasts else [],
        picture=_picture(groups, topics),
        member=words[1] if len(words) > 1 else "",
        moved={name: len(row.moved) for name, row in lasts.items()},
        is_preparing=any(last.state == PREPARING for last in lasts.values()),
        is_empty=any(last.state == EMPTY for last in lasts.values()),
        is_refused=groups[0].is_refused,
        silent=sorted({_reader(row, p) for row in lasts.values() for p in row.silent}),
    )
    return told.document()


def _reader(row: Row, partition: TopicPartition) -> str:
    return row.reader_by_partition[partition] or ""


def _check(group: _Played, topics: Mapping[str, int], act: str, *words: str) -> None:
    """Raise ValueError if an act is not possible now."""
    if act == "wait":
        return
    name = words[0]
    if not _NAME.fullmatch(name):
        raise ValueError(f"{act}: {name!r} is no name; give 1 to 8 letters or digits")
    if act == "topic":
        has = topics.get(name, 0)
        if has == MOST_PARTITIONS:
            raise ValueError(f"topic: {name} has {has} partitions; there is room for no more")
        if name not in topics and len(topics) == MOST_TOPICS:
            raise ValueError(f"topic: there are {MOST_TOPICS} topics; there is room for no more")
        whole_number(words[1], f"topic {name}, partitions", has + 1, MOST_PARTITIONS)
    elif act == "join":
        if name in group.names:
            raise ValueError(f"join: there is a member {name}; give another name")
        if len(group.names) == MOST_MEMBERS:
            raise ValueError(f"join: there are {MOST_MEMBERS} members; there is room for no more")
        wrong = [topic for topic in words[1].split(",") if not _NAME.fullmatch(topic)]
        if wrong:
            raise ValueError(f"join: {wrong[0]!r} is no topic; write topics as orders,views")
    elif name not in group.names:
        there = ", ".join(group.names) or "none"
        raise ValueError(f"{act}: there is no member {name}; the members: {there}")
    elif (name in group.asleep) != (act == "wake") and act != "kill":
        state = "sleeps" if name in group.asleep else "is awake"
        raise ValueError(f"{act}: member {name} {state}")


def _now(lasts: Mapping[str, Row]) -> Table:
    """Return the state of each group."""
    rows = [(name, row.state, row.generation, row.unread) for name, row in lasts.items()]
    return Table("The group now", ("assignor", "state", "generation", "unread"), tuple(rows))


def _moves(groups: Sequence[_Played]) -> Table:
    """Return how many partitions each act has moved with each assignor, and the sums."""
    acts = [row.act for row in groups[0].rows]
    moved = [[len(row.moved) for row in group.rows] for group in groups]
    rows: list[tuple[Value, ...]] = list(zip(acts, *moved, strict=True))[-_SHOWN_ROWS // 2 :]
    rows.append(("in all", *map(sum, moved)))
    columns = ("act", *(group.strategy for group in groups))
    return Table("Partitions that moved", columns, tuple(rows), (len(rows) - 2,))


def _picture(groups: Sequence[_Played], topics: Mapping[str, int]) -> Picture:
    """Return the topics, and below them for each assignor a lane for each of the last acts."""
    end, heads = 0, []
    for topic, size in topics.items():
        heads.append(Bar(end, end + size, topic, "", topic))
        end += size
    first = {bar.label: bar.start for bar in heads}
    lanes, shown = [], _SHOWN_ROWS // len(groups)
    for group in groups:
        lanes.append(PictureLane(group.strategy, 0, end, tuple(heads)))
        names = dict.fromkeys(
            who.partition("-")[0]
            for row in group.rows
            for who in row.reader_by_partition.values()
            if who
        )
        styles = {name: _STYLES[n % len(_STYLES)] for n, name in enumerate(names)}
        for number, row in list(enumerate(group.rows, start=1))[-shown:]:
            bars = []
            for partition, who in row.reader_by_partition.items():
                at = first[partition.topic] + partition.partition
                style = styles[who.partition("-")[0]] if who else "free"
                if partition in row.silent:
                    style = "lost"
                if partition in row.moved:
                    style += " here"
                bars.append(Bar(at, at + 1, who or "", style, f"{number} {partition}"))
            lanes.append(PictureLane(f"{number} {row.act}", 0, end, tuple(bars)))
    title = "Who reads which partition after each act; dashed: nobody; red: silent; framed: moved"
    return Picture(title, tuple(lanes))


_MEMBER = (BenchField("member", "Member", "A"),)
BENCH = Bench(
    "group",
    "A group",
    (
        BenchField("assignor", "Assignor", "range", tuple(ASSIGNORS)),
        BenchField("beside", "Beside it", "sticky", (NOBODY_BESIDE, *ASSIGNORS)),
        BenchField("partitions", f"Partitions of {_FIRST_TOPIC}", "6"),
    ),
    (
        BenchAct(
            "join",
            "Add",
            (
                BenchField("member", "Member (empty: the next letter)"),
                BenchField("topics", "Its topics", _FIRST_TOPIC),
            ),
        ),
        BenchAct("leave", "Let it leave", _MEMBER),
        BenchAct("kill", "Kill", _MEMBER),
        BenchAct("sleep", "Let it sleep", _MEMBER),
        BenchAct("wake", "Let it wake", _MEMBER),
        BenchAct("wait", "Wait for the session time-out"),
        BenchAct(
            "topic",
            "Add a topic",
            (BenchField("topic", "Topic", "views"), BenchField("partitions", "Partitions", "4")),
        ),
    ),
    document,
)
