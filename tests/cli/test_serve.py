"""`kminilog serve` as a process of its own: how it begins, what it shows, how it ends."""

import json
import os
import re
import signal
import socket
import subprocess

import pytest

from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.topics import Topic
from tests.support.cli.command_line import PROGRAM, Run, assert_one_line, environment, on_a_terminal
from tests.support.processes import wait_until
from tests.support.wire.client import Serving, WireClient
from tests.support.wire.exchange import fetched, produced
from tests.support.wire.record_sets import batch_of, set_of

pytestmark = pytest.mark.processes

CREATE = {
    "topics": [{"name": "orders", "num_partitions": 2, "replication_factor": 1}],
    "timeout_ms": 1000,
}


def ended(serving: Serving) -> Run:
    """Wait until it has ended by itself."""
    out, err = serving.process.stdout.read(), serving.process.stderr.read()
    return Run(serving.process.wait(), out.decode(), err.decode())


def refused(kminilog, *arguments: str) -> Run:
    """Run a server that must not start."""
    with kminilog.start("serve", *arguments, stdin=subprocess.DEVNULL) as process:
        out, err = process.stdout.read(), process.stderr.read()
        return Run(process.wait(), out.decode(), err.decode())


# ---- how it begins


@pytest.mark.first
def test_client_produces_and_fetches_and_all_is_flushed_at_the_end(kminilog):
    with Serving(kminilog) as serving:
        assert serving.ready == f"listening on 127.0.0.1:{serving.port}\n"
        with serving.client() as client:
            client.ask("CreateTopics", 1, CREATE)
            assert client.produce(set_of([(b"k", b"a"), (None, None)]))["base_offset"] == 0
            answer = client.ask("Fetch", 4, fetched([("orders", 0, 0)]))
            assert len(answer["responses"][0]["partitions"][0]["records"]) == 54
        assert not (kminilog.log_dir / CLEAN_SHUTDOWN_FILE).exists()
        assert serving.end(signal.SIGINT) == (130, "", "")
    assert (kminilog.log_dir / CLEAN_SHUTDOWN_FILE).exists()
    points = (kminilog.log_dir / "recovery-point-offset-checkpoint").read_text().splitlines()
    assert "orders 0 2" in points
    assert kminilog.ok("consume", "orders", "--until-end", "--json").records[0]["value"] == "a"
    assert "verdict: ok" in kminilog.ok("verify").out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_it_in_order_whatever_clients_wait_for(kminilog, number, code):
    with Serving(kminilog, "--auto-create-topics") as serving, serving.client() as waiting:
        waiting.ask("Metadata", 1, {"topics": ["orders"]})
        waiting.send("Fetch", 4, fetched([("orders", 0, 0)]) | {"max_wait_ms": 600_000})
        with serving.client() as half, serving.client():
            half.send_bytes(b"\0\0\1\0half")
            with serving.client() as client:
                client.produce(set_of([(None, b"a")]), partition=0)
            assert waiting.receive("Fetch", 4)
            waiting.send("Fetch", 4, fetched([("orders", 0, 1)]) | {"max_wait_ms": 600_000})
            assert serving.end(number) == (code, "", "")
            assert waiting.is_ended()
            assert half.is_ended()
    assert (kminilog.log_dir / CLEAN_SHUTDOWN_FILE).exists()


def test_ready_as_json(kminilog):
    with Serving(kminilog, "--json") as serving:
        text = serving.ready
        while not text.endswith("}\n"):
            text += serving.process.stdout.readline().decode()
        document = json.loads(text)
        assert document["host"] == "127.0.0.1"
        with WireClient(document["port"]) as client:
            assert client.ask("ApiVersions", 0)["error_code"] == 0


def test_port_that_is_taken_is_one_line(kminilog):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = refused(kminilog, "--port", str(port))
    assert_one_line(run, 2, f"cannot listen at 127.0.0.1:{port}", "--port")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--host", "no.such.host.invalid"], ["cannot listen at no.such.host.invalid:9092"]),
        (["--host", "203.0.113.1"], ["cannot listen at 203.0.113.1:9092"]),
        (["--port", "65536"], ["65536"]),
        (["--advertise", "nowhere"], ["nowhere"]),
        (["--advertise", ":5"], [":5"]),
        (["--config", "no.setting=1"], ["no.setting"]),
        (["--config", "socket.request.max.bytes=0"], ["socket.request.max.bytes"]),
    ],
)
def test_what_cannot_be_is_one_line(kminilog, arguments, parts):
    run = refused(kminilog, *arguments)
    *warnings, last = run.err.splitlines(keepends=True)
    assert_one_line(run._replace(err=last), 2, *parts)
    assert len(warnings) <= 1


