"""Checks of lab 9: a commit by hand, and who may commit. The Spark job is judged by `verify`."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from kminilog.course.comparing import Comparer
from kminilog.partitioners.keyed import murmur2_partition

_PARTITIONS = 3


def first_win(name: str) -> list[str]:
    """Return the partitions of keys that begin with the name."""
    keys = [f"{name}-{number}" for number in range(4)]
    return [f"{key}  partition {murmur2_partition(key.encode(), _PARTITIONS)}" for key in keys]


# ---- 9.1

Files = dict[str, bytes]
_MONDAY = {"monday.txt": b"m1\nm2\n"}
_JOB = "load-2.7"
_DONE = f"{_JOB}.txt"
_STAGED = {
    "9_0": b"t1\r\n",
    "10_0": b"",
    "10_1": b"t2\xff\n",
    "11_1": b"t4\n",
    "11_0": b"t4\nt",
    "12_0": b"",
}
_OUTPUTS = ["9_0", "10_1", "11_1", "12_0"]  # in the order of tasks, which is not that of texts
_OF_OTHER_TASKS = {"0_2": b"x1\n", "1_2": b"x2\n"}
_MOST_LOOKS = 3_000
_NO_STAGING = "an output is no longer in staging"


def exercise_1(compare: Comparer, commit: Callable[..., Any]) -> None:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary, "job")
        whole = _MONDAY | {_DONE: _joined(_STAGED, _OUTPUTS)}
        mistakes = {
            "takes-each-attempt": _MONDAY | {_DONE: _joined(_STAGED, sorted(_STAGED))},
            "joins-by-name": _MONDAY | {_DONE: _joined(_STAGED, sorted(_OUTPUTS))},
        }
        text = whole[_DONE].decode(errors="replace").replace("\r\n", "\n")
        mistakes["bytes-as-text"] = _MONDAY | {_DONE: text.encode()}
        _make(folder, _STAGED, _MONDAY)
        _compare(compare, commit, folder, _OUTPUTS, whole, "", mistakes)

        other = _joined(_OF_OTHER_TASKS, _OF_OTHER_TASKS)
        _put(folder / "staging", _OF_OTHER_TASKS)
        both = whole | {"load-2.8.txt": other}

        def next_job() -> Files:
            commit(folder, "load-2.8", [*_OF_OTHER_TASKS])
            return _visible(folder)

        compare.equal("the next job: what readers see", next_job, both)

        for when, done in (("done before: ", whole), ("done, and empty: ", whole | {_DONE: b""})):
            _make(folder, _OF_OTHER_TASKS, done)
            mistakes = {"commits-twice": done | {_DONE: other}}
            _compare(compare, commit, folder, [*_OF_OTHER_TASKS], done, when, mistakes)

        _make(folder, _STAGED, _MONDAY)
        steps = _run_in_child(commit, folder)["steps"]
        _make(folder, _STAGED, _MONDAY)
        looked = _run_in_child(commit, folder, every=steps // _MOST_LOOKS + 1)
        for step in looked["changes"]:  # between two of them a kill leaves the same on the disk
            _make(folder, _STAGED, _MONDAY)
            line = _run_in_child(commit, folder, last=step)["line"]
            seen, when = _visible(folder), f"killed in line {line}: "
            right = whole if seen == whole else _MONDAY
            what = f"{when}what readers see"
            compare.equal(what, partial(_visible, folder), right, {"seen-in-parts": seen})
            mistakes = {"marked-before-done": _MONDAY, "staging-is-gone": _NO_STAGING}
            again = f"{when[:-2]}, called again: "
            _compare(compare, commit, folder, _OUTPUTS, whole, again, mistakes)


def _compare(
    compare: Comparer,
    commit: Callable[..., Any],
    folder: Path,
    outputs: Sequence[str],
    right: Files,
    when: str,
    mistakes: Mapping[str, Any],
) -> None:
    """Compare what readers see after a call, and then what is left in staging."""
    named = dict(mistakes)
    text = right[_DONE]
    given = list(outputs)
    is_there = {*outputs} <= {*_contents(folder / "staging", "*")}

    def seen() -> Any:
        try:
            commit(folder, _JOB, given)
        except FileNotFoundError:
            if is_there or _visible(folder) == right:
                raise  # it is not for want of the outputs
            return _NO_STAGING
        files = _visible(folder)
        if when and files not in named.values() and len(files.get(_DONE, b"")) > len(text):
            named["commits-twice"] = files  # whatever a part that was written before is
        return files

    compare.equal(f"{when}what readers see", seen, right, named)
    compare.holds(given == [*outputs], f"{when}`outputs`", "others", "what they were")
    is_folder = (folder / "staging").is_dir()
    compare.holds(is_folder, f"{when}staging", "no folder", "a folder", "staging-is-removed")
    left = _contents(folder / "staging", "*")
    compare.equal(f"{when}what is in staging", lambda: left, {}, {"staging-stays": left})


def _make(folder: Path, staged: Files, visible: Files) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name, files in (("staging", staged), ("visible", visible)):
        (folder / name).mkdir(parents=True)
        _put(folder / name, files)


def _put(folder: Path, files: Files) -> None:
    for name, text in files.items():
        (folder / name).write_bytes(text)


def _joined(files: Files, names: Sequence[str] | Files) -> bytes:
    return b"".join(files[name] for name in names)


def _visible(folder: Path) -> Files:
    """Return what a reader sees: it takes all files whose names end with .txt."""
    return _contents(folder / "visible", "*.txt")


def _contents(folder: Path, names: str) -> Files:
    return {path.name: path.read_bytes() for path in sorted(folder.glob(names))}


def _run_in_child(
    commit: Callable[..., Any], folder: Path, *, last: int | None = None, every: int = 0
) -> dict[str, Any]:
    """Run a commit in another process, which dies before step `last`; a step is a line of Python.

    Lines of the standard library count, too. Return how many `steps` there were, the last `line` of
    the student's own, and in `changes` the steps before which the disk was not as at the look
    before; it looks at it `every` so many steps. A process that dies so writes nothing more: not
    even what its files have in memory.
    """
    read_end, write_end = os.pipe()
    process = os.fork()
    if process == 0:
        told: dict[str, Any] = {"steps": 0, "line": 0, "changes": []}
        before: Files | None = None

        def end() -> None:
            os.write(write_end, json.dumps(told).encode())
            os._exit(0)

        def look() -> None:
            nonlocal before
            with suppress(OSError):
                now = _on_disk(folder)
                if now != before:
                    told["changes"].append(told["steps"])
                before = now

        def trace(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line":
                if frame.f_code is getattr(commit, "__code__", None):
                    told["line"] = frame.f_lineno
                if told["steps"] == last:
                    end()
                if every and told["steps"] % every == 0:
                    look()
                told["steps"] += 1
            return trace

        with suppress(BaseException):
            sys.settrace(trace)
            commit(folder, _JOB, [*_OUTPUTS])
        sys.settrace(None)
        end()
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        told = json.loads(pipe.read())
    os.waitpid(process, 0)
    return told


def _on_disk(folder: Path) -> Files:
    """Return what is below a folder: of each path its inode, and the bytes of a file."""
    return {
        f"{path} {path.lstat().st_ino}": path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


# ---- 9.3

# What happened, who may commit in the end, and what wrong rules say: one rule after the other.
_CASES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("", "", {}),
    ("asks 0_0", "0_0", {}),
    ("asks 2_1", "2_1", {}),
    ("asks 0_1, asks 0_2", "0_1", {"last-one-commits": "0_2"}),
    ("asks 0_1, asks 0_0", "0_1", {"lowest-attempt-commits": "0_0"}),
    ("asks 0_0, asks 0_1", "0_0", {"zero-is-nobody": "0_1"}),
    ("asks 0_0, asks 0_0", "0_0", {}),
    ("asks 3_0, asks 1_1, asks 2_0", "1_1 2_0 3_0", {"in-order-of-asking": "3_0 1_1 2_0"}),
    ("asks 10_0, asks 9_0", "9_0 10_0", {}),
    ("asks 0_0, fails 0_0", "", {"failed-keeps-the-right": "0_0"}),
    ("asks 0_0, fails 0_0, asks 0_1", "0_1", {"failed-keeps-the-right": "0_0"}),
    ("asks 0_0, asks 0_1, fails 0_0", "", {"refused-one-waits": "0_1"}),
    ("asks 0_0, asks 0_1, fails 0_0, asks 0_1", "0_1", {}),
    ("asks 0_0, fails 0_1", "0_0", {"any-failure-frees": ""}),
    ("asks 0_1, fails 0_0, asks 0_2", "0_1", {"any-failure-frees": "0_2"}),
    ("fails 0_0, asks 0_0", "", {"failed-may-commit": "0_0"}),
    ("asks 0_1, fails 0_1, asks 0_1", "", {"failed-may-commit": "0_1"}),
    ("fails 0_0, asks 0_0, asks 0_1", "0_1", {"failed-may-commit": "0_0"}),
    ("fails 1_0, asks 0_0", "0_0", {"attempts-are-mixed-up": ""}),
    ("fails 0_1, asks 0_0", "0_0", {"attempts-are-mixed-up": ""}),
    ("asks 0_0, fails 0_0, asks 0_1, fails 0_0", "0_1", {}),
)
# Drawn events. What each rule alone gives is above.
_DRAWN = (
    ("asks 10_1, asks 9_2, asks 10_2, asks 8_1, fails 8_2, asks 9_2", "8_1 9_2 10_1"),
    ("asks 11_0, asks 9_0, asks 9_2, fails 8_2, asks 8_1, asks 9_2, asks 8_1", "8_1 9_0 11_0"),
    ("asks 11_1, asks 8_0, fails 8_1, asks 11_1, asks 8_0, asks 8_2, asks 8_2", "8_0 11_1"),
    ("asks 9_1, asks 8_0, fails 8_2, asks 11_2, asks 11_0, asks 9_2, asks 9_0", "8_0 9_1 11_2"),
    ("fails 8_0, asks 9_2, asks 8_0, fails 11_0, asks 8_2, asks 8_1, asks 10_1", "8_2 9_2 10_1"),
    ("asks 11_0, fails 8_1, fails 10_0, asks 8_0, asks 11_1, asks 8_1, fails 10_0", "8_0 11_0"),
    ("fails 8_0, asks 11_1, asks 9_2, fails 8_1, fails 9_0, asks 10_2, asks 9_2", "9_2 10_2 11_1"),
    ("asks 9_1, fails 10_0, asks 10_2, asks 8_1, asks 9_2, fails 11_2, asks 10_2", "8_1 9_1 10_2"),
    ("fails 11_1, asks 8_1, fails 9_0, fails 8_0, asks 8_0, asks 11_1, fails 11_0", "8_1"),
)


def exercise_3(compare: Comparer, may_commit: Callable[..., Any]) -> None:
    for what_happened, right, wrong in (*_CASES, *((*drawn, {}) for drawn in _DRAWN)):
        events = [_event(words) for words in what_happened.split(", ") if words]
        call = f"may_commit({events})"
        mistakes: dict[str, Any] = {code: _attempts(names) for code, names in wrong.items()}
        mistakes["lists-for-tuples"] = [list(attempt) for attempt in _attempts(right)]
        before = list(events)
        compare.equal(call, partial(may_commit, events), _attempts(right), mistakes)
        after = "the events given to may_commit, afterwards"
        compare.holds(events == before, after, "others", "what they were")


def precondition_3(events: Sequence[tuple[str, int, int]]) -> bool:
    return all(
        what in ("asks", "fails") and task >= 0 and attempt >= 0 for what, task, attempt in events
    )


def _event(words: str) -> tuple[str, int, int]:
    what, name = words.split()
    return what, *_attempts(name)[0]


def _attempts(names: str) -> list[tuple[int, int]]:
    pairs = [name.split("_") for name in names.split()]
    return [(int(task), int(attempt)) for task, attempt in pairs]
