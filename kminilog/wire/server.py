"""The sockets of a broker: frames in, frames out, one request at a time for each connection.

    request    int32 size, then header (API key, version, correlation id, client id), then body
    response   int32 size, then correlation id, then body

There is no thread for a connection. A frame that claims more than socket.request.max.bytes, and one
that is no request, end their connection; all others go on. So does an error of this program.

Memory has a limit, whatever clients do. Of all requests that are not whole yet, it has at most two
of the largest: above that, the connection ends whose request has been coming longest. If answers
are not read, later ones have fewer messages.
Source: Kafka: SocketServer.
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any

from kminilog.errors import in_words
from kminilog.wire.broker import Client, ServingBroker, api_versions
from kminilog.wire.errors import Code
from kminilog.wire.schemas import APIS, MalformedError, decode, encode
from kminilog.wire.served import NODE_ID
from kminilog.wire.watching import AnsweredRequest

_SIZE_BYTES = 4
_HEAD = struct.Struct(">ii")  # of a response: size, correlation id
_PIECE_BYTES = 1 << 16
_BUFFER_BYTES = 1 << 16
_BACKLOG = 1_000
_LOOK_SECONDS = 1


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address. Raises OSError, OverflowError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, so that asyncio turns off Nagle's algorithm: each answer goes at once.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except BaseException:
        made.close()
        raise
    return made


class Server:
    """The connections of one broker. `told` gets each request, and `refused` why one has ended.

    `node` is the broker's id. A process has only so many open files, and a log needs some: hence
    `most_connections`.
    """

    def __init__(
        self,
        broker: ServingBroker,
        told: Callable[[AnsweredRequest], None] = lambda asked: None,
        refused: Callable[[str], None] = lambda line: None,
        *,
        node: int = NODE_ID,
        most_connections: int = 10_000,
    ) -> None:
        self._broker = broker
        self._node = node
        self._told = told
        self._refused = refused
        self._most_connections = most_connections
        settings = broker.settings
        self._most_bytes: int = settings["socket.request.max.bytes"]
        self._idle_seconds: float = settings["connections.max.idle.ms"] / 1000
        self._coming: dict[asyncio.StreamWriter, str] = {}  # the oldest first
        self._coming_bytes = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, bound: socket.socket) -> asyncio.Server:
        """Accept connections at a socket that is bound to an address."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._on_loop_error)

        def protocol() -> asyncio.StreamReaderProtocol:
            return asyncio.StreamReaderProtocol(_Reader(_BUFFER_BYTES), self._accept)

        return await loop.create_server(protocol, sock=bound, backlog=_BACKLOG)

    async def close(self) -> None:
        """End all connections: each after the request that it is at, unless that only waits."""
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks, timeout=_LOOK_SECONDS)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        host, port = (writer.get_extra_info("peername") or ("?", 0))[:2]
        address = f"{host}:{port}"
        try:
            if len(self._tasks) <= self._most_connections:
                await self._serve(reader, writer, address)
            else:
                reason = f"there are {self._most_connections} connections already"
                self._refused(f"{address}: {reason}; this one is closed")
            writer.close()
        except MalformedError as error:
            self._refused(f"{address}: no request, {error}; the connection is closed")
            writer.close()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, TimeoutError):
            writer.transport.abort()  # the client is gone or silent, or the broker ends it
        except Exception as error:  # noqa: BLE001 - a bug must not end the broker
            reason = f"an error of this program, {type(error).__name__}: {in_words(error)}"
            self._refused(f"{address}: {reason}; the connection is closed")
            writer.close()
        finally:
            self._tasks.discard(task)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str
    ) -> None:
        def is_gone() -> bool:
            return writer.is_closing() or (isinstance(reader, _Reader) and reader.has_ended)

        while True:
            response = await self._response(
                await self._request(reader, writer, address), is_gone, address
            )
            if response is not None:
                await self._send(writer, response)
                del response
            await asyncio.sleep(0)  # the turn of others

    async def _request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str
    ) -> bytes:
        """Return the next frame; TimeoutError if the client is silent too long."""
        async with asyncio.timeout(self._idle_seconds):
            size = int.from_bytes(await reader.readexactly(_SIZE_BYTES), signed=True)
            if not 0 < size <= self._most_bytes:
                reason = f"a size of {size} bytes, and {self._most_bytes} are the most"
                raise MalformedError(reason)
            return await self._frame(reader, size, writer, address)

    async def _send(self, writer: asyncio.StreamWriter, response: bytes) -> None:
        messages = self._broker.messages
        messages.unread_bytes += len(response)
        try:
            writer.write(response)  # at once: a second small piece would wait for the client's ACK
            async with asyncio.timeout(self._idle_seconds):
                await writer.drain()
        finally:
            messages.unread_bytes -= len(response)

    async def _frame(
        self, reader: asyncio.StreamReader, size: int, writer: asyncio.StreamWriter, address: str
    ) -> bytes:
        """Return a frame, which comes in pieces: what a client claims takes no memory."""
        if size <= _PIECE_BYTES:
            return await reader.readexactly(size)
        self._coming[writer] = address
        found = bytearray()
        try:
            while len(found) < size:
                piece = await reader.read(min(size - len(found), _PIECE_BYTES))
                if not piece:
                    raise asyncio.IncompleteReadError(b"", size)
                found += piece
                self._coming_bytes += len(piece)
                if self._coming_bytes > 2 * self._most_bytes:
                    self._end_oldest()
            return bytes(found)
        finally:
            del self._coming[writer]
            self._coming_bytes -= len(found)

    def _end_oldest(self) -> None:
        writer, address = next(iter(self._coming.items()))
        if not writer.is_closing():
            reason = "its request is not whole yet, and all such requests take too much memory"
            self._refused(f"{address}: {reason}; the connection is closed")
            writer.transport.abort()

    def _on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        reason = in_words(error) if isinstance(error, Exception) else context["message"]
        self._refused(f"a connection failed: {reason}")

    async def _response(
        self, frame: bytes, is_gone: Callable[[], bool], address: str
    ) -> bytes | None:
        header, position = decode("RequestHeader", 0, frame)
        api, version = APIS.get(header["api_key"]), header["api_version"]
        correlation_id: int = header["correlation_id"]
        if api is None:
            raise MalformedError(f"API {header['api_key']} is not spoken here")
        if not api.oldest <= version <= api.newest:
            if api.name != "ApiVersions":
                raise MalformedError(f"version {version} of {api.name} is not spoken here")
            answer = {**api_versions(), "error_code": Code.UNSUPPORTED_VERSION}
            return _framed(correlation_id, encode("ApiVersionsResponse", 0, answer))  # KIP-511
        request, end = decode(f"{api.name}Request", version, frame, position)
        if end != len(frame):
            raise MalformedError(f"{len(frame) - end} bytes after {api.name}")
        del frame  # what is needed of it, `request` has
        client = Client(address, header["client_id"] or "", is_gone, self._node)
        asked = await self._broker.answer(api, request, version, client)
        self._told(asked)
        if asked.answer is None:
            return None
        return _framed(correlation_id, encode(f"{api.name}Response", version, asked.answer))


def _framed(correlation_id: int, body: bytes) -> bytes:
    return _HEAD.pack(_HEAD.size - _SIZE_BYTES + len(body), correlation_id) + body


class _Reader(asyncio.StreamReader):
    """Knows that the client has ended, although not all that it has sent is read yet."""

    has_ended = False

    def feed_eof(self) -> None:
        self.has_ended = True
        super().feed_eof()