def test_log_dir_that_is_in_use_is_one_line(kminilog):
    with Serving(kminilog) as serving:
        run = refused(kminilog, "--port", "0")
        assert_one_line(run, 2, f"process {serving.process.pid} is writing to it")
        assert kminilog("topic", "create", "views").code == 2


def test_other_host_warns_that_there_is_no_authentication(kminilog):
    with Serving(kminilog, "--host", "0.0.0.0") as serving:
        assert serving.ready.startswith("listening on 0.0.0.0:")
        with serving.client() as client:
            assert client.ask("ApiVersions", 0)["error_code"] == 0
        code, _, err = serving.end(signal.SIGTERM)
        assert code == 143
        assert_one_line(Run(2, "", err), 2, "0.0.0.0", "no authentication")


def test_only_loopback_listens_by_default(kminilog):
    with Serving(kminilog) as serving, pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", serving.port)).close()


def test_clients_are_told_the_address_that_is_advertised(kminilog):
    options = ("--advertise", "broker.example:1234")
    with Serving(kminilog, *options) as serving, serving.client() as client:
        (node,) = client.ask("Metadata", 1, {"topics": None})["brokers"]
        assert (node["host"], node["port"]) == ("broker.example", 1234)


def test_topics_are_created_on_request_only_with_the_option(kminilog):
    three = ("--config", "num.partitions=3")
    for options, code in ((three, 3), ((*three, "--auto-create-topics"), 0)):
        with Serving(kminilog, *options) as serving, serving.client() as client:
            (topic,) = client.ask("Metadata", 1, {"topics": ["new"]})["topics"]
            assert (topic["error_code"], len(topic["partitions"])) == (code, 0 if code else 3)


def test_topic_that_is_broken_is_told_and_the_others_are_served(orders):
    (orders.log_dir / "broken.json").write_text("rubbish")
    with Serving(orders) as serving:
        with serving.client() as client:
            topics = client.ask("Metadata", 1, {"topics": None})["topics"]
        assert [topic["name"] for topic in topics] == ["orders"]
        code, _, err = serving.end(signal.SIGTERM)
        assert code == 143
        assert "broken.json" in err
        assert "Traceback" not in err


def test_what_was_dropped_is_counted_at_the_end(kminilog):
    with Serving(kminilog) as serving:
        with serving.client() as client:
            config = {"configs": [{"name": "message.drop.headers", "value": "true"}]}
            client.ask("CreateTopics", 1, {"topics": [CREATE["topics"][0] | config]})
            assert client.produce(batch_of([(None, b"a")] * 3, headers=[(b"h", b"1")]))
        code, _, err = serving.end(signal.SIGTERM)
    assert code == 143
    assert "3 records had headers, which were not stored" in err
    assert "3 records had timestamps, which were not stored" in err


# ---- what it shows


def test_watch_in_a_pipe_is_an_object_a_line(kminilog):
    with Serving(kminilog, "--watch") as serving, serving.client(client_id="me") as client:
        client.ask("CreateTopics", 1, CREATE)
        client.produce(set_of([(b"k", b"a")]), partition=1)
        client.ask("Fetch", 4, fetched([("orders", 1, 0)]))
        client.ask("ListOffsets", 1, {"topics": [{"name": "no", "partitions": [{}]}]})
        client.ask("Heartbeat", 0, {"group_id": "g"})
        lines = [json.loads(serving.process.stdout.readline()) for _ in range(5)]
    assert [each["api"] for each in lines] == [
        "CreateTopics",
        "Produce",
        "Fetch",
        "ListOffsets",
        "Heartbeat",
    ]
    assert {each["client_id"] for each in lines} == {"me"}
    assert lines[1]["appended"] == [
        {
            "topic": "orders",
            "partition": 1,
            "first_offset": 0,
            "next_offset": 1,
            "segment": f"{0:020d}",
            "bytes": 28,
        }
    ]
    assert lines[2]["fetched"] == [{"topic": "orders", "partition": 1, "offset": 0, "bytes": 28}]
    assert lines[3]["errors"] == ["UNKNOWN_TOPIC_OR_PARTITION"]
    assert (lines[4]["group"], lines[4]["errors"]) == ("g", ["UNKNOWN_MEMBER_ID"])


