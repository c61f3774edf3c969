"""What a browser lacks of an operating system, beside one Python; and what the page asks for.

    resource, signal.alarm, .setitimer    times after which the interpreter gets a signal
    subprocess.Popen                      `python -m MODULE`: it runs here while its parent waits
    os._exit, os.killpg                   the end of such a process
    ThreadPoolExecutor                    does its work at once, one thing after the other

So the commands run as they are. A process loads modules of kminilog of its own, and what it does to
other modules, its directory, streams and signals is undone at its end. That stops accidents; it is
no wall against malice, and the page ends the worker in which all this is. A browser computes more
slowly than a machine: each limit of time is SLOWER times as long. Source: ours.
"""

import concurrent.futures
import io
import os
import runpy
import shutil
import signal
import subprocess
import sys
import threading
import traceback
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Self
from zlib import crc32

HOME = Path("/home/student")
SLOWER = 3.0
_SIGNALS = (signal.SIGALRM, signal.SIGVTALRM, signal.SIGXCPU)
_AGAIN_SECONDS = 0.05
_ON_MACHINE = "a browser cannot do this; on a machine, type: "

# ---- a process


class _EndedError(BaseException):
    """The process has ended, whatever its code makes of this."""


class _Process:
    """The one that runs: its exit code, once it has one, and its audit hooks."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.hooks: list[Callable[[str, tuple[Any, ...]], None]] = []


_now = _Process()
_set_timer: Callable[[int, float], None]


def _end(code: int) -> None:
    _now.code = code
    raise _EndedError


def _on_signal(number: int, frame: object) -> None:
    _set_timer(number, _AGAIN_SECONDS)  # for code that catches everything, and goes on
    _end(-number)


def _on_event(event: str, values: tuple[Any, ...]) -> None:
    if _now.code is not None and event == "open":
        raise _EndedError
    for hook in _now.hooks:
        hook(event, values)


def _run(module: str, words: Sequence[str]) -> int:
    """Run `python -m module`, and return its exit code; negative for a signal."""
    sys.argv = [module, *words]
    _now.code = None
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:  # noqa: BLE001 - as the interpreter does at its end
        if _now.code is None:
            traceback.print_exception(error)
            return 1
    return _now.code or 0


@contextmanager
def _new_process(directory: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Undo at the end of the block what is done in it to the state of the interpreter."""
    global _now
    loaded, path, execute = dict(sys.modules), list(sys.path), SourceFileLoader.exec_module
    scopes = [vars(module) for module in loaded.values() if isinstance(module, ModuleType)]
    names = [(scope, dict(scope)) for scope in scopes]
    before, there, variables = _now, Path.cwd(), dict(os.environ)
    handlers = {number: signal.signal(number, _on_signal) for number in _SIGNALS}
    _now = _Process()
    _forget_own_modules()
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            _set_timer(number, 0)
            signal.signal(number, handler)
        _now = before
        os.chdir(there)
        os.environ.clear()
        os.environ.update(variables)
        for scope, then in names:
            scope.clear()
            scope.update(then)
        _forget_own_modules()
        sys.modules.update(loaded)
        sys.path[:] = path
        SourceFileLoader.exec_module = execute  # type: ignore[method-assign]


def _forget_own_modules() -> None:
    """Let the next import of a module of kminilog, or of a student's file, load it anew."""
    for name in list(sys.modules):
        if name.partition(".")[0] in ("kminilog", "answers", "__main__"):
            del sys.modules[name]


@contextmanager
def _streams(given: bytes, *outputs: IO[bytes] | None) -> Iterator[None]:
    """Let stdin, stdout and stderr be these; a missing one stays what it is."""
    before = sys.stdin, sys.stdout, sys.stderr
    new = [
        io.TextIOWrapper(each, "utf-8", "backslashreplace") if each else None for each in outputs
    ]
    sys.stdin = io.TextIOWrapper(io.BytesIO(given), "utf-8")
    sys.stdout, sys.stderr = new[0] or sys.stdout, new[1] or sys.stderr
    try:
        yield
    finally:
        for each in filter(None, new):
            each.flush()
            each.detach()
        sys.stdin, sys.stdout, sys.stderr = before


class Popen:
    """A process of `python -m MODULE`: it runs as soon as somebody waits for its end."""

    pid = 0

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        sys.audit("subprocess.Popen", command[0], command, None, None)
        self._words = command[command.index("-m") + 1 :]
        self._place = options.get("cwd") or Path.cwd(), options.get("env") or dict(os.environ)
        self._outputs = options.get("stdout"), options.get("stderr")
        self.returncode: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()

    def wait(self, timeout: float = 0) -> int:
        """Run it, and return its exit code: that of SIGALRM if it takes longer than `timeout`."""
        if self.returncode is None:
            with _new_process(*self._place), _streams(b"", *self._outputs):
                _set_timer(signal.SIGALRM, timeout * SLOWER)
                self.returncode = _run(self._words[0], self._words[1:])
        return self.returncode


