"""What a browser lacks of an operating system, beside one Python; and what the page asks for.

    resource, signal.alarm, .setitimer    times after which the interpreter gets a signal
    subprocess.Popen                      `python -m MODULE`: it runs here while its parent waits
    os._exit, os.killpg                   the end of such a process
    ThreadPoolExecutor.submit             does the work at once

So the commands run as they are. A process loads modules of kminilog of its own, and what it does to
other modules, its directory, streams and signals is undone at its end. So the next check needs no
new Python. That stops accidents; it is no wall against malice. Source: ours.
"""

import io
import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import traceback
import zipfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, chdir, suppress
from functools import partial
from importlib.machinery import SourceFileLoader
from itertools import count
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import IO, Any
from zlib import crc32

HOME = Path("/home/student")
_now = SimpleNamespace(code=None, hooks=[])  # the process that runs: its exit code, its audit hooks
_kept: list[tuple[str, int, int]] | None = None  # what the page has been told of

# ---- a process


class _EndedError(BaseException):
    """The process has ended, whatever its code makes of this."""


def _end(code: int) -> None:
    _now.code = code
    raise _EndedError


def _on_signal(number: int, frame: object) -> None:
    signal.setitimer(number, 0.02)  # for code that catches everything, and goes on
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


def _begin_process(undo: ExitStack, directory: Path, environment: Mapping[str, str]) -> None:
    """Let `undo` undo what is done from now on to the state of the interpreter: the last first."""
    global _now
    undo.callback(setattr, SourceFileLoader, "exec_module", SourceFileLoader.exec_module)
    undo.callback(sys.modules.update, dict(sys.modules))
    undo.callback(_forget_own_modules)
    modules = [each for each in sys.modules.values() if isinstance(each, ModuleType)]
    # Of this module, too: within a process it is none of the loaded ones, which that has forgotten.
    for state in (os.environ, globals(), *map(vars, modules)):
        undo.callback(_put_back, state, dict(state))
    undo.enter_context(chdir(directory))
    for number in (signal.SIGALRM, signal.SIGVTALRM, signal.SIGXCPU):
        undo.callback(signal.signal, number, signal.signal(number, _on_signal))
        undo.callback(signal.setitimer, number, 0)
    _now, sys.path = SimpleNamespace(code=None, hooks=[]), list(sys.path)
    undo.callback(_now.hooks.clear)
    _put_back(os.environ, environment)
    _forget_own_modules()


def _put_back(state: Any, then: Mapping[str, Any]) -> None:
    state.clear()
    state.update(then)  # at once: between the two there may be no names at all


def _forget_own_modules() -> None:
    """Let the next import of a module of kminilog, or of a student's file, load it anew."""
    for name in list(sys.modules):
        if name.partition(".")[0] in ("kminilog", "answers", "__main__"):
            del sys.modules[name]


def _use_streams(undo: ExitStack, given: bytes, *outputs: IO[bytes] | None) -> None:
    """Let stdin, stdout and stderr be these until `undo`; a missing one stays what it is."""
    for name, raw in zip(("stdin", "stdout", "stderr"), (io.BytesIO(given), *outputs), strict=True):
        if raw:
            undo.callback(setattr, sys, name, getattr(sys, name))
            stream = io.TextIOWrapper(raw, "utf-8", "backslashreplace")
            if raw in outputs:
                undo.callback(stream.detach)  # which flushes it
            setattr(sys, name, stream)


class Popen(AbstractContextManager["Popen"]):
    """A process of `python -m MODULE`: it runs as soon as somebody waits for its end."""

    pid = 0
    returncode: int | None = None

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        sys.audit("subprocess.Popen", command[0], command, None, None)
        self._words = command[command.index("-m") + 1 :]
        self._place = options.get("cwd") or Path.cwd(), options.get("env") or dict(os.environ)
        self._outputs = options.get("stdout"), options.get("stderr")

    def __exit__(self, *_: object) -> None:
        self.wait()

    def wait(self, timeout: float | None = None) -> int:
        """Run it, and return its exit code. It has no time-out: a student's code sets its own."""
        if self.returncode is None:
            with ExitStack() as undo:
                _begin_process(undo, *self._place)
                _use_streams(undo, b"", *self._outputs)
                self.returncode = _run(self._words[0], self._words[1:])
        return self.returncode


def _submit(pool: object, work: Any, /, *values: Any, **named: Any) -> Future[Any]:
    """Do the work of a pool at once, and return a future that is done; raises what it raises."""
    future: Future[Any] = Future()
    future.set_result(work(*values, **named))
    return future


def _no_threads(*_: object) -> None:
    raise RuntimeError("this needs threads, which a browser does not have")


def install(set_timer: Callable[[int, float], None]) -> None:
    """Put all this in its place; `set_timer` has a signal come after some seconds, 0 for never."""
    limits: Any = ModuleType("resource")
    vars(limits).update(RLIMIT_CPU=signal.SIGXCPU, RLIMIT_AS=0, RLIMIT_FSIZE=0, RLIMIT_CORE=0)
    limits.setrlimit = lambda number, most: set_timer(number, most[0])  # there is no signal 0
    places: list[tuple[Any, str, Any]] = [
        (signal, "setitimer", set_timer),
        (signal, "ITIMER_VIRTUAL", signal.SIGVTALRM),
        (signal, "alarm", partial(set_timer, signal.SIGALRM)),
        (subprocess, "Popen", Popen),
        (os, "_exit", _end),
        (os, "killpg", lambda *_: None),
        (ThreadPoolExecutor, "submit", _submit),
        (threading.Thread, "start", _no_threads),
        (sys, "addaudithook", lambda hook: _now.hooks.append(hook)),
        (sys, "dont_write_bytecode", False),  # a process loads what others have compiled
        (sys, "pycache_prefix", "/tmp/compiled"),
    ]
    sys.addaudithook(_on_event)
    sys.modules["resource"] = limits
    for owner, name, value in places:
        setattr(owner, name, value)
    clear()


