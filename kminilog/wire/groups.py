"""Groups for clients: the classic protocol on the rules of `consumer.group`.

A member that comes by the network is a member like any other: it stands in the group's file, so
`kminilog consume --group` and `kminilog group describe` share the group with it. Two things differ
from Kafka's broker:

    who assigns    here the group does, with the assignor that the members name; it asks no member.
                   So every member is told that somebody else is the leader, and sends no assignment
    JoinGroup      is answered once all members have joined; until then it asks the group again

Assignors that only a client has are refused. Source: Kafka: GroupCoordinator, ConsumerProtocol.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kminilog.consumer.assignor_registry import ASSIGNORS
from kminilog.consumer.coordinator import Coordinator, delete_group
from kminilog.consumer.errors import UnknownGroupError, UnknownTopicIdError
from kminilog.consumer.group import PREPARING
from kminilog.consumer.members import Assigned, JoinRequest, Membership
from kminilog.errors import InvalidTopicError, KMiniLogError
from kminilog.format.names import TopicPartition, check_topic, parse_topic_partition
from kminilog.wire.errors import Code, RefusedError, code_of
from kminilog.wire.schemas import MalformedError, Value, by_topic, decode, encode

CONSUMER = "consumer"
OURS = {**dict.fromkeys(ASSIGNORS), "RoundRobinAssigner": "roundrobin"}
"""The assignors by the names that clients give them; None if that is ours. The last is kafkajs'."""
NOBODY = "kminilog"  # the leader: a name that no member has
JOIN_SECONDS = 0.05
"""How long a member that waits for the others waits between two looks."""
_SECONDS_BETWEEN_SIGNS = 1.0
"""How often it shows meanwhile that it is alive: that writes the file of the group."""
MOST_SESSION_MS = 1_800_000  # Kafka: group.max.session.timeout.ms
MOST_METADATA_BYTES = 1 << 18
"""Of a JoinGroup: the request is in memory as long as it waits."""
_MOST_CLIENT_ID = 200
_NEWEST_SUBSCRIPTION = 1


