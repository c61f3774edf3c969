"""Commands that get Ctrl-C or SIGTERM at random moments, each in a process forked from this one.

    python -m tests.support.cli.interrupted_commands DIRECTORY SEED TIMES [COMMAND...]

Each must end in time, quietly, with the exit code of its signal or with 0 if it was done before;
and what is stored must be sound and reported. Prints one JSON object: how often each command ended
with which code, and what was wrong.
"""

import json
import os
import signal
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random

from kminilog.cli.main import COMMANDS as MODULES
from kminilog.cli.main import main as kminilog
from kminilog.errors import TopicBeingDeletedError, UnknownTopicOrPartitionError
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.verification.fast_segment_checks import check_segment
from kminilog.verification.report import verify_storage
from tests.support.processes import cpu_seconds, wait_until

MESSAGES = 4000
SETTINGS = TopicSettings(segment_bytes=10_000, index_interval_bytes=500)
SHORTEST_SECONDS = 0.1  # of a processor, as all seconds here
TAIL = "--config", "consumer.timeout.ms=0"
MADE = Topic("made", 300, settings=SETTINGS)
COMMANDS = {
    "consume": ("consume", "orders"),
    "consume to the end": ("consume", "orders", "--json", *TAIL),
    "consume as a member": ("consume", "orders", "--group", "g"),
    "produce": ("produce", "written", "LINES", "--json", "--config", "batch.size=500"),
    "produce with a thread": ("produce", "written", "LINES", "--json", "--config", "linger.ms=1"),
    "verify": ("verify",),
    "dump": ("dump", "LOG"),
    "recover": ("recover", "orders-0"),
    "ingest": ("ingest", "LINES", "--topic", "ingested", "--engine", "local"),
    "verify against": ("verify", "loaded", "--against", "LINES", "--engine", "local"),
    "verify in full": ("verify", "loaded", "--against", "LINES", "--engine", "local", "--full"),
    "retain": ("retain", "--dry-run"),
    "compact": ("compact", "small"),
    "ls": ("ls",),
    "ls as a page": ("ls", "--html", "PAGE"),
    "partition": ("partition", "--partitions", "3", "--no-key", "2000"),
    "cluster demo": ("cluster", "demo"),
    "group demo": ("group", "demo"),
    "topic create": ("topic", "create", MADE.name, "--partitions", "300"),
    "topic delete": ("topic", "delete", MADE.name, "--yes"),
}
PAGE = "page.html"
ENDLESS = ("consume", "consume as a member")


