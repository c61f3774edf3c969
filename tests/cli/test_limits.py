"""What the operating system refuses: room on the disk, a stream, one more open file.

A limit on the size of files stands in for the disk: the operating system refuses the same calls.
"""

import os
import re
import resource
import subprocess

import pytest

from tests.support.cli.command_line import PROGRAM, CommandLine, Run, environment

pytestmark = pytest.mark.processes

LINES = b"".join(b"key%d:%s\n" % (number % 7, b"v" * 50) for number in range(400))
COMMANDS = {
    "topic create": ["topic", "create", "other", "--partitions", "3"],
    "topic alter": ["topic", "alter", "t", "--partitions", "4"],
    "produce": ["produce", "t", "LINES"],
    "ingest": ["ingest", "LINES", "--topic", "t", "--plan", "runs"],
    "ingest, rejected": [
        "ingest",
        "BAD",
        "--topic",
        "t",
        "--format",
        "json",
        "--max-rejected",
        "999",
    ],
    "recover": ["recover", "t-0", "--force"],
    "consume": ["consume", "t", "--group", "g", "--max-messages", "1"],
    "verify": ["verify", "t", "--report", "OUT/report.html"],
    "ls": ["ls", "t", "--html", "OUT/ls.html"],
    "step": ["step", "find-offset", "--html", "OUT/step.html"],
    "demo": ["demo", "--rows", "100", "--keep", "OUT/kept"],
    "cluster": ["cluster", "create", "OUT/c", "--brokers", "2"],
    "group": ["group", "demo"],
    "lab": ["lab", "start", "1", "--dir", "OUT"],
}
SMALL = {"topic create", "topic alter", "consume", "cluster", "group"}  # no file has 2000 bytes


def run_with_limit(kminilog: CommandLine, words: list[str], limit_bytes: int) -> Run:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    command = [*PROGRAM, "--log-dir", str(kminilog.log_dir), *words]
    # Python cuts bytecode off at the limit, and other processes would load it.
    variables = {**environment(), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, env=variables, preexec_fn=limit)
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


def crashed_topic(kminilog: CommandLine) -> None:
    """A topic whose first partition has lost its index, and ends in much that is no message."""
    config = ["--config", "index.interval.bytes=60"]
    kminilog.ok("topic", "create", "t", "--partitions", 2, *config)
    kminilog.ok("produce", "t", "--partition", 0, stdin=LINES)
    log = kminilog.log_dir / "t-0" / ("0" * 20 + ".log")
    log.write_bytes(log.read_bytes() + b"torn" * 5000)
    log.with_suffix(".index").write_bytes(b"")
    (kminilog.log_dir / ".clean-shutdown").unlink()


@pytest.mark.parametrize("limit_bytes", [0, 60, 2000])
@pytest.mark.parametrize("command", COMMANDS)
def test_file_that_cannot_grow_is_named(kminilog, tmp_path, command, limit_bytes):
    if command == "recover":
        crashed_topic(kminilog)
    else:
        kminilog.ok("topic", "create", "t", "--partitions", 2)
        kminilog.ok("produce", "t", stdin=LINES)
    (tmp_path / "lines.txt").write_bytes(LINES)
    (tmp_path / "bad.txt").write_bytes(b"no json\n" * 400)
    places = {"LINES": "lines.txt", "BAD": "bad.txt", "OUT": "out"}
    (tmp_path / "out").mkdir()
    words = [
        re.sub("LINES|BAD|OUT", lambda found: str(tmp_path / places[found[0]]), word)
        for word in COMMANDS[command]
    ]
    run = run_with_limit(kminilog, words, limit_bytes)
    assert "Errno" not in run.err
    has_room = limit_bytes == 2000 and command in SMALL
    assert run.code == (0 if has_room else 2), run
    if run.code == 2 and "temporary directory" not in run.err:
        for said in re.findall(r"([^ ]*) (?:write failed: )?File too large", run.err):
            name = said.removesuffix(":")
            assert os.path.isabs(name), run
            assert not name.endswith(".txt"), run
        assert "File too large" in run.err


def test_process_with_a_limit_leaves_no_bytecode_that_is_cut_off(kminilog, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "compiled"))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    run_with_limit(kminilog, ["ls"], 2000)
    assert [*tmp_path.rglob("*.pyc")] == []


UNWRITABLE = ["/dev/full", "closed pipe"]


def run_with_stderr(kminilog: CommandLine, words: list[str], stderr: str) -> int:
    """The exit code of a command whose stderr refuses each line."""
    command = [*PROGRAM, "--log-dir", str(kminilog.log_dir), *words]
    if stderr == "/dev/full":
        with open(stderr, "wb") as full:
            return subprocess.run(
                command, stdout=subprocess.DEVNULL, stderr=full, env=environment()
            ).returncode
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=writing, env=environment())
    os.close(writing)
    return done.returncode


@pytest.mark.parametrize("stderr", UNWRITABLE)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["produce", "t", "LINES", "--verbose"], 0),
        (["produce", "t", "LINES", "--key-separator", "|"], 0),
        (["topic", "alter", "t", "--partitions", "3"], 0),
        (["find", "t-0", "9999"], 1),
        (["nonsense"], 2),
        ([], 2),
        (["ls", "nonsense"], 2),
        (["partition", "--partitions", "0"], 2),
        (["--debug", "ls", "nonsense"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_exit_code_does_not_depend_on_stderr(kminilog, tmp_path, words, code, stderr):
    kminilog.ok("topic", "create", "t", "--partitions", 2)
    (tmp_path / "lines.txt").write_bytes(LINES)
    words = [str(tmp_path / "lines.txt") if word == "LINES" else word for word in words]
    assert run_with_stderr(kminilog, words, stderr) == code


@pytest.mark.parametrize(
    "words",
    [["consume", "t", "--until-end"], ["topic", "list"], ["verify", "--json"]],
    ids=" ".join,
)
def test_stdout_that_is_full_is_named(kminilog, words):
    kminilog.ok("topic", "create", "t", "--partitions", 2)
    kminilog.ok("produce", "t", stdin=LINES)
    command = [*PROGRAM, "--log-dir", str(kminilog.log_dir), *words]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment())
    assert done.returncode == 2
    assert done.stderr == b"kminilog: stdout: No space left on device\n"


@pytest.mark.parametrize("options", [[], ["--group", "g"], ["--allow-gaps"]], ids=str)
def test_consume_of_more_partitions_than_the_process_may_open_files_reads_all(kminilog, options):
    kminilog.ok("topic", "create", "t", "--partitions", 150)
    lines = b"".join(b"%d\n" % number for number in range(600))
    kminilog.ok("produce", "t", "--partitioner", "round-robin", stdin=lines)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    command = [*PROGRAM, "--log-dir", str(kminilog.log_dir), "consume", "t", "--until-end"]
    done = subprocess.run(
        [*command, *options], capture_output=True, env=environment(), preexec_fn=limit
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(done.stdout.split(), key=int) == lines.split()
