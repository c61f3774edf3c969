"""Groups: members that come by the network, alone and beside one that uses the files."""

import asyncio
import itertools
from random import Random

import pytest

from kminilog.consumer import coordinator
from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.group_file import GROUPS_DIR, read_group
from kminilog.consumer.members import JoinRequest
from kminilog.consumer.readers import LogDirSource
from kminilog.format.names import TopicPartition
from kminilog.wire import groups
from kminilog.wire.errors import Code
from kminilog.wire.groups import MOST_METADATA_BYTES, MOST_SESSION_MS, NOBODY
from kminilog.wire.schemas import decode, encode
from tests.support.wire.exchange import Exchange, short
from tests.support.wire.loops import run_apart

SESSION_MS = 10_000


@pytest.fixture
def exchange(tmp_path, monkeypatch):
    monkeypatch.setattr(groups, "JOIN_SECONDS", 0.001)
    with Exchange(tmp_path / "log-dir") as found:
        found.create("orders", 4)
        yield found


def subscription(*topics: str, version: int = 0, owned=()) -> bytes:
    value = {"topics": topics, "user_data": None, "owned_partitions": owned}
    return version.to_bytes(2) + encode("ConsumerProtocolSubscription", min(version, 1), value)


def joining(member_id="", topics=("orders",), assignors=("range",), **options):
    return {
        "group_id": "g",
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": SESSION_MS,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [{"name": name, "metadata": subscription(*topics)} for name in assignors],
    } | options


class Member:
    """A member that talks to the broker."""

    def __init__(self, exchange: Exchange, name: str = "m", version: int = 2, **options) -> None:
        self.exchange, self.name, self.options = exchange, name, options
        self.version = version
        self.id, self.generation = "", -1

    async def join(self, **options):
        request = joining(self.id, **(self.options | options))
        version = min(self.version, 3)
        answer = await self.exchange.asked_for("JoinGroup", version, request, client_id=self.name)
        if not answer["error_code"]:
            self.id, self.generation = answer["member_id"], answer["generation_id"]
        return answer

    async def sync(self, generation=None):
        request = self._own() | {"assignments": []}
        if generation is not None:
            request["generation_id"] = generation
        answer = await self.exchange.asked_for("SyncGroup", self.version, request)
        return answer["error_code"] or owned(answer["assignment"])

    async def joined(self):
        """Join, again and again while others do, and return the partitions."""
        while True:
            answer = await self.join()
            if answer["error_code"] == 0 and not isinstance(found := await self.sync(), int):
                return found
            assert answer["error_code"] in (0, Code.REBALANCE_IN_PROGRESS), answer

    async def heartbeat(self):
        answer = await self.exchange.asked_for("Heartbeat", self.version, self._own())
        return answer["error_code"]

    async def leave(self):
        request = {"group_id": "g", "member_id": self.id}
        return (await self.exchange.asked_for("LeaveGroup", self.version, request))["error_code"]

    async def commit(self, **offsets):
        topics = [
            {
                "name": topic,
                "partitions": [
                    {"partition_index": number, "committed_offset": offset}
                    for number, offset in each.items()
                ],
            }
            for topic, each in offsets.items()
        ]
        request = {
            "group_id": "g",
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.id,
            "topics": topics,
        }
        answer = await self.exchange.asked_for("OffsetCommit", self.version, request)
        return [each["error_code"] for one in answer["topics"] for each in one["partitions"]]

    def _own(self):
        return {"group_id": "g", "generation_id": self.generation, "member_id": self.id}


async def shared(*members: Member) -> list[list[int]]:
    """Let members live until all know the same generation; return what each has then."""
    shares: dict[Member, list[int]] = {}

    def is_settled() -> bool:
        return len(shares) == len(members) and len({each.generation for each in members}) == 1

    async def live(member: Member) -> None:
        while not is_settled():
            if member.generation < 0 or await member.heartbeat():
                shares.pop(member, None)
                if (await member.join())["error_code"]:
                    continue
            if member not in shares and not isinstance(found := await member.sync(), int):
                shares[member] = found
            await asyncio.sleep(0.001)

    await asyncio.gather(*map(live, members))
    return [shares[each] for each in members]


def owned(assignment: bytes) -> list[int]:
    found, end = decode("ConsumerProtocolAssignment", 0, assignment, 2)
    assert end == len(assignment)
    return [n for topic in found["assigned_partitions"] for n in topic["partitions"]]


def run(coroutine):
    return run_apart(coroutine)


