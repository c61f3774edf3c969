"""The frame around every command: exit codes, errors in one line, pipes, Ctrl-C, imports."""

import json
import shlex
import signal
import subprocess
import sys
from resource import RUSAGE_CHILDREN, getrusage

import click
import pytest

import kminilog as package
from kminilog.cli.ls import command as ls
from kminilog.cli.main import COMMANDS
from kminilog.storage.manifests import committed_manifests
from tests.support.cli.command_line import (
    PROGRAM,
    PROJECT,
    CommandLine,
    assert_one_line,
    assert_refused,
    environment,
)

HEAVY = {
    "pyspark",
    "numpy",
    "pyarrow",
    "pandas",
    "rich",
    "jinja2",
    "kminilog.jobs.spark",
    "kminilog.verification",
}
LOADED = """
import json, sys
from kminilog.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print(json.dumps([end.code, sorted(sys.modules)]), file=sys.stderr)
"""


def test_version_is_printed(kminilog):
    assert kminilog.ok("--version").out == f"kminilog {package.__version__}\n"


def test_help_names_every_command(kminilog):
    out = kminilog.ok("--help").out
    assert all(f"\n  {name} " in out for name in COMMANDS)


def test_help_of_each_command_begins_with_its_usage(kminilog):
    helps = {name: kminilog.ok(name, "--help").out for name in COMMANDS}
    assert not [n for n, out in helps.items() if not out.startswith(f"Usage: kminilog {n} ")]


def test_no_command_shows_help_and_is_a_usage_error(kminilog):
    run = kminilog()
    assert run.code == 2
    assert "Usage: kminilog" in run.err
    assert run.out == ""


WRONG = [
    ("fnid", "No such command 'fnid'"),
    ("find", "Missing argument"),
    ("ls --no-such-option", "--no-such-option"),
    ("topic create x --partitions many", "many"),
    ("consume x --max-messages -1", "-1"),
    ("'Missing command'", "No such command 'Missing command'"),
]


def test_usage_error_is_one_line_that_names_the_help(kminilog, tmp_path):
    assert_refused(kminilog, tmp_path, [(*row, "--help`") for row in WRONG])


def test_json_is_accepted_before_the_command(orders):
    assert orders.ok("--json", "ls").document == orders.ok("ls", "--json").document


@pytest.mark.processes
def test_log_dir_is_taken_from_the_environment(orders, monkeypatch):
    monkeypatch.setenv("KMINILOG_LOG_DIR", str(orders.log_dir))
    process = subprocess.run(
        [sys.executable, "-m", "kminilog.cli.main", "topic", "list", "--json"],
        capture_output=True,
        env=environment(),
        check=True,
    )
    assert json.loads(process.stdout)[0]["topic"] == "orders"


def test_unexpected_error_is_one_line(orders, monkeypatch):
    monkeypatch.setattr(ls, "command", _failing(TypeError("first\nsecond")))
    assert_one_line(orders("ls"), 2, "TypeError: first; `kminilog --debug")
    monkeypatch.setattr(ls, "command", _failing(ImportError("\n\nfirst that says something\n")))
    assert_one_line(orders("ls"), 2, "ImportError: first that says something; `kminilog --debug")


def test_debug_shows_the_traceback(orders):
    run = orders("--debug", "find", "nothing-0", "1")
    assert run.code == 2
    assert "Traceback (most recent call last)" in run.err
    assert run.err.splitlines()[-1].startswith("kminilog: Topic nothing doesn't exist")


def test_operating_system_error_names_the_file(orders, monkeypatch):
    monkeypatch.setattr(ls, "command", _failing(PermissionError(13, "Permission denied", "/x")))
    assert_one_line(orders("ls"), 2, "/x: Permission denied")


@pytest.mark.first
@pytest.mark.processes
def test_closed_pipe_ends_quietly(kminilog):
    kminilog.ok("topic", "create", "many", "--partitions", 1)
    kminilog.ok("produce", "many", stdin=b"a line of some length\n" * 20_000)
    process = kminilog.start("consume", "many", "--json", "--config", "consumer.timeout.ms=0")
    assert process.stdout
    assert process.stderr
    assert json.loads(process.stdout.readline())["offset"] == 0
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


@pytest.mark.processes
def test_pipe_that_is_closed_from_the_beginning_ends_quietly(orders):
    process = orders.start("ls")
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


def test_error_about_a_name_with_a_newline_is_still_one_line(tmp_path):
    run = CommandLine(tmp_path / "two\nlines")("ls")
    assert_one_line(run, 2, "two lines: no such directory")


def test_error_about_a_name_with_a_full_stop_leaves_the_name_as_it_is(kminilog):
    assert_one_line(kminilog("dump", "a.; b.log"), 2, "'a.; b.log' does not exist")


