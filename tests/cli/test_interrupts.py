"""Ctrl-C and SIGTERM, at the worst moments and at random ones."""

import json
import logging
import os
import pty
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from random import Random

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from kminilog.cli.shared import interrupts
from kminilog.errors import SparkUnavailableError
from kminilog.storage.log_dir import partition_directories
from tests.support.cli.pressed_keys import press_and_go_on, press_at_call
from tests.support.processes import Process, finish, start, wait_until


def press_before(monkeypatch, function: str, number: int = signal.SIGINT) -> None:
    """Have the signal come before the first call of a function."""
    module, _, name = function.rpartition(".")
    real, presses = getattr(import_module(module), name), [number]

    def pressed(*arguments, **options):
        if presses:
            signal.raise_signal(presses.pop())
        return real(*arguments, **options)

    monkeypatch.setattr(function, pressed)


@pytest.mark.parametrize(
    ("words", "function"),
    [
        (["consume", "orders"], "kminilog.cli.consume.run.flush"),
        (["find", "orders", "--key", "key1"], "kminilog.cli.find._matches"),
        (["produce", "orders"], "kminilog.cli.produce.command._send"),
        (["verify"], "kminilog.verification.fast_segment_checks.check_segment"),
        (["dump", "LOG"], "kminilog.cli.dump.command.message_lines"),
        (["dump", "LOG", "--format", "kafka"], "kminilog.cli.dump.command.is_complaint"),
        (["dump", "INDEX"], "kminilog.cli.dump.command.read_index"),
        (
            ["recover", "orders-0", "--dry-run"],
            "kminilog.cli.shared.recovery_reading.segment_scanner",
        ),
        (["retain", "--dry-run"], "kminilog.cli.retain._plan"),
        (["ls"], "kminilog.cli.shared.topic_files._describe_segment"),
        (["ls", "--html", "PAGE"], "kminilog.verification.fast_segment_checks.check_segment"),
        (["ls", "--html", "PAGE"], "kminilog.cli.ls.page_data.describe_partition"),
        (
            ["partition", "--partitions", "3", "--no-key", "9"],
            "kminilog.partitioners.dry_run.Choice",
        ),
        (["cluster", "demo"], "kminilog.cli.cluster.demo.replay_failover"),
        (["group", "demo"], "kminilog.cli.group.demo.replay_rebalance"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_interrupt_ends_a_command_at_its_next_safe_point(
    orders, tmp_path, monkeypatch, words, function
):
    press_before(monkeypatch, function)
    segment = orders.log_dir / "orders-0" / f"{0:020d}"
    places = {"LOG": f"{segment}.log", "INDEX": f"{segment}.index", "PAGE": tmp_path / "page.html"}
    run = orders(*[places.get(word, word) for word in words], stdin=b"line\n" * 9)
    assert (run.code, run.err) == (130, "")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("number", interrupts.SIGNALS)
@pytest.mark.parametrize(
    "words",
    [
        ["verify"],
        ["verify", "orders", "--against", "SOURCE", "--engine", "local"],
        ["recover", "orders-0", "--dry-run"],
        ["ls", "--html", "PAGE"],
    ],
    ids=" ".join,
)
def test_interrupt_ends_the_check_of_a_segment_at_once(
    orders, tmp_path, monkeypatch, words, number
):
    """A damaged segment of 600 MB took 30 s to check."""
    steps: list[int] = []
    check_for_ever = press_and_go_on(number, steps)
    monkeypatch.setattr("kminilog.verification.fast_segment_checks.check_segment", check_for_ever)
    log = min((orders.log_dir / "orders-0").glob("*.log"))
    log.write_bytes(log.read_bytes()[:-1] + b"\x00")
    source = tmp_path / "source.txt"
    source.write_text("line\n")
    places = {"LOG": log, "PAGE": tmp_path / "page.html", "SOURCE": source}
    run = orders(*[places.get(word, word) for word in words])
    assert (run.code, run.err) == (128 + number, "")
    assert len(steps) < 1000


@pytest.mark.parametrize("number", interrupts.SIGNALS)
@pytest.mark.parametrize("function", ["RunWriter.write", "join_runs"])
def test_interrupt_ends_the_staging_of_an_ingest_at_once(
    kminilog, tmp_path, monkeypatch, function, number
):
    """20,000 records for 3,000 partitions took 20 s."""
    steps: list[int] = []
    monkeypatch.setattr(f"kminilog.jobs.ingest.runs.{function}", press_and_go_on(number, steps))
    source = tmp_path / "source.txt"
    source.write_text("line\n")
    run = kminilog("ingest", source, "--topic", "new", "--engine", "local")
    assert (run.code, run.err) == (128 + number, "")
    assert len(steps) < 1000
    assert not [path for path in kminilog.log_dir.rglob("*") if path.name.startswith("new")]
    assert not list(kminilog.log_dir.glob(".staging/*"))


def test_interrupt_of_an_ingest_comes_between_the_partitions_that_it_creates(
    kminilog, tmp_path, monkeypatch
):
    source = tmp_path / "source.txt"
    source.write_text("line\n")
    command = ("ingest", source, "--topic", "new", "--partitions", "120", "--engine", "local")
    made = press_at_call(monkeypatch, partition_directories, "_make_segment", 10)
    run = kminilog(*command)
    assert (run.code, run.err) == (130, "")
    assert len(made) in (49, 50)  # the job has a segment for one of 120 partitions
    assert kminilog.ok("topic", "list").out == "no topics\n"
    kminilog.ok(*command)
    assert "verdict: ok" in kminilog.ok("verify").out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupt_of_a_member_leaves_the_group_and_commits_what_was_printed(
    orders, monkeypatch, number, code
):
    press_before(monkeypatch, "kminilog.cli.consume.run.flush", number)
    options = ["--group", "g", "--config", "max.poll.records=7"]
    run = orders("consume", "orders", *options)
    assert (run.code, run.err) == (code, "")
    assert run.out.count("\n") == 7
    group = orders.ok("group", "describe", "g", "--json").document
    assert group["members"] == []
    assert [partition["committed"] for partition in group["partitions"]] == [7]


def test_interrupt_leaves_the_handlers_of_the_process_as_they_were(orders):
    before = [signal.getsignal(number) for number in interrupts.SIGNALS]
    assert before[0] is not signal.SIG_DFL, "an imported module took Ctrl-C"
    orders.ok("ls")
    assert [signal.getsignal(number) for number in interrupts.SIGNALS] == before
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def waits() -> None:
    with interrupts.interruptible_wait():
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it went on")


def test_interrupt_while_waiting_is_raised_at_once_and_an_earlier_one_too():
    with interrupts.interrupts_heard():
        with pytest.raises(KeyboardInterrupt):
            waits()
        signal.raise_signal(signal.SIGINT)  # the same one, so soon
        with pytest.raises(KeyboardInterrupt):
            waits()
        with pytest.raises(KeyboardInterrupt):
            interrupts.check_interrupt()
        assert interrupts.interrupted_exit_code() == 130
    with interrupts.interrupts_heard():
        interrupts.check_interrupt()


def test_signal_that_was_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.interrupts_heard():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            with interrupts.handlers_kept():
                signal.signal(signal.SIGINT, signal.default_int_handler)  # as a library does
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_interrupt_of_a_course_check_ends_it_in_the_middle_of_a_lab(kminilog, monkeypatch):
    def judges(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it went on")

    monkeypatch.setattr("kminilog.course.teaching.proof.check", judges)
    run = kminilog("course", "check", "--lab", "1")
    assert (run.code, run.out, run.err) == (130, "", "")


def test_interrupt_while_spark_works_ends_the_command_without_a_traceback(
    orders, spark, monkeypatch, caplog
):
    def verify(*_, **__):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            logging.exception("as py4j does")
            logging.getLogger("py4j.clientserver").exception("when it closes a connection then")
            raise

    monkeypatch.setattr("kminilog.verification.account.spark.verify", verify)
    run = orders("verify", "--engine", "spark")
    assert (run.code, run.err, caplog.messages) == (130, "", []), run.err


@pytest.mark.parametrize("is_interrupted", [True, False])
@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        ConnectionRefusedError(111, "Connection refused"),
        UnboundLocalError("as pyspark closes a file that it has not opened yet"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize(
    ("words", "function"),
    [
        (["verify", "--engine", "spark"], "kminilog.verification.account.job.check_partitions"),
        (
            ["ingest", "lines.txt", "--topic", "new", "--engine", "spark"],
            "kminilog.jobs.spark.ingest.plans.stage",
        ),
    ],
    ids=["verify", "ingest"],
)
def test_error_that_an_interrupt_has_caused_is_no_failure_of_spark(
    orders, spark, monkeypatch, tmp_path, words, function, error, is_interrupted
):
    def breaks(*_, **__):
        try:
            if is_interrupted:
                signal.raise_signal(signal.SIGTERM)
        finally:  # as where a session is put back: py4j has read half of an answer
            raise type(error)(*error.args)

    from kminilog.jobs.spark.runtime import failures

    (tmp_path / "lines.txt").write_text("line\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(failures, "_SECONDS_TO_END", 0.1)
    monkeypatch.setattr(function, breaks)
    run = orders(*words)
    if is_interrupted:
        assert (run.code, run.err) == (143, "")
    else:
        assert run.code == 2
        assert error.args[-1] in run.err


def test_ctrl_c_that_pyspark_takes_while_spark_starts_is_no_failure_of_spark(orders, monkeypatch):
    def interrupted(number, frame):
        raise KeyboardInterrupt

    def spark_session(master):
        signal.signal(signal.SIGINT, interrupted)  # as pyspark does, before the session is there
        try:
            try:
                signal.raise_signal(signal.SIGINT)
            finally:
                raise Py4JError("Gateway must be connected to send cancel cmd.")
        except Py4JError as error:
            raise SparkUnavailableError("the session did not start") from error

    monkeypatch.setattr("kminilog.jobs.spark.runtime.session.existing_session", lambda: None)
    monkeypatch.setattr("kminilog.jobs.spark.runtime.session.spark_session", spark_session)
    run = orders("verify", "--engine", "spark")
    assert (run.code, run.err) == (130, "kminilog: Verifying with Spark: starting Spark\n")


@pytest.mark.processes
def test_signal_to_the_process_group_while_spark_starts_is_no_failure_of_spark(
    orders, tmp_path, monkeypatch
):
    """A JVM that starts gets the signal, too, and ends. Spark's launcher runs this one."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        """[ "$1" != -version ] || { echo 'openjdk version "17.0.15"' >&2; exit; }\n"""
        "kill -TERM 0\n"
    )
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parents[1]))
    with orders.start("verify", "--engine", "spark") as process:
        said = b"kminilog: Verifying with Spark: starting Spark\n"
        assert (process.stdout.read(), process.stderr.read()) == (b"", said)
        assert process.wait() == 128 + signal.SIGTERM


def children(pid: int) -> set[int]:
    listed = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()[1:]]
    return {child for child, parent in pairs if parent == pid}


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.parametrize("command", ["ingest", "verify", "verify against", "verify in full"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_spark_command_interrupted_at_random_moments_ends_quietly_with_its_jvm(
    kminilog, tmp_path, number, command
):
    """Few times: a session takes seconds to start, and to say nothing once it is asked to end."""
    lines = tmp_path / "lines"
    lines.write_bytes(b"line\n" * 1_000_000)
    assert kminilog("ingest", lines, "--topic", "loaded", "--engine", "local").code == 0
    chance = Random(f"{number} {command}")
    for time_ in range(20):
        words = {
            "ingest": ["ingest", lines, "--topic", f"t{time_}", "--partitions", 3],
            "verify": ["verify"],
            "verify against": ["verify", "loaded", "--against", lines],
            "verify in full": ["verify", "loaded", "--against", lines, "--full"],
        }[command]
        process = kminilog.start(*map(str, words), "--engine", "spark")
        time.sleep(chance.uniform(0.5, 15))
        started = children(process.pid)
        process.send_signal(number)
        _, err = process.communicate()
        assert process.returncode in (0, 128 + number), time_
        assert not re.search(b"Traceback|Exception|ERROR", err), (time_, err)
        jvms = [Path("/proc", str(child)) for child in started]
        wait_until(lambda jvms=jvms: not any(jvm.exists() for jvm in jvms))
    assert kminilog("verify").code == 0


@pytest.mark.processes
@pytest.mark.parametrize("times", [3, pytest.param(500, marks=pytest.mark.soak)])
def test_command_that_is_interrupted_at_random_moments_ends_quietly(
    tmp_path, times, record_property
):
    with start("cli.interrupted_commands", tmp_path / "log-dir", times, times) as process:
        found = json.loads(finish(process))
    assert found["wrong"] == []
    record_property("counted", str(found["codes"]))


NO_SAFE_POINT = """
import fcntl, signal, termios, time
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from kminilog.cli.shared.interrupts import interrupts_heard, is_interrupted
with interrupts_heard():
    print("ready", flush=True)
    while not is_interrupted():  # a pause would miss a signal that comes before it
        time.sleep(0.01)
    print("goes on", flush=True)
    while True:
        signal.pause()
"""


@pytest.mark.processes
def test_second_signal_ends_a_command_that_comes_to_no_safe_point_and_shows_the_cursor():
    terminal, stdin = pty.openpty()
    command = [sys.executable, "-c", NO_SAFE_POINT]
    with Process(command, stdin=stdin, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"goes on\n"
        time.sleep(2 * interrupts.SAME_SECONDS)
        process.send_signal(signal.SIGTERM)
        assert (process.stdout.read(), process.wait()) == (b"", 128 + signal.SIGTERM)
    assert os.read(terminal, 100) == b"\x1b[?25h"
    os.close(terminal)
    os.close(stdin)
