"""A cluster that is served in this process, and a small client that follows the leaders."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

from kminilog.clock import ManualClock
from kminilog.cluster.leadership import Leadership
from kminilog.cluster.mini_cluster import MiniCluster, at_leader
from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.message import Message, encode, scan
from kminilog.format.names import TopicPartition
from kminilog.storage.topics import Topic
from kminilog.wire import schemas
from kminilog.wire.broker import ServingBroker
from kminilog.wire.cluster import ClusterServer, ServedCluster
from kminilog.wire.schemas import APIS, Value
from kminilog.wire.served import Address
from kminilog.wire.server import bound_socket

ORDERS = TopicPartition("orders", 0)
VERSIONS = {"Produce": 7, "Fetch": 6, "CreateTopics": 1, "DeleteTopics": 1, "CreatePartitions": 0}
_KEYS = {api.name: api for api in APIS.values()}


class ServedHere:
    """A served cluster; followers copy only while `copying` runs, or when `round` is called."""

    def __init__(self, cluster: MiniCluster, clock: ManualClock, **settings: object) -> None:
        sockets = {node: bound_socket("127.0.0.1", 0) for node in cluster.state.brokers}
        here = {node: Address("127.0.0.1", one.getsockname()[1]) for node, one in sockets.items()}
        self.cluster, self.clock, self.addresses = cluster, clock, here
        self.warned: list[str] = []
        served = ServedCluster(cluster, here)
        self.broker = ServingBroker(served, clock, Random(1), settings)
        self.server = ClusterServer(
            served,
            self.broker,
            lambda node: sockets.pop(node, None) or bound_socket(*here[node]),
            warn=self.warned.append,
        )
        self.clients: list[Client] = []
        self._is_copying = False

    def client(self) -> "Client":
        """Return a client that knows the addresses of all brokers."""
        self.clients.append(Client(self.addresses))
        return self.clients[-1]

    async def crash(self, node: int) -> None:
        """End a broker; once it returns, its connections are closed."""
        self.cluster.crash(node)
        await self._settled(node, is_live=False)

    async def start(self, node: int) -> None:
        """Start a broker that is down; once it returns, it listens."""
        self.cluster.start(node)
        await self._settled(node, is_live=True)

    async def _settled(self, node: int, *, is_live: bool) -> None:
        while (node in self.server._listening) != is_live:
            await (asyncio.sleep(0) if self._is_copying else self.server.settle())

    def log_end(self) -> int:
        """Return where the log of the leader of `orders` ends."""
        return at_leader(self.cluster, ORDERS, lambda copy: copy.log.log_end_offset)

    def leadership(self) -> Leadership:
        """Return who leads `orders`."""
        return self.cluster.state.leadership(ORDERS)

    @asynccontextmanager
    async def copying(self) -> AsyncIterator[None]:
        """Let followers copy, as `kminilog serve` does."""
        task = asyncio.create_task(self.server.run())
        self._is_copying = True
        try:
            yield
        finally:
            self._is_copying = False
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def served_here(
    path: Path,
    *,
    brokers: int = 3,
    partitions: int = 1,
    replicas: int = 3,
    dialect: Dialect = KAFKA,
    **settings: object,
) -> AsyncIterator[ServedHere]:
    """Yield a new cluster that is served, with the topic `orders`."""
    clock = ManualClock(1_700_000_000_000)
    with MiniCluster.open(path, brokers=brokers, clock=clock) as cluster:
        cluster.create_topic(Topic("orders", partitions, dialect), replicas)
        here = ServedHere(cluster, clock, **settings)
        await here.server.settle()
        try:
            yield here
        finally:
            for client in here.clients:
                client.close()
            await here.server.close()
            here.broker.close()


class Client:
    """Asks brokers, over a connection to each; it is for one task at a time."""

    def __init__(self, addresses: dict[int, Address]) -> None:
        self._addresses = addresses
        self._streams: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self.leaders: dict[int, int] = {}

    def close(self) -> None:
        for _, writer in self._streams.values():
            writer.close()

    async def ask(self, node: int, api: str, request: Value, version: int | None = None) -> Any:
        """Return the answer of a broker; OSError or EOFError if it is down, or goes meanwhile."""
        version = VERSIONS.get(api, _KEYS[api].newest) if version is None else version
        header = {"api_key": _KEYS[api].key, "api_version": version, "client_id": "small"}
        frame = schemas.encode("RequestHeader", 0, header)
        frame += schemas.encode(f"{api}Request", version, request)
        try:
            if node not in self._streams:
                address = self._addresses[node]
                self._streams[node] = await asyncio.open_connection(*address, limit=1 << 24)
            reader, writer = self._streams[node]
            writer.write(len(frame).to_bytes(4) + frame)
            await writer.drain()
            answer = await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
        except (OSError, EOFError):
            if node in self._streams:
                self._streams.pop(node)[1].close()
            raise
        return schemas.decode(f"{api}Response", version, answer, 4)[0]

    async def produce(
        self,
        node: int,
        records: bytes,
        *,
        acks: int = -1,
        partition: int = 0,
        timeout_ms: int = 60_000,
    ) -> Any:
        """Return what a broker answers about a record set for a partition of `orders`."""
        data = {"index": partition, "records": records}
        topics = [{"name": "orders", "partition_data": [data]}]
        request = {"transactional_id": None, "acks": acks, "timeout_ms": timeout_ms}
        answer = await self.ask(node, "Produce", {**request, "topic_data": topics})
        return answer["responses"][0]["partition_responses"][0]

    async def fetch(self, node: int, offset: int, *, partition: int = 0, wait_ms: int = 0) -> Any:
        """Return what a broker answers about messages of `orders` from an offset on."""
        asked = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        topics = [{"topic": "orders", "partitions": [asked]}]
        limits = {"max_wait_ms": wait_ms, "min_bytes": 1, "max_bytes": 1 << 20}
        answer = await self.ask(node, "Fetch", {"replica_id": -1, **limits, "topics": topics})
        return answer["responses"][0]["partitions"][0]

    async def metadata(self, node: int) -> Any:
        """Return the metadata of `orders`, and note the leaders."""
        request = {"topics": ["orders"], "allow_auto_topic_creation": False}
        answer = await self.ask(node, "Metadata", request)
        found = answer["topics"][0]["partitions"]
        self.leaders = {one["partition_index"]: one["leader_id"] for one in found}
        return answer

    async def any_metadata(self) -> Any:
        """Return the metadata, from whichever broker answers."""
        while True:
            for node in self._addresses:
                with suppress(OSError, EOFError):
                    return await self.metadata(node)
            await asyncio.sleep(0)

    async def sent(self, records: bytes, partition: int = 0) -> int:
        """Produce with acks -1, to whoever leads, until it is acknowledged; return the offset."""
        while True:
            with suppress(OSError, EOFError):
                if self.leaders.get(partition, -1) >= 0:
                    answer = await self.produce(
                        self.leaders[partition], records, partition=partition
                    )
                    if not answer["error_code"]:
                        return int(answer["base_offset"])
            await self.any_metadata()
            await asyncio.sleep(0)

    async def values(self, node: int, partition: int = 0) -> list[bytes | None]:
        """Return the values of all committed messages of a partition, by offset."""
        found: list[bytes | None] = []
        while records := (await self.fetch(node, len(found), partition=partition))["records"]:
            found += values_in(records)
        return found


def values_in(records: bytes) -> list[bytes | None]:
    """Return the values of whole messages."""
    return [outcome.value for _, outcome in scan(KAFKA, records) if isinstance(outcome, Message)]


def records_of(*values: bytes) -> bytes:
    """Return a record set of these values."""
    return b"".join(encode(KAFKA, 0, None, value) for value in values)
