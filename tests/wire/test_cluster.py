"""`serve` on a cluster: clients follow the leaders; what was acknowledged with acks -1 stays."""

import asyncio
import json
import signal
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.cli.shared import clusters
from kminilog.clock import ManualClock
from kminilog.cluster.asked import CRASH, START, ask
from kminilog.cluster.cluster_files import ClusterFiles
from kminilog.cluster.mini_cluster import REPLICA_LAG_TIME_MAX_MS, MiniCluster
from kminilog.consumer.group_file import read_group
from kminilog.errors import WriteFailedError
from kminilog.format.dialect import DIALECTS
from kminilog.wire.errors import Code
from kminilog.wire.served import Address
from tests.support.broker_files.partition_writer import Producer, batch
from tests.support.cli.command_line import PROGRAM, environment
from tests.support.damage import flip_byte
from tests.support.processes import Process
from tests.support.wire.cluster import (
    ORDERS,
    Client,
    ServedHere,
    records_of,
    served_here,
    values_in,
)
from tests.support.wire.loops import run_apart

pytestmark = pytest.mark.usefixtures("without_fsync")
Play = Callable[[ServedHere, Client], Awaitable[None]]


def play(path: Path, scene: Play, **options: Any) -> None:
    """Let a scene happen on a cluster of three brokers that is served."""

    async def run() -> None:
        async with served_here(path, **options) as here:
            await scene(here, here.client())

    run_apart(run())


def test_metadata_of_any_broker_names_live_brokers_and_true_leaders(tmp_path):
    async def scene(here: ServedHere, client: Client) -> None:
        answers = [await client.metadata(node) for node in range(3)]
        assert answers[0] == answers[1] == answers[2]
        ports = {one["node_id"]: one["port"] for one in answers[0]["brokers"]}
        assert ports == {node: address.port for node, address in here.addresses.items()}
        assert sorted(client.leaders.values()) == [0, 1, 2]
        led = next(number for number, node in client.leaders.items() if node == 1)
        await here.crash(1)
        answer = await client.metadata(0)
        assert [one["node_id"] for one in answer["brokers"]] == [0, 2]
        facts = answer["topics"][0]["partitions"][led]
        assert facts["leader_id"] in (0, 2)
        assert facts["leader_epoch"] == 1
        assert sorted(facts["replica_nodes"]) == [0, 1, 2]
        assert sorted(facts["isr_nodes"]) == [0, 2]
        assert facts["offline_replicas"] == [1]

    play(tmp_path / "c", scene, partitions=3)


def test_broker_that_does_not_lead_answers_not_leader(tmp_path):
    async def scene(here: ServedHere, client: Client) -> None:
        await client.metadata(0)
        other = (client.leaders[0] + 1) % 3
        listed = {"partition_index": 0, "timestamp": -1}
        topics = [{"name": "orders", "partitions": [listed]}]
        offsets = await client.ask(other, "ListOffsets", {"replica_id": -1, "topics": topics})
        codes = [
            (await client.produce(other, records_of(b"a")))["error_code"],
            (await client.fetch(other, 0))["error_code"],
            offsets["topics"][0]["partitions"][0]["error_code"],
        ]
        assert codes == [Code.NOT_LEADER_OR_FOLLOWER] * 3
        assert await client.values(client.leaders[0]) == []

    play(tmp_path / "c", scene)


@pytest.mark.parametrize("dialect", DIALECTS.values())
def test_messages_are_seen_and_acks_all_is_answered_once_the_followers_have_them(tmp_path, dialect):
    async def scene(here: ServedHere, client: Client) -> None:
        await client.metadata(0)
        leader = client.leaders[0]
        async with here.copying():
            assert (await client.produce(leader, records_of(b"a", b"b")))["base_offset"] == 0
        waiting = asyncio.create_task(here.client().produce(leader, records_of(b"c")))
        while here.log_end() < 3:
            await asyncio.sleep(0)
        assert (await client.produce(leader, records_of(b"d"), acks=1))["base_offset"] == 3
        seen = await client.fetch(leader, 0)
        assert (values_in(seen["records"]), seen["high_watermark"]) == ([b"a", b"b"], 2)
        beyond = await client.fetch(leader, 3)
        assert (beyond["error_code"], beyond["records"]) == (Code.NONE, b"")
        assert not waiting.done()
        async with here.copying():
            assert (await waiting)["error_code"] == Code.NONE
            assert await client.values(leader) == [b"a", b"b", b"c", b"d"]

    play(tmp_path / "c", scene, dialect=dialect)


