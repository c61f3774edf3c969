"""`consume --streams`: threads share a topic; nothing is skipped or counted early."""

import fcntl
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kminilog.cli.consume.run import Wanted
from kminilog.cli.consume.streams import StreamsRun
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.cuts import truncate_log
from tests.support.cli.command_line import CommandLine, assert_refused
from tests.support.consumer.sessions import SHORT_MS, end_short_sessions
from tests.support.processes import Process, wait_until

PARTITIONS, EACH = 4, 50
# A machine that stands still for 10 s must not end a session: then messages come twice.
PATIENT = ["--config", "heartbeat.interval.ms=20", "--config", f"session.timeout.ms={SHORT_MS}"]
FAST = ["--config", "consumer.timeout.ms=100"]
GROUP = ["--group", "readers", *PATIENT]


@pytest.fixture
def full(kminilog: CommandLine) -> CommandLine:
    """`kminilog` with a topic `t` of four partitions, 50 messages in each."""
    kminilog.ok("topic", "create", "t", "--partitions", PARTITIONS)
    fill(kminilog)
    return kminilog


def fill(kminilog: CommandLine, name: str = "t") -> None:
    lines = "".join(f"k{number % 5}:{number}\n" for number in range(PARTITIONS * EACH))
    options = ["--partitioner", "round-robin", "--key-separator", ":"]
    kminilog.ok("produce", name, *options, stdin=lines.encode())


def committed(kminilog: CommandLine) -> list[int | None]:
    document = kminilog.ok("group", "describe", "readers", "--json").document
    return [each["committed"] for each in document["partitions"]]


@pytest.mark.parametrize("streams", [1, 3, 6])
def test_streams_read_all_messages_once_and_commit_them(full, streams):
    run = full.ok("consume", "t", *GROUP, *FAST, "--streams", streams, "--json")
    found = sorted((record["partition"], record["offset"]) for record in run.records)
    assert sorted(set(found)) == [(p, n) for p in range(PARTITIONS) for n in range(EACH)]
    assert committed(full) == [EACH] * PARTITIONS
    again = full.ok("consume", "t", *GROUP, *FAST, "--streams", streams)
    assert again.out == "", "all was committed"


@pytest.mark.processes
def test_streams_are_members_that_share_the_partitions(full):
    words = ["consume", "t", *GROUP, "--streams", "3"]
    process = full.start(*words)
    members: list[str] = []
    while len(set(members)) < 3:
        document = full("group", "describe", "readers", "--json")
        if document.code == 0:
            members = [each["member"] for each in document.document["partitions"] if each["member"]]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, err) == (130, b"")
    assert {member.split("-")[1] for member in members} == {"0", "1", "2"}
    after = full.ok("consume", "t", *GROUP, *FAST).out.split()
    assert set(out.decode().split()) | set(after) == {str(n) for n in range(PARTITIONS * EACH)}


@pytest.mark.parametrize("wanted", [0, 1, 7, 60])
def test_streams_end_after_so_many_messages_and_commit_no_other(full, wanted):
    run = full.ok("consume", "t", *GROUP, "--streams", 2, "--max-messages", wanted)
    assert run.out.count("\n") == wanted
    rest = full.ok("consume", "t", *GROUP, *FAST, "--streams", 2)
    values = run.out.split() + rest.out.split()
    assert set(map(int, values)) == set(range(PARTITIONS * EACH)), "none skipped, perhaps one twice"


def test_streams_wait_for_no_time_at_all_and_skip_nothing(full):
    run = full.ok("consume", "t", *GROUP, "--config", "consumer.timeout.ms=0", "--streams", 3)
    assert set(map(int, run.out.split())) == set(range(PARTITIONS * EACH))


class Idle:
    """A stream that finds nothing, for as long as it says."""

    def __init__(self, silent_ms: int) -> None:
        self.silent_ms = silent_ms
        self.stopped = threading.Event()

    def __iter__(self):
        return self

    def __next__(self):
        self.stopped.wait()
        raise StopIteration

    def stop(self):
        self.stopped.set()

    def close(self, *, is_done):
        assert is_done


def test_streams_end_only_when_all_of_them_have_found_nothing_for_so_long():
    long_idle, busy = Idle(10_000), Idle(-1)
    run = StreamsRun(pytest.fail, Wanted())
    thread = threading.Thread(target=run.run, args=[[long_idle, busy], 300])
    thread.start()
    thread.join(timeout=0.15)  # three looks
    assert thread.is_alive()
    busy.silent_ms = 299
    thread.join(timeout=0.15)
    assert thread.is_alive()
    busy.silent_ms = 300
    thread.join()
    assert not thread.is_alive()


