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


@pytest.fixture(scope="module")
def program(installed) -> Path:
    """The command, in an environment whose path has a space."""
    return installed.parent / "kminilog"


@pytest.fixture
def own_env(tmp_path, monkeypatch):
    """Returns a function that puts a script in the place of `env`."""

    def put(script: str) -> None:
        path = tmp_path / "bin" / "env"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")

    return put


def run(*command: object, **names: str) -> tuple[int, str, str]:
    """Return the exit code of a command and what it wrote."""
    done = subprocess.run(
        [*map(str, command)], env=os.environ | names, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def test_command_starts_through_a_link_to_it_alone(program, tmp_path):
    link = tmp_path / "command"
    link.symlink_to(program)
    code, out, err = run(program, *WORDS)
    assert (code, err) == (0, "")
    assert "a" in out
    assert run(link, *WORDS) == (code, out, err)


def test_arguments_arrive_as_they_are(program):
    code, _, err = run(program, "--log-dir", "no  *", "topic", "list")
    assert code == 2
    assert err.startswith("kminilog: log dir no  *: ")


def test_ctrl_c_before_the_first_statement_of_kminilog_ends_it_silently(program, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(EARLY)  # loaded while Python starts
    where = {"PYTHONPATH": str(tmp_path)}
    assert run(program, *WORDS, **where) == (-signal.SIGINT, "", "")
    # What the command does without the script: if that is silent one day, the script can go.
    code, out, err = run(f"{program}-python", *WORDS, **where)
    assert (code, out, "Traceback" in err) == (1, "", True), err


def test_ignored_ctrl_c_stays_ignored(program, tmp_path):
    """As that of a process in the background of a script."""
    (tmp_path / "sitecustomize.py").write_text(EARLY)
    ignoring = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh", program)
    code, out, err = run(*ignoring, *WORDS, PYTHONPATH=str(tmp_path))
    assert (code, err) == (0, "")
    assert out


def test_command_starts_where_env_cannot_hold_a_signal_back(program, own_env, tmp_path):
    expected = run(program, *WORDS)
    own_env(f'echo "$@" >> "{tmp_path}/asked"\necho "env: illegal option" >&2\nexit 1')
    assert run(program, *WORDS) == expected
    assert (tmp_path / "asked").read_text() == "--block-signal=INT\n"


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_ctrl_c_while_the_script_asks_env_is_not_lost(program, own_env, shell):
    """bash forgets one that comes while it waits for a program in the foreground."""
    if not shutil.which(shell):
        pytest.skip(f"NOT TESTED: there is no {shell}")
    own_env(f'[ $# = 1 ] && kill -INT $PPID && exec sleep 0.1\nexec "{shutil.which("env")}" "$@"')
    assert run(shell, program, *WORDS) == (-signal.SIGINT, "", "")


def test_ctrl_c_at_random_in_the_first_moments_prints_nothing(program):
    chance = Random(2)
    for _ in range(100):
        command = [str(program), *WORDS]
        process = Process(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with process:
            sleep(chance.uniform(0, 0.03))
            os.killpg(process.pid, signal.SIGINT)
            err = process.communicate(timeout=60)[1]
            assert (process.returncode, err) in ((-signal.SIGINT, b""), (130, b""), (0, b"")), err