def test_acks_all_that_the_followers_do_not_copy_in_time_is_timed_out_and_appended(tmp_path):
    async def scene(here: ServedHere, client: Client) -> None:
        await client.metadata(0)
        late = await client.produce(client.leaders[0], records_of(b"a"), timeout_ms=1)
        assert (late["error_code"], late["base_offset"]) == (Code.REQUEST_TIMED_OUT, -1)
        async with here.copying():
            assert await client.sent(records_of(b"b")) == 1
            assert await client.values(client.leaders[0]) == [b"a", b"b"]

    play(tmp_path / "c", scene)


def test_waiting_request_hears_that_its_broker_no_longer_leads(tmp_path):
    async def scene(here: ServedHere, client: Client) -> None:
        await client.metadata(0)
        leader = client.leaders[0]
        waiting = asyncio.create_task(client.produce(leader, records_of(b"a")))
        while here.log_end() < 1:
            await asyncio.sleep(0)
        here.cluster.stop(leader)
        here.broker.wake()
        assert (await waiting)["error_code"] == Code.NOT_LEADER_OR_FOLLOWER

    play(tmp_path / "c", scene)


def test_long_polling_fetch_is_answered_as_soon_as_the_followers_have_copied(tmp_path):
    async def scene(here: ServedHere, client: Client) -> None:
        await client.metadata(0)
        leader = client.leaders[0]
        async with here.copying():
            polling = asyncio.create_task(here.client().fetch(leader, 0, wait_ms=1 << 30))
            await client.produce(leader, records_of(b"a"))
            assert values_in((await polling)["records"]) == [b"a"]

    play(tmp_path / "c", scene)


def test_broker_that_crashes_closes_its_port_and_opens_the_same_one_when_it_starts(tmp_path):
    async def scene(here: ServedHere, client: Client) -> None:
        await client.metadata(1)
        await here.crash(1)
        for _ in range(2):
            with pytest.raises((OSError, EOFError)):
                await client.metadata(1)
        await here.start(1)
        answer = await client.metadata(1)
        assert {one["node_id"]: one["port"] for one in answer["brokers"]} == {
            node: address.port for node, address in here.addresses.items()
        }

    play(tmp_path / "c", scene)


def test_partition_without_a_leader_is_named_so_and_has_one_when_its_broker_is_back(tmp_path):
    async def scene(here: ServedHere, client: Client) -> None:
        await client.metadata(0)
        leader = client.leaders[0]
        other = (leader + 1) % 3
        assert await client.sent(records_of(b"a")) == 0
        await here.crash(leader)
        (facts,) = (await client.metadata(other))["topics"][0]["partitions"]
        assert (facts["error_code"], facts["leader_id"]) == (Code.LEADER_NOT_AVAILABLE, -1)
        refused = await client.produce(other, records_of(b"b"))
        assert refused["error_code"] == Code.LEADER_NOT_AVAILABLE
        await here.start(leader)
        assert await client.sent(records_of(b"c")) == 1

    play(tmp_path / "c", scene, replicas=1)


SENDERS, SETS, VALUES = 3, 30, 3


def values_of(sender: int, number: int) -> list[bytes]:
    return [b"%d.%d.%d" % (sender, number, each) for each in range(VALUES)]


def idempotent(sender: int, number: int) -> bytes:
    producer = Producer(sender).after(number * VALUES)
    return batch(0, [(None, value) for value in values_of(sender, number)], producer=producer)


