"""Stock clients, unmodified and at default settings, talk to `kminilog serve`."""

import json
import os
import sys
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.consumer.errors import UnknownGroupError
from kminilog.consumer.group import STABLE
from kminilog.consumer.group_file import read_group
from kminilog.storage.log_dir.log_dir import LogDir
from tests.support.conformance.kafka_oracle import java
from tests.support.conformance.real_broker import real_broker
from tests.support.conformance.served import CLIENTS, KCAT_V0, TRIPS, kcat, served
from tests.support.conformance.wheel_oracles import (
    LIBRDKAFKA,
    PYTHON_CLIENTS,
    installed,
    java_client_jars,
    require,
    run_java,
)
from tests.support.processes import Process, end_at_once, wait_until

pytestmark = pytest.mark.conformance

COUNT = 10_000
PARTITIONS = 3
CONSISTENT = "tests.support.conformance.consistent.Consistent"
PARTITIONERS = {"kcat": CONSISTENT, "confluent-kafka": CONSISTENT}
"""The default of librdkafka is consistent_random: CRC-32 of the key, no murmur2."""


def partition_of(key: str, partitioner: str = "default-2.4") -> int:
    command = ["partition", "--partitioner", partitioner, "--partitions", str(PARTITIONS)]
    answer = CliRunner().invoke(main, [*command, "--key", key, "--json"])
    return int(json.loads(answer.stdout)["choices"][0]["partition"])


def verdict(log_dir: Path) -> str:
    answer = CliRunner().invoke(main, ["--log-dir", str(log_dir), "verify", "--full", "--json"])
    return str(json.loads(answer.stdout)["verdict"])


@pytest.mark.parametrize("client", TRIPS)
def test_client_gets_back_what_it_has_sent_and_its_group_has_committed_it(tmp_path, client):
    options = ("--auto-create-topics", "--config", f"num.partitions={PARTITIONS}")
    with served(tmp_path / "log", *options) as address:
        told = require(client, lambda: TRIPS[client](f"{address} topic readers {COUNT}\n"))
    got = [tuple(line.split("\t")) for line in told.splitlines()]
    sent = [(f"k{number % 97}", f"value {number}") for number in range(COUNT)]
    assert Counter((key, value) for _, key, value in got) == Counter(sent)
    placed = {key: int(partition) for partition, key, _ in got}
    assert len({(partition, key) for partition, key, _ in got}) == len(placed) == 97
    used = PARTITIONERS.get(client, "default-2.4")
    assert placed == {key: partition_of(key, used) for key in placed}
    assert verdict(tmp_path / "log") == "ok"
    answer = CliRunner().invoke(
        main, ["--log-dir", str(tmp_path / "log"), "group", "describe", "readers", "--json"]
    )
    partitions = json.loads(answer.stdout)["partitions"]
    assert sum(each["committed"] for each in partitions) == COUNT
    assert [each["lag"] for each in partitions] == [0] * PARTITIONS


def test_java_admin_creates_lists_describes_deletes_and_alters_offsets(tmp_path):
    options = ("--auto-create-topics", "--config", f"num.partitions={PARTITIONS}")
    with served(tmp_path / "log", *options) as address:
        require("Java", lambda: TRIPS["Java"](f"{address} topic readers 100\n"))
        told = run_java(CLIENTS / "Administer.java", f"{address} readers\n").splitlines()
    assert told[:4] == [
        "list [made, topic]",
        "describe 3 0",
        "enlarged 5",
        "groups [readers]",
    ]
    assert sum(int(line.split()[-1]) for line in told if line.startswith("offset ")) == 100
    assert sorted(line for line in told if line.startswith("altered ")) == [
        f"altered topic-{partition} 7" for partition in range(PARTITIONS)
    ]
    assert told[-2:] == ["group Empty 0", "list [topic]"]


def members(address: str, topic: str, group: str) -> dict[str, list[str]]:
    """Return the commands of three members, by the name of their client."""
    jars = os.pathsep.join(map(str, require("Java", java_client_jars)))
    kafka = require("kafka-python", lambda: installed(*PYTHON_CLIENTS["kafka"], alone=False))
    confluent = require("confluent-kafka", lambda: installed(LIBRDKAFKA))
    of_python = [str(CLIENTS / "member.py")]
    asked = [address, topic, group]
    return {
        "Java": [java(), "-cp", jars, str(CLIENTS / "Member.java"), *asked],
        "kafka-python": ["env", f"PYTHONPATH={kafka}", sys.executable, *of_python, "kafka", *asked],
        "confluent-kafka": [
            *("env", f"PYTHONPATH={confluent}", sys.executable),
            *(*of_python, "confluent-kafka", *asked),
        ],
    }


