"""Groups on the disk: several processes, kill -9, broken files, and a producer next door."""

import json
import random
import subprocess
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from kminilog.clock import ManualClock
from kminilog.consumer.coordinator import Coordinator, delete_group, forget_topic
from kminilog.consumer.errors import (
    GroupInUseError,
    IllegalGenerationError,
    InvalidGroupError,
    UnknownGroupError,
    UnknownMemberError,
    UnknownTopicIdError,
)
from kminilog.consumer.group import EMPTY, PREPARING, STABLE
from kminilog.consumer.members import Assigned, JoinRequest, Membership
from kminilog.errors import LogDirError, LogDirLockedError, UnknownTopicOrPartitionError
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.system import SystemClock
from tests.support.errors import error_text
from tests.support.invariants import check_group
from tests.support.processes import finish, kill, read_line, start

PROCESS = "consumer.member_process"
ORDERS_0 = TopicPartition("orders", 0)
REQUEST = JoinRequest(("orders",), session_timeout_ms=100)
GONE = object()


class Desk:
    """A coordinator with a clock that is moved by hand."""

    def __init__(self, log_dir: Path, seed: int = 0) -> None:
        self.clock = ManualClock(1_000)
        self.partitions = {"orders": 4}
        self.topic_ids: dict[str, Any] = {}
        self.coordinator = Coordinator(
            log_dir,
            lambda: self.partitions,
            self.topic_id,
            clock=self.clock,
            chance=random.Random(seed),
        )

    def topic_id(self, topic: str) -> str | None:
        found = self.topic_ids.get(topic)
        if found is GONE:
            raise UnknownTopicOrPartitionError(topic)
        return found

    def join(self) -> Assigned:
        share = self.coordinator.sync("readers", self.coordinator.join("readers", REQUEST))
        assert share
        return share


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def file_of(log_dir: Path, group: str = "readers") -> Path:
    return log_dir / ".groups" / f"{group}.json"


def of_this_machine(log_dir: Path) -> Coordinator:
    return Coordinator(
        log_dir,
        lambda: {"orders": 12},
        lambda topic: None,
        clock=SystemClock(),
        chance=random.Random(1),
    )


# ---- one process


def test_group_goes_on_where_another_coordinator_left_it(tmp_path, desk):
    membership = desk.coordinator.join("readers", REQUEST)
    other = Desk(tmp_path, seed=1)
    share = other.coordinator.sync("readers", membership)
    assert share
    assert share.partitions == tuple(Topic("orders", 4).all_partitions())
    other.coordinator.commit("readers", {ORDERS_0: 7}, share.membership)
    assert desk.coordinator.heartbeat("readers", share.membership) == "ok"
    assert desk.coordinator.committed("readers") == {ORDERS_0: 7}
    second = other.coordinator.join("readers", REQUEST)
    assert desk.coordinator.heartbeat("readers", share.membership) == "rebalance"
    desk.coordinator.leave("readers", share.membership)
    share = desk.coordinator.sync("readers", second)
    assert share
    assert len(share.partitions) == 4


def test_groups_do_not_know_of_each_other(desk):
    """Broadcast is a group for each consumer: each of them owns everything."""
    for group in ("b", "a"):
        membership = desk.coordinator.join(group, REQUEST)
        share = desk.coordinator.sync(group, membership)
        assert share
        assert len(share.partitions) == 4
        desk.coordinator.commit(group, {ORDERS_0: len(group)}, share.membership)
    assert desk.coordinator.groups() == ["a", "b"]


@pytest.mark.parametrize(
    ("more", "begin"), [({"client_id": "shop"}, "shop-"), ({"instance_id": "till-1"}, "till-1-")]
)
def test_new_member_gets_an_id_of_its_own(desk, more, begin):
    first = desk.coordinator.join("one", REQUEST._replace(**more)).member_id
    second = desk.coordinator.join("two", REQUEST._replace(**more)).member_id
    assert first != second
    assert first.startswith(begin)
    assert len(first) == len(begin) + 8


def test_new_member_gets_an_id_of_its_own_even_with_the_same_chance(tmp_path):
    first, second = (Desk(tmp_path, seed=0).coordinator.join("readers", REQUEST) for _ in range(2))
    assert first.member_id != second.member_id


