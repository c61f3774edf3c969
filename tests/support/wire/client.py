"""A small client on our own schemas: a blocking socket, one request after the other."""

import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from kminilog.wire.schemas import Value, decode
from tests.support.cli.command_line import CommandLine
from tests.support.processes import Process
from tests.support.wire.exchange import frame, produced


class WireClient:
    """A connection to a broker; a context manager."""

    def __init__(self, port: int, *, client_id: str = "tests") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client_id = client_id
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def send(self, api: str, version: int, request: Value | None = None) -> None:
        """Send a request, and do not wait for its answer."""
        self._correlation_id += 1
        data = frame(
            api,
            version,
            request,
            correlation_id=self._correlation_id,
            client_id=self._client_id,
        )
        self.send_bytes(len(data).to_bytes(4) + data)

    def send_bytes(self, data: bytes) -> None:
        """Send whatever bytes."""
        self.socket.sendall(data)

    def receive(self, api: str, version: int) -> Value:
        """Return the answer to the last request; ConnectionError if the broker has ended it."""
        data = self._bytes(int.from_bytes(self._bytes(4)))
        assert int.from_bytes(data[:4]) == self._correlation_id
        found, end = decode(f"{api}Response", version, data, 4)
        assert end == len(data)
        return found

    def ask(self, api: str, version: int, request: Value | None = None) -> Value:
        """Return the answer to a request; ConnectionError if the broker has ended it."""
        self.send(api, version, request)
        return self.receive(api, version)

    def produce(self, records: bytes, *, acks: int = 1, **place: Any) -> Value:
        """Produce a record set, and return the answer of its partition."""
        answer = self.ask("Produce", 3, produced(records, acks=acks, **place))
        partition: Value = answer["responses"][0]["partition_responses"][0]
        return partition

    def is_ended(self) -> bool:
        """Wait until the broker says something or ends the connection; tell which."""
        try:
            return not self.socket.recv(1)
        except ConnectionError:
            return True

    def _bytes(self, count: int) -> bytes:
        found = bytearray()
        while len(found) < count:
            piece = self.socket.recv(count - len(found))
            if not piece:
                raise ConnectionResetError("the broker has closed the connection")
            found += piece
        return bytes(found)


class Serving:
    """`kminilog serve` as a process of its own, which listens at `port`; a context manager.

    What it writes to stderr goes into the file `said`, if there may be much.
    """

    def __init__(
        self,
        command_line: CommandLine,
        *arguments: str,
        port: int = 0,
        said: Path | None = None,
        **options: Any,
    ) -> None:
        words = ("serve", "--port", str(port), *arguments)
        with ExitStack() as stack:
            if said:
                options["stderr"] = stack.enter_context(said.open("wb"))
            self.process: Process[bytes] = command_line.start(
                *words, stdin=subprocess.DEVNULL, **options
            )
        assert self.process.stdout
        self.ready = self.process.stdout.readline().decode()
        assert self.ready, self.process.stderr and self.process.stderr.read()
        if "--json" not in arguments:
            self.port = int(self.ready.rpartition(":")[2])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.__exit__(kind, error, traceback)

    def client(self, **options: Any) -> WireClient:
        """Return a new connection."""
        return WireClient(self.port, **options)

    def end(self, number: int) -> tuple[int, str, str]:
        """Send a signal; return the exit code, and the rest of what it writes."""
        assert self.process.stdout
        self.process.send_signal(number)
        out = self.process.stdout.read()
        err = self.process.stderr.read() if self.process.stderr else b""
        return self.process.wait(), out.decode(), err.decode()
