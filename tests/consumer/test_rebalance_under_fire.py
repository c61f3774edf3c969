"""Processes of one group, one of them killed, one joining, while messages are being produced.

Everything is real: the command line, its processes, kill -9. What a process has "processed" is what
stands in the file that its output goes to.
"""

import json
import signal
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from tests.support.cli.command_line import PROGRAM, CommandLine, environment
from tests.support.consumer.sessions import LONG_MS, SHORT_MS, end_short_sessions
from tests.support.processes import Process, wait_until

pytestmark = pytest.mark.processes

MESSAGES, PARTITIONS = 20_000, 12
Place = tuple[int, int]


class Members:
    """Processes of the group `readers`; each writes into a file of its own."""

    def __init__(self, log_dir: Path, directory: Path) -> None:
        self.log_dir = log_dir
        self.directory = directory
        self.processes: dict[str, Process[bytes]] = {}

    def start(self, name: str, session_ms: int = LONG_MS) -> None:
        settings = {
            "session.timeout.ms": session_ms,
            "heartbeat.interval.ms": 50,
            "auto.commit.interval.ms": 100,
        }
        options = [f"--config={setting}={value}" for setting, value in settings.items()]
        command = [*PROGRAM, "--log-dir", str(self.log_dir), "consume", "orders", "--json"]
        with self.output(name).open("wb") as output:
            self.processes[name] = Process(
                [*command, "--group", "readers", *options], stdout=output, env=environment()
            )

    def output(self, name: str) -> Path:
        return self.directory / f"{name}.ndjson"

    def processed(self, name: str) -> list[Place]:
        """The places of the messages that a process has written, whole lines only."""
        lines = self.output(name).read_bytes().split(b"\n")[:-1]
        records = map(json.loads, lines)
        return [(record["partition"], record["offset"]) for record in records]

    def wait_until_it_has(self, name: str, count: int) -> None:
        wait_until(
            lambda: self.output(name).read_bytes().count(b"\n") >= count,
            alive=self.processes[name],
        )

    def wait_until_all_have_a_share(self) -> None:
        groups = CommandLine(self.log_dir)

        def owners() -> set[str]:
            described = groups("group", "describe", "readers", "--json")
            partitions = described.document["partitions"] if described.code == 0 else []
            return {one["member"] for one in partitions if one["member"]}

        for process in self.processes.values():
            wait_until(lambda: len(owners()) == len(self.processes), alive=process)


def committed(log_dir: Path) -> dict[int, int]:
    """What is on record for the group, read from its file without kminilog."""
    facts = json.loads((log_dir / ".groups" / "readers.json").read_bytes())
    return {int(name.rpartition("-")[2]): offset for name, offset in facts["committed"].items()}


@pytest.mark.first
def test_kill_and_join_while_messages_are_produced_skips_none_and_repeats_what_was_not_committed(
    tmp_path, record_property
):
    log_dir = tmp_path / "log-dir"
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("orders", PARTITIONS))
    members = Members(log_dir, tmp_path)
    members.start("first")
    members.start("second")
    members.start("killed", SHORT_MS)
    members.wait_until_all_have_a_share()
    produce = [*PROGRAM, "--log-dir", str(log_dir), "produce", "orders", "--key-separator", ":"]
    producer: Process[bytes] = Process(
        [*produce, "--config", "batch.size=2000"], stdin=subprocess.PIPE, env=environment()
    )
    assert producer.stdin
    for number in range(MESSAGES):
        producer.stdin.write(b"key%d:%d\n" % (number % 997, number))
        if number == MESSAGES // 2:
            producer.stdin.flush()
            members.wait_until_it_has("killed", 1_000)
            members.processes["killed"].kill()
            members.processes["killed"].wait()
            on_record = committed(log_dir)
            end_short_sessions(log_dir, "readers")
            members.start("joined")
    producer.stdin.close()
    assert producer.wait() == 0
    for name in ("first", "second", "joined"):
        wait_until(
            lambda: sum(committed(log_dir).values()) == MESSAGES, alive=members.processes[name]
        )
        members.processes[name].send_signal(signal.SIGINT)
        assert members.processes[name].wait() == 128 + signal.SIGINT, name

    by_member = {name: members.processed(name) for name in members.processes}
    counts = Counter(place for places in by_member.values() for place in places)
    with LogDirWriter.open(log_dir) as writer:
        written = {
            (place.partition, offset)
            for place in writer.topic("orders").all_partitions()
            for offset in range(writer.log(place).log_end_offset)
        }
    assert len(written) == MESSAGES
    assert set(counts) == written, "each is processed, none is made up"
    repeated = {place for place, count in counts.items() if count > 1}
    killed = set(by_member["killed"])
    not_committed = {(p, offset) for p, offset in killed if offset >= on_record.get(p, 0)}
    assert repeated <= not_committed
    assert max(counts.values()) <= 2
    in_order = defaultdict(list)
    for name, places in by_member.items():
        for partition, offset in places:
            in_order[name, partition].append(offset)
    assert all(offsets == sorted(offsets) for offsets in in_order.values())
    share = ", ".join(f"{name} {len(places)}" for name, places in by_member.items())
    record_property("counted", f"{share}; {len(repeated)} processed twice")
