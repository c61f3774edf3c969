"""What answers the requests of clients, on one log dir, or for all brokers of a cluster.

    kind of request    who answers
    topics             topics.py
    messages           messages.py, and producers.py for idempotent ones
    groups             groups.py

It knows no sockets: `server.py` has them. One object, one event loop, so two answers never overlap
but where one waits: Fetch for messages, JoinGroup for other members. Source: Kafka: KafkaApis.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from kminilog.clock import Chance, Clock
from kminilog.cluster.state_file import MAX_BROKERS
from kminilog.config import complete_config, switch, table_of, whole_number
from kminilog.consumer.coordinator import Coordinator
from kminilog.errors import KMiniLogError, RequestTimedOutError
from kminilog.settings import INT32_MAX, INT64_MAX
from kminilog.storage.durable_files import replace_file
from kminilog.storage.json_file import number, read_json, typed
from kminilog.storage.topics import MAX_PARTITIONS
from kminilog.wire.errors import Code, code_of, message_of
from kminilog.wire.groups import GroupRequests
from kminilog.wire.messages import AppendedSet, MessageRequests, Unreplicated
from kminilog.wire.schemas import APIS, Api, Value
from kminilog.wire.served import NODE_ID, Served
from kminilog.wire.topics import TopicRequests
from kminilog.wire.watching import AnsweredRequest

BROKER_SETTINGS = table_of(
    whole_number("socket.request.max.bytes", 16 << 20, 1, INT32_MAX, "largest request, in bytes"),
    whole_number(
        "connections.max.idle.ms", 600_000, 1, INT64_MAX, "then a silent connection is closed"
    ),
    whole_number("num.partitions", 1, 1, MAX_PARTITIONS, "partitions of a topic, if nobody says"),
    whole_number(
        "default.replication.factor", 1, 1, MAX_BROKERS, "copies of a topic, if nobody says"
    ),
    switch("auto.create.topics.enable", False, "create a topic that a client asks for"),
)
PRODUCER_IDS_FILE = ".producer-ids"
_IDS_AT_ONCE = 1_000
_MOST_WAIT_SECONDS = 60
"""Of a Fetch: nobody hears of a client that goes away meanwhile without a word."""
MOST_WAITING_PARTITIONS = 10_000
"""Of all Fetch requests that wait, which look again after each append: above that, the next ones
are answered at once."""


class Client(NamedTuple):
    """Who asks: its address, its id, whether it is gone, and which broker it asks."""

    address: str
    client_id: str
    is_gone: Callable[[], bool]
    node: int = NODE_ID


class ServingBroker:
    """Answers requests on what is served, which stays the caller's to close."""

    def __init__(
        self,
        served: Served,
        clock: Clock,
        chance: Chance,
        settings: dict[str, object] | None = None,
    ) -> None:
        self.settings = complete_config(settings or {}, BROKER_SETTINGS)
        self._served = served
        self._changed = asyncio.Event()
        self._appends: list[AppendedSet] = []
        self._next_id = self._last_id = self._waiting_partitions = 0
        self.topics = TopicRequests(
            served,
            chance,
            lambda topic: self.messages.forget(topic),
            creates_unknown=self.settings["auto.create.topics.enable"],
            default_partitions=self.settings["num.partitions"],
            default_replicas=self.settings["default.replication.factor"],
        )
        self.messages = MessageRequests(served, self.topics.topic, clock.now_ms, self._note_append)
        coordinator = Coordinator(
            served.path,
            self.topics.partition_counts,
            self.topics.topic_id,
            clock=clock,
            chance=chance,
        )
        self.groups = GroupRequests(coordinator, served.path, clock.now_ms)
        self._answers: dict[
            str, Callable[[Value, int, Client], Awaitable[Value | None] | Value | None]
        ]
        topics, messages, groups = self.topics, self.messages, self.groups
        self._answers = {
            "ApiVersions": lambda request, version, client: api_versions(),
            "Metadata": lambda request, version, client: topics.metadata(request, version),
            "Produce": lambda request, version, client: self._produce(request, version, client),
            "Fetch": lambda request, version, client: self._fetch(request, version, client),
            "ListOffsets": lambda request, version, client: messages.list_offsets(
                request, version, client.node
            ),
            "FindCoordinator": lambda request, version, client: topics.coordinator(
                request, client.node
            ),
            "JoinGroup": lambda request, version, client: groups.join(
                request, client.client_id, client.is_gone
            ),
            "SyncGroup": lambda request, version, client: groups.sync(request),
            "Heartbeat": lambda request, version, client: groups.heartbeat(request),
            "LeaveGroup": lambda request, version, client: groups.leave(request),
            "OffsetCommit": lambda request, version, client: groups.commit(request),
            "OffsetFetch": lambda request, version, client: groups.fetch_offsets(request),
            "DescribeGroups": lambda request, version, client: groups.describe(request),
            "ListGroups": lambda request, version, client: groups.list_groups(),
            "DeleteGroups": lambda request, version, client: groups.delete(request),
            "CreateTopics": lambda request, version, client: topics.create(request),
            "DeleteTopics": lambda request, version, client: topics.delete(request),
            "CreatePartitions": lambda request, version, client: topics.add_partitions(request),
            "DescribeConfigs": lambda request, version, client: topics.describe_configs(
                request, self.settings
            ),
            "InitProducerId": lambda request, version, client: self._init_producer_id(request),
        }

    async def answer(
        self, api: Api, request: Value, version: int, client: Client
    ) -> AnsweredRequest:
        """Return the answer to a request, with what it has appended."""
        found = self._answers[api.name](request, version, client)
        appended = tuple(self._appends)  # a request that waits appends nothing
        self._appends.clear()
        answer = await found if isinstance(found, Awaitable) else found
        return AnsweredRequest(
            client.address,
            client.client_id,
            api.name,
            version,
            request,
            answer,
            appended,
            client.node,
        )

    def close(self) -> None:
        """Close its own files."""
        self.messages.close()

    def wake(self) -> None:
        """Let the requests that wait look again: there may be more to see."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def woken(self, end: float) -> bool:
        """Wait until `wake`; tell if it came before this time of the event loop."""
        try:
            async with asyncio.timeout_at(end):  # wait_for of Python 3.11 may lose a cancellation
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def _note_append(self, appended: AppendedSet) -> None:
        self._appends.append(appended)
        self.wake()

    def _produce(
        self, request: Value, version: int, client: Client
    ) -> Awaitable[Value | None] | Value | None:
        answer, waiting = self.messages.produce(request, version, client.node)
        timeout_ms, is_gone = request["timeout_ms"], client.is_gone
        return self._once_replicated(answer, waiting, timeout_ms, is_gone) if waiting else answer

    async def _once_replicated(
        self,
        answer: Value | None,
        waiting: list[Unreplicated],
        timeout_ms: int,
        is_gone: Callable[[], bool],
    ) -> Value | None:
        """Answer Produce with acks -1 once all in-sync replicas have the messages."""
        end = asyncio.get_running_loop().time() + timeout_ms / 1000
        for part, partition, produced in waiting:
            try:
                while not self._served.is_replicated(partition, produced):
                    if is_gone() or not await self.woken(end):
                        topic, number = partition
                        raise RequestTimedOutError(topic, partition=number, waited_ms=timeout_ms)
            except KMiniLogError as error:
                part |= {"error_code": code_of(error), "error_message": message_of(error)}
                part["base_offset"] = -1
        return answer

    async def _fetch(self, request: Value, version: int, client: Client) -> Value:
        """Answer Fetch once it has `min_bytes`, or an error, or at the end of `max_wait_ms`."""
        wait_seconds = min(request["max_wait_ms"] / 1000, _MOST_WAIT_SECONDS)
        end = asyncio.get_running_loop().time() + wait_seconds
        partitions = sum(len(topic["partitions"]) for topic in request["topics"])
        self._waiting_partitions += partitions
        try:
            while True:
                answer, size_bytes, has_error = self.messages.fetch(request, version, client.node)
                is_enough = size_bytes >= request["min_bytes"] or has_error or client.is_gone()
                is_too_much = self._waiting_partitions > MOST_WAITING_PARTITIONS
                if is_enough or is_too_much or not await self.woken(end):
                    return answer
        finally:
            self._waiting_partitions -= partitions

    def _init_producer_id(self, request: Value) -> Value:
        """Answer InitProducerId: an id that no producer has had here."""
        if request["transactional_id"] is not None:
            code = Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            return {"error_code": code, "producer_id": -1, "producer_epoch": -1}
        try:
            return {"producer_id": self._new_producer_id()}
        except (KMiniLogError, OSError) as error:
            return {"error_code": code_of(error), "producer_id": -1, "producer_epoch": -1}

    def _new_producer_id(self) -> int:
        if self._next_id == self._last_id:
            path = self._served.path / PRODUCER_IDS_FILE
            try:
                first = read_json(path, lambda one: number(typed(one, int)), what="producer ids")
            except FileNotFoundError:
                first = 0
            replace_file(path, f"{first + _IDS_AT_ONCE}\n".encode())
            self._next_id, self._last_id = first, first + _IDS_AT_ONCE
        self._next_id += 1
        return self._next_id - 1


def api_versions() -> Value:
    """Answer ApiVersions: what can be asked for, in which versions."""
    return {
        "api_keys": [
            {"api_key": api.key, "min_version": api.oldest, "max_version": api.newest}
            for api in sorted(APIS.values(), key=lambda each: each.key)
        ]
    }