def test_streams_take_the_other_options(full):
    options = ["--key", "k3", "--format", "%t-%p %k\\n"]
    run = full.ok("consume", "--pattern", "t|u", *GROUP, *FAST, "--streams", 2, *options)
    assert set(run.out.splitlines()) == {f"t-{number} k3" for number in range(PARTITIONS)}
    # A record that is at hand when the second member joins comes again.
    assert run.out.count("\n") - PARTITIONS * EACH // 5 in (0, 1)


def is_stopped(pid: int) -> bool:
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    return after_name.split()[0] == "T"


def stop(process: Process[bytes], lock: Path) -> None:
    """Stop a member where it does not hold the lock of its group."""
    with lock.open() as file:
        while True:
            process.send_signal(signal.SIGSTOP)
            wait_until(lambda: is_stopped(process.pid))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                process.send_signal(signal.SIGCONT)
            else:
                return


@pytest.mark.processes
@pytest.mark.parametrize("streams", [[], ["--streams", "1"]])
def test_consume_says_that_messages_come_again_after_its_session_was_over(full, streams):
    options = ["--config", "auto.commit.interval.ms=600000"]
    process = full.start("consume", "t", *GROUP, *options, *streams)
    assert process.stdout
    first = [process.stdout.readline() for _ in range(PARTITIONS * EACH)]
    stop(process, full.log_dir / ".groups" / "readers.lock")
    end_short_sessions(full.log_dir, "readers")
    process.send_signal(signal.SIGCONT)
    again = [process.stdout.readline() for _ in range(PARTITIONS * EACH)]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert sorted(again) == sorted(first)
    assert err.decode() == (
        "kminilog: the session of this member timed out (session.timeout.ms): group readers took "
        "4 partitions from it (t-0, ...), and reads the messages since the last commit again\n"
    )


def test_streams_of_a_group_that_has_committed_say_that_the_offset_does_not_count(full):
    full.ok("consume", "t", *GROUP, *FAST)
    run = full("consume", "t", *GROUP, *FAST, "--streams", 2, "--offset", "earliest")
    assert (run.code, run.out, run.err.count("\n")) == (0, "", 1)
    assert "--offset earliest is for partitions without one" in run.err
    assert "`kminilog group reset readers --to earliest --yes` moves them" in run.err


def test_streams_of_a_log_that_was_cut_say_so_in_one_line(full):
    full.ok("consume", "t", *GROUP, *FAST)
    with LogDirWriter.open(full.log_dir) as writer:
        for place in writer.topic("t").all_partitions()[:1]:
            truncate_log(writer.log(place), 20)
    run = full("consume", "t", *GROUP, *FAST, "--streams", 2)
    assert run.code == 0
    assert run.err.startswith("kminilog: t-0: the committed offset 50 is above the log end 20")
    assert run.err.count("\n") == 1


def test_streams_over_damage_end_with_one_line(full):
    log = full.log_dir / "t-2" / ("0" * 20 + ".log")
    data = bytearray(log.read_bytes())
    data[40] ^= 1
    log.write_bytes(data)
    run = full("consume", "t", *GROUP, *FAST, "--streams", 2)
    assert run.code == 2
    assert run.err.count("\n") == 1
    assert "damaged" in run.err


@pytest.mark.processes
def test_streams_whose_output_is_closed_end_quietly(full):
    process = full.start("consume", "t", *GROUP, "--streams", "2")
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141
    assert full.ok("consume", "t", *GROUP, *FAST).out.count("\n") == PARTITIONS * EACH


@pytest.mark.processes
def test_streams_write_whole_lines(full):
    fill(full)
    process = full.start("consume", "t", *GROUP, *FAST, "--streams", "4", "--json")
    out, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert len([json.loads(line) for line in out.splitlines()]) >= 2 * PARTITIONS * EACH


@pytest.mark.processes
def test_consume_without_streams_does_not_load_them(full):
    code = (
        "import sys\nfrom kminilog.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "finally:\n    print('kminilog.consumer.stream' in sys.modules, file=sys.stderr)\n"
    )
    words = ["--log-dir", full.log_dir, "consume", "t", "--until-end"]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], capture_output=True, check=True
    )
    assert done.stderr == b"False\n"


WRONG = [
    ("--streams 2", "--streams needs --group"),
    ("--streams 2 --group readers --until-end", "--streams has no --until-end"),
    ("--streams 2 --group readers --partition 1", "a group assigns partitions"),
    ("--streams 2 --group readers --tail 1", "a group assigns partitions"),
    ("--streams 0 --group readers", "0 is not in the range 1<=x<=100"),
    ("--streams 101 --group readers", "101 is not in the range 1<=x<=100"),
    ("--streams '' --group readers", "'' is no whole number"),
    ("--streams 2 --group a/b", "a/b"),
    ("--streams 2 --group readers --config auto.offset.reset=nope", "auto.offset.reset"),
]


def test_streams_wrong_option_is_one_line(full):
    assert_refused(full, full.log_dir.parent, WRONG, "consume", "t")