def file_based(exchange: Exchange) -> Coordinator:
    """Return what a member in another process uses, as `kminilog consume --group` is."""
    source = LogDirSource(exchange.writer)
    path, chance = exchange.writer.path, Random(9)
    return Coordinator(path, source.topics, source.topic_id, clock=exchange.clock, chance=chance)


# ---- members


@pytest.mark.parametrize("version", [0, 1, 2])
def test_member_of_each_version_gets_all_partitions(exchange, version):
    member = Member(exchange, version=version)
    answer = run(member.join())
    assert (answer["error_code"], answer["protocol_name"], answer["leader"]) == (0, "range", NOBODY)
    assert answer["member_id"].startswith("m-")
    assert run(member.sync()) == [0, 1, 2, 3]
    assert run(member.heartbeat()) == 0
    assert run(member.leave()) == 0
    assert run(member.heartbeat()) == Code.UNKNOWN_MEMBER_ID


def test_members_that_join_together_share_the_partitions(exchange):
    members = [Member(exchange, f"m{number}") for number in range(3)]
    shares = run(shared(*members))
    assert sorted(number for share in shares for number in share) == [0, 1, 2, 3]
    assert sorted(map(len, shares)) == [1, 1, 2]


def test_member_is_told_of_another_and_joins_again(exchange):
    first, second = Member(exchange, "a"), Member(exchange, "b")

    async def story():
        assert await first.joined() == [0, 1, 2, 3]
        waiting = asyncio.create_task(second.join())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        assert await first.heartbeat() == Code.REBALANCE_IN_PROGRESS
        assert await first.sync() == Code.REBALANCE_IN_PROGRESS
        assert await first.join() != 0
        assert (await waiting)["error_code"] == 0
        assert first.generation == second.generation
        assert [await first.sync(), await second.sync()] == [[0, 1], [2, 3]]
        assert await first.sync(first.generation - 1) == Code.REBALANCE_IN_PROGRESS
        assert await second.leave() == 0
        assert await first.heartbeat() == Code.REBALANCE_IN_PROGRESS
        assert await first.joined() == [0, 1, 2, 3]

    run(story())


def test_member_that_waits_does_not_write_the_group_again_and_again(exchange, monkeypatch):
    written = []
    real = coordinator.write_group
    monkeypatch.setattr(
        coordinator, "write_group", lambda *given: (written.append(1), real(*given))
    )
    times = itertools.count(exchange.clock.now_ms())
    monkeypatch.setattr(exchange.clock, "now_ms", lambda: next(times))
    first, second = Member(exchange, "a"), Member(exchange, "b")

    async def story():
        await first.joined()
        written.clear()
        waiting = asyncio.create_task(second.join())
        await asyncio.sleep(0.2)
        count = len(written)
        await first.join()
        await waiting
        return count

    assert run(story()) <= 2


def test_member_whose_session_is_over_is_removed_and_the_waiting_one_goes_on(exchange):
    first, second = Member(exchange, "a"), Member(exchange, "b", session_timeout_ms=100_000)

    async def story():
        await first.joined()
        waiting = asyncio.create_task(second.joined())
        await asyncio.sleep(0.01)
        exchange.clock.sleep_ms(SESSION_MS)
        assert await waiting == [0, 1, 2, 3]
        assert await first.heartbeat() == Code.UNKNOWN_MEMBER_ID
        assert await first.commit(orders={0: 1}) == [Code.UNKNOWN_MEMBER_ID]

    run(story())


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_new_member_that_goes_away_while_it_waits_is_removed(exchange, is_cancelled):
    """Nobody else knows its id: it would hold up the others until its session is over."""
    first = Member(exchange, "a")

    async def story():
        await first.joined()
        gone = []
        request = joining()
        asked = exchange.asked_for("JoinGroup", 2, request, is_gone=lambda: bool(gone))
        waiting = asyncio.create_task(asked)
        await asyncio.sleep(0.01)
        assert len(read_group(exchange.writer.path, "g").members) == 2
        if is_cancelled:
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        else:
            gone.append(True)
            assert (await waiting)["error_code"] == Code.REBALANCE_IN_PROGRESS
        assert len(read_group(exchange.writer.path, "g").members) == 1
        assert await first.joined() == [0, 1, 2, 3]

    run(story())


