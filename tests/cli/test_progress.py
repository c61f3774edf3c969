"""Signs of life: a moving line on a terminal, plain lines elsewhere, no colour with NO_COLOR."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from kminilog.cli import recover
from kminilog.cli.shared import progress
from kminilog.cli.shared.engines import spark_at_work
from kminilog.cli.shared.interrupts import interrupts_heard
from kminilog.progress import TasksDone
from tests.support.cli.command_line import PROGRAM, CommandLine, environment
from tests.support.processes import Process


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
    out, _ = process.communicate()
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


@pytest.mark.processes
def test_working_on_a_terminal_moves_a_line_on_stderr_only(orders):
    out, shown = run_on_a_terminal(orders, "verify")
    assert b"\x1b" in shown
    assert b"Verifying" in shown
    assert b"\x1b" not in out


@pytest.mark.processes
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


@pytest.mark.processes
def test_working_with_no_color_writes_no_escape_codes(orders):
    _, shown = run_on_a_terminal(orders, "verify", NO_COLOR="1")
    assert b"\x1b" not in shown


def test_working_off_a_terminal_writes_plain_lines(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.01)
    written = ""
    with progress.working("Title") as at:
        at("a step")
        while "a step" not in written:
            written += capsys.readouterr().err
    assert re.fullmatch(r"kminilog: Title: a step … \d+ s", written.splitlines()[-1])
    assert "\x1b" not in written


def test_working_tells_how_long_a_step_takes_still(capsys, monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: clock.now))
    pace = progress._Pace()
    told = []
    for done in (0, 1, 3):
        told.append(pace.told(TasksDone("reading", done, 4, 8_000_000)))
        clock.now += 20
    told += [pace.told("publishing"), pace.told(TasksDone("joining", 1, 2))]
    assert told == [
        "reading: 0 of 4 tasks, 0 of 8 MB",
        "reading: 1 of 4 tasks, 2 of 8 MB, about 60 s left",
        "reading: 3 of 4 tasks, 6 of 8 MB, about 13 s left",
        "publishing",
        "joining: 1 of 2 tasks",  # its first report: how long it has taken is not known
    ]


def test_working_as_json_writes_a_line_a_step_but_few_of_one_that_counts(capsys, monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: clock.now))
    with progress.working("Title", as_json=True) as at:
        for number in range(1, 4):
            at(f"{number} records")
            clock.now += 0.4
        at(TasksDone("reading", 1, 2, 10))
        at(TasksDone("reading", 2, 2, 10))
        at("publishing")
    written = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(one["step"], one["tasks_done"]) for one in written] == [
        ("1 records", None),
        ("reading", 1),
        ("reading", 2),
        ("publishing", None),
    ]
    assert written[1] == {
        "title": "Title",
        "step": "reading",
        "tasks_done": 1,
        "tasks": 2,
        "bytes_done": 5,
        "bytes": 10,
        "seconds": 1.2,
        "seconds_left": 0.0,
    }


@pytest.mark.processes
def test_ingest_on_a_terminal_shows_a_bar(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_bytes(b"line\n" * 300_000)
    words = ("ingest", str(tmp_path / "*.txt"), "--topic", "t", "--engine", "local")
    _, shown = run_on_a_terminal(CommandLine(tmp_path / "log"), *words)
    assert "\N{BOX DRAWINGS HEAVY HORIZONTAL}".encode() in shown
    assert b"Ingesting: " in shown


def test_working_that_is_soon_done_says_nothing(capsys):
    with progress.working("Title"):
        pass
    assert capsys.readouterr().err == ""


def test_working_that_fails_hands_the_error_on():
    with pytest.raises(ValueError, match="inside"), progress.working("Title"):
        raise ValueError("inside")


# ---- while Spark starts: what is said before it, the clock that runs, and how long all took


SOON_TOLD = """
from types import SimpleNamespace
from kminilog.cli.shared import progress
progress.SECONDS_BETWEEN_LINES = 0.05
real, progress.time = progress.time, SimpleNamespace()
progress.time.monotonic = lambda: 100 * real.monotonic()  # so no second has to pass
from kminilog.cli.main import main
main()
"""
NOT_STARTED = """
import sys
from kminilog.jobs.spark.runtime import session
def start(master):
    slow = {"msgspec", "numpy", "pandas", "py4j", "pyarrow", "pyspark", "rich"}
    print(*sorted(slow & set(sys.modules)), file=sys.stderr)
    raise KeyboardInterrupt
