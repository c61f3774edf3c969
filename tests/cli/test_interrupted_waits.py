"""A signal just where the main thread has taken one of Python's own locks, or given it up.

An exception that is raised there leaves the lock as it is: the command hangs, or it ends with
"release unlocked lock". A command that waits for threads or processes is in that place so seldom
that random signals have met it once in thousands of runs. Here they meet it in each.
"""

import signal
import subprocess
import sys

import pytest

from tests.cli.command_line import environment
from tests.course.student import CHECKSUM, HEADER, start_lab

PATIENCE_SECONDS = 30
SIGNAL_IN = """
import signal, subprocess, sys, threading, types
from kminilog.cli.main import main

place, *words = sys.argv[1:]
told = []

def tell():
    if not told:
        told.append(True)
        signal.raise_signal(signal.SIGTERM)

def callers():
    frame = sys._getframe()
    while frame := frame.f_back:
        yield frame.f_code.co_name

class Lock:
    def __init__(self):
        self.lock = threading.Lock()
        self.release = self.lock.release
    def acquire(self, *arguments):
        is_taken = self.lock.acquire(*arguments)
        if "run_judge_of_all" in callers():  # the other processes have threads that wait for them
            tell()
        return is_taken
    def __enter__(self):
        return self.lock.acquire()
    def __exit__(self, *error):
        self.lock.release()

give_up = threading.Condition._release_save

def give_up_and_tell(condition):
    state = give_up(condition)
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and "start" not in callers():  # a thread that starts is waited for, too
        tell()
    return state

if place == "lock of a process":
    subprocess.threading = types.SimpleNamespace(**{**vars(threading), "Lock": Lock})
else:
    threading.Condition._release_save = give_up_and_tell
try:
    main(words)
finally:
    assert told, "no signal has come"
"""


@pytest.mark.parametrize(
    ("place", "command"),
    [
        ("lock of a process", "course check --lab 1"),
        ("lock of a condition", "course check --lab 1"),
        ("lock of a condition", "lab check 1"),
        ("lock of a condition", "lab watch 1"),
        ("lock of a condition", "lab run 1 -- topic list"),
        ("lock of a condition", "consume orders --streams 2 --group g"),
    ],
)
def test_signal_beside_a_lock_of_python_ends_the_command(tmp_path, kminilog, place, command):
    start_lab(tmp_path, HEADER + CHECKSUM)
    kminilog.ok("topic", "create", "orders", "--partitions", "2")
    log_dir = ["--log-dir", str(kminilog.log_dir)]
    done = subprocess.run(
        [sys.executable, "-c", SIGNAL_IN, place, *log_dir, *command.split()],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")
