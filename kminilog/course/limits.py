"""What a student's code may use: some seconds, some memory, no other process, no network.

A process sets these limits for itself, before it loads the student's file. They stop accidents, an
infinite loop or a fork; they are no wall against malice. Source: ours.
"""

import os
import resource
import sys
from typing import Any

CPU_SECONDS = 5
MEMORY_BYTES = 2 << 30
FILE_BYTES = 64 << 20
PRINTED_CHARACTERS = 1_000_000

_PROCESS_EVENTS = {"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
_NETWORK_EVENTS = {"socket.connect", "socket.bind"}


class Forbidden(BaseException):
    """The code did what no exercise needs; the text names a sentence of the catalogue.

    No `except Exception` of a student catches it.
    """


def limit_resources(cpu_seconds: int = CPU_SECONDS) -> None:
    """Limit this process: SIGXCPU after so many seconds of computing, MemoryError above 2 GB."""
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def forbid_processes() -> None:
    """Let every attempt to start a process or to use the network raise Forbidden."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _PROCESS_EVENTS or event.startswith(("os.exec", "os.spawn")):
            raise Forbidden("starts-process")
        if event in _NETWORK_EVENTS:
            raise Forbidden("uses-network")

    sys.addaudithook(hook)


class BoundedOutput:
    """A stream for what the student prints; it keeps the beginning, and refuses too much."""

    encoding = "utf-8"

    def __init__(self, keep_characters: int = 2_000) -> None:
        self.kept = ""
        self._keep_characters = keep_characters
        self._written = 0

    def write(self, text: str) -> int:
        """Keep the beginning of all text; Forbidden above PRINTED_CHARACTERS."""
        self._written += len(text)
        self.kept += text[: max(self._keep_characters - len(self.kept), 0)]
        if self._written > PRINTED_CHARACTERS:
            raise Forbidden("prints-too-much")
        return len(text)

    def flush(self) -> None:
        """Do nothing."""

    def isatty(self) -> bool:
        """Return False."""
        return False

    def fileno(self) -> int:
        """Return the null device's descriptor."""
        return os.open(os.devnull, os.O_WRONLY)