def test_topic_that_grows_is_noticed_with_the_next_heartbeat(desk):
    membership = desk.coordinator.join("readers", REQUEST)
    share = desk.coordinator.sync("readers", membership)
    assert share
    desk.partitions["orders"] = 6
    assert desk.coordinator.heartbeat("readers", share.membership) == "rebalance"
    again = desk.coordinator.join("readers", REQUEST._replace(member_id=share.membership.member_id))
    share = desk.coordinator.sync("readers", again)
    assert share
    assert len(share.partitions) == 6


def test_call_that_is_refused_changes_no_byte(tmp_path, desk):
    share = desk.coordinator.sync("readers", desk.coordinator.join("readers", REQUEST))
    assert share
    desk.coordinator.commit("readers", {ORDERS_0: 5}, share.membership)
    before = file_of(tmp_path).read_bytes()
    desk.clock.sleep_ms(50)
    with pytest.raises(IllegalGenerationError):
        desk.coordinator.commit("readers", {ORDERS_0: 9}, share.membership._replace(generation=0))
    with pytest.raises(UnknownMemberError):
        desk.coordinator.commit("readers", {ORDERS_0: 9}, Membership("stranger", 1))
    with pytest.raises(ValueError, match="-9 is no offset"):
        desk.coordinator.commit("readers", {ORDERS_0: -9}, share.membership)
    assert file_of(tmp_path).read_bytes() == before


def test_call_that_changes_nothing_does_not_write(tmp_path, desk):
    share = desk.coordinator.sync("readers", desk.coordinator.join("readers", REQUEST))
    assert share
    before = file_of(tmp_path).stat().st_ino, file_of(tmp_path).stat().st_mtime_ns
    assert desk.coordinator.heartbeat("readers", share.membership) == "ok"
    assert desk.coordinator.sync("readers", share.membership) == share
    assert (file_of(tmp_path).stat().st_ino, file_of(tmp_path).stat().st_mtime_ns) == before


def test_describe_shows_the_group_as_it_is_now_and_writes_nothing(tmp_path, desk):
    one = desk.coordinator.join("readers", REQUEST)
    desk.clock.sleep_ms(50)
    two = desk.coordinator.join("readers", REQUEST)
    desk.coordinator.sync("readers", two)
    before = {path: path.read_bytes() for path in (tmp_path / ".groups").iterdir()}
    assert desk.coordinator.describe("readers").state == STABLE
    desk.clock.sleep_ms(50)
    group = desk.coordinator.describe("readers")
    assert (group.state, list(group.members)) == (PREPARING, [two.member_id])
    assert one.member_id not in group.assignment
    desk.clock.sleep_ms(50)
    assert desk.coordinator.describe("readers").state == EMPTY
    assert before == {path: path.read_bytes() for path in (tmp_path / ".groups").iterdir()}


# ---- what can be wrong on the disk


def test_group_that_nobody_has_joined_is_unknown(tmp_path, desk):
    stranger = Membership("consumer-1", 1)
    for call in (
        lambda: desk.coordinator.describe("readers"),
        lambda: desk.coordinator.sync("readers", stranger),
        lambda: desk.coordinator.heartbeat("readers", stranger),
        lambda: desk.coordinator.leave("readers", stranger),
        lambda: desk.coordinator.commit("readers", {ORDERS_0: 1}, stranger),
    ):
        with pytest.raises(UnknownGroupError, match="Group readers doesn't exist"):
            call()
    assert desk.coordinator.committed("readers") == {}
    assert desk.coordinator.groups() == []
    assert not file_of(tmp_path).exists()


def test_group_whose_file_is_deleted_begins_anew_with_other_members(tmp_path, desk):
    first = desk.coordinator.join("readers", REQUEST)
    file_of(tmp_path).unlink()
    with pytest.raises(UnknownGroupError):
        desk.coordinator.heartbeat("readers", first)
    second = desk.coordinator.join("readers", REQUEST)
    assert second.generation == first.generation
    with pytest.raises(UnknownMemberError):
        desk.coordinator.commit("readers", {ORDERS_0: 9}, first)