@pytest.mark.parametrize("is_idempotent", [False, True])
def test_brokers_crash_in_the_middle_and_nothing_acknowledged_is_lost(tmp_path, is_idempotent):
    acknowledged: dict[tuple[int, int], tuple[int, list[bytes]]] = {}

    async def send(client: Client, sender: int) -> None:
        for number in range(SETS):
            values = values_of(sender, number)
            records = idempotent(sender, number) if is_idempotent else records_of(*values)
            offset = await client.sent(records, sender)
            acknowledged[sender, number] = offset, values

    async def more(number: int) -> None:
        wanted = len(acknowledged) + number
        while len(acknowledged) < wanted:
            await asyncio.sleep(0)

    async def scene(here: ServedHere, client: Client) -> None:
        async with here.copying():
            senders = [asyncio.create_task(send(here.client(), each)) for each in range(SENDERS)]
            for node in (0, 1, 2, 0):
                await more(10)
                await here.crash(node)
                await more(5)
                await here.start(node)
            await asyncio.gather(*senders)
            await client.any_metadata()
            for sender in range(SENDERS):
                stored = await client.values(client.leaders[sender], sender)
                for (which, _), (offset, values) in acknowledged.items():
                    if which == sender:
                        assert stored[offset : offset + VALUES] == values
                sent = [value for number in range(SETS) for value in values_of(sender, number)]
                if is_idempotent:
                    assert stored == sent
                assert set(stored) == set(sent)
        assert here.warned == []

    play(tmp_path / "c", scene, partitions=SENDERS)
    assert len(acknowledged) == SENDERS * SETS


def test_new_leader_forgets_a_batch_that_only_the_old_one_had(tmp_path):
    async def scene(here: ServedHere, client: Client) -> None:
        await client.metadata(0)
        leader = client.leaders[0]
        lost = await client.produce(leader, idempotent(0, 0), acks=1)
        assert lost["base_offset"] == 0
        await here.crash(leader)
        async with here.copying():
            assert await client.sent(records_of(b"w", b"x", b"y")) == 0
            assert await client.sent(idempotent(0, 0)) == 3
            stored = [b"w", b"x", b"y", *values_of(0, 0)]
            assert await client.values(client.leaders[0]) == stored
            assert await client.sent(idempotent(0, 0)) == 3
            assert await client.values(client.leaders[0]) == stored

    play(tmp_path / "c", scene)


@pytest.mark.parametrize("before", [0, 2])
def test_batch_after_one_that_was_refused_before_the_election_is_no_gap(tmp_path, before):
    """It was on its way already: 45 would let librdkafka forget what it has sent elsewhere."""

    async def scene(here: ServedHere, client: Client) -> None:
        await client.metadata(0)
        leader = client.leaders[0]
        async with here.copying():
            for batch in range(before):
                await client.produce(leader, idempotent(0, batch))
            new = next(one for one in here.leadership().in_sync if one != leader)
            refused = await client.produce(new, idempotent(0, before))
            await here.crash(leader)
            assert here.leadership().leader == new
            early = await client.produce(new, idempotent(0, before + 1))
            codes = [refused["error_code"], early["error_code"]]
            assert codes == [Code.NOT_LEADER_OR_FOLLOWER] * 2
            for batch in (before, before + 1):
                assert (await client.produce(new, idempotent(0, batch)))["error_code"] == Code.NONE
            gap = await client.produce(new, idempotent(0, before + 3))
            assert gap["error_code"] == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
            stored = [value for batch in range(before + 2) for value in values_of(0, batch)]
            assert await client.values(new) == stored

    play(tmp_path / "c", scene)


def test_leader_whose_disk_fails_is_down_and_another_one_takes_over(tmp_path, monkeypatch):
    async def scene(here: ServedHere, client: Client) -> None:
        async with here.copying():
            await client.any_metadata()
            assert await client.sent(records_of(b"a")) == 0
            leader = client.leaders[0]
            failing = here.cluster._brokers[leader].replica(ORDERS).log

            def append(*arguments: object, **options: object) -> range:
                raise WriteFailedError("x", reason="no disk", restored=False)

            monkeypatch.setattr(failing, "_append", append)
            failed = await client.produce(leader, records_of(b"b"))
            assert failed["error_code"] == Code.NOT_LEADER_OR_FOLLOWER
            assert await client.sent(records_of(b"c")) == 1
            assert client.leaders[0] != leader
            while leader in here.server._listening:
                await asyncio.sleep(0)
        assert any("a write failed" in line for line in here.warned)

    play(tmp_path / "c", scene)


