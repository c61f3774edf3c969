"""A broker with its sockets in a thread of this process: tests see what it tells."""

import asyncio
import socket
import threading
from pathlib import Path
from typing import Self

from kminilog.wire.server import Server
from kminilog.wire.watching import AnsweredRequest
from tests.support.wire.client import WireClient
from tests.support.wire.exchange import Exchange


class InThread:
    """`refused` has the lines about connections that it has ended, `told` the requests."""

    def __init__(self, log_dir: Path, **settings: object) -> None:
        self.exchange = Exchange(log_dir, **settings)
        self.refused: list[str] = []
        self.told: list[AnsweredRequest] = []
        self.port = 0
        self._is_ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._is_ready.wait()
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self.exchange.__exit__()

    def client(self) -> WireClient:
        """Return a new connection."""
        return WireClient(self.port)

    async def _run(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        with socket.create_server(("127.0.0.1", 0)) as bound:
            self.port = bound.getsockname()[1]
            self.server = Server(self.exchange.broker, self.told.append, self.refused.append)
            listener = await self.server.listen(bound)
            self._is_ready.set()
            await self._end.wait()
            listener.close()
            await self.server.close()