class AtOnce(concurrent.futures.Executor):
    """A pool without threads."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def submit(self, work: Any, /, *values: Any, **named: Any) -> concurrent.futures.Future[Any]:
        """Do the work, and return a future that is done; raises what the work raises."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_result(work(*values, **named))
        return future


def _no_threads(*_: object) -> None:
    raise RuntimeError("this needs threads, which a browser does not have")


def _has_ended(*_: object) -> None:
    raise ProcessLookupError


def install(set_timer: Callable[[int, float], None]) -> None:
    """Put all this in its place; `set_timer` has a signal come after some seconds, 0 for never."""
    global _set_timer
    _set_timer = set_timer
    resource: Any = ModuleType("resource")
    for name in ("CPU", "AS", "FSIZE", "CORE"):
        setattr(resource, f"RLIMIT_{name}", name)

    def after(number: int, seconds: float) -> None:
        set_timer(number, seconds * SLOWER)

    def limit(kind: str, most: tuple[int, int]) -> None:
        if kind == "CPU":
            after(signal.SIGXCPU, most[0])

    places: list[tuple[Any, str, Any]] = [
        (resource, "setrlimit", limit),
        (signal, "alarm", partial(after, signal.SIGALRM)),
        (signal, "setitimer", lambda kind, seconds: after(signal.SIGVTALRM, seconds)),
        (signal, "ITIMER_VIRTUAL", 1),
        (subprocess, "Popen", Popen),
        (os, "_exit", _end),
        (os, "killpg", _has_ended),
        (concurrent.futures, "ThreadPoolExecutor", AtOnce),
        (threading.Thread, "start", _no_threads),
        (sys, "addaudithook", lambda hook: _now.hooks.append(hook)),
    ]
    sys.dont_write_bytecode = False  # a process loads what others have compiled
    sys.pycache_prefix = "/tmp/compiled"
    sys.addaudithook(_on_event)
    sys.modules["resource"] = resource
    for owner, name, value in places:
        setattr(owner, name, value)
    clear()


# ---- what the page asks for


def run(words: Sequence[str], given: str = "") -> dict[str, Any]:
    """Run `kminilog WORDS` at home, with `given` as stdin; `changed` are names of files."""
    before = _files()
    outputs = io.BytesIO(), io.BytesIO()
    with _streams(given.encode(), *outputs):
        code = _run("kminilog", list(words))
    os.chdir(HOME)
    for name, module in list(sys.modules.items()):  # a student's class may have changed next time
        if str(getattr(module, "__file__", None)).startswith(f"{HOME}/"):
            del sys.modules[name]
    changed = sorted({name for name, *_ in {*before} ^ {*_files()}})
    stdout, stderr = (each.getvalue().decode(errors="replace") for each in outputs)
    if "pip install" in stderr or "this needs threads" in stdout + stderr:
        stderr += f"kminilog: {_ON_MACHINE}kminilog {' '.join(words)}\n"
    return {"code": code, "stdout": stdout, "stderr": stderr, "changed": changed}


def check(lab: int, answers: str) -> str:
    """Return what `lab check LAB --json` says of the text of an answers.py."""
    clear()
    started = run(["lab", "start", str(lab), "--name", "student"])
    for path in HOME.glob("*/answers.py"):
        path.write_text(answers, encoding="utf-8")
    told = run(["lab", "check", str(lab), "--json", "--language", "en"])
    if not told["stdout"]:
        raise ValueError(started["stderr"] + told["stderr"])
    return str(told["stdout"])


def _files() -> list[tuple[str, int, int]]:
    """Return name, size and checksum of each file at home."""
    paths = sorted(path for path in HOME.rglob("*") if path.is_file())
    contents = ((path, path.read_bytes()) for path in paths)
    return [(str(path.relative_to(HOME)), len(data), crc32(data)) for path, data in contents]


def files() -> list[tuple[str, int]]:
    """Return name and size of each file at home."""
    return [(name, size) for name, size, _ in _files()]


def read(name: str) -> bytes:
    """Return the bytes of a file."""
    return (HOME / name).read_bytes()


def write(name: str, data: str | bytes) -> None:
    """Write a file."""
    (HOME / name).write_bytes(data.encode() if isinstance(data, str) else bytes(data))


def pack() -> bytes:
    """Return all files at home as a zip file."""
    return Path(shutil.make_archive("/tmp/home", "zip", HOME)).read_bytes()


def unpack(data: bytes) -> None:
    """Write the files of a zip file at home, beside and over what is there."""
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        archive.extractall(HOME)


def clear() -> None:
    """Delete all files at home."""
    os.chdir("/")
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    os.chdir(HOME)
