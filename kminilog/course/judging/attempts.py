"""What an answer tries that no exercise needs: programs, the network, files elsewhere, signals.

Python tells an audit hook of such calls before they are made. Each is noted at once in a file, so
that it is known even if the process ends. Nothing is prevented: whoever grades reads the notes.
Only calls below the student's file count, and only in the unit checks. What Python's hooks do not
see, such as code in C, is not noted. Source: PEP 578.
"""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from kminilog.text import printable

ATTEMPTS = ".attempts"
"""The suffix of the file, beside the result of a process."""
PROGRAM, NETWORK, WRITES, READS, SIGNALS = "program", "network", "writes", "reads", "signals"
_KINDS = {
    **dict.fromkeys(
        ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"),
        PROGRAM,
    ),
    **dict.fromkeys(("socket.connect", "socket.getaddrinfo", "socket.sendto"), NETWORK),
    **dict.fromkeys(
        (
            *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown"),
            *("os.link", "os.symlink", "os.truncate", "shutil.rmtree", "shutil.move"),
        ),
        WRITES,
    ),
    **dict.fromkeys(("os.kill", "os.killpg"), SIGNALS),
    "open": READS,  # or WRITES, as its flags say
}
_MOST_NOTES = 20
_CHARACTERS = 80
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def note_attempts(answers: str, notes: Path) -> None:
    """Note in a file what the student's file `answers` tries from now on in this process."""
    own = [os.getcwd(), tempfile.gettempdir(), str(Path(answers).parent)]
    readable = [*own, *filter(None, sys.path), sys.prefix, sys.base_prefix, "/usr", "/dev", "/proc"]
    readable.append(str(Path(__file__).parents[3]))
    places = {WRITES: [*map(os.path.realpath, own), os.devnull]}
    places[READS] = [*map(os.path.realpath, readable)]
    descriptor = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    seen: set[tuple[str, str]] = set()

    def hook(event: str, values: tuple[Any, ...]) -> None:
        kind = _KINDS.get(event)
        if kind is None or len(seen) >= _MOST_NOTES or not _is_called_by(answers):
            return
        with suppress(OSError, TypeError, ValueError):  # the call itself says what is wrong with it
            if event == "open":
                kind = WRITES if int(values[2] or 0) & _WRITING else READS
            what = _said(kind, event, values, places.get(kind, ()))
            if what and (kind, what) not in seen:
                seen.add((kind, what))
                os.write(descriptor, json.dumps([kind, what]).encode() + b"\n")

    sys.addaudithook(hook)


def attempts_in(notes: Path) -> list[tuple[str, str]]:
    """Return what a file of notes says: kinds, and what was tried; nothing without a file."""
    try:
        lines = notes.read_bytes()[: _MOST_NOTES * 1000].splitlines()
        found = [json.loads(line) for line in lines]
        return [
            (str(kind), printable(str(what))) for kind, what in found if kind in _KINDS.values()
        ]
    except (OSError, ValueError, TypeError, RecursionError):  # it may have been written over
        return []


def _is_called_by(answers: str) -> bool:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != answers:
        frame = frame.f_back
    return frame is not None


def _said(kind: str, event: str, values: tuple[Any, ...], places: Sequence[str]) -> str:
    """Return what is tried, in a few words; nothing for what is allowed."""
    if kind in (WRITES, READS):
        paths = [os.fsdecode(each) for each in values[:2] if isinstance(each, str | bytes)]
        if event == "open":
            del paths[1:]
        outside = [path for path in paths if not _is_below(path, places)]
        return outside[0][:_CHARACTERS] if outside else ""
    if kind == PROGRAM:
        given = values[0] if event == "os.system" else values[1] if len(values) > 1 else event
        words = [given] if isinstance(given, str | bytes) else given
        return " ".join(os.fsdecode(each) for each in words)[:_CHARACTERS]
    if kind == NETWORK:
        address = values[1] if event != "socket.getaddrinfo" else values[:2]
        parts = address[:2] if isinstance(address, tuple) else [address]
        return ":".join(map(str, parts))[:_CHARACTERS]
    whom = "itself" if values[0] in (0, os.getpid()) else "another process"
    return f"signal {int(values[1])} to {whom}"  # without a number, which is another each time


def _is_below(path: str, places: Sequence[str]) -> bool:
    real = os.path.realpath(path)
    return any(real == place or real.startswith(f"{place.rstrip('/')}/") for place in places)