def make(directory: Path) -> LogDir:
    """Make a file of lines, and a log dir: one topic has these lines, two are empty."""
    with LogDirWriter.open(directory, create=True) as writer:
        for name in ("orders", "written", "ingested", "small"):
            writer.create_topic(Topic(name, 2, settings=SETTINGS))
        for partition in writer.topic("orders").all_partitions():
            log = writer.log(partition)
            log.append((b"key", b"value %d" % number) for number in range(MESSAGES // 2))
    pages_of(directory).mkdir()
    lines_of(directory).write_bytes(b"".join(b"line %d\n" % n for n in range(MESSAGES)))
    load = ("ingest", "LINES", "--topic", "loaded", "--partitions", "2", "--engine", "local")
    assert wait(start(directory, load)) == "0", (directory / "err").read_text()
    return LogDir(directory)


def pages_of(directory: Path) -> Path:
    """Return the directory beside a log dir that pages are written to."""
    return directory.with_name(f"{directory.name}-pages")


def lines_of(directory: Path) -> Path:
    """Return the source beside a log dir: files of a log dir are no source of it."""
    return directory.with_name(f"{directory.name}-lines")


def start(directory: Path, words: tuple[str, ...]) -> int:
    """Return the id of a process that runs this command; never returns in that process."""
    for name in ("out", "err"):  # empty even if it is killed before it has begun
        (directory / name).write_bytes(b"")
    pid = os.fork()
    if pid:
        return pid
    for name, descriptor in (("out", 1), ("err", 2)):
        os.dup2(os.open(directory / name, os.O_WRONLY), descriptor)
    places = {
        "LINES": lines_of(directory),
        "LOG": directory / "orders-0" / f"{0:020d}.log",
        "PAGE": pages_of(directory) / PAGE,
    }
    arguments = [str(places.get(word, word)) for word in words]
    sys.argv = ["kminilog", "--log-dir", str(directory), *arguments]
    kminilog()
    raise AssertionError("it ends the process")


def wait(pid: int) -> str:
    """Return how a process ended: its exit code as a shell has it."""
    return ended(pid)[0]


def ended(pid: int) -> tuple[str, float]:
    """Return also how much processor time it took."""
    _, status, used = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return str(code if code >= 0 else 128 - code), used.ru_utime + used.ru_stime


def is_at(pid: int, seconds: float) -> bool:
    """Tell if a process has taken so much processor time, or has ended; it is to be waited for."""
    has_ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return bool(has_ended) or cpu_seconds(pid) >= seconds


def count_written(log_dir: LogDir, name: str) -> int:
    """Return how many messages this command has written so far."""
    topic = log_dir.topic(written_by(name))
    return sum(log_dir.reader(partition).log_end_offset for partition in topic.all_partitions())


def written_by(name: str) -> str:
    """Return the topic to which this command may write."""
    return {"ingest": "ingested", "compact": "small"}.get(name, "written")


def renew(log_dir: LogDir, topic: str) -> None:
    """Empty a topic."""
    with LogDirWriter.open(log_dir.path) as writer:
        writer.delete_topic(topic)
        writer.create_topic(Topic(topic, 2, settings=SETTINGS))


def make_small_segments(log_dir: LogDir) -> None:
    renew(log_dir, "small")
    with LogDirWriter.open(log_dir.path) as writer:
        topic = writer.alter_topic("small", settings=replace(SETTINGS, segment_bytes=300))
        for partition in topic.all_partitions():
            writer.log(partition).append((b"key", b"value %d" % n) for n in range(200))
        writer.alter_topic("small", settings=SETTINGS)


def is_made(log_dir: LogDir) -> bool:
    """Tell if there is the topic that commands create and delete, whole or half deleted."""
    try:
        return bool(log_dir.topic(MADE.name))
    except TopicBeingDeletedError:
        return True
    except UnknownTopicOrPartitionError:
        return False


def prepare(log_dir: LogDir, name: str) -> None:
    """Give a command what it is to change, as it was before the last time."""
    (pages_of(log_dir.path) / PAGE).unlink(missing_ok=True)
    if name == "recover":
        (log_dir.path / "orders-0" / f"{0:020d}.index").write_bytes(b"")
    if name == "compact":
        make_small_segments(log_dir)
    if name.startswith("topic") and is_made(log_dir) != (name == "topic delete"):
        with LogDirWriter.open(log_dir.path) as writer:
            if name == "topic delete":
                writer.create_topic(MADE)
            else:
                writer.delete_topic(MADE.name)
    if count_written(log_dir, name) > 5 * MESSAGES:  # or each look at it would take longer
        renew(log_dir, written_by(name))


def faults(log_dir: LogDir, name: str, code: str, number: int, written_before: int) -> list[str]:
    """Return what is wrong after a command got a signal."""
    found = []
    if code not in ("0", str(128 + number)):
        found.append(f"ended with {code}")
    err = (log_dir.path / "err").read_text()
    if err:
        found.append(f"said {err!r}")
    pages = [path.read_text() for path in pages_of(log_dir.path).iterdir()]
    if len(pages) > 1 or not all(page.endswith("</html>\n") for page in pages):
        found.append("half a page")
    if name.startswith("topic") and is_made(log_dir) != (name == "topic create"):
        again = wait(start(log_dir.path, COMMANDS[name]))  # what was begun can be finished
        if again != "0":
            found.append(f"once more, it ended with {again}: {(log_dir.path / 'err').read_text()}")
    if name.startswith(("produce", "recover", "topic", "ingest", "compact")):
        undone = ["index-sparse"] if name == "recover" else []  # the index was to be rebuilt
        report = verify_storage(log_dir, check_segment=check_segment, allow=undone)
        if report.exit_code:
            found.append(report.to_text())
    written = count_written(log_dir, name) - written_before
    if name == "compact" and written:
        found.append(f"{written} more messages")
    if name == "ingest" and written != MESSAGES and (written or code == "0"):
        found.append(f"{written} written")
    if name.startswith("produce"):
        told = len((log_dir.path / "out").read_bytes().splitlines())
        if told != written:
            found.append(f"{written} written, {told} reported")
        if not (log_dir.path / CLEAN_SHUTDOWN_FILE).exists():
            found.append("not closed")
    return found


def interrupt(log_dir: LogDir, name: str, times: int, chance: Random) -> tuple[Counter, list[str]]:
    """Interrupt a command so many times; return its exit codes, and what was wrong.

    If it is done before the signal comes, the signal comes earlier the next time.
    """
    words, codes, wrong = COMMANDS[name], Counter(), []
    seconds = SHORTEST_SECONDS
    if name not in ENDLESS:
        prepare(log_dir, name)
        _, used = ended(start(log_dir.path, words))
        seconds = max(used, SHORTEST_SECONDS)
    moment = chance.uniform(0, seconds)
    while codes.total() - codes["0"] < times:
        prepare(log_dir, name)
        before = count_written(log_dir, name)
        pid, number = start(log_dir.path, words), chance.choice([signal.SIGINT, signal.SIGTERM])
        wait_until(partial(is_at, pid, moment))
        os.kill(pid, number)
        code = wait(pid)
        codes[code] += 1
        wrong += [
            f"{name}, {number.name} after {moment:.4f} of {seconds:.2f} s: {fault}"
            for fault in faults(log_dir, name, code, number, before)
        ]
        moment = moment / 2 if code == "0" else chance.uniform(0, seconds)
    if name == "recover":  # the next command finds a valid log, however early the last signal came
        wait(start(log_dir.path, words))
    return codes, wrong


def main(directory: str, seed: str, times: str, *names: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # of the forked processes, until they listen
    log_dir, chance = make(Path(directory)), Random(int(seed))
    codes, wrong = {}, []
    for name in names or COMMANDS:
        import_module(f"kminilog.cli.{MODULES[name.split()[0]]}")
        codes[name], found = interrupt(log_dir, name, int(times), chance)
        wrong += found
    print(json.dumps({"codes": codes, "wrong": wrong}))


if __name__ == "__main__":
    main(*sys.argv[1:])