GOOD = {
    "group": "readers",
    "state": "Empty",
    "generation": 4,
    "strategy": "",
    "partitions": {},
    "members": [],
    "assignment": {},
    "committed": {"orders-0": 17},
}
MEMBER = {
    "id": "a",
    "topics": ["orders"],
    "session_timeout_ms": 100,
    "heard_ms": 5,
    "instance_id": None,
    "owned": [],
    "is_waiting": False,
    "is_told": False,
}
BROKEN = {
    "empty": "",
    "not JSON": '{"group": "readers"',
    "not an object": "[]",
    "no UTF-8": b"\xff",
    "no field": "{}",
    "another group": json.dumps({**GOOD, "group": "writers"}),
    "no state": json.dumps({**GOOD, "state": "Dead"}),
    "generation is a text": json.dumps({**GOOD, "generation": "4"}),
    "no partition": json.dumps({**GOOD, "committed": {"orders": 1}}),
    "offset is a fraction": json.dumps({**GOOD, "committed": {"orders-0": 1.5}}),
    "offset is negative": json.dumps({**GOOD, "committed": {"orders-0": -1}}),
    "offset beyond 63 bits": json.dumps({**GOOD, "committed": {"orders-0": 2**63}}),
    "offset is true": json.dumps({**GOOD, "committed": {"orders-0": True}}),
    "committed twice": json.dumps(GOOD).replace('"orders-0": ', '"orders-0": 5, "orders-0": '),
    "topic is a path": json.dumps({**GOOD, "partitions": {"../orders": 1}}),
    "committed of a path": json.dumps({**GOOD, "committed": {"..-0": 1}}),
    "member twice": json.dumps(
        {**GOOD, "state": "PreparingRebalance", "members": [MEMBER, MEMBER]}
    ),
    "member heard of never": json.dumps({**GOOD, "members": [{**MEMBER, "heard_ms": -1}]}),
    "stable without members": json.dumps({**GOOD, "state": "Stable"}),
    "empty with members": json.dumps({**GOOD, "members": [MEMBER]}),
    "not assigned": json.dumps({**GOOD, "state": "Stable", "members": [MEMBER]}),
    "member without topics": json.dumps({**GOOD, "members": [{**MEMBER, "topics": "orders"}]}),
    "topic ids are a list": json.dumps({**GOOD, "topic_ids": []}),
    "topic id is a number": json.dumps({**GOOD, "topic_ids": {"orders": 5}}),
    "topic id of what is not committed": json.dumps({**GOOD, "topic_ids": {"bills": "x"}}),
    "member is a text": json.dumps({**GOOD, "members": ["a"]}),
}


def test_broken_file_is_one_clear_error_and_stays_as_it_is(tmp_path, desk):
    path = file_of(tmp_path)
    path.parent.mkdir()
    calls = {
        "describe": lambda: desk.coordinator.describe("readers"),
        "join": lambda: desk.coordinator.join("readers", REQUEST),
        "committed": lambda: desk.coordinator.committed("readers"),
    }
    offenders = []
    for name, content in BROKEN.items():
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(data)
        for what, call in calls.items():
            said = error_text(LogDirError, call)
            if "readers.json holds no state of a group" not in said or "\n" in said:
                offenders.append((name, what, said))
        if path.read_bytes() != data:
            offenders.append((name, "the file", path.read_bytes()))
        desk.coordinator.join("others", REQUEST)
    assert offenders == []


def test_file_that_is_written_by_hand_is_read(tmp_path, desk):
    file_of(tmp_path).parent.mkdir()
    file_of(tmp_path).write_text(json.dumps(GOOD))
    assert desk.coordinator.committed("readers") == {ORDERS_0: 17}
    desk.coordinator.join("readers", REQUEST)
    assert desk.coordinator.describe("readers").generation == 5


def test_unfinished_file_of_a_killed_process_is_no_group_and_in_nobodys_way(tmp_path, desk):
    desk.coordinator.commit("readers", {ORDERS_0: 3})
    file_of(tmp_path).with_name("readers.json.tmp").write_text('{"group": "rea')
    assert desk.coordinator.groups() == ["readers"]
    desk.coordinator.commit("readers", {ORDERS_0: 4})
    assert desk.coordinator.committed("readers") == {ORDERS_0: 4}


@pytest.mark.parametrize("group", ["", ".", "..", "a/b", "../escape", "ä", "a b", "x" * 201])
def test_group_id_that_is_no_file_name_is_refused(tmp_path, desk, group):
    with pytest.raises(InvalidGroupError, match="illegal group id"):
        desk.coordinator.join(group, REQUEST)
    with pytest.raises(InvalidGroupError):
        desk.coordinator.committed(group)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("group", ["x" * 200, "a.json", "a.lock", "a.json.tmp", "-", ".a"])
