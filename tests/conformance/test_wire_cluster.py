"""Stock clients on a served cluster; librdkafka follows the leaders while brokers crash in turn."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.cluster.cluster_files import ClusterFiles
from kminilog.consumer.group_file import read_group
from tests.support.cli.command_line import PROGRAM, environment
from tests.support.conformance.served import CLIENTS, TRIPS
from tests.support.conformance.wheel_oracles import LIBRDKAFKA, installed, require
from tests.support.processes import Process, end_at_once, wait_until

pytestmark = pytest.mark.conformance

COUNT, PARTITIONS, BROKERS, CRASHES = 8_000, 3, 3, 4


def kminilog(*words: object) -> None:
    run = CliRunner().invoke(main, [*map(str, words)])
    assert run.exit_code == 0, run.stderr


@contextmanager
def serving(path: Path, *options: str) -> Iterator[list[str]]:
    """Yield the addresses of a new cluster of three brokers; at the end SIGTERM stops it."""
    kminilog("cluster", "create", path, "--brokers", BROKERS)
    words = ["--cluster", str(path), "serve", "--port", "0", *options]
    with (path.parent / "served.txt").open("w") as errors:
        process = Process[str](
            [*PROGRAM, *words], stdout=subprocess.PIPE, stderr=errors, text=True, env=environment()
        )
        try:
            assert process.stdout
            yield [process.stdout.readline().split()[-1] for _ in range(BROKERS)]
            process.terminate()
            assert process.wait() == 143, (path.parent / "served.txt").read_text()
        finally:
            end_at_once(process)


@pytest.mark.parametrize("client", TRIPS)
def test_client_that_knows_one_broker_writes_to_and_reads_from_all_leaders(tmp_path, client):
    options = "auto.create.topics.enable=true", f"num.partitions={PARTITIONS}"
    copies = f"default.replication.factor={BROKERS}"
    settings = [word for each in (*options, copies) for word in ("--config", each)]
    with serving(tmp_path / "shop", *settings) as addresses:
        line = f"{addresses[1]} topic readers {COUNT}\n"
        told = require(client, lambda: TRIPS[client](line)).splitlines()
    assert len(told) == COUNT
    files = ClusterFiles(tmp_path / "shop")
    partitions = files.topic("topic").all_partitions()
    assert sorted(files.leadership(each).leader or 0 for each in partitions) == [0, 1, 2]
    for node in range(BROKERS):
        ends = [files.broker(node).reader(each).log_end_offset for each in partitions]
        assert sum(ends) == COUNT
    committed = read_group(tmp_path / "shop", "readers").committed
    assert sum(committed.values()) == COUNT


def test_brokers_crash_in_turn_and_each_message_is_there_once_where_librdkafka_was_told(tmp_path):
    path = tmp_path / "shop"
    library = require("confluent-kafka", lambda: installed(LIBRDKAFKA))
    told, errors, crashes = tmp_path / "told.txt", tmp_path / "errors.txt", 0
    settings = [f"num.partitions={PARTITIONS}", f"default.replication.factor={BROKERS}"]
    options = [word for each in settings for word in ("--config", each)]
    with (
        serving(path, "--auto-create-topics", *options) as addresses,
        told.open("w") as output,
        errors.open("w") as broken_connections,
    ):
        words = [sys.executable, CLIENTS / "failover.py", ",".join(addresses), "orders", COUNT]
        client = Process[str](
            [*map(str, words)],
            stdout=output,
            stderr=broken_connections,
            env={**os.environ, "PYTHONPATH": str(library)},
            text=True,
        )
        wait_until(lambda: told.stat().st_size > 0 or client.poll() is not None)
        for node in cycle(range(BROKERS)):
            if client.poll() is not None:
                break
            kminilog("cluster", "crash", path, node)
            kminilog("cluster", "start", path, node)
            crashes += 1
        assert client.wait() == 0, errors.read_text()[-2000:]
    assert crashes >= CRASHES
    files = ClusterFiles(path)
    stored: dict[tuple[int, int], bytes | None] = {}
    for partition in files.topic("orders").all_partitions():
        reader, offset = files.reader(partition), 0
        while messages := reader.read(offset, 1 << 20):
            stored |= {(partition.partition, each.offset): each.value for each in messages}
            offset = messages[-1].offset + 1
    lines = [line.split(" ", 2) for line in told.read_text().splitlines()]
    assert len(lines) == COUNT
    times = Counter(stored.values())
    lost = {value for _, _, value in lines if value.encode() not in times}
    twice = [each for each in times if times[each] > 1]
    assert not lost, f"{len(lost)} lost: {sorted(lost)[:5]}"
    assert not twice, f"{len(twice)} twice: {twice[:5]}; {errors.read_text()[-2000:]}"
    assert len(stored) == COUNT
    for number, at, value in lines:
        if at != "None":  # it was told only of the batch after this one
            assert stored[int(number), int(at)] == value.encode()
    print(f"{COUNT} messages, {crashes} crashes: 0 lost, 0 twice")