def told_by(path: Path) -> list[tuple[str, int, int, int]]:
    """Return what a member has told: what, partition, offset, when; whole lines only."""
    lines = path.read_text().splitlines(keepends=True)
    whole = [line.split() for line in lines if line.endswith("\n")]
    return [(line[0], int(line[1]), int(line[2]), int(line[3])) for line in whole]


def test_three_different_clients_share_a_group_and_one_of_them_is_killed(tmp_path):
    lines = "".join(f"k{number}:value {number}\n" for number in range(COUNT))
    options = ("--auto-create-topics", "--config", "num.partitions=12")
    with served(tmp_path / "log", *options) as address, ExitStack() as ended:
        require("kcat", lambda: kcat("-b", address, "-P", "-t", "topic", "-K:", stdin=lines))
        processes = {}
        for name, command in members(address, "topic", "readers").items():
            output = ended.enter_context((tmp_path / name).open("w"))
            errors = ended.enter_context((tmp_path / f"{name}.err").open("w"))
            processes[name] = Process[str](command, stdout=output, stderr=errors)
            ended.callback(end_at_once, processes[name])
        group = LogDirGroups(tmp_path / "log")
        wait_until(lambda: len(group.sizes()) == 3 and all(group.sizes()))
        assert group.sizes() == [4, 4, 4]
        kcat("-b", address, "-P", "-t", "topic", "-K:", stdin=lines)
        killed = "kafka-python"
        before = len(told_by(tmp_path / killed))
        wait_until(lambda: len(told_by(tmp_path / killed)) > before)
        end_at_once(processes[killed])
        wait_until(lambda: group.sizes() == [6, 6])
        kcat("-b", address, "-P", "-t", "topic", "-K:", stdin=lines)

        def all_read() -> bool:
            read = {one[1:3] for name in processes for one in told_by(tmp_path / name)}
            return len(read) >= 3 * COUNT

        wait_until(all_read)
    check_reading([event for name in processes for event in told_by(tmp_path / name)])


class LogDirGroups:
    """How many partitions each member of the group `readers` has now."""

    def __init__(self, log_dir: Path) -> None:
        self._log_dir = log_dir

    def sizes(self) -> list[int]:
        with suppress(UnknownGroupError):
            group = read_group(self._log_dir, "readers")
            if group.state == STABLE:
                return sorted(len(each) for each in group.assignment.values())
        return []


def check_reading(events: list[tuple[str, int, int, int]]) -> None:
    """Assert that every message was read, and that none was read again after its commit."""
    events.sort(key=lambda event: event[3])
    committed: dict[int, int] = {}
    read: set[tuple[int, int]] = set()
    again = 0
    for what, partition, offset, _ in events:
        if what == "committed":
            committed[partition] = max(committed.get(partition, 0), offset)
            continue
        if (partition, offset) in read:
            again += 1
            assert offset >= committed.get(partition, 0), (partition, offset)
        read.add((partition, offset))
    print(f"{3 * COUNT} messages, {again} read again, none after its commit")


def test_files_of_the_same_kcat_input_are_those_of_a_real_broker(tmp_path):
    lines = "".join(f"k{number % 97}:value {number}\n" for number in range(COUNT))
    produce = ("-P", "-t", "topic", "-K:", *KCAT_V0)
    with real_broker(tmp_path / "real", num_partitions=PARTITIONS) as port:
        require("kcat", lambda: kcat("-b", f"127.0.0.1:{port}", *produce, stdin=lines))
    options = ("--auto-create-topics", "--config", f"num.partitions={PARTITIONS}")
    with served(tmp_path / "log", *options) as address:
        kcat("-b", address, *produce, stdin=lines)
    for partition in LogDir(tmp_path / "log").topic("topic").all_partitions():
        name = f"{partition}/{0:020d}.log"
        ours, real = (tmp_path / "log" / name), (tmp_path / "real" / "logs" / name)
        assert ours.read_bytes() == real.read_bytes()
        assert ours.stat().st_size > 100_000
