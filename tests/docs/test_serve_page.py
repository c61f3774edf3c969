"""docs/serve.md: each command of kminilog is run beside a broker, and prints what the page shows.

Where there is no kcat, `tests/support/docs/kcat_stand_in.py` plays its part. With the real clients
the page is run in `tests/conformance/test_serve_page.py`.
"""

import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.wire.errors import Code
from kminilog.wire.schemas import decode
from tests.broker_files.golden_files import java
from tests.docs.test_tutorial import KMINILOG, sessions
from tests.support.cli.command_line import PROGRAM, environment
from tests.support.docs import apis_table
from tests.support.docs.kcat_stand_in import Connection
from tests.support.processes import Process, wait_until

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "serve.md").read_text()
PORT = "9092"
PORTS = [PORT, "9093", "9094"]
STAND_IN = f'kcat() {{ "{sys.executable}" -m tests.support.docs.kcat_stand_in "$@"; }}\n'
WATCHED = re.findall(r"^rdkafka .*$", PAGE, re.MULTILINE)


class Broker:
    """`kminilog serve` of a page, on a terminal of its own."""

    def __init__(self, directory: Path, command: str, ready: str = "listening on ") -> None:
        self.said = ""
        self._terminal, end = pty.openpty()
        self._process = Process(
            [*PROGRAM, *command.split()[1:]],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=end,
            stderr=end,
            env=environment() | {"COLUMNS": "150"},
        )
        os.close(end)
        self._listener = Thread(target=self._listen)
        self._listener.start()
        self._wait_for(ready)

    def _listen(self) -> None:
        try:
            while data := os.read(self._terminal, 4096):
                self.said += data.decode().replace("\r\n", "\n")
        except OSError:
            pass  # the other end is closed

    def _wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.said or self._process.poll() is not None)
        assert text in self.said, self.said

    def stop(self) -> str:
        """End it as Ctrl-C does; return all that it has said."""
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait() == 128 + signal.SIGINT
        self._listener.join()
        os.close(self._terminal)
        return self.said


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def free_ports(count: int) -> list[str]:
    """Return ports that are free, one after the other."""
    while True:
        first = int(free_port())
        with ExitStack() as bound, suppress(OSError, OverflowError):
            for port in range(first, first + count):
                bound.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return [str(port) for port in range(first, first + count)]


def run_page(directory: Path, kcat: str, between: Callable[[str], None] = lambda port: None) -> str:
    """Run the commands of the page from top to bottom, and compare what they print.

    `between` is called with the port before the second broker begins. Returns what the first one
    has said.
    """
    ports, broker, said = free_ports(len(PORTS)), None, ""
    try:
        for command, output in sessions(PAGE):
            for shown, port in zip(PORTS, ports, strict=True):
                command, output = command.replace(shown, port), output.replace(shown, port)
            if " serve" in command:
                if broker:
                    between(ports[0])
                    said, broker = broker.stop(), None
                broker = Broker(directory, f"{command} --port {ports[0]}", output)
                continue
            done = subprocess.run(
                ["bash", "-c", KMINILOG + kcat + command],
                cwd=directory,
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            printed = re.sub(r"process \d+ is", "process 4711 is", done.stdout)
            assert printed == output, command
            assert done.returncode == (2 if output.startswith("kminilog: ") else 0), command
    finally:
        if broker:
            broker.stop()
    return said


@pytest.mark.processes
def test_serve_page_commands_print_what_the_page_shows(tmp_path: Path):
    said = run_page(tmp_path, STAND_IN)
    assert len(WATCHED) == 3
    assert [line for line in WATCHED if line not in said] == [], said


def test_serve_page_has_each_api_with_its_versions():
    assert apis_table.page() == PAGE, "write it anew: python -m tests.support.docs.apis_table"


def test_serve_page_names_error_codes_by_their_number():
    named = re.findall(r"error (\d+) \(`(\w+)`\)", PAGE)
    assert len(named) > 3
    assert [(int(number), name) for number, name in named if Code[name] != int(number)] == []


@contextmanager
def serving(directory: Path, *topics: str, said: list[str] | None = None) -> Iterator[Connection]:
    """Let a broker serve topics, each made with the options of `topic create`.

    What it has said, once it has ended, goes to `said`.
    """
    port = free_port()
    for topic in topics:
        created = [*PROGRAM, "topic", "create", *topic.split()]
        subprocess.run(
            created, cwd=directory, env=environment(), check=True, stdout=subprocess.DEVNULL
        )
    broker = Broker(directory, f"kminilog serve --port {port}")
    try:
        yield Connection("127.0.0.1", int(port))
    finally:
        told = broker.stop()
        if said is not None:
            said.append(told)


ANY = "any --partitions 1 --dialect kafka"


@pytest.mark.processes
def test_what_the_page_says_that_clients_get(tmp_path: Path):
    drops = ANY.replace("any", "drops", 1) + " --config message.drop.headers=1"
    with serving(tmp_path, ANY, drops, "old --partitions 1") as broker:
        no_value = encode(KAFKA, 0, b"key", None)
        told = {
            "headers": broker.produce("any", 0, java("v2-none")),
            "dropped": broker.produce("drops", 0, java("v2-none")),
            "null": broker.produce("old", 0, no_value),
            "transaction": broker.produce("any", 0, java("v2-transactional")),
            "acks": broker.produce("any", 0, encode(KAFKA, 0, b"key", b"value")),
        }
        times = [{"name": "any", "partitions": [{"partition_index": 0, "timestamp": 1}]}]
        by_time = broker.ask("ListOffsets", 2, topics=times)["topics"][0]["partitions"][0]
    assert {name: answer["error_code"] for name, answer in told.items()} == {
        "headers": Code.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        "dropped": 0,
        "null": Code.INVALID_RECORD,
        "transaction": Code.INVALID_RECORD,
        "acks": 0,
    }
    assert by_time["error_code"] == Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert told["acks"]["base_offset"] == 0  # nothing of what was refused is there


@pytest.mark.processes
def test_serve_counts_what_it_could_not_store(tmp_path: Path):
    said = []
    topic = ANY + " --config message.drop.headers=1"
    with serving(tmp_path, topic, said=said) as broker:
        broker.produce("any", 0, java("v2-none"))
    assert "4 records had timestamps, which were not stored" in said[0]
    assert "1 record had headers, which were not stored" in said[0]


@pytest.mark.processes
def test_member_over_the_network_gets_its_share_from_the_broker(tmp_path: Path):
    with serving(tmp_path, ANY) as broker:
        joined = broker.join("readers", "any")
        member = {name: joined[name] for name in ("member_id", "generation_id")}
        share = broker.ask("SyncGroup", 2, group_id="readers", **member)["assignment"]
    assert joined["leader"] not in ("", joined["member_id"])
    assert joined["members"] == []
    read, _ = decode("ConsumerProtocolAssignment", 0, share, 2)
    assert read["assigned_partitions"] == [{"topic": "any", "partitions": [0]}]
