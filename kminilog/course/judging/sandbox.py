"""Running a process that may hang: with a time-out, and in a process group of its own.

Source: ours.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.course.judging.limits import WALL_SECONDS
from kminilog.course.material import LABS, labs_folder

_OUTPUT_BYTES = 1 << 20
_at_work: set["subprocess.Popen[bytes]"] = set()


class ProcessResult(NamedTuple):
    """What became of a process. `result` is what it wrote as JSON; None if it did not come so far.

    `code` is negative for a signal, and None after the time-out.
    """

    code: int | None
    output: str
    errors: str
    result: dict[str, Any] | None

    @property
    def is_too_slow(self) -> bool:
        """Whether it was stopped: by the time-out, or by the limit on computing."""
        return self.code in (None, -signal.SIGXCPU, -signal.SIGALRM)

    @property
    def is_killed(self) -> bool:
        """Whether another process or the kernel killed it, as for want of memory."""
        return self.code == -signal.SIGKILL


def run_module(
    module: str,
    *arguments: str,
    folder: Path,
    wall_seconds: float = WALL_SECONDS - 1,  # before the process ends itself
    needs_result: bool = False,
) -> ProcessResult:
    """Run `python -m kminilog.<module>` in a folder; with `needs_result`, `RESULT` in the arguments
    is the path of a JSON file that it writes."""
    with tempfile.TemporaryDirectory() as temporary:
        result = Path(temporary) / "result.json"
        places = [str(result) if needs_result and each == "RESULT" else each for each in arguments]
        # -P: the student's folder is no place to import kminilog, or the standard library, from.
        command = [sys.executable, "-P", "-m", f"kminilog.{module}", *places]
        code, output, errors = _run(command, folder, wall_seconds, Path(temporary))
        told = None
        if result.is_file():
            with contextlib.suppress(ValueError):
                told = json.loads(result.read_text(encoding="utf-8"))
        return ProcessResult(code, output, errors, told)


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
    command: Sequence[str], folder: Path, wall_seconds: float, temporary: Path
) -> tuple[int | None, str, str]:
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
            code: int | None = process.wait(wall_seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)
            process.wait()
            _at_work.discard(process)
    return code, _head(output), _head(errors)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and what it has started: they are one group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _head(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_OUTPUT_BYTES).decode("utf-8", "replace")