class GroupRequests:
    """Answers the requests about the groups of a directory. `now_ms` is the clock of the groups."""

    def __init__(self, coordinator: Coordinator, path: Path, now_ms: Callable[[], int]) -> None:
        self._coordinator = coordinator
        self._path = path
        self._now_ms = now_ms

    async def join(self, request: Value, client_id: str, is_gone: Callable[[], bool]) -> Value:
        """Answer JoinGroup once all have joined; give up if the client is gone meanwhile."""
        group, member_id = request["group_id"], request["member_id"]
        try:
            protocol, asked = self._asked(request, client_id)
            membership = self._coordinator.join(group, asked)
            try:
                assigned = await self._all_joined(group, membership, is_gone)
            except (RefusedError, asyncio.CancelledError):
                if not member_id:  # nobody knows its id: it would hold up the others
                    with suppress(KMiniLogError, OSError):
                        self._coordinator.leave(group, membership)
                raise
        except (KMiniLogError, RefusedError, OSError) as error:
            return {"error_code": _code(error), "generation_id": -1, "member_id": member_id}
        return {
            "generation_id": assigned.membership.generation,
            "protocol_name": protocol,
            "leader": NOBODY,
            "member_id": assigned.membership.member_id,
        }

    async def _all_joined(
        self, group: str, membership: Membership, is_gone: Callable[[], bool]
    ) -> Assigned:
        loop = asyncio.get_running_loop()
        next_sign = loop.time()
        while True:
            if loop.time() >= next_sign or not self._others_are_awaited(group):
                assigned = self._sync(group, membership)
                if assigned:
                    return assigned
                next_sign = loop.time() + _SECONDS_BETWEEN_SIGNS
            await asyncio.sleep(JOIN_SECONDS)
            if is_gone():
                raise RefusedError(Code.REBALANCE_IN_PROGRESS, "the client is gone")

    def _others_are_awaited(self, group: str) -> bool:
        state = self._coordinator.describe(group)
        return state.state == PREPARING and not all(m.is_waiting for m in state.members.values())

    def _sync(self, group: str, membership: Membership) -> Assigned | None:
        try:
            return self._coordinator.sync(group, membership)
        except ValueError:  # a rebalance has begun since it joined
            raise RefusedError(Code.REBALANCE_IN_PROGRESS, "it has to join again") from None

    def _asked(self, request: Value, client_id: str) -> tuple[str, JoinRequest]:
        """Return the assignor in the client's words, and what the group is asked."""
        if request["protocol_type"] != CONSUMER:
            reason = f"protocol type {request['protocol_type']!r}, not {CONSUMER!r}"
            raise RefusedError(Code.INCONSISTENT_GROUP_PROTOCOL, reason)
        offered = {each["name"]: each["metadata"] for each in request["protocols"]}
        if sum(len(each or b"") for each in offered.values()) > MOST_METADATA_BYTES:
            reason = f"more than {MOST_METADATA_BYTES} bytes of metadata"
            raise RefusedError(Code.INCONSISTENT_GROUP_PROTOCOL, reason)
        known = [name for name in offered if name in OURS]
        if not known:
            reason = f"the assignors {', '.join(offered)} are not known here"
            raise RefusedError(Code.INCONSISTENT_GROUP_PROTOCOL, reason)
        used = self._strategy(request["group_id"], request["member_id"])
        name = next((each for each in known if (OURS[each] or each) == used), known[0])
        if not 0 < request["session_timeout_ms"] <= MOST_SESSION_MS:
            reason = f"session timeout {request['session_timeout_ms']}"
            raise RefusedError(Code.INVALID_SESSION_TIMEOUT, reason)
        topics, owned = subscription(offered[name] or b"")
        return name, JoinRequest(
            topics=topics,
            strategy=OURS[name] or name,
            session_timeout_ms=request["session_timeout_ms"],
            client_id=client_id[:_MOST_CLIENT_ID] or CONSUMER,
            member_id=request["member_id"] or None,
            owned=owned,
        )

    def _strategy(self, group: str, member_id: str) -> str:
        """Return the assignor of the group, as long as it has other members."""
        try:
            state = self._coordinator.describe(group)
        except UnknownGroupError:
            return ""
        return state.strategy if state.members.keys() - {member_id} else ""

    def sync(self, request: Value) -> Value:
        """Answer SyncGroup: the member's partitions; nobody's assignment is read."""
        membership = _membership(request)
        try:
            assigned = self._sync(request["group_id"], membership)
            if assigned is None:
                raise RefusedError(Code.REBALANCE_IN_PROGRESS, "others have still to join")
            if assigned.membership.generation != membership.generation:
                raise RefusedError(Code.REBALANCE_IN_PROGRESS, "there is a newer generation")
        except (KMiniLogError, RefusedError, OSError) as error:
            return {"error_code": _code(error)}
        return {"assignment": assignment(assigned.partitions)}

    def heartbeat(self, request: Value) -> Value:
        """Answer Heartbeat: whether the member has to join again."""
        try:
            answer = self._coordinator.heartbeat(request["group_id"], _membership(request))
        except (KMiniLogError, OSError) as error:
            return {"error_code": _code(error)}
        return {"error_code": Code.REBALANCE_IN_PROGRESS if answer == "rebalance" else Code.NONE}

    def leave(self, request: Value) -> Value:
        """Answer LeaveGroup."""
        try:
            self._coordinator.leave(request["group_id"], Membership(request["member_id"], 0))
        except (KMiniLogError, OSError) as error:
            return {"error_code": _code(error)}
        return {}

    # ---- offsets

    def commit(self, request: Value) -> Value:
        """Answer OffsetCommit. Metadata is not stored."""
        offsets = {
            TopicPartition(topic["name"], each["partition_index"]): each["committed_offset"]
            for topic in request["topics"]
            for each in topic["partitions"]
        }
        generation = request.get("generation_id_or_member_epoch", -1)
        member_id = request.get("member_id", "")
        membership = Membership(member_id, generation) if member_id or generation >= 0 else None
        codes = self._committed(request["group_id"], offsets, membership)

        def code(name: str, asked: Value) -> Value:
            index = asked["partition_index"]
            return {"partition_index": index, "error_code": codes[name, index]}

        return {"topics": by_topic(request["topics"], code)}

    def _committed(
        self,
        group: str,
        offsets: dict[TopicPartition, int],
        membership: Membership | None,
    ) -> dict[tuple[str, int], Code]:
        """Commit offsets, and return the code of each partition; those of topics that are gone stay
        out, and the others are committed."""
        codes: dict[tuple[str, int], Code] = dict.fromkeys(offsets, Code.NONE)
        try:
            self._coordinator.commit(group, offsets, membership)
        except UnknownTopicIdError as error:
            rest = {
                each: offset for each, offset in offsets.items() if each not in error.partitions
            }
            codes |= dict.fromkeys(error.partitions, _code(error))
            codes |= self._committed(group, rest, membership) if rest else {}
        except (KMiniLogError, OSError) as error:
            codes = dict.fromkeys(offsets, _code(error))
        except ValueError:
            codes = dict.fromkeys(offsets, Code.INVALID_REQUEST)
        return codes

    def fetch_offsets(self, request: Value) -> Value:
        """Answer OffsetFetch: -1 for a partition without a committed offset; null asks for all."""
        code, committed, asked = Code.NONE, dict[TopicPartition, int](), request["topics"]
        try:
            committed = self._coordinator.committed(request["group_id"])
        except (KMiniLogError, OSError) as error:
            code = _code(error)  # versions 0 and 1 have it in each partition only
        if asked is None:
            asked = [
                {
                    "name": name,
                    "partition_indexes": [p.partition for p in committed if p[0] == name],
                }
                for name in sorted({partition.topic for partition in committed})
            ]

        def offset(name: str, index: int) -> Value:
            known = committed.get(TopicPartition(name, index), -1)
            return {"partition_index": index, "committed_offset": known, "error_code": code}

        found = by_topic(asked, offset, partitions="partition_indexes")
        return {"error_code": code, "topics": found}

    # ---- about groups

    def list_groups(self) -> Value:
        """Answer ListGroups."""
        try:
            groups = self._coordinator.groups()
        except OSError as error:
            return {"error_code": _code(error)}
        return {"groups": [{"group_id": name, "protocol_type": CONSUMER} for name in groups]}

    def describe(self, request: Value) -> Value:
        """Answer DescribeGroups; a group that does not exist is Dead."""
        return {"groups": [self._described(name) for name in dict.fromkeys(request["groups"])]}

    def _described(self, name: str) -> Value:
        try:
            group = self._coordinator.describe(name)
        except UnknownGroupError:
            return {"group_id": name, "group_state": "Dead"}
        except (KMiniLogError, OSError) as error:
            return {"group_id": name, "error_code": _code(error)}
        return {
            "group_id": name,
            "group_state": group.state,
            "protocol_type": CONSUMER,
            "protocol_data": group.strategy,
            "members": [
                {
                    "member_id": member.id,
                    "client_id": member.id.rpartition("-")[0],
                    "member_metadata": _version(0)
                    + encode("ConsumerProtocolSubscription", 0, {"topics": member.topics}),
                    "member_assignment": assignment(
                        () if group.state == PREPARING else group.assignment.get(member.id, ())
                    ),
                }
                for member in group.members.values()
            ],
        }

    def delete(self, request: Value) -> Value:
        """Answer DeleteGroups."""
        results = []
        for name in request["groups_names"]:
            code = Code.NONE
            try:
                delete_group(self._path, name, now_ms=self._now_ms())
            except (KMiniLogError, OSError) as error:
                code = code_of(error)
            results.append({"group_id": name, "error_code": code})
        return {"results": results}