def test_followers_of_a_damaged_leader_are_told_of_once_and_the_others_copy(tmp_path):
    async def scene(here: ServedHere, client: Client) -> None:
        await client.metadata(0)
        leader = client.leaders[0]
        assert not (await client.produce(leader, records_of(b"a"), acks=1))["error_code"]
        (log,) = (tmp_path / "c" / f"broker-{leader}" / "orders-0").glob("*.log")
        flip_byte(log, log.stat().st_size - 1, mask=1)
        async with here.copying():
            for number in range(3):
                assert await client.sent(records_of(b"b"), 1) == number
            late = await client.produce(leader, records_of(b"c"), timeout_ms=1)
            assert late["error_code"] == Code.REQUEST_TIMED_OUT
        (line,) = here.warned
        assert line.startswith("followers of orders-0 cannot copy: ")
        here.clock.sleep_ms(REPLICA_LAG_TIME_MAX_MS + 1)
        async with here.copying():
            assert await client.sent(records_of(b"d")) == 2
        assert here.cluster.state.leadership(ORDERS).in_sync == (leader,)

    play(tmp_path / "c", scene, partitions=2)


def test_topics_are_created_with_copies_and_stay_as_they_are(tmp_path):
    async def scene(here: ServedHere, client: Client) -> None:
        def topic(name: str, replicas: int, assigned: list[int]) -> dict[str, Any]:
            assignments = [{"partition_index": 0, "broker_ids": assigned}] if assigned else []
            counts = {"num_partitions": 2, "replication_factor": replicas}
            return {"name": name, **counts, "assignments": assignments, "configs": []}

        asked = [topic("two", 2, []), topic("five", 5, []), topic("own", -1, [1, 2])]
        answer = await client.ask(1, "CreateTopics", {"topics": asked, "timeout_ms": 0})
        assert [one["error_code"] for one in answer["topics"]] == [
            Code.NONE,
            Code.INVALID_REPLICATION_FACTOR,
            Code.INVALID_REPLICA_ASSIGNMENT,
        ]
        found = await client.ask(2, "Metadata", {"topics": ["two", "new"]}, 1)
        assert [
            [len(one["replica_nodes"]) for one in each["partitions"]] for each in found["topics"]
        ] == [
            [2, 2],
            [3],
        ]
        gone = await client.ask(0, "DeleteTopics", {"topic_names": ["two"], "timeout_ms": 0})
        assert gone["responses"][0]["error_code"] == Code.TOPIC_DELETION_DISABLED
        larger = {"name": "two", "count": 9, "assignments": None}
        grown = await client.ask(0, "CreatePartitions", {"topics": [larger], "timeout_ms": 0})
        assert grown["results"][0]["error_code"] == Code.INVALID_PARTITIONS

    settings = {"auto.create.topics.enable": True, "default.replication.factor": 3}
    play(tmp_path / "c", scene, **settings)


def test_group_goes_on_at_another_broker_and_is_a_file_of_the_cluster(tmp_path):
    async def scene(here: ServedHere, client: Client) -> None:
        async with here.copying():
            await client.any_metadata()
            await client.sent(records_of(b"a", b"b"))
        found = await client.ask(1, "FindCoordinator", {"key": "g", "key_type": 0})
        assert (found["node_id"], found["port"]) == (1, here.addresses[1].port)
        part = {"partition_index": 0, "committed_offset": 2, "committed_metadata": None}
        commit = {
            "group_id": "g",
            "generation_id_or_member_epoch": -1,
            "topics": [{"name": "orders", "partitions": [part]}],
        }
        done = await client.ask(1, "OffsetCommit", commit)
        assert done["topics"][0]["partitions"][0]["error_code"] == Code.NONE
        await here.crash(1)
        found = await client.ask(2, "OffsetFetch", {"group_id": "g", "topics": None})
        assert found["topics"][0]["partitions"][0]["committed_offset"] == 2

    play(tmp_path / "c", scene)
    assert read_group(tmp_path / "c", "g").committed == {ORDERS: 2}


def test_what_is_asked_by_another_process_is_done(tmp_path):
    async def scene(here: ServedHere, client: Client) -> None:
        for what, left in ((CRASH, [0, 2]), (START, [0, 1, 2])):
            ask(tmp_path / "c", 1, what)
            await here.server.settle()
            answer = await client.metadata(0)
            assert [one["node_id"] for one in answer["brokers"]] == left
        ask(tmp_path / "c", 1, START)
        await here.server.settle()
        assert here.warned == [
            "broker 1 is down",
            "broker 1 is live",
            "start of broker 1: broker 1 is running",
        ]

    play(tmp_path / "c", scene)