def test_known_member_that_goes_away_while_it_waits_may_come_back(exchange):
    first, second = Member(exchange, "a"), Member(exchange, "b")

    async def story():
        await shared(first, second)
        third = asyncio.create_task(Member(exchange, "c").join())
        await asyncio.sleep(0.01)
        asked = exchange.asked_for("JoinGroup", 2, joining(first.id), is_gone=lambda: True)
        assert (await asked)["error_code"] == Code.REBALANCE_IN_PROGRESS
        await asyncio.gather(first.join(), second.join(), third)
        assert len(read_group(exchange.writer.path, "g").members) == 3

    run(story())


def test_member_that_uses_the_files_shares_the_group(exchange):
    member, files = Member(exchange), file_based(exchange)

    async def story():
        await member.joined()
        membership = files.join("g", JoinRequest(("orders",), "range", SESSION_MS, "file"))
        assert files.sync("g", membership) is None
        assert await member.heartbeat() == Code.REBALANCE_IN_PROGRESS
        await member.join()
        assigned = files.sync("g", membership)
        partitions = [each.partition for each in assigned.partitions]
        assert sorted(partitions + await member.sync()) == [0, 1, 2, 3]
        assert len(partitions) == 2
        files.commit("g", {TopicPartition("orders", partitions[0]): 5}, assigned.membership)
        found = await exchange.asked_for("OffsetFetch", 2, {"group_id": "g", "topics": None})
        assert found["topics"][0]["partitions"][0]["committed_offset"] == 5
        files.leave("g", assigned.membership)
        assert await member.joined() == [0, 1, 2, 3]

    run(story())


def test_new_partitions_begin_a_rebalance(exchange):
    member = Member(exchange)

    async def story():
        await member.joined()
        topic = {"name": "orders", "count": 6, "assignments": None}
        request = {"topics": [topic], "validate_only": False}
        await exchange.asked_for("CreatePartitions", 0, request)
        assert await member.heartbeat() == Code.REBALANCE_IN_PROGRESS
        assert await member.joined() == [0, 1, 2, 3, 4, 5]

    run(story())