@pytest.mark.processes
def test_interrupt_ends_quietly(orders):
    process = orders.start("consume", "orders")
    assert process.stdout
    assert process.stdout.readline() == b"value0\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (130, b"")


@pytest.mark.processes
def test_interrupt_of_produce_keeps_what_was_written_and_lets_go_of_the_lock(orders):
    process = orders.start(
        "produce", "orders", "--config", "batch.size=1", "--json", stdin=subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"one\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["offset"] == 20
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (130, b"")
    assert (
        orders.ok("topic", "describe", "orders", "--json").document["partitions"][0][
            "log_end_offset"
        ]
        == 21
    )


@pytest.mark.processes
@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["find", "orders-0", "7"],
        ["consume", "orders", "--max-messages", "1"],
        ["topic", "describe", "orders"],
        ["partition", "--partitions", "3", "--key", "k"],
    ],
    ids=lambda arguments: arguments[0].strip("-"),
)
def test_command_without_spark_loads_nothing_heavy(orders, arguments):
    process = subprocess.run(
        [sys.executable, "-c", LOADED, "--log-dir", str(orders.log_dir), *arguments],
        capture_output=True,
        env=environment(),
        check=True,
    )
    code, modules = json.loads(process.stderr)
    assert code == 0
    assert "kminilog.cli.main" in modules
    assert not HEAVY & set(modules)


@pytest.mark.processes
def test_writing_command_loads_the_fast_reading_only_after_a_crash(orders):
    """And then it says what it has cut, as recovery with the plain reading does."""
    run = [sys.executable, "-c", LOADED, "--log-dir", str(orders.log_dir), "produce", "orders"]
    loaded = []
    for is_after_a_crash in (False, True):
        if is_after_a_crash:
            (orders.log_dir / ".clean-shutdown").unlink()
            with open(max((orders.log_dir / "orders-0").glob("*.log")), "ab") as file:
                file.write(b"torn")
        process = subprocess.run(
            run, input=b"line\n", capture_output=True, env=environment(), check=True
        )
        *said, modules = process.stderr.splitlines()
        assert any(b"torn-tail" in line for line in said) == is_after_a_crash
        loaded.append(HEAVY & set(json.loads(modules)[1]))
    assert loaded == [set(), {"numpy", "pyarrow"}]


@pytest.mark.processes
@pytest.mark.parametrize("name", ["dump", "verify", "ingest", "demo"])
def test_help_of_command_loads_neither_spark_nor_arrays(name):
    process = subprocess.run(
        [sys.executable, "-c", LOADED, name, "--help"],
        capture_output=True,
        env=environment(),
        check=True,
    )
    _, modules = json.loads(process.stderr)
    assert not {"pyspark", "numpy", "pyarrow", "pandas", "rich", "kminilog.jobs.spark"} & set(
        modules
    )


@pytest.mark.processes
def test_python_m_is_the_command(orders):
    words = [sys.executable, "-m", "kminilog", "--log-dir", str(orders.log_dir)]
    run = subprocess.run([*words, "ls"], env=environment(), capture_output=True, check=False)
    assert (run.returncode, run.stdout.decode()) == (0, orders.ok("ls").out)
    run = subprocess.run([*words, "--help"], env=environment(), capture_output=True, check=False)
    assert run.stdout.startswith(b"Usage: kminilog ")


@pytest.mark.processes
def test_start_takes_a_small_multiple_of_importing_click(orders, record_property):
    click_seconds = _cpu_seconds([sys.executable, "-c", "import click"])
    program = [sys.executable, "-m", "kminilog.cli.main", "--log-dir", str(orders.log_dir)]
    for arguments in (["--version"], ["find", "orders-0", "7"]):
        ratio = _cpu_seconds([*program, *arguments]) / click_seconds
        record_property("counted", f"kminilog {arguments[0]}: {ratio:.1f} times import click")
        assert ratio < 10  # the aim is 3


def _cpu_seconds(command: list[str]) -> float:
    """Return how much processor time a command takes, at best."""
    seconds = []
    for _ in range(3):
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run(
            command, check=True, env=environment(), cwd=PROJECT, stdout=subprocess.DEVNULL
        )
        after = getrusage(RUSAGE_CHILDREN)
        seconds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(seconds)


def _failing(error: Exception) -> click.Command:
    def fail() -> None:
        raise error

    return click.Command("ls", callback=fail)