# ---- the commands


def kminilog(*words: object) -> Any:
    return CliRunner().invoke(main, [*map(str, words)])


def started(
    path: Path, *options: str, place: str = "--cluster"
) -> tuple[Process[str], list[dict[str, Any]]]:
    """Start `serve --json` on a cluster of three brokers; return it and what it says first."""
    words = [place, str(path), "serve", "--port", "0", "--json", *options]
    process = Process[str](
        [*PROGRAM, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout
    return process, [json.loads(process.stdout.readline()) for _ in range(3)]


@pytest.mark.processes
def test_serve_makes_a_cluster_and_cluster_crash_and_start_act_on_it(tmp_path):
    path = tmp_path / "shop"
    options = ("--brokers", "3", "--auto-create-topics")
    process, lines = started(path, *options, place="--log-dir")
    with process:
        assert [one["broker"] for one in lines] == [0, 1, 2]
        addresses = {one["broker"]: Address(one["host"], one["port"]) for one in lines}

        async def live() -> list[int]:
            client = Client(addresses)
            answer = await client.any_metadata()
            client.close()
            return [one["node_id"] for one in answer["brokers"]]

        assert run_apart(live()) == [0, 1, 2]
        crashed = kminilog("cluster", "crash", path, 0, "--json")
        assert (crashed.exit_code, json.loads(crashed.stdout)["live"]) == (0, False)
        assert run_apart(live()) == [1, 2]
        again = kminilog("cluster", "crash", path, 0)
        assert (again.exit_code, "broker 0 is down" in again.stderr) == (2, True)
        assert kminilog("cluster", "start", path, 0).exit_code == 0
        assert run_apart(live()) == [0, 1, 2]
        process.send_signal(signal.SIGTERM)
        assert process.stderr
        said = process.stderr.read().splitlines()
        assert process.wait() == 143
    assert said == ["kminilog: broker 0 is down", "kminilog: broker 0 is live"]
    assert not list(path.glob("*.asked"))
    other = kminilog("--cluster", path, "serve", "--brokers", 4)
    assert (other.exit_code, "has 3 brokers, not 4" in other.stderr) == (2, True)


@pytest.mark.processes
def test_serve_says_which_brokers_of_a_cluster_are_down(tmp_path):
    path = tmp_path / "shop"
    assert kminilog("cluster", "create", path, "--brokers", 4).exit_code == 0
    assert kminilog("cluster", "crash", path, 2).exit_code == 0
    process, lines = started(path)
    with process:
        process.send_signal(signal.SIGTERM)
        assert process.stderr
        said = process.stderr.read()
        process.wait()
    assert [one["broker"] for one in lines] == [0, 1, 3]
    assert said.startswith("kminilog: broker 2 is down, so nothing listens at 127.0.0.1:")


def test_brokers_in_a_used_log_dir_and_a_port_that_is_taken_are_refused(tmp_path):
    create = ("topic", "create", "orders", "--partitions", 1)
    assert kminilog("--log-dir", tmp_path / "log", *create).exit_code == 0
    used = kminilog("--log-dir", tmp_path / "log", "serve", "--brokers", 3)
    assert (used.exit_code, "name a new or empty directory" in used.stderr) == (2, True)
    high = kminilog("--cluster", tmp_path / "shop", "serve", "--brokers", 3, "--port", 65534)
    assert (high.exit_code, "cannot listen at 127.0.0.1:65536" in high.stderr) == (2, True)


def test_crash_is_refused_if_whoever_has_the_cluster_open_does_not_serve_it(tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "LOCK_TIMEOUT_MS", 100)
    with MiniCluster.open(tmp_path / "shop", brokers=2, clock=ManualClock()):
        run = kminilog("cluster", "crash", tmp_path / "shop", 1)
    assert (run.exit_code, "only one writer at a time" in run.stderr) == (2, True)
    assert not list((tmp_path / "shop").glob("*.asked"))
    assert ClusterFiles(tmp_path / "shop").state().brokers == {0: True, 1: True}