session.spark_session = start
from kminilog.cli.main import main
main()
"""
TOOK = r"Verifying with Spark: Spark started in \d+\.\d s, the work took \d+\.\d s"


@pytest.mark.processes
@pytest.mark.parametrize(
    ("words", "title", "of_sources"),
    [
        (["verify", "--engine", "spark"], "Verifying with Spark", set()),
        (
            ["verify", "orders", "--against", "lines", "--engine", "spark"],
            "Verifying with Spark",
            {"msgspec", "numpy", "pyarrow"},
        ),
        (
            ["ingest", "lines", "--topic", "new", "--engine", "spark"],
            "Ingesting with Spark",
            {"msgspec", "numpy", "pyarrow"},
        ),
        (["demo", "--rows", "10"], "Demo", set()),
    ],
)
def test_start_of_spark_is_said_before_anything_is_loaded_for_it(
    orders, tmp_path, words, title, of_sources
):
    (tmp_path / "lines").write_text("line\n")
    run = subprocess.run(
        [sys.executable, "-c", NOT_STARTED, "--log-dir", str(orders.log_dir), *words],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    said, loaded = run.stderr.splitlines()
    assert said == f"kminilog: {title}: starting Spark"
    assert set(loaded.split()) <= of_sources


def test_end_says_how_long_the_start_and_the_work_took(monkeypatch, capsys):
    clock, spark = SimpleNamespace(now=100.0), object()
    clock.monotonic = lambda: clock.now

    def start(master: str | None) -> object:
        clock.now += 3.0
        return spark

    monkeypatch.setattr("kminilog.cli.shared.engines.time", clock)
    monkeypatch.setattr("kminilog.jobs.spark.datasource.door.register", lambda session: None)
    monkeypatch.setattr("kminilog.jobs.spark.runtime.session.stop", lambda session: None)
    monkeypatch.setattr("kminilog.jobs.spark.runtime.session.spark_session", start)
    said = []
    for existing in (None, spark):
        monkeypatch.setattr(
            "kminilog.jobs.spark.runtime.session.existing_session", lambda e=existing: e
        )
        with interrupts_heard(), spark_at_work("Title", None) as (started, _):
            assert started() is spark
            clock.now += 0.5
        said += capsys.readouterr().err.splitlines()
    assert said == [
        "kminilog: Title: starting Spark",
        "kminilog: Title: Spark started in 3.0 s, the work took 0.5 s",
    ]


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that Java waits for: Spark goes on to start when it is there."""
    home = os.environ.get("JAVA_HOME")
    real = Path(home, "bin", "java") if home else shutil.which("java")
    gate, java = tmp_path / "gate", tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        f'''[ "$1" = -version ] || while [ ! -e "{gate}" ]; do sleep 0.1; done\n'''
        f'''exec "{real}" "$@"\n'''
    )
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parents[1]))
    return gate


@pytest.mark.spark
@pytest.mark.xdist_group("spark-cluster")
def test_clock_runs_in_a_pipe_while_spark_starts_and_the_end_says_how_long_it_took(orders, gate):
    words = ["--log-dir", str(orders.log_dir), "verify", "--engine", "spark", "--json"]
    with Process(
        [sys.executable, "-c", SOON_TOLD, *words],
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        said = [process.stderr.readline() for _ in range(3)]  # no JVM runs yet
        assert said[0] == "kminilog: Verifying with Spark: starting Spark\n"
        assert all(line.startswith(f"{said[0][:-1]} … ") for line in said[1:])
        assert int(said[-1].split()[-2]) >= 1
        gate.touch()
        *_, last = process.stderr.read().splitlines()
        assert re.fullmatch(f"kminilog: {TOOK}", last)
        assert '"verdict": "ok"' in process.stdout.read()
        assert process.wait() == 0


@pytest.mark.spark
@pytest.mark.xdist_group("spark-cluster")
def test_clock_runs_on_a_terminal_while_spark_starts_and_the_end_says_how_long_it_took(
    orders, gate
):
    env = {name: value for name, value in environment().items() if name != "NO_COLOR"}
    terminal, end = pty.openpty()
    with Process(
        [sys.executable, "-m", "kminilog", "verify", "--engine", "spark"],
        env={**env, "TERM": "xterm", "KMINILOG_LOG_DIR": str(orders.log_dir)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=end,
    ) as process:
        os.close(end)
        shown = read_until(rb"(0:\d\d:\d\d).*starting Spark.*(?!\1)0:\d\d:\d\d.*starting", terminal)
        assert b"took" not in shown
        gate.touch()
        shown = read_until(b"took .* s\r?\n", terminal)
        assert b"Spark is at work" in shown
        assert re.search(f"kminilog: {TOOK}", shown.decode())
        assert b"verdict: ok" in process.stdout.read()
        assert process.wait() == 0
    os.close(terminal)


def read_until(wanted: bytes, terminal: int) -> bytes:
    """Return what a terminal shows until this is there; an error if all others have closed it."""
    shown = b""
    while not re.search(wanted, shown, re.DOTALL):
        shown += os.read(terminal, 4096)
    return shown
