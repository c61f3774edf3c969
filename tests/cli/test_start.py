"""The first milliseconds of the installed command: scripts/kminilog, until Python has started."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from random import Random
from time import sleep

import pytest

from tests.processes import Process

pytestmark = pytest.mark.xdist_group("wheel")  # one worker installs the wheel
WORDS = ("assign", "--topic", "orders=3", "--member", "a", "--member", "b")
EARLY = "import signal; signal.raise_signal(signal.SIGINT)"
EITHER_SHELL = pytest.mark.parametrize("shell", ["sh", "bash"])
ENDED = (-signal.SIGINT, 130)


@pytest.fixture(scope="module")
def program(installed) -> Path:
    """The command, in an environment whose path has a space."""
    return installed.parent / "kminilog"


@pytest.fixture
def put_before(tmp_path, monkeypatch):
    """Returns a function that puts a script in the place of a program."""

    def put(name: str, script: str) -> None:
        path = tmp_path / "bin" / name
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")

    return put


def path_of(program: str) -> str:
    """Return where a program is; without it the test is not run, and says so."""
    path = shutil.which(program)
    if not path:
        pytest.skip(f"NOT TESTED: there is no {program}")
    return path


def run(*command: object, **names: str) -> tuple[int, str, str]:
    """Return the exit code of a command and what it wrote."""
    done = subprocess.run(
        [*map(str, command)], env=os.environ | names, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def test_arguments_arrive_as_they_are(program):
    code, _, err = run(program, "--log-dir", "no  *", "topic", "list")
    assert code == 2
    assert err.startswith("kminilog: log dir no  *: ")


def test_command_starts_through_a_link_to_it_alone(program, tmp_path):
    (tmp_path / "command").symlink_to(program)
    (tmp_path / "command-python").write_text("of another installation")
    code, out, err = run(program, *WORDS)
    assert (code, err) == (0, "")
    assert out
    assert run(tmp_path / "command", *WORDS) == (code, out, err)


@pytest.mark.parametrize("directory", [".", "name=value"])
def test_command_starts_from_where_it_lies(program, tmp_path, monkeypatch, directory):
    """`env` looks a bare name up in PATH, and takes what has a `=` for a variable."""
    here = tmp_path / directory
    here.mkdir(exist_ok=True)
    shutil.copy(program, here)
    (here / "kminilog-python").symlink_to(f"{program}-python")
    monkeypatch.chdir(here)
    expected = run(program, *WORDS)
    assert run(here / "kminilog", *WORDS) == expected
    assert run(path_of("sh"), "kminilog", *WORDS) == expected


def test_ctrl_c_before_the_first_statement_of_kminilog_ends_it_silently(program, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(EARLY)  # loaded while Python starts
    where = {"PYTHONPATH": str(tmp_path)}
    assert run(program, *WORDS, **where) == (-signal.SIGINT, "", "")
    # What the command does without the script: if that is silent one day, the script can go.
    code, out, err = run(f"{program}-python", *WORDS, **where)
    assert (code, out, "Traceback" in err) == (1, "", True), err


@EITHER_SHELL
def test_ignored_ctrl_c_stays_ignored(program, tmp_path, shell):
    """As that of a process in the background of a script."""
    (tmp_path / "sitecustomize.py").write_text(EARLY)
    ignoring = (path_of(shell), "-c", "trap '' INT; exec \"$@\"", shell, path_of(shell), program)
    code, out, err = run(*ignoring, *WORDS, PYTHONPATH=str(tmp_path))
    assert (code, err) == (0, "")
    assert out


def test_command_starts_where_env_cannot_hold_a_signal_back(program, put_before, tmp_path):
    expected = run(program, *WORDS)
    put_before("env", f'echo "$@" >> "{tmp_path}/asked"\necho "env: illegal option" >&2\nexit 1')
    assert run(program, *WORDS) == expected
    assert (tmp_path / "asked").read_text() == "--block-signal=INT\n"


@EITHER_SHELL
def test_ctrl_c_while_the_script_waits_for_env_is_not_lost(program, put_before, shell):
    put_before("env", f'[ $# = 1 ] && kill -INT $PPID && exit\nexec "{path_of("env")}" "$@"')
    code, *said = run(path_of(shell), program, *WORDS)
    assert (code in ENDED, said) == (True, ["", ""]), code


def test_command_starts_if_its_parent_hears_of_no_child(program):
    """The `wait` of dash never ends then."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    try:
        code, _, err = run(program, *WORDS)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert (code, err) == (0, "")


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["process", "group"])
def test_ctrl_c_at_random_in_the_first_moments_ends_it_silently(program, send):
    chance = Random(2)
    for _ in range(50):
        command = [str(program), *WORDS]
        with Process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            sleep(chance.uniform(0, 0.03))
            send(process.pid, signal.SIGINT)
            said = process.communicate(timeout=60)
            assert (process.returncode in ENDED, said) == (True, (b"", b"")), process.returncode