# ---- what the page asks for


def run(words: Sequence[str], given: str = "") -> dict[str, Any]:
    """Run `kminilog WORDS` at home, with `given` as stdin; `changed` are names of files."""
    before = files()
    outputs = io.BytesIO(), io.BytesIO()
    with ExitStack() as undo:
        undo.enter_context(chdir(HOME))
        _use_streams(undo, given.encode(), *outputs)
        code = _run("kminilog", list(words))
    for name, module in list(sys.modules.items()):  # a student's class may have changed next time
        if str(getattr(module, "__file__", None)).startswith(f"{HOME}/"):
            del sys.modules[name]
    changed = sorted({name for name, *_ in {*before} ^ {*files()}})
    stdout, stderr = (each.getvalue().decode(errors="replace") for each in outputs)
    if "pip install" in stderr or "this needs threads" in stdout + stderr:
        stderr += f"a browser cannot do this; on a machine, type: kminilog {' '.join(words)}\n"
    return {"code": code, "stdout": stdout, "stderr": stderr, "changed": changed}


def check(lab: int, answers: str) -> str:
    """Return what `lab check LAB --json` says of the text of an answers.py; no file is kept."""
    clear()
    started = run(["lab", "start", str(lab), "--name", "student"])
    for path in HOME.glob("*/answers.py"):
        path.write_text(answers, encoding="utf-8")
    told = run(["lab", "check", str(lab), "--json", "--language", "en"])
    kept()
    if not told["stdout"]:
        raise ValueError(started["stderr"] + told["stderr"])
    return str(told["stdout"])


def bench(name: str, fields: Mapping[str, str], acts: Sequence[str]) -> str:
    """Return what a bench answers to its state, as markup; no file at home changes."""
    from kminilog.course.benches.registry import bench_of
    from kminilog.explain.page import render_last_step

    return render_last_step(bench_of(name).answer(fields, acts))


def files() -> list[tuple[str, int, int]]:
    """Return name, size and checksum of each file at home."""
    paths = sorted(path for path in HOME.rglob("*") if path.is_file())
    contents = ((path, path.read_bytes()) for path in paths)
    return [(str(path.relative_to(HOME)), len(data), crc32(data)) for path, data in contents]


def kept() -> dict[str, Any] | None:
    """Return all files at home, and a zip file of them as base64; None if they are as before."""
    global _kept
    before, _kept = _kept, files()
    if before == _kept:
        return None
    packed = Path(shutil.make_archive("/tmp/home", "zip", HOME)).read_bytes()
    return {"files": _kept, "zip": b64encode(packed).decode()}


def words(line: str) -> list[str]:
    """Return the words of a line, as a shell reads them."""
    return shlex.split(line)


def read(name: str) -> str:
    """Return the text of a file."""
    return (HOME / name).read_text(encoding="utf-8", errors="replace")


def shown(name: str) -> str:
    """Return a file as one reads it: text, or else its bytes, 16 in a line after their position."""
    data = (HOME / name).read_bytes()
    with suppress(UnicodeDecodeError):
        text = data.decode()
        if not re.search(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f]", text):
            return text
    rows = ((at, data[at : at + 16]) for at in range(0, len(data), 16))
    cells = ((at, row, re.sub(r"[^ -~]", ".", row.decode("latin-1"))) for at, row in rows)
    return "\n".join(f"{at:08}  {row.hex(' '):47}  |{text}|" for at, row, text in cells)


def write(name: str, data: str | bytes) -> None:
    """Write a file; in place of a zip file all that are in it, beside and over what is there."""
    content = data.encode() if isinstance(data, str) else bytes(data)
    if name.endswith(".zip"):
        zipfile.ZipFile(io.BytesIO(content)).extractall(HOME)
    else:
        (HOME / name).write_bytes(content)


def unpack(text: str) -> None:
    """Let the files at home be those that `kept` has returned; none for an empty text."""
    clear()
    if text:
        write("home.zip", b64decode(text))


def adopt(text: str, before: Sequence[Sequence[Any]]) -> bool:
    """Take over the files that another tab has kept; `before` are those that both knew.

    A file that has changed in both stays as it is here, and the other's is put beside it. Tells if
    there is anything here that the other tab does not have.
    """
    both_knew = {tuple(each) for each in before}
    mine = {name: (HOME / name).read_bytes() for name, *_ in {*files()} - both_knew}
    unpack(text)
    changed_there = {name for name, *_ in {*files()} - both_knew}
    for name, data in mine.items():
        path = HOME / name
        if name in changed_there and path.read_bytes() != data:
            names = (f"{path.stem}.other-tab-{number}{path.suffix}" for number in count(1))
            path.rename(next(copy for copy in map(path.with_name, names) if not copy.exists()))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return bool(mine)


def clear() -> None:
    """Delete all files at home."""
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True, exist_ok=True)