@pytest.mark.processes
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_closed_stream_gives_nothing_and_takes_everything(orders, closed):
    command = f"{shlex.join([*PROGRAM, '--log-dir', str(orders.log_dir)])} produce orders {closed}"
    done = subprocess.run(
        ["bash", "-c", command], input=b"x\n", env=environment(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(("group", "part"), [("cluster", "demo"), ("topic", "alter, create")])
def test_group_without_a_command_names_those_there_are(kminilog, group, part):
    assert_one_line(kminilog(group), 2, f"name a command of `kminilog {group}`: ", part)


# ---- slips of the hand, which one line answers; and Kafka's names of classes, taken for ours


AFTER_A_COMMAND = [
    ("ls --log-dir x", "'--log-dir': write it before the command: `kminilog --log-dir DIR ls`"),
    ("topic list --log-dir=x", "`kminilog --log-dir DIR topic list`"),
    ("consume orders --cluster x", "`kminilog --cluster DIR consume`"),
    ("cluster describe --cluster x", "'--cluster': name the directory after the"),
    ("retain --cluster x", "`kminilog --cluster DIR retain`"),
    ("recover --cluster x", "name the log dir of a broker: --log-dir DIR/broker-0"),
    ("lab list --cluster x", "leave it out, no topics are needed"),
]


def test_option_of_kminilog_after_a_command_says_where_it_belongs(kminilog, tmp_path):
    assert_refused(kminilog, tmp_path, AFTER_A_COMMAND)


def test_debug_after_a_command_says_where_it_belongs_below_the_traceback(kminilog):
    run = kminilog("find", "orders-0", "0", "--debug")
    *_, last = run.err.splitlines(keepends=True)
    assert_one_line(run._replace(err=last), 2, "`kminilog --debug find`")
    assert run.err.count("\nkminilog: ") == 1


SLIPS = [
    ("help", "No such command 'help'"),
    ("--json consume -t orders -C", "'-t'"),
    ("consume orders -y", "No such option '-y'; see `kminilog consume --help`"),
    ("consum", "Did you mean 'consume'"),
    ("lab predict 1.7 --answer", "argument; see `kminilog lab predict --help`"),
    ("--json topic create t --partitions", "see `kminilog topic create --help`"),
    ("--log-dir", "argument; see `kminilog --help`"),
    ("'größe'", "'größe'"),
    ("topic lst", "Did you mean 'list'"),
    ("consume orders --max-mesages 3", "Did you mean '--max-messages'"),
]


def test_slip_of_the_hand_is_one_line(kminilog, tmp_path):
    assert_refused(kminilog, tmp_path, SLIPS)


KAFKA = "org.apache.kafka.clients"
IN_TURN = f"{KAFKA}.producer.RoundRobinPartitioner"


@pytest.mark.parametrize(
    ("words", "kafkas", "ours"),
    [
        (
            "partition --partitions 3 --no-key 4 --json --seed 1 --partitioner",
            IN_TURN,
            "round-robin",
        ),
        ("step sticky --partitioner", IN_TURN, "round-robin"),
        ("cluster demo --switch off --partitioner", IN_TURN, "round-robin"),
        (
            "assign --topic t=7 --member a --member b --json --strategy",
            f"{KAFKA}.consumer.RoundRobinAssignor",
            "roundrobin",
        ),
        ("group demo --strategy", f"{KAFKA}.consumer.StickyAssignor", "sticky"),
        ("step rebalance --strategy", f"{KAFKA}.consumer.StickyAssignor", "sticky"),
    ],
)
def test_class_of_kafka_is_taken_for_ours(kminilog, words, kafkas, ours):
    shown = kminilog.ok(*words.split(), ours).out
    assert kminilog.ok(*words.split(), kafkas).out == shown
    assert kminilog.ok(*words.split(), kafkas.rpartition(".")[2]).out == shown


def test_class_of_kafka_places_and_verifies_as_ours(kminilog, tmp_path):
    default = f"{KAFKA}.producer.internals.DefaultPartitioner"
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"".join(b"k%d\n" % number for number in range(20)))
    keyed = ["--topic", "t", "--partitions", 3, "--key-regex", "k.*", "--partitioner", default]
    kminilog.ok("ingest", lines, *keyed)
    (manifest,) = committed_manifests(kminilog.log_dir)
    assert manifest.facts["partitioner"] == "default-2.4"
    kminilog.ok("verify", "t", "--against", lines, "--key-regex", "k.*")
    kminilog.ok("verify", "t", "--partitioner", default)
    assert kminilog("verify", "t", "--partitioner", "kafka.producer.DefaultPartitioner").code == 1


def test_class_of_kafka_serves_a_group(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    kminilog.ok("produce", "t", "--partitioner", IN_TURN, stdin=b"x\n")
    strategy = f"partition.assignment.strategy={KAFKA}.consumer.CooperativeStickyAssignor"
    config = ["--config", strategy, "--config", "auto.offset.reset=earliest"]
    consumed = kminilog.ok("consume", "t", "--group", "g", "--until-end", *config)
    assert consumed.out == "x\n"
