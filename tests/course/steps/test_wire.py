import asyncio
import random
import socket
from pathlib import Path

import pytest

from kminilog.clock import ManualClock
from kminilog.course.steps.temporary_partition import PARTITION
from kminilog.course.steps.wire import STORED, Exchange, document, exchange, requests
from kminilog.format.dialect import KAFKA
from kminilog.format.message import Message, decode, encode, scan
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.wire.broker import ServingBroker
from kminilog.wire.served import Address, ServedLogDir
from kminilog.wire.server import Server
from tests.support.course.steps.scenes import made
from tests.support.wire.loops import run_apart


async def ask(frames: tuple[bytes, ...], directory: Path) -> list[bytes]:
    """Return the answers of a broker on a socket to these requests."""
    with LogDirWriter.open(directory, create=True) as writer:
        writer.create_topic(Topic(PARTITION.topic, 1, KAFKA))
        writer.log(PARTITION).append(STORED)
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            here = Address(*listening.getsockname())
            broker = ServingBroker(ServedLogDir(writer, here), ManualClock(), random.Random(1))
            server = Server(broker, lambda asked: None, refused=pytest.fail)
            listener = await server.listen(listening)
            reader, connection = await asyncio.open_connection(*here)
            answers = []
            for frame in frames:
                connection.write(frame)
                size = await reader.readexactly(4)
                answers.append(size + await reader.readexactly(int.from_bytes(size)))
            connection.close()
            listener.close()
            await server.close()
            broker.close()
    return answers


@pytest.mark.parametrize("max_bytes", [1, 50, 10_000])
def test_wire_shows_what_a_broker_on_a_socket_answers_and_writes(tmp_path, max_bytes):
    told = exchange(random.Random(0), max_bytes)
    answers = run_apart(ask(requests(max_bytes), tmp_path))
    assert answers == [told.produced, told.fetched]
    (log,) = tmp_path.glob("orders-0/*.log")
    assert log.read_bytes() == told.after


def files(document) -> dict[str, bytes]:
    return {file.name: file.data for file in document.files}


def test_wire_log_holds_what_was_sent_with_the_offsets_of_the_broker():
    found = files(made("wire"))
    sent, log = found["message set sent"], found["00000000000000000000.log"]
    assert sent in found["Produce request"]
    start = len(b"".join(encode(KAFKA, 0, *message) for message in STORED))
    for at, message in scan(KAFKA, sent):
        assert isinstance(message, Message)
        stored = decode(KAFKA, log, start + at)
        assert isinstance(stored, Message)
        assert stored._replace(offset=0) == message
    assert [message.offset for _, message in scan(KAFKA, log)] == [0, 1, 2, 3]


@pytest.mark.parametrize("max_bytes", range(1, 80))
def test_wire_with_any_limit_has_the_very_bytes_of_the_log(max_bytes):
    told = document(random.Random(0), max_bytes)
    told.check()
    found = files(told)
    fetched = found["message set fetched"]
    new = found["00000000000000000000.log"][-len(found["message set sent"]) :]
    assert fetched == new[:max_bytes]
    last = told.steps[-1]
    whole = [one.length_bytes for _, one in scan(KAFKA, fetched) if isinstance(one, Message)]
    assert last.state.values["bytes of another"] == len(fetched) - sum(whole)
    assert (last.ask is not None) == bool(last.state.values["bytes of another"])


def test_wire_right_answers_are_those_of_the_bytes():
    asks = [one.ask for one in made("wire").steps if one.ask]
    assert [choice.answer for ask in asks for choice in ask.choices if choice.is_right] == [
        "113",
        "by the correlation id",
        "2 and 3",
        "nothing",
        "2",
        "read them from the file",
        "it drops them, and asks again from offset 3 on",
    ]


def test_wire_fields_end_where_the_frame_ends():
    told = made("wire")
    frames = exchange(random.Random(0))
    names = ("Produce request", "Produce answer", "Fetch request", "Fetch answer")
    shown = Exchange(*(files(told)[name] for name in names), b"", b"")
    assert shown[:4] == frames[:4]
    for name in names:
        own = [field for field in told.fields if field.file == name]
        assert own[0].value == len(files(told)[name]) - 4
        assert [one.end for one in own[:-1]] == [one.start for one in own[1:]]
        assert own[-1].end == len(files(told)[name])