def subscription(data: bytes) -> tuple[tuple[str, ...], tuple[TopicPartition, ...]]:
    """Return the topics that a member subscribes to, and what it still owns.

    >>> subscription(bytes.fromhex("0000 00000001 0001 74 ffffffff"))
    (('t',), ())
    """
    try:
        version = min(int.from_bytes(data[:2], signed=True), _NEWEST_SUBSCRIPTION)
        found, _ = decode("ConsumerProtocolSubscription", max(version, 0), data, 2)
        topics = found["topics"]
        owned = _partitions(found.get("owned_partitions", ()))
        for topic in {*topics, *(each.topic for each in owned)}:
            check_topic(topic)  # what is no name would make the file of the group invalid
    except (MalformedError, InvalidTopicError) as error:
        raise RefusedError(Code.INCONSISTENT_GROUP_PROTOCOL, f"a subscription: {error}") from None
    return tuple(topics), tuple(owned)


def _partitions(topics: Any) -> list[TopicPartition]:
    found = [TopicPartition(one["topic"], each) for one in topics for each in one["partitions"]]
    for each in found:
        if parse_topic_partition(str(each)) != each:
            raise MalformedError(f"{each} is no partition")
    return found


def assignment(partitions: tuple[TopicPartition, ...]) -> bytes:
    """Return partitions as a member reads them.

    >>> assignment((TopicPartition("t", 7),)).hex()
    '0000000000010001740000000100000007ffffffff'
    """
    by_topic: dict[str, list[int]] = {}
    for partition in partitions:
        by_topic.setdefault(partition.topic, []).append(partition.partition)
    topics = [{"topic": topic, "partitions": each} for topic, each in by_topic.items()]
    value: Mapping[str, Any] = {"assigned_partitions": topics, "user_data": None}
    return _version(0) + encode("ConsumerProtocolAssignment", 0, value)


def _version(number: int) -> bytes:
    return number.to_bytes(2)


def _membership(request: Value) -> Membership:
    return Membership(request["member_id"], request["generation_id"])


def _code(error: Exception) -> Code:
    """Return the code of an error in a call of a member: a group that is gone has no members."""
    if isinstance(error, OSError):
        return Code.COORDINATOR_NOT_AVAILABLE  # it may try again
    return Code.UNKNOWN_MEMBER_ID if isinstance(error, UnknownGroupError) else code_of(error)