# ---- what is refused


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"protocol_type": "connect"}, Code.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, Code.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": []}, Code.INCONSISTENT_GROUP_PROTOCOL),
        ({"assignors": ("own", "other")}, Code.INCONSISTENT_GROUP_PROTOCOL),
        ({"group_id": ""}, Code.INVALID_GROUP_ID),
        ({"group_id": "../g"}, Code.INVALID_GROUP_ID),
        ({"group_id": "g" * 32_767}, Code.INVALID_GROUP_ID),
        ({"member_id": "nobody"}, Code.UNKNOWN_MEMBER_ID),
        ({"session_timeout_ms": 0}, Code.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": -1}, Code.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": MOST_SESSION_MS + 1}, Code.INVALID_SESSION_TIMEOUT),
        ({"topics": ("a/b",)}, Code.INCONSISTENT_GROUP_PROTOCOL),
        ({"topics": ("",)}, Code.INCONSISTENT_GROUP_PROTOCOL),
    ],
    ids=short,
)
def test_join_is_refused_and_the_group_stays_readable(exchange, options, code):
    first = Member(exchange)
    run(first.joined())
    answer = exchange("JoinGroup", 2, joining(**options))
    assert answer["error_code"] == code
    assert list(read_group(exchange.writer.path, "g").members) == [first.id]
    assert run(first.heartbeat()) == 0


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        b"",
        b"\0",
        bytes(2),
        bytes(2) + b"\x7f\xff\xff\xff",
        bytes(5) + b"\x01\0\1\xff",
        subscription("orders", version=1, owned=[{"topic": "a/b", "partitions": [0]}]),
        subscription("orders", version=1, owned=[{"topic": "orders", "partitions": [-1]}]),
    ],
)
def test_subscription_that_is_none_is_refused(exchange, metadata):
    protocols = [{"name": "range", "metadata": metadata}]
    answer = exchange("JoinGroup", 2, joining(protocols=protocols))
    assert answer["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL
    assert not (exchange.writer.path / GROUPS_DIR / "g.json").exists()


def test_join_with_too_much_metadata_is_refused(exchange):
    large = subscription("orders") + bytes(MOST_METADATA_BYTES // 2)
    for names, code in ((("range",), 0), (("range", "own"), Code.INCONSISTENT_GROUP_PROTOCOL)):
        protocols = [{"name": name, "metadata": large} for name in names]
        answer = exchange("JoinGroup", 2, joining(group_id=f"g{len(names)}", protocols=protocols))
        assert answer["error_code"] == code


@pytest.mark.parametrize("version", [0, 1, 2, 3, 9])
def test_subscription_of_later_versions_is_read_as_far_as_it_is_known(exchange, version):
    metadata = subscription("orders", version=version) + b"more" * (version > 1)
    protocols = [{"name": "range", "metadata": metadata}]
    assert exchange("JoinGroup", 2, joining(protocols=protocols))["error_code"] == 0


def test_first_assignor_that_is_known_is_used_and_that_of_the_group_before_it(exchange):
    first = Member(exchange, assignors=("own", "roundrobin", "range"))
    assert run(first.join())["protocol_name"] == "roundrobin"

    async def story():
        waiting = asyncio.create_task(
            Member(exchange, assignors=("range", "RoundRobinAssigner")).join()
        )
        await asyncio.sleep(0.01)
        await first.join()
        return await waiting

    assert run(story())["protocol_name"] == "RoundRobinAssigner"
    answer = exchange("JoinGroup", 2, joining(assignors=("range",)))
    assert answer["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("name", ["", "x" * 32_767, "ä€\n\0", "a/b"], ids=short)
def test_client_id_may_be_any_text(exchange, name):
    member = Member(exchange, name)
    assert run(member.joined()) == [0, 1, 2, 3]
    answer = exchange("DescribeGroups", 0, {"groups": ["g"]})["groups"][0]
    assert [each["member_id"] for each in answer["members"]] == [member.id]


@pytest.mark.parametrize("api", ["SyncGroup", "Heartbeat", "LeaveGroup"])
@pytest.mark.parametrize(
    ("group", "code"),
    [
        ("g", Code.UNKNOWN_MEMBER_ID),
        ("unknown", Code.UNKNOWN_MEMBER_ID),
        ("../g", Code.INVALID_GROUP_ID),
        ("", Code.INVALID_GROUP_ID),
    ],
)
def test_call_of_nobody_is_refused(exchange, api, group, code):
    run(Member(exchange).joined())
    request = {"group_id": group, "generation_id": 1, "member_id": "nobody"}
    assert exchange(api, 0, request)["error_code"] == code


def test_disk_that_is_full_is_an_error_that_passes(exchange, monkeypatch):
    member = Member(exchange)
    run(member.joined())

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(coordinator, "write_group", full)
        exchange.clock.sleep_ms(1)
        assert run(member.heartbeat()) == Code.COORDINATOR_NOT_AVAILABLE
        assert run(member.sync()) == Code.COORDINATOR_NOT_AVAILABLE
        assert run(member.commit(orders={0: 1})) == [Code.COORDINATOR_NOT_AVAILABLE]
        assert run(member.leave()) == Code.COORDINATOR_NOT_AVAILABLE
        assert run(Member(exchange).join())["error_code"] == Code.COORDINATOR_NOT_AVAILABLE
    assert run(member.heartbeat()) == 0


def test_group_whose_file_is_broken_is_an_error_and_the_others_work(exchange):
    run(Member(exchange).joined())
    (exchange.writer.path / GROUPS_DIR / "g.json").write_text("rubbish")
    assert run(Member(exchange).join())["error_code"] != 0
    assert run(Member(exchange, group_id="other").join())["error_code"] == 0
    first, second = exchange("DescribeGroups", 0, {"groups": ["g", "other"]})["groups"]
    assert first["error_code"] != 0
    assert second["group_state"] == "Stable"


# ---- offsets


def committed(exchange, topics=None, version=2, group="g"):
    answer = exchange("OffsetFetch", version, {"group_id": group, "topics": topics})
    return {
        (topic["name"], each["partition_index"]): each["committed_offset"]
        for topic in answer["topics"]
        for each in topic["partitions"]
    }


def test_offsets_of_a_member_are_committed(exchange):
    member = Member(exchange)
    run(member.joined())
    assert run(member.commit(orders={0: 5, 2: 7})) == [0, 0]
    assert committed(exchange) == {("orders", 0): 5, ("orders", 2): 7}
    asked = [{"name": "orders", "partition_indexes": [2, 3]}]
    for version in range(5):
        assert committed(exchange, asked, version) == {("orders", 2): 7, ("orders", 3): -1}
    assert committed(exchange, group="unknown") == {}
    member.generation -= 1
    assert run(member.commit(orders={0: 6})) == [Code.ILLEGAL_GENERATION]
    assert committed(exchange)["orders", 0] == 5


def test_offsets_without_a_member_are_committed_only_while_there_is_none(exchange):
    alone = Member(exchange)
    assert run(alone.commit(orders={0: 5})) == [0]
    member = Member(exchange)
    run(member.joined())
    assert run(alone.commit(orders={0: 6})) == [Code.NON_EMPTY_GROUP]
    assert committed(exchange) == {("orders", 0): 5}


def test_offsets_of_topics_that_are_gone_stay_out_and_the_others_are_committed(exchange):
    member = Member(exchange)
    run(member.joined())
    codes = run(member.commit(orders={0: 5, 1: 6}, gone={0: 7}))
    assert codes == [0, 0, Code.UNKNOWN_TOPIC_OR_PARTITION]
    assert committed(exchange) == {("orders", 0): 5, ("orders", 1): 6}
    assert run(member.commit(gone={0: 7})) == [Code.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize("offsets", [{0: -1}, {-1: 5}, {-(1 << 31): 0}])
def test_offsets_that_are_none_are_refused(exchange, offsets):
    member = Member(exchange)
    run(member.joined())
    assert run(member.commit(orders=offsets)) == [Code.INVALID_REQUEST]
    assert committed(exchange) == {}
    assert read_group(exchange.writer.path, "g")


@pytest.mark.parametrize("topic", ["a/b", "", "..", "n" * 32_767], ids=short)
def test_offsets_of_what_is_no_topic_are_refused(exchange, topic):
    codes = run(Member(exchange).commit(**{topic: {0: 1}}))
    assert codes[0] in (
        Code.INVALID_TOPIC_EXCEPTION,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.INVALID_REQUEST,
    )
    assert committed(exchange) == {}


@pytest.mark.parametrize("version", range(5))
def test_offsets_of_a_group_that_cannot_be_have_an_error_in_each_version(exchange, version):
    asked = [{"name": "orders", "partition_indexes": [0]}]
    answer = exchange("OffsetFetch", version, {"group_id": "../g", "topics": asked})
    (partition,) = answer["topics"][0]["partitions"]
    assert partition["error_code"] == Code.INVALID_GROUP_ID
    assert answer.get("error_code", Code.INVALID_GROUP_ID) == Code.INVALID_GROUP_ID


# ---- about groups


@pytest.mark.parametrize("version", range(3))
def test_groups_are_listed_and_described(exchange, version):
    assert exchange("ListGroups", version)["groups"] == []
    member = Member(exchange)
    run(member.joined())
    (listed,) = exchange("ListGroups", version)["groups"]
    assert listed == {"group_id": "g", "protocol_type": "consumer"}
    request = {"groups": ["g", "g", "unknown", "../g"]}
    found, dead, bad = exchange("DescribeGroups", version, request)["groups"]
    assert (found["group_state"], found["protocol_data"]) == ("Stable", "range")
    (described,) = found["members"]
    assert (described["member_id"], described["client_id"]) == (member.id, "m")
    assert owned(described["member_assignment"]) == [0, 1, 2, 3]
    assert groups.subscription(described["member_metadata"]) == (("orders",), ())
    assert (dead["group_state"], dead["error_code"]) == ("Dead", 0)
    assert bad["error_code"] == Code.INVALID_GROUP_ID


def test_group_without_members_is_deleted(exchange):
    member = Member(exchange)
    run(member.joined())
    request = {"groups_names": ["g", "unknown"]}
    answer = exchange("DeleteGroups", 0, request)["results"]
    assert [each["error_code"] for each in answer] == [
        Code.NON_EMPTY_GROUP,
        Code.GROUP_ID_NOT_FOUND,
    ]
    run(member.leave())
    answer = exchange("DeleteGroups", 1, request)["results"]
    assert answer[0]["error_code"] == 0
    assert exchange("ListGroups", 0)["groups"] == []


@pytest.mark.parametrize("rounds", [60, pytest.param(2000, marks=pytest.mark.soak)])
def test_members_that_come_and_go_at_random_share_all_partitions(exchange, rounds, without_fsync):
    chance = Random(4)
    members: list[Member] = []

    async def story():
        for step in range(rounds):
            if not members or (len(members) < 5 and chance.random() < 0.6):
                members.append(Member(exchange, f"m{step}"))
            else:
                gone = members.pop(chance.randrange(len(members)))
                if chance.random() < 0.5 and gone.id:
                    await gone.leave()
                else:
                    exchange.clock.sleep_ms(SESSION_MS // 2)
                    for each in members:
                        await each.heartbeat()
                    exchange.clock.sleep_ms(SESSION_MS // 2)
            shares = await shared(*members)
            assert sorted(n for share in shares for n in share) == [0, 1, 2, 3] * bool(members)

    run(story())
