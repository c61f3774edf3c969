"""Signs of life: a moving line on a terminal, plain lines elsewhere, no colour with NO_COLOR."""

import os
import pty
import subprocess
from contextlib import nullcontext

import pytest

from kminilog.cli import recover
from kminilog.cli.shared import progress
from tests.cli.command_line import PROGRAM, CommandLine, environment
from tests.processes import Process


def run_on_a_terminal(
    kminilog: CommandLine, *arguments: str, **variables: str
) -> tuple[bytes, bytes]:
    """Run a command with a terminal as stderr; return its stdout, and what the terminal got."""
    terminal, end = pty.openpty()
    process: Process[bytes] = Process(
        [*PROGRAM, "--log-dir", str(kminilog.log_dir), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=end,
        env={**environment(), "TERM": "xterm", **variables},
    )
    os.close(end)
    out, _ = process.communicate(timeout=60)
    shown = b""
    try:
        while data := os.read(terminal, 4096):
            shown += data
    except OSError:
        pass  # the other end is closed: that is all
    finally:
        os.close(terminal)
    assert process.returncode == 0
    return out, shown


def test_working_on_a_terminal_moves_a_line_on_stderr_only(orders):
    out, shown = run_on_a_terminal(orders, "verify")
    assert b"\x1b" in shown
    assert b"Verifying" in shown
    assert b"\x1b" not in out


def test_recovery_and_many_partitions_move_a_line_with_what_they_are_at(orders):
    _, shown = run_on_a_terminal(orders, "recover", "orders-0")
    assert b"Recovering: naming the faults of orders-0" in shown  # the last step
    for name in (".clean-shutdown", "recovery-point-offset-checkpoint"):
        (orders.log_dir / name).unlink()
    _, shown = run_on_a_terminal(orders, "produce", "orders")
    assert b"Recovering: reading orders-0, segment " in shown
    _, shown = run_on_a_terminal(orders, "topic", "create", "many", "--partitions", "501")
    assert b"Creating many: 500 of 501 partitions" in shown
    _, shown = run_on_a_terminal(orders, "topic", "delete", "many", "--yes")
    assert b"Deleting many: 500 of 501 partitions" in shown
    _, shown = run_on_a_terminal(orders, "topic", "create", "few", "--partitions", "2")
    assert shown == b""


def test_recover_tells_each_of_its_steps(orders, monkeypatch):
    steps: list[str] = []
    monkeypatch.setattr(recover, "working_if_long", lambda title: nullcontext(steps.append))
    log = max((orders.log_dir / "orders-0").glob("*.log"))
    log.write_bytes(log.read_bytes()[:-1])
    orders.ok("recover", "orders-0")
    *reading, counting, naming = steps
    assert {step[: step.index(",")] for step in reading} == {"reading orders-0"}
    assert counting == f"counting what is whole after damage in orders-0, segment {log.stem}"
    assert naming == "naming the faults of orders-0"


def test_working_with_no_color_writes_no_escape_codes(orders):
    _, shown = run_on_a_terminal(orders, "verify", NO_COLOR="1")
    assert b"\x1b" not in shown


def test_working_off_a_terminal_writes_plain_lines(capsys, monkeypatch):
    assert progress.SECONDS_BETWEEN_LINES == 10
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.01)
    written = ""
    with progress.working("Title") as at:
        at("a step")
        while "a step" not in written:
            written += capsys.readouterr().err
    assert written.splitlines()[-1] == "kminilog: Title: a step … 0 s"
    assert "\x1b" not in written


def test_working_that_is_soon_done_says_nothing(capsys):
    with progress.working("Title"):
        pass
    assert capsys.readouterr().err == ""


def test_working_that_fails_hands_the_error_on():
    with pytest.raises(ValueError, match="inside"), progress.working("Title"):
        raise ValueError("inside")
