"""A lab checked with right answers in place, beside the least that Python and pytest can do.

Wall and CPU time; the yardsticks are `python -c pass` and pytest on one empty test.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.timing import Work, rounds_of_each, seconds_of_each
from kminilog.course.material import all_labs
from kminilog.course.teaching.proof import solution
from kminilog.course.work_folder import WorkFolder

PROJECT = Path(__file__).parents[1]


def measure() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        (directory / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
        works = [
            command(directory, "-c", "pass"),
            command(directory, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_nothing.py"),
        ]
        names = ["python -c pass", "pytest, one empty test"]
        for lab in all_labs():
            folder = WorkFolder.start(lab, directory, "bench")
            folder.answers_path.write_text(solution(lab, folder.path))
            number = str(lab.number)
            works.append(command(directory, "-m", "kminilog", "lab", "check", number))
            names.append(f"lab check {number}, {len(lab.exercises)} exercises")
        walls = seconds_of_each(works, rounds=3)
        cpus = [min(taken) for taken in rounds_of_each(works, 3, clock=cpu_of_children)]
        bare, pytest = walls[:2]
        print(f"{'all answers right':32}{'wall':>8}{'CPU':>9}")
        for name, wall, cpu in zip(names, walls, cpus, strict=True):
            ratios = f"{wall / bare:7.1f} x python{wall / pytest:7.1f} x pytest"
            print(f"{name:32}{wall:6.2f} s{cpu:7.2f} s{ratios}")


def command(directory: Path, *arguments: str) -> Work:
    """Return what runs Python in a process of its own."""
    environment: dict[str, str] = {**os.environ, "PYTHONPATH": str(PROJECT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users keep their bytecode

    def run() -> None:
        words: Sequence[str] = [sys.executable, *arguments]
        ran = subprocess.run(words, cwd=directory, env=environment, capture_output=True, text=True)
        if ran.returncode:
            raise SystemExit(f"exit code {ran.returncode} of {words}\n{ran.stdout}{ran.stderr}")

    return run


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