def test_group_id_with_any_legal_name_has_files_of_its_own(desk, group):
    desk.coordinator.commit("a", {ORDERS_0: 1})
    desk.coordinator.commit(group, {ORDERS_0: 2})
    assert desk.coordinator.committed("a") == {ORDERS_0: 1}
    assert desk.coordinator.committed(group) == {ORDERS_0: 2}
    assert desk.coordinator.groups() == sorted(["a", group])


def test_log_dir_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(LogDirError, match="no such directory"):
        Desk(tmp_path / "nothing")


# ---- topics that are deleted, and perhaps created again


BILLS_0 = TopicPartition("bills", 0)


def test_commit_stores_the_id_of_its_topic_beside_the_offsets(tmp_path, desk):
    desk.topic_ids = {"orders": "first"}
    desk.coordinator.commit("readers", {ORDERS_0: 7, BILLS_0: 2})
    assert json.loads(file_of(tmp_path).read_text())["topic_ids"] == {"orders": "first"}


@pytest.mark.parametrize(
    ("named", "now"),
    [("first", "second"), ("first", None), (None, "second"), ("first", GONE), (None, GONE)],
)
def test_commit_for_another_topic_than_that_of_now_changes_nothing(tmp_path, desk, named, now):
    share = desk.join()
    desk.coordinator.commit("readers", {BILLS_0: 2}, share.membership)
    before = file_of(tmp_path).read_bytes()
    desk.topic_ids = {"orders": now}
    with pytest.raises(UnknownTopicIdError, match="that topic was deleted"):
        desk.coordinator.commit(
            "readers", {ORDERS_0: 7, BILLS_0: 3}, share.membership, {ORDERS_0: named}
        )
    assert file_of(tmp_path).read_bytes() == before
    if now is not GONE:
        desk.coordinator.commit("readers", {ORDERS_0: 7}, share.membership, {ORDERS_0: now})
        assert desk.coordinator.committed("readers") == {BILLS_0: 2, ORDERS_0: 7}


def test_committed_offsets_count_only_in_the_topic_that_they_were_read_from(tmp_path, desk):
    """The file keeps them until the first commit in the new topic; no id is an identity, too."""
    for number, topic_id in enumerate(["first", "second", None, "third"], 1):
        before = desk.coordinator.committed("readers")
        desk.topic_ids = {"orders": topic_id}
        assert desk.coordinator.committed("readers") == {}
        assert desk.coordinator.outdated("readers") == before
        if before:
            assert desk.coordinator.describe("readers").committed == {}
        desk.coordinator.commit("readers", {TopicPartition("orders", number): 9})
        assert desk.coordinator.outdated("readers") == {}
        assert desk.coordinator.committed("readers") == {TopicPartition("orders", number): 9}


def test_committed_offsets_of_a_topic_that_is_gone_stay_until_they_are_forgotten(tmp_path, desk):
    desk.topic_ids = {"orders": "first"}
    desk.coordinator.commit("readers", {ORDERS_0: 7, BILLS_0: 2})
    desk.topic_ids = {"orders": GONE}
    assert desk.coordinator.committed("readers") == {ORDERS_0: 7, BILLS_0: 2}
    forget_topic(tmp_path, "orders")
    assert desk.coordinator.committed("readers") == {BILLS_0: 2}
    assert json.loads(file_of(tmp_path).read_text())["topic_ids"] == {}


# ---- beside a producer


@pytest.mark.processes
def test_group_goes_on_while_a_producer_holds_the_log_dir(tmp_path, desk):
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 4))
        writer.log(ORDERS_0).append([(None, b"value")])
        with start(PROCESS, "note", tmp_path, 3, 1) as process:
            finish(process)
        share = desk.coordinator.sync("readers", desk.coordinator.join("readers", REQUEST))
        assert share
        desk.coordinator.commit("readers", {ORDERS_0: 1}, share.membership)
        with pytest.raises(LogDirLockedError):
            LogDirWriter.open(tmp_path)
        desk.coordinator.leave("readers", share.membership)
    assert [topic.name for topic in LogDir(tmp_path).topics()] == ["orders"]
    LogDirWriter.open(tmp_path).close(cleanly=False)
    with LogDirWriter.open(tmp_path) as writer:
        assert writer.warnings == []
    expected = {ORDERS_0: 1, TopicPartition("orders", 3): 1}
    assert desk.coordinator.committed("readers") == expected


