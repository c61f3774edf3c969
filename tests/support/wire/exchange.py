"""Asking a broker in this process, without sockets: requests and answers go through their bytes."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any

from kminilog.clock import ManualClock
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.wire.broker import Client, ServingBroker
from kminilog.wire.schemas import APIS, Value, decode, encode
from kminilog.wire.served import Address, ServedLogDir
from kminilog.wire.watching import AnsweredRequest
from tests.support.wire.loops import run_apart

KEYS = {api.name: api for api in APIS.values()}
HERE = Address("127.0.0.1", 9092)


def frame(
    api: str,
    version: int,
    request: Value | None = None,
    *,
    correlation_id: int = 7,
    client_id: str | None = "tests",
) -> bytes:
    """Return a request as it goes over the wire, without its size."""
    header = {
        "api_key": KEYS[api].key,
        "api_version": version,
        "correlation_id": correlation_id,
        "client_id": client_id,
    }
    return encode("RequestHeader", 0, header) + encode(f"{api}Request", version, request or {})


class Exchange:
    """A broker on a log dir, which it opens, and closes or leaves as a kill would."""

    def __init__(self, log_dir: Path, *, seed: int = 1, **settings: object) -> None:
        self.clock = ManualClock(1_700_000_000_000)
        self.writer = LogDirWriter.open(log_dir, create=True)
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.served = ServedLogDir(self.writer, HERE)
        self.broker = ServingBroker(self.served, self.clock, Random(seed), named)
        self.asked: list[AnsweredRequest] = []

    def __enter__(self) -> "Exchange":
        return self

    def __exit__(self, *error: object) -> None:
        self.broker.close()
        self.writer.close()

    def kill(self) -> None:
        """Leave everything as a process does that is killed."""
        self.broker.close()
        self.writer.close(cleanly=False)

    async def asked_for(
        self,
        api: str,
        version: int,
        request: Value | None = None,
        *,
        client_id: str = "tests",
        is_gone: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Return the answer to a request."""
        data = encode(f"{api}Request", version, request or {})
        found, end = decode(f"{api}Request", version, data)
        assert end == len(data)
        client = Client("127.0.0.1:1", client_id, is_gone)
        asked = await self.broker.answer(KEYS[api], found, version, client)
        self.asked.append(asked)
        if asked.answer is None:
            return None
        answer = encode(f"{api}Response", version, asked.answer)
        decoded, end = decode(f"{api}Response", version, answer)
        assert end == len(answer)
        return decoded

    def __call__(self, api: str, version: int, request: Value | None = None, **options: Any) -> Any:
        return run_apart(self.asked_for(api, version, request, **options))

    # ---- what tests ask often

    def create(self, name: str = "orders", partitions: int = 1, **config: object) -> int:
        """Create a topic, and return the error code."""
        configs = [
            {"name": key.replace("_", "."), "value": str(value)} for key, value in config.items()
        ]
        topic = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": 1,
            "configs": configs,
        }
        (answer,) = self("CreateTopics", 1, {"topics": [topic]})["topics"]
        return int(answer["error_code"])

    def produce(
        self,
        records: bytes | None,
        *,
        topic: str = "orders",
        partition: int = 0,
        acks: int = 1,
        version: int = 3,
    ) -> Any:
        """Produce a record set, and return the answer of its partition."""
        answer = self("Produce", version, produced(records, topic, partition, acks))
        return answer and answer["responses"][0]["partition_responses"][0]

    def fetch(
        self,
        offset: int = 0,
        *,
        topic: str = "orders",
        partition: int = 0,
        max_bytes: int = 1 << 20,
        version: int = 4,
        **options: object,
    ) -> Any:
        """Fetch from an offset, and return the answer of its partition."""
        request = fetched([(topic, partition, offset)], max_bytes) | options
        return self("Fetch", version, request)["responses"][0]["partitions"][0]

    def values(self, topic: str = "orders", partition: int = 0) -> list[bytes | None]:
        """Return the values of all messages of a partition."""
        reader = self.writer.log(self.writer.topic(topic).partition(partition)).reader
        found: list[bytes | None] = []
        while messages := reader.read(len(found), 1 << 20):
            found += [each.value for each in messages]
        return found


def produced(
    records: bytes | None, topic: str = "orders", partition: int = 0, acks: int = 1
) -> Value:
    """Return a produce request of one record set."""
    data = {"index": partition, "records": records}
    return {
        "transactional_id": None,
        "acks": acks,
        "timeout_ms": 1000,
        "topic_data": [{"name": topic, "partition_data": [data]}],
    }


def fetched(places: list[tuple[str, int, int]], max_bytes: int = 1 << 20) -> Value:
    """Return a fetch request of some partitions, each from an offset on."""
    return {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "topics": [
            {
                "topic": topic,
                "partitions": [
                    {
                        "partition": partition,
                        "fetch_offset": offset,
                        "partition_max_bytes": max_bytes,
                    }
                ],
            }
            for topic, partition, offset in places
        ],
    }


def together(*coroutines: Coroutine[Any, Any, Any]) -> list[Any]:
    """Run some requests at the same time; return their answers."""

    async def run() -> list[Any]:
        return await asyncio.gather(*coroutines)

    return run_apart(run())


def short(value: object) -> str:
    """Return a short name of a test's argument."""
    return repr(value)[:30]
