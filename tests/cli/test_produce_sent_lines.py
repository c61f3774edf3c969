"""What `produce` reports when the operating system refuses writes: all that may be in the log."""

import errno
import os
import re
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from kminilog.format.message import Message
from kminilog.storage.log_dir.writer import LogDirWriter
from tests.support.cli.command_line import CommandLine, Run

PARTITIONS = 2
LINES = 24
STDIN = b"".join(b"line %d\n" % number for number in range(1, LINES + 1))
# Four lines of a partition make a batch, three batches a segment.
OPTIONS = ["--partitioner", "round-robin", "--config", "batch.size=140"]


class Faults:
    """The calls of the operating system that write, of which some fail with EIO.

    Those that bring bytes to the disk do nothing else: no power failure comes.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.is_failing = lambda call: False
        for name, real in (
            ("write", os.write),
            ("ftruncate", os.ftruncate),
            ("fsync", lambda descriptor: None),
        ):
            monkeypatch.setattr(os, name, self._counted(real))

    def _counted(self, real):
        def call(*arguments):
            self.calls += 1
            if self.is_failing(self.calls):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(*arguments)

        return call

    @contextmanager
    def failing(self, is_failing) -> Iterator[None]:
        self.calls, self.is_failing = 0, is_failing
        yield
        self.is_failing = lambda call: False


def new_topic(kminilog: CommandLine, name: str, dialect: str, flush_messages: int) -> None:
    config = {"segment.bytes": 450, "flush.messages": flush_messages}
    options = [word for pair in config.items() for word in ("--config", "=".join(map(str, pair)))]
    kminilog.ok("topic", "create", name, "--partitions", PARTITIONS, "--dialect", dialect, *options)


def stored(kminilog: CommandLine, name: str) -> dict[tuple[int, int], bytes]:
    """What a writer that recovers finds: values by partition and offset."""
    with LogDirWriter.open(kminilog.log_dir) as writer:
        assert not [line for line in writer.warnings if "it was on the disk" in line]
        return {
            (partition.partition, message.offset): message.value
            for partition in writer.topic(name).all_partitions()
            for segment in writer.log(partition).segments()
            for _, message in segment.scan()
            if isinstance(message, Message)
        }


def assert_report_covers(run: Run, there: dict[tuple[int, int], bytes], *, where: str) -> None:
    """Nothing in the log is unreported, nothing acknowledged is missing, each line is somewhere."""
    assert "Traceback" not in run.err, where
    reported, told = set(), {}
    for number, record in enumerate(run.records, 1):
        place = record["partition"], record["offset"]
        line = record.get("line", number)
        reported.add(place)
        told[line] = record.get("in_doubt", False)
        if not record.get("in_doubt"):
            assert set(record) <= {"topic", "partition", "offset", "line"}, where
            assert there.get(place) == b"line %d" % line, where
        else:
            assert there.get(place, b"line %d" % line) == b"line %d" % line, where
    assert set(there) <= reported, where
    assert len(told) == len(run.records), where
    if run.code:
        assert run.err.count("\n") == 1, where
        assert not_written(run) == set(range(1, LINES + 1)) - set(told), where


def not_written(run: Run) -> set[int]:
    """The lines of which the error says so."""
    (said,) = re.findall(r"; not written: ([^;\n]*)", run.err)
    *runs, rest = said.split(", ")
    lines = set(range(int(re.fullmatch(r"all from line (\d+) on", rest)[1]), LINES + 1))
    for first, last in (re.fullmatch(r"lines? (\d+)(?:\.\.(\d+))?", run).groups() for run in runs):
        lines |= set(range(int(first), int(last or first) + 1))
    return lines


@pytest.mark.parametrize("flush_messages", [1, 1000], ids=["flushed", "unflushed"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "from-then-on"])
def test_report_covers_the_log_whichever_call_fails(
    kminilog, monkeypatch, dialect, flush_messages, is_lasting
):
    faults, outcomes = Faults(monkeypatch), set()
    for call in count(1):
        name = f"t{call}"
        new_topic(kminilog, name, dialect.name, flush_messages)
        with faults.failing(lambda n, k=call: n >= k if is_lasting else n == k):
            run = kminilog("produce", name, *OPTIONS, "--json", stdin=STDIN)
            is_past_the_end = faults.calls < call
        if "not written" in run.err:
            assert_report_covers(run, stored(kminilog, name), where=f"call {call}: {run}")
            outcomes.add("in doubt" if "in_doubt" in run.out else "undone")
        elif run.records:  # opening or closing the log dir has failed
            assert len(run.records) == len(stored(kminilog, name)) == LINES, call
        kminilog.ok("topic", "delete", name, "--yes")
        if is_past_the_end:
            break
    assert call > 10
    # A roll that fails at its first call has nothing to undo, whatever fails afterwards.
    assert outcomes - {"undone"} == ({"in doubt"} if is_lasting else set())


@pytest.mark.parametrize("linger", ["linger.ms=1", "linger.ms=1000"])
def test_report_of_a_producer_with_a_thread_covers_the_log_too(kminilog, monkeypatch, linger):
    faults = Faults(monkeypatch)
    for call in range(1, 30, 4):
        for is_lasting in (False, True):
            name = f"t{call}-{is_lasting}"
            new_topic(kminilog, name, "kafka", 1)
            with faults.failing(lambda n, k=call, more=is_lasting: n >= k if more else n == k):
                run = kminilog("produce", name, *OPTIONS, "--config", linger, "--json", stdin=STDIN)
            if "not written" in run.err:
                assert_report_covers(run, stored(kminilog, name), where=f"call {call}: {run}")


@contextmanager
def limit_on_file_sizes(limit_bytes):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture
def nearly_full(kminilog):
    """The file of t-0, and a limit on file sizes that leaves it no room for four lines more."""
    new_topic(kminilog, "t", "kafka", 1000)
    filler = b"x" * 60 + b"\n"
    kminilog.ok("produce", "t", "--partition", 0, stdin=filler * 2)
    path = kminilog.log_dir / "t-0" / ("0" * 20 + ".log")
    return path, limit_on_file_sizes(path.stat().st_size + 100)


def test_report_with_acks_0_names_the_file_that_was_not_written(kminilog, nearly_full):
    path, limit = nearly_full
    lines = b"".join(STDIN.splitlines(True)[:8])
    with limit:
        run = kminilog("produce", "t", *OPTIONS, "--acks", "0", stdin=lines)
    waited = "not waited for (4 messages)\n"
    assert (run.code, run.out) == (1, f"t-0: {waited}t-1: {waited}")
    assert run.err == (
        f"kminilog: acks = 0: at least one batch was not written: {path}: "
        "write failed: File too large; the log is as it was before the call\n"
    )
    assert len(stored(kminilog, "t")) == 6


def test_report_with_a_limit_on_file_sizes_names_what_was_written_after_the_failure(
    kminilog, nearly_full
):
    """Only the first partition's file is full: the batch of the second is written, and told."""
    path, limit = nearly_full
    with limit:
        run = kminilog("produce", "t", *OPTIONS, stdin=b"".join(STDIN.splitlines(True)[:8]))
    there = stored(kminilog, "t")
    assert len(there) == 6
    assert run.out == "t-1: offsets 0..3 (4 messages)\n"
    assert run.err == (
        f"kminilog: {path}: write failed: File too large; the log is as it was before the call; "
        "acknowledged: t-1 offsets 0..3 (4 messages); "
        "not written: line 1, line 3, line 5, line 7, all from line 9 on\n"
    )


def test_report_that_goes_on_after_a_failure_names_what_is_in_doubt(kminilog, monkeypatch):
    new_topic(kminilog, "t", "kafka", 1)
    path = kminilog.log_dir / "t-0"

    def failing_there(real):
        def call(descriptor, *arguments):
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(path)):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            real(descriptor, *arguments)

        return call

    with monkeypatch.context() as patched:
        for name in ("fsync", "ftruncate"):
            patched.setattr(os, name, failing_there(getattr(os, name)))
        run = kminilog("produce", "t", *OPTIONS, "--on-failure", "go-on", stdin=STDIN)
    assert run.code == 1
    assert run.out == (
        "t-1: offsets 0..11 (12 messages)\n"
        "t-0: in doubt: offsets 0..3 (4 messages)\n"
        "t: 8 messages lost\n"
    )
    assert run.err.count("\n") == 1
    assert "offsets 0..3 may be in the log" in run.err
    there = stored(kminilog, "t")
    assert len(there) == 16
    assert [there[0, offset] for offset in range(4)] == [b"line %d" % n for n in (1, 3, 5, 7)]