def test_group_is_deleted_once_it_has_no_members_and_begins_anew(tmp_path, desk):
    desk.coordinator.commit("readers", {ORDERS_0: 7})
    membership = desk.coordinator.join("readers", REQUEST)
    before = file_of(tmp_path).read_bytes()
    with pytest.raises(GroupInUseError):
        delete_group(tmp_path, "readers", now_ms=desk.clock.now_ms())
    assert file_of(tmp_path).read_bytes() == before
    desk.clock.sleep_ms(REQUEST.session_timeout_ms)
    delete_group(tmp_path, "readers", now_ms=desk.clock.now_ms())
    assert desk.coordinator.committed("readers") == {}
    with pytest.raises(UnknownGroupError):
        desk.coordinator.heartbeat("readers", membership)
    assert desk.coordinator.join("readers", REQUEST).generation == 1
    with pytest.raises(UnknownGroupError):
        delete_group(tmp_path, "others", now_ms=0)
    assert not file_of(tmp_path, "others").with_suffix(".lock").exists()


# ---- several processes, several threads


@pytest.mark.processes
def test_commits_of_many_processes_are_all_there(tmp_path, desk):
    processes, commits = 4, 30
    started = [
        start(PROCESS, "note", tmp_path, slot * commits, commits) for slot in range(processes)
    ]
    for process in started:
        with process:
            finish(process)
    committed = desk.coordinator.committed("readers")
    assert sorted(found.partition for found in committed) == list(range(processes * commits))


def test_commits_of_many_threads_are_all_there(desk):
    def note(first: int) -> None:
        for number in range(first, first + 20):
            desk.coordinator.commit("readers", {TopicPartition("orders", number): 1})

    threads = [Thread(target=note, args=(first,)) for first in (0, 20, 40, 60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(desk.coordinator.committed("readers")) == 80


@pytest.mark.processes
def test_processes_share_the_partitions_and_take_over_from_one_that_is_killed(tmp_path):
    session_ms = 1_000
    members = [start(PROCESS, "follow", tmp_path, name, session_ms) for name in ("a", "b", "c")]
    try:
        shares = shares_of_one_generation(members)
        assert sorted(map(len, shares)) == [4, 4, 4]
        assert sorted(number for share in shares for number in share) == list(range(12))
        kill(members.pop(1))
        shares = shares_of_one_generation(members)
        assert sorted(map(len, shares)) == [6, 6]
        assert sorted(number for share in shares for number in share) == list(range(12))
        members.append(start(PROCESS, "follow", tmp_path, "d", session_ms))
        assert sorted(map(len, shares_of_one_generation(members))) == [4, 4, 4]
        described = of_this_machine(tmp_path).describe("readers")
        assert len(described.members) == 3
    finally:
        for member in members:
            kill(member)


def shares_of_one_generation(members: "list[subprocess.Popen[str]]") -> list[list[int]]:
    """Read what members say until the last words of all are of one generation, with as many
    partitions in all as there are."""
    heard = [json.loads(read_line(member)) for member in members]
    while True:
        newest = max(generation for generation, _ in heard)
        late = [slot for slot, (generation, _) in enumerate(heard) if generation < newest]
        if not late and sum(len(share) for _, share in heard) == 12:
            return [share for _, share in heard]
        for slot in late or range(len(members)):
            heard[slot] = json.loads(read_line(members[slot]))


@pytest.mark.processes
@pytest.mark.parametrize("rounds", [5, pytest.param(100, marks=pytest.mark.soak)])
def test_kill_in_the_middle_of_commits_keeps_the_last_that_was_acknowledged(tmp_path, rounds):
    source = random.Random(rounds)
    for number in range(rounds):
        log_dir = tmp_path / str(number)
        log_dir.mkdir()
        with start(PROCESS, "count", log_dir, "a") as process:
            for _ in range(source.randrange(1, 40)):
                acknowledged = int(read_line(process))
            acknowledged = max(map(int, kill(process)), default=acknowledged)
        coordinator = of_this_machine(log_dir)
        assert coordinator.committed("readers")[ORDERS_0] in (acknowledged, acknowledged + 1)
        check_group(coordinator.describe("readers"), is_cooperative=False)
        coordinator.join("readers", JoinRequest(("orders",)))
