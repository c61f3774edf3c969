"""Running a process that may hang, in a session and a group of its own.

A student's code does not end if it computes more than its limit, or if it computes nothing for a
while and waits neither for a processor nor for the disk. A clock does not tell: on a busy machine a
right answer takes long, too. So the process is looked at once a second, where the operating system
has `/proc`; elsewhere only its own limits end it. Source: ours; proc(5).
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.course.judging.attempts import ATTEMPTS, attempts_in
from kminilog.course.judging.limits import IDLE_SECONDS, WALL_SECONDS
from kminilog.course.material import LABS, labs_folder
from kminilog.errors import KMiniLogError

_OUTPUT_BYTES = 1 << 20
_LOOK_SECONDS = 1.0
_LEAST_SHARE = 0.02  # an idle JVM computes for 0.006 seconds a second
_SECONDS_ABOVE_LIMIT = 3  # the limit itself ends a process, if that does not ignore it
_at_work: set["subprocess.Popen[bytes]"] = set()


class ProcessResult(NamedTuple):
    """What became of a process. `result` is what it wrote as JSON; None if it did not come so far.

    `code` is negative for a signal.
    """

    code: int
    output: str
    errors: str
    result: dict[str, Any] | None
    tried: tuple[tuple[str, str], ...] = ()  # see attempts.py

    @property
    def is_endless(self) -> bool:
        """Whether it was stopped since it computed too much, or nothing for a while."""
        return self.code == -signal.SIGXCPU

    @property
    def is_killed(self) -> bool:
        """Whether another process or the kernel killed it, as for want of memory."""
        return self.code == -signal.SIGKILL


class TooBusyError(KMiniLogError):
    """A process came to the last limit of time: the machine had too little time for it."""

    def __init__(self) -> None:
        super().__init__("the machine was too busy for this; try again")


def run_module(
    module: str,
    *arguments: str,
    folder: Path,
    cpu_seconds: int | None = None,
    wall_seconds: float = WALL_SECONDS,
    needs_result: bool = False,
) -> ProcessResult:
    """Run `python -m module` in a folder; TooBusyError after `wall_seconds`.

    With `cpu_seconds`, its limit, it runs a student's code: it is ended if it does not go on. With
    `needs_result`, `RESULT` in the arguments is the path of a JSON file that it writes.
    """
    with tempfile.TemporaryDirectory() as temporary:
        result = Path(temporary) / "result.json"
        places = [str(result) if needs_result and each == "RESULT" else each for each in arguments]
        # -P: the student's folder is no place to import kminilog, or the standard library, from.
        # -B: Python cuts bytecode off at the limit of a file, and other processes would load it.
        flags = ["-P", "-B"] if cpu_seconds else ["-P"]
        command = [sys.executable, *flags, "-m", module, *places]
        limits = cpu_seconds, wall_seconds
        code, output, errors = _run(command, folder, limits, Path(temporary))
        if code == -signal.SIGALRM:
            raise TooBusyError
        told = None
        if result.is_file():
            with contextlib.suppress(ValueError):
                told = json.loads(result.read_text(encoding="utf-8"))
        tried = tuple(attempts_in(result.with_suffix(ATTEMPTS)))
        return ProcessResult(code, output, errors, told, tried)


def end_all() -> None:
    """End all processes that are at work, and what they have started."""
    for process in list(_at_work):
        _end(process)


def environment_of_package() -> dict[str, str]:
    """Return the environment of a process that imports this kminilog, wherever it was started."""
    package_parent = str(Path(__file__).parents[3])
    path = os.pathsep.join(filter(None, [package_parent, os.environ.get("PYTHONPATH")]))
    own = {LABS: str(labs_folder())} if LABS in os.environ else {}  # wherever it runs
    return {**os.environ, "PYTHONPATH": path, **own}


def _environment() -> dict[str, str]:
    """Return an environment in which a check gives the same result each time."""
    own = {**environment_of_package(), "PYTHONHASHSEED": "0"}
    own.pop("KMINILOG_LOG_DIR", None)
    return own


def _run(
    command: Sequence[str], folder: Path, limits: tuple[int | None, float], temporary: Path
) -> tuple[int, str, str]:
    output, errors = temporary / "output", temporary / "errors"
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        _at_work.add(process)
        try:
            code = _exit_code(process, *limits)
        finally:
            _end(process)
            process.wait()
            _at_work.discard(process)
    return code, _head(output), _head(errors)


def _exit_code(
    process: "subprocess.Popen[bytes]", cpu_seconds: int | None, wall_seconds: float
) -> int:
    """Wait for a process, and return its exit code.

    That of SIGXCPU stands for a process that does not go on, and must be ended; that of SIGALRM for
    one that had `wall_seconds`.
    """
    began = time.monotonic()
    before, idle_looks = 0.0, 0
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(_LOOK_SECONDS)
        if time.monotonic() - began > wall_seconds:
            return -signal.SIGALRM
        look = _look_at(process.pid) if cpu_seconds else None
        if cpu_seconds is None or look is None:
            continue
        if look.computed_seconds > cpu_seconds + _SECONDS_ABOVE_LIMIT:
            return -signal.SIGXCPU
        # Looks are counted, not seconds: they come late where this process, too, has to wait.
        idle_looks += 1
        if look.is_held_up or abs(look.computed_seconds - before) > _LEAST_SHARE * IDLE_SECONDS:
            before, idle_looks = look.computed_seconds, 0
        elif idle_looks * _LOOK_SECONDS >= IDLE_SECONDS:
            return -signal.SIGXCPU


class _Look(NamedTuple):
    """What some processes have computed, and if one runs, or waits for a processor or the disk."""

    computed_seconds: float
    is_held_up: bool


def _look_at(session: int) -> _Look | None:
    """Look at the processes of a session; None if the operating system does not tell."""
    ticks, states = 0, ""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, *numbers = path.read_text().rpartition(")")[2].split()  # the name has spaces
            if int(numbers[2]) == session:
                states += state
                ticks += sum(map(int, numbers[10:14]))  # also of its children that have ended
    seconds = ticks / os.sysconf("SC_CLK_TCK")
    return _Look(seconds, bool({"R", "D"} & {*states})) if states else None


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and what it has started: they are one group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _head(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_OUTPUT_BYTES).decode("utf-8", "replace")
