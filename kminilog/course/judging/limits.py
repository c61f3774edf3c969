"""What a student's code may use: some seconds, some memory, files and prints of a bounded size.

A process sets these limits for itself, before it loads the student's file. They stop accidents, an
infinite loop or a list without end; they are no wall against malice. Source: ours.
"""

import io
import signal
from typing import Any

CPU_SECONDS = 3
COMMAND_CPU_SECONDS = 60  # the demo of the documents takes 7 on a desk, and 20 on a slow host
JOB_CPU_SECONDS = 120  # to start Spark and run a job, in each of its runs
IDLE_SECONDS = 10
"""A process that does not compute for so long does not go on."""
WALL_SECONDS = 600
"""The last resort. Only a machine that is far too busy, and no student's code, takes so long."""
MEMORY_BYTES = 1 << 30
FILE_BYTES = 64 << 20
PRINTED_BYTES = 1_000_000
_KEPT_BYTES = 2_000


class Forbidden(BaseException):
    """The code did what no exercise needs; the text names a sentence of the catalogue.

    No `except Exception` of a student catches it.
    """


def limit_resources(cpu_seconds: int = CPU_SECONDS) -> None:
    """Limit this process: SIGXCPU after so many seconds of computing, MemoryError above 1 GiB.

    SIGALRM ends it even if whoever started it is gone. No limit sends SIGKILL before that: who gets
    it was killed from outside, as Linux does when memory runs out.
    """
    import resource  # not every operating system has it

    signal.alarm(WALL_SECONDS)
    limit_computing(cpu_seconds)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_computing(cpu_seconds: int) -> None:
    """Let SIGXCPU come when this process has computed so many seconds in all."""
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, WALL_SECONDS))


class BoundedOutput(io.RawIOBase):
    """Where the bytes go that the student prints; it keeps the beginning, and refuses too much."""

    def __init__(self) -> None:
        super().__init__()
        self._kept = b""
        self._written = 0

    def as_text_stream(self) -> io.TextIOWrapper:
        """Return a stream in the place of stdout; its `buffer` is this object."""
        return io.TextIOWrapper(self, encoding="utf-8", errors="replace", write_through=True)  # type: ignore[arg-type]

    @property
    def kept(self) -> str:
        """The beginning of what was printed."""
        return self._kept.decode("utf-8", "ignore")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Keep the beginning of all bytes; Forbidden above PRINTED_BYTES."""
        self._written += len(data)
        self._kept += bytes(data[: _KEPT_BYTES - len(self._kept)])
        if self._written > PRINTED_BYTES:
            raise Forbidden("prints-too-much")
        return len(data)
