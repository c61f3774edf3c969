"""The client of lab 11, made of the course's own answers, on a socket of a real broker."""

import asyncio
import random
import socket
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kminilog.clock import ManualClock
from kminilog.course.material import RIGHT, lab_of, sample_answers
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.wire.broker import ServingBroker
from kminilog.wire.schemas import encode as encode_fields
from kminilog.wire.served import Address, ServedLogDir
from kminilog.wire.server import Server
from tests.support.wire.loops import run_apart

PRODUCE, FETCH = 0, 1
PIECE_BYTES = 7  # so that hardly any answer comes in one piece


def answers_by_number() -> dict[int, list[dict[str, Any]]]:
    """Return what the right answers to each exercise define."""
    found: dict[int, list[dict[str, Any]]] = {}
    for sample in sample_answers(lab_of(11), RIGHT):
        defined: dict[str, Any] = {}
        exec(compile(sample.path.read_text(), str(sample.path), "exec"), defined)
        found.setdefault(sample.number, []).append(defined)
    return found


def clients() -> list[dict[str, Any]]:
    """Return clients: of the first answers to each exercise, of the second ones, and so on."""
    by_number = answers_by_number()
    kinds = min(len(by_number[number]) for number in range(1, 6))
    return [
        {name: one for number in range(1, 6) for name, one in by_number[number][kind].items()}
        for kind in range(kinds)
    ]


async def converse(client: dict[str, Any], address: Address) -> tuple[Any, list[Any]]:
    """Send three messages, read them with a limit that cuts; return both."""
    reader, connection = await asyncio.open_connection(*address)
    numbers, come = count(1), b""

    async def ask(key: int, body: bytes) -> bytes:
        nonlocal come
        number = next(numbers)
        connection.write(client["frame"](key, number, "lab 11", body))
        while not (found := client["answers"](come, [number]))[0]:
            piece = await reader.read(PIECE_BYTES)
            assert piece, "the broker has closed the connection"
            come += piece
        ((_, answer),), come = found
        return number.to_bytes(4) + answer

    messages = [(b"alice", b"book"), (None, b"pen"), (b"", b"")]
    message_set = b"".join(encode(KAFKA, 0, *message) for message in messages)
    told = client["produced"](await ask(PRODUCE, client["produce_body"]("orders", 0, message_set)))
    read, offset = [], 0
    while offset < len(messages):
        one = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 60}
        topics = [{"topic": "orders", "partitions": [one]}]
        body = encode_fields("FetchRequest", 0, {"replica_id": -1, "topics": topics})
        found, offset = client["fetched"](await ask(FETCH, body), offset)
        read += found
    connection.close()
    return told, read


async def on_a_socket(client: dict[str, Any], directory: Path) -> tuple[Any, list[Any]]:
    with LogDirWriter.open(directory, create=True) as writer, socket.socket() as listening:
        writer.create_topic(Topic("orders", 1, KAFKA))
        listening.bind(("127.0.0.1", 0))
        here = Address(*listening.getsockname())
        broker = ServingBroker(ServedLogDir(writer, here), ManualClock(), random.Random(0))
        server = Server(broker, lambda asked: None, refused=pytest.fail)
        listener = await server.listen(listening)
        try:
            return await converse(client, here)
        finally:
            listener.close()
            await server.close()
            broker.close()


def test_client_of_the_lab_produces_and_fetches_over_a_socket(tmp_path):
    made = clients()
    assert len(made) == 3
    for number, client in enumerate(made):
        told, read = run_apart(on_a_socket(client, tmp_path / str(number)))
        assert told == [("orders", 0, 0, 0)]
        assert read == [(0, b"alice", b"book"), (1, None, b"pen"), (2, b"", b"")]