def test_watch_on_a_terminal_is_a_table(kminilog):
    terminal, end = os.openpty()
    command = [*PROGRAM, "--log-dir", str(kminilog.log_dir), "serve", "--port", "0", "--watch"]
    process = subprocess.Popen(command, stdout=end, stdin=subprocess.DEVNULL, env=environment())
    os.close(end)
    seen = b""
    try:
        while not (found := re.search(rb"listening on 127.0.0.1:(\d+)\r\n", seen)):
            seen += os.read(terminal, 4096)
        with WireClient(int(found[1]), client_id="a\x1b[2Jb") as client:
            client.ask("CreateTopics", 1, CREATE)
            client.produce(set_of([(b"k", b"a")]))
        while b"28" not in seen.rpartition(b"Produce")[2]:
            seen += os.read(terminal, 4096)
    finally:
        process.terminate()
        process.wait()
        os.close(terminal)
    text = " ".join(seen.decode().split())  # a line that is too long is folded
    assert re.match(r"listening on 127.0.0.1:\d+ client API version what it did a\\x1b", text)
    assert f"Produce 3 orders-0 0 to 0 in {0:020d}, 28" in text
    assert "\x1b[2J" not in text


def test_watch_whose_reader_is_gone_ends_as_any_command_does(kminilog):
    with Serving(kminilog, "--watch") as serving, serving.client() as client:
        client.ask("CreateTopics", 1, CREATE)
        serving.process.stdout.readline()
        serving.process.stdout.close()
        client.send("Produce", 3, produced(set_of([(None, b"a")])))
        assert serving.process.stderr.read() == b""
        assert serving.process.wait() == 141
    assert (kminilog.log_dir / CLEAN_SHUTDOWN_FILE).exists()


# ---- beside other commands


def test_other_commands_read_while_it_serves(kminilog):
    with Serving(kminilog) as serving, serving.client() as client:
        client.ask("CreateTopics", 1, CREATE)
        client.produce(set_of([(b"k", b"a")]))
        assert kminilog.ok("consume", "orders", "--until-end", "--json").records[0]["value"] == "a"
        assert "orders" in kminilog.ok("topic", "list").out
        assert kminilog.ok("group", "list").out


def test_documented_topic_of_other_commands_is_served(orders):
    with Serving(orders) as serving, serving.client() as client:
        answer = client.ask("Fetch", 4, fetched([("orders", 0, 0)]))
        assert b"value19" in answer["responses"][0]["partitions"][0]["records"]
        assert client.produce(set_of([(b"k", b"new")]))["base_offset"] == 20
    assert (
        orders.ok("consume", "orders", "--offset", "20", "--until-end", "--json").records[0][
            "value"
        ]
        == "new"
    )


def test_log_dir_after_a_kill_is_served_again(kminilog):
    with Serving(kminilog) as serving:
        with serving.client() as client:
            client.ask("CreateTopics", 1, CREATE)
            client.produce(set_of([(b"k", b"a")]))
        serving.process.kill()
        serving.process.wait()
    with Serving(kminilog) as serving, serving.client() as client:
        assert client.produce(set_of([(b"k", b"b")]))["base_offset"] == 1
        port = serving.port
        assert serving.end(signal.SIGINT)[0] == 130
    with Serving(kminilog, port=port):
        pass  # the same port, at once


def test_damaged_partition_is_an_error_and_the_others_are_served(kminilog):
    with LogDirWriter.open(kminilog.log_dir, create=True) as writer:
        topic = writer.create_topic(Topic("orders", 2))
        for partition in topic.all_partitions():
            writer.log(partition).append([(None, b"value")] * 9)
    log = kminilog.log_dir / "orders-0" / f"{0:020d}.log"
    data = bytearray(log.read_bytes())
    data[40] ^= 1
    log.write_bytes(data)
    (kminilog.log_dir / CLEAN_SHUTDOWN_FILE).unlink()
    with Serving(kminilog) as serving, serving.client() as client:
        damaged = client.ask("Fetch", 4, fetched([("orders", 0, 0)]))
        assert damaged["responses"][0]["partitions"][0]["error_code"] in (0, 56)
        assert client.produce(set_of([(None, b"a")]), partition=1)["base_offset"] == 9
    wait_until(lambda: serving.process.poll() is not None)


def test_help_names_the_options():
    assert "--auto-create-topics" in on_a_terminal("serve", "--help")
