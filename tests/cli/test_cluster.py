"""A cluster in a directory, played by hand: one command after another acts on the same files."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.cluster.broker import Broker
from kminilog.cluster.cluster_files import ClusterFiles
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.cluster.state_file import STATE_FILE
from kminilog.storage.log_dir import partition_directories
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.system import SystemClock
from tests.support.cli.command_line import (
    PROGRAM,
    PROJECT,
    CommandLine,
    Run,
    assert_one_line,
    assert_refused,
    assert_short_form,
    environment,
)
from tests.support.cli.looked_at import lane_words, section, shown, tree
from tests.support.cli.pressed_keys import press_at_call
from tests.support.damage import flip_byte, later_message
from tests.support.processes import Process
from tests.support.storage.losses import first_segment

ROUND = b"0:a\n1:b\n2:c\n3:d\n"
BY_NUMBER = ["--key-separator", ":", "--partitioner", "default-0.8"]
SWITCH = ["--config", "send.switch.broker.enable=true", "--seed", "1"]
END = ["--until-end"]


class Cluster:
    """`kminilog` with one cluster of four brokers."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, *arguments: str, stdin: bytes = b"") -> Run:
        result = CliRunner().invoke(main, arguments, input=stdin)
        return Run(result.exit_code, result.stdout, result.stderr, result.stdout_bytes)

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Run:
        """A command on the topics of the cluster."""
        return self.run("--cluster", str(self.path), *arguments, stdin=stdin)

    def ok(self, *arguments: str, stdin: bytes = b"") -> Run:
        run = self(*arguments, stdin=stdin)
        assert (run.code, run.err) == (0, ""), run
        return run

    def act(self, what: str, *more: str) -> Run:
        """`cluster crash`, `start`, `describe` or `add-broker`."""
        return self.run("cluster", what, str(self.path), *more)

    def produce(self, *options: str, stdin: bytes = ROUND) -> Run:
        return self("produce", "orders", *BY_NUMBER, *options, stdin=stdin)

    def values(self, *options: str) -> list[str]:
        return sorted(self("consume", "orders", *END, *options).out.split())

    def partitions(self) -> list[dict[str, object]]:
        (topic,) = self.act("describe", "orders", "--json").document["topics"]
        assert topic["topic"] == "orders"
        return topic["partitions"]

    def seen(self, name: str) -> list[object]:
        return [one[name] for one in self.partitions()]


@pytest.fixture
def empty(tmp_path: Path, without_fsync: None) -> Cluster:
    cluster = Cluster(tmp_path / "shop")
    assert cluster.act("create", "--brokers", "4").code == 0
    return cluster


def with_copies(cluster: Cluster, replicas: int) -> Cluster:
    cluster.ok("topic", "create", "orders", "--partitions", "4", "--replicas", str(replicas))
    return cluster


@pytest.fixture
def one_copy(empty: Cluster) -> Cluster:
    return with_copies(empty, 1)


@pytest.fixture
def two_copies(empty: Cluster) -> Cluster:
    return with_copies(empty, 2)


# ---- create, describe


def test_create_makes_a_cluster_of_live_brokers(tmp_path):
    path = tmp_path / "new" / "shop"
    run = Cluster(path).act("create", "--brokers", "2")
    assert (run.code, run.out) == (0, f"created a cluster of 2 brokers in {path}\n")
    described = Cluster(path).act("describe", "--json").document
    assert described == {
        "brokers": [{"id": 0, "live": True}, {"id": 1, "live": True}],
        "answered_by": 0,
        "topics": [],
    }
    created = Cluster(tmp_path / "other").act("create", "--brokers", "2", "--json")
    assert created.document == described


def test_create_does_not_touch_what_is_there(empty, tmp_path):
    before = (empty.path / STATE_FILE).read_bytes()
    assert_one_line(empty.act("create", "--brokers", "9"), 2, "there is a cluster already")
    assert (empty.path / STATE_FILE).read_bytes() == before
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("x")
    run = Cluster(tmp_path / "full").act("create", "--brokers", "1")
    assert_one_line(run, 2, "letter.txt is in it; name a new or empty directory")
    run = Cluster(tmp_path / "full" / "letter.txt").act("create", "--brokers", "1")
    assert_one_line(run, 2, "it is a file")


OF_A_LOG_DIR = [
    "ls",
    "topic list",
    "topic create t --partitions 1",
    "produce t",
    "consume orders --until-end",
    "verify",
    "group list",
    "retain",
    "compact orders",
]


def test_log_dir_that_is_a_cluster_says_how_to_name_it(one_copy):
    told = f"it is a cluster; write `kminilog --cluster {one_copy.path}`"
    rows = [(command, told) for command in OF_A_LOG_DIR]
    command = partial(CommandLine(one_copy.path), stdin=b"x\n")
    assert_refused(command, one_copy.path.parent, rows)


def test_log_dir_with_a_topic_named_cluster_is_no_cluster_and_stays_as_it_is(tmp_path):
    log_dir = Cluster(tmp_path)
    options = ["--log-dir", str(tmp_path)]
    assert log_dir.run(*options, "topic", "create", "cluster", "--partitions", "1").code == 0
    before = sorted(tmp_path.rglob("*"))
    told = "its cluster.json has the settings of a topic, so it is a log dir; `kminilog cluster"
    assert_one_line(log_dir.act("describe"), 2, told)
    assert_one_line(log_dir.act("crash", "0"), 2, told)
    assert_one_line(log_dir("ls"), 2, told)
    assert_one_line(log_dir.act("create", "--brokers", "1"), 2, "name a new or empty directory")
    assert sorted(tmp_path.rglob("*")) == before
    assert log_dir.run(*options, "ls").code == 0


def test_create_ends_what_a_killed_create_began(tmp_path):
    (tmp_path / "broker-0").mkdir()
    (tmp_path / ".lock").touch()
    assert Cluster(tmp_path).act("create", "--brokers", "2").code == 0
    (tmp_path / STATE_FILE).unlink()
    (tmp_path / "broker-0" / "orders.json").touch()  # a topic: not from a killed `create`
    assert_one_line(Cluster(tmp_path).act("create", "--brokers", "2"), 2, "broker-0 is in it")


def test_describe_shows_leaders_copies_and_ends(two_copies):
    two_copies.produce("--acks", "-1")
    two_copies.produce(stdin=b"1:x\n")
    two_copies.act("crash", "0")
    assert two_copies.partitions() == [
        {
            "partition": 0,
            "leader": 1,
            "replicas": [0, 1],
            "in_sync": [1],
            "offline": [0],
            "log_end_offset": 1,
            "high_watermark": 1,
        },
        {
            "partition": 1,
            "leader": 1,
            "replicas": [1, 2],
            "in_sync": [1, 2],
            "offline": [],
            "log_end_offset": 2,
            "high_watermark": 1,
        },
        {
            "partition": 2,
            "leader": 2,
            "replicas": [2, 3],
            "in_sync": [2, 3],
            "offline": [],
            "log_end_offset": 1,
            "high_watermark": 1,
        },
        {
            "partition": 3,
            "leader": 3,
            "replicas": [3, 0],
            "in_sync": [3],
            "offline": [0],
            "log_end_offset": 1,
            "high_watermark": 1,
        },
    ]
    lines = two_copies.act("describe").out.splitlines()
    assert lines[:4] == [
        "brokers: 0 down, 1 live, 2 live, 3 live",
        "broker 1 answers; each live broker gives the same answer",
        "",
        "orders (leader, replicas, in sync, offline: numbers of brokers)",
    ]
    assert lines[5].split() == ["0", "1", "0", "1", "1", "0", "1", "1"]
    assert max(map(len, lines)) <= 80


def test_describe_of_many_brokers_fits_a_terminal(tmp_path, without_fsync):
    cluster = Cluster(tmp_path / "many")
    cluster.act("create", "--brokers", "30")
    lines = cluster.act("describe").out.splitlines()
    assert max(map(len, lines)) <= 80
    *states, answer = lines
    told = " ".join(line.strip() for line in states)
    assert told == "brokers: " + ", ".join(f"{node} live" for node in range(30))
    assert answer == "broker 0 answers; each live broker gives the same answer"


def test_any_live_broker_answers_for_the_metadata_and_no_other(one_copy):
    one_copy.act("crash", "2")
    answers = [one_copy.act("describe", "--json", "--ask", str(node)) for node in (0, 1, 3)]
    without_name = [{**run.document, "answered_by": None} for run in answers]
    assert [run.document["answered_by"] for run in answers] == [0, 1, 3]
    assert without_name[0] == without_name[1] == without_name[2]
    down = one_copy.act("describe", "--ask", "2")
    assert_one_line(down, 2, f"broker 2 is down; `kminilog cluster start {one_copy.path} 2`")
    assert_one_line(one_copy.act("describe", "--ask", "7"), 2, "the brokers are 0, 1, 2, 3")


def test_describe_of_a_cluster_that_is_all_down(one_copy):
    for node in "0123":
        one_copy.act("crash", node)
    assert one_copy.seen("leader") == one_copy.seen("high_watermark") == [None] * 4
    run = one_copy.act("describe")
    assert "no broker is live: this is the stored state of the cluster" in run.out
    assert run.code == 0


def test_describe_needs_no_lock_and_writes_nothing(one_copy):
    before = {path: path.stat().st_mtime_ns for path in one_copy.path.rglob("*")}
    one_copy.act("describe")
    one_copy.ok("ls")
    one_copy.ok("topic", "list")
    one_copy.ok("topic", "describe", "orders")
    assert {path: path.stat().st_mtime_ns for path in one_copy.path.rglob("*")} == before


# ---- S4's figures


def test_one_copy_a_broker_dies_and_its_messages_are_lost_or_go_elsewhere(one_copy):
    one_copy.produce()
    assert one_copy.seen("log_end_offset") == [1, 1, 1, 1]
    assert "orders-0: no leader, before: leader 0" in one_copy.act("crash", "0").out
    lost = one_copy.produce()
    assert lost.code == 2
    assert "No leader for partition 0 of topic orders; start a broker" in lost.err
    assert "not written: line 1, all from line 5 on" in lost.err
    assert lost.err.count("\n") == 1
    assert one_copy.seen("log_end_offset") == [None, 2, 2, 2]
    elsewhere = one_copy.produce(*SWITCH)
    assert (elsewhere.code, elsewhere.err) == (0, "")
    ends = one_copy.seen("log_end_offset")
    assert ends[0] is None
    assert sum(ends[1:]) == 6 + 4
    assert "orders-0: leader 0, before: no leader" in one_copy.act("start", "0").out
    one_copy.produce(*SWITCH)
    assert one_copy.seen("log_end_offset") == [2, *(end + 1 for end in ends[1:])]


def test_two_copies_one_down_changes_nothing_and_both_down_is_the_failover(two_copies):
    two_copies.produce("--acks", "-1")
    two_copies.act("crash", "0")
    assert two_copies.produce("--acks", "-1").code == 0
    assert two_copies.seen("log_end_offset") == [2, 2, 2, 2]
    assert two_copies.values() == sorted("abcd" * 2)
    two_copies.act("crash", "1")
    assert two_copies.produce("--acks", "-1").code == 2
    assert two_copies.produce("--acks", "-1", *SWITCH).code == 0
    assert two_copies.seen("leader") == [None, 2, 2, 3]
    two_copies.act("start", "1")
    two_copies.act("start", "0")
    assert two_copies.produce("--acks", "-1").code == 0
    assert two_copies.seen("in_sync") == [[0, 1], [1, 2], [2, 3], [3, 0]]
    assert two_copies.values() == sorted("abcd" * 4 + "bcd")


@pytest.mark.parametrize("dialect", ["documented", "kafka"])
@pytest.mark.parametrize(("acks", "kept"), [
    ("-1", ["a", "b"]), ("all", ["a", "b"]), ("1", ["a"]), ("0", ["a"]),
])  # fmt: skip
def test_acks_say_what_survives_the_leader(empty, dialect, acks, kept):
    empty.ok("topic", "create", "orders", "--partitions", "1", "--replicas", "2",
             "--dialect", dialect)  # fmt: skip
    empty.produce("--acks", "-1", stdin=b"a\n")
    empty.produce("--acks", acks, stdin=b"b\n")
    assert empty.seen("high_watermark") == [len(kept)]
    empty.act("crash", "0")
    assert empty.values() == kept
    empty.produce(stdin=b"c\n")
    empty.act("start", "0")
    assert empty.values() == [*kept, "c"]
    first, second = (
        [file.read_bytes() for file in sorted((empty.path / name / "orders-0").iterdir())]
        for name in ("broker-0", "broker-1")
    )
    assert first == second


def test_acks_all_with_a_thread_waits_for_the_followers_too(two_copies):
    run = two_copies.produce("--acks", "-1", "--config", "linger.ms=1")
    assert (run.code, run.err) == (0, "")
    assert two_copies.seen("high_watermark") == [1, 1, 1, 1]


def test_stats_count_the_retries_for_a_leader_that_is_down(one_copy):
    one_copy.act("crash", "0")
    run = one_copy.produce("--on-failure", "go-on", "--stats", "--json")
    assert run.code == 1
    assert run.records[-1]["stats"]["retries"] == 3


def test_consume_lets_followers_copy_first(two_copies):
    two_copies.produce()
    assert two_copies.seen("high_watermark") == [0, 0, 0, 0]
    assert two_copies.values() == ["a", "b", "c", "d"]
    assert two_copies.seen("high_watermark") == [1, 1, 1, 1]


def test_consume_goes_on_after_a_gap_if_gaps_are_allowed(empty):
    kafka = ["--dialect", "kafka", "--config", "segment.bytes=400"]
    empty.ok("topic", "create", "t", "--partitions", "1", "--replicas", "2", *kafka)
    lines = b"".join(b"value%d\n" % n for n in range(40))
    empty.ok("produce", "t", "--acks", "-1", stdin=lines)
    logs = sorted((empty.path / "broker-0" / "t-0").glob("*.log"))
    lost = range(int(logs[1].stem), int(logs[2].stem))
    logs[1].unlink()
    assert empty("consume", "t", *END).code == 2
    for place in ([], ["--partition", "0"], ["--group", "g"]):
        run = empty("consume", "t", *END, *place, "--json", "--allow-gaps")
        assert run.code == 0
        assert [one["offset"] for one in run.records] == [o for o in range(40) if o not in lost]
        assert f"t-0: a gap: offsets {lost.start} to {lost.stop - 1} are not in" in run.err


def test_start_lets_a_broker_copy_what_it_has_missed(two_copies):
    two_copies.act("crash", "0")
    two_copies.produce()
    run = two_copies.act("start", "0", "--json")
    # Two on its own copies, one each on those of brokers 2 and 3.
    assert run.document == {"broker": 0, "live": True, "copied": 4, "changes": []}
    assert two_copies.seen("in_sync") == [[0, 1], [1, 2], [2, 3], [3, 0]]


def test_crash_leaves_the_files_of_its_broker_as_a_killed_process_does(two_copies):
    two_copies.produce()
    two_copies.act("crash", "0")
    found = [two_copies.path / f"broker-{node}" / CLEAN_SHUTDOWN_FILE for node in range(4)]
    assert [path.exists() for path in found] == [False, True, True, True]


def test_crash_json_names_the_changes(two_copies):
    assert two_copies.act("crash", "0", "--json").document == {
        "broker": 0,
        "live": False,
        "changes": [{"topic": "orders", "partition": 0, "leader": 1, "leader_before": 0}],
    }


# ---- all copies are down


def test_all_copies_down_is_one_clear_line_for_each_command(one_copy):
    one_copy.produce()
    one_copy.act("crash", "0")
    no_leader = "No leader for partition 0 of topic orders; start a broker"
    assert_one_line(one_copy("find", "orders-0", "0"), 2, no_leader)
    assert_one_line(one_copy("consume", "orders", "--partition", "0", *END), 2, no_leader)
    described = one_copy("topic", "describe", "orders", "--json")
    assert (described.code, described.err.count("\n")) == (2, 1)
    assert no_leader in described.err
    assert [found["partition"] for found in described.document["partitions"]] == [1, 2, 3]
    assert_one_line(one_copy("produce", "orders", "--partition", "0", stdin=b"x\n"), 2, no_leader)
    rest = one_copy("consume", "orders", *END)
    left_out = "kminilog: orders-0 has no leader, so it is left out: first start broker 0\n"
    assert (rest.code, rest.err, sorted(rest.out.split())) == (0, left_out, ["b", "c", "d"])
    for node in "123":
        one_copy.act("crash", node)
    run = one_copy("consume", "orders", *END)
    assert_one_line(run, 2, "No leader for any partition in topic orders")


# ---- the other commands


def test_find_reads_the_copy_of_the_leader(two_copies):
    two_copies.produce("--acks", "-1")
    two_copies.act("crash", "0")
    found = two_copies.ok("find", "orders-0", "0", "--json").document
    assert (found["broker"], found["message"]["value"]) == (1, "a")
    assert two_copies.ok("find", "orders-0", "0").out.startswith("broker-1/orders-0/0000")
    assert "step" in two_copies.ok("find", "orders-0", "0", "--explain").out
    assert_one_line(two_copies("find", "orders-0", "1"), 1, "out of range")


def test_ls_lists_the_copies_of_all_brokers(two_copies):
    two_copies.produce("--acks", "-1")
    two_copies.act("crash", "0")
    two_copies.produce(stdin=b"0:x\n")
    segments = two_copies.ok("ls", "orders", "--json").document
    assert [(one["broker"], one["partition"], one["message_count"]) for one in segments] == [
        (0, 0, 1), (1, 0, 2), (1, 1, 1), (2, 1, 1), (2, 2, 1), (3, 2, 1), (3, 3, 1), (0, 3, 1)
    ]  # fmt: skip
    headings, *rows = two_copies.ok("ls").out.splitlines()
    assert headings.split()[:3] == ["broker", "partition", "segment"]
    assert len(rows) == 8


def test_page_of_a_cluster_has_the_copies_and_what_verify_finds_in_each(two_copies, tmp_path):
    two_copies.produce("--acks", "-1")
    two_copies.act("crash", "0")
    two_copies.produce(stdin=b"0:x\n")
    (log,) = (two_copies.path / "broker-0" / "orders-3").glob("*.log")
    flip_byte(log, 14, mask=1)
    file = tmp_path / "page.html"
    assert two_copies.ok("ls", "--html", file).out == f"{file}: 4 partitions, 1 finding\n"
    page = tree(file.read_text())
    (topic,) = two_copies.act("describe", "--json").document["topics"]
    for one in topic["partitions"]:
        words = lane_words(section(page, f"orders-{one['partition']}"))
        copies = {name: said for name, said in words.items() if name.startswith("copy on")}
        assert [int(name.split()[-1]) for name in copies] == one["replicas"]
        leads = copies[f"copy on broker {one['leader']}"]
        ends = f"log end {one['log_end_offset']}, high watermark {one['high_watermark']}"
        assert leads == f"leads: {ends}"
    assert copies["copy on broker 0"].startswith("not in sync, down: ")
    (finding,) = section(page, "orders-3").findall("ol[@class='findings']/li")
    assert shown(finding).startswith("bad-crc, error broker 0: orders-3/")
    assert "broker 0: 1 error: 1 bad-crc." in shown(page.findall(".//header")[0])


def test_page_of_a_cluster_says_that_a_broker_is_not_checked(two_copies, tmp_path):
    shutil.rmtree(two_copies.path / "broker-1")
    file = tmp_path / "page.html"
    told = two_copies("ls", "--html", file)
    assert (told.code, told.out) == (2, f"{file}: 4 partitions, 0 findings\n")
    listed = two_copies("ls")
    assert (listed.code, listed.err) == (2, told.err)
    page = tree(file.read_text())
    (header,) = page.findall(".//header")
    assert header.get("class") == "warning"
    assert shown(header).endswith("broker 1 is not checked.")
    verdicts = [shown(one) for one in page.findall(".//summary/b") if one.get("class")]
    assert verdicts == ["not all copies checked", "not read", "ok", "ok"]


def test_page_of_a_cluster_without_topics_is_in_order(empty, tmp_path):
    empty.ok("ls", "--html", tmp_path / "page.html")
    (header,) = tree((tmp_path / "page.html").read_text()).findall(".//header")
    assert header.get("class") == "ok"


def test_verify_checks_the_files_of_all_brokers(two_copies):
    two_copies.produce("--acks", "-1")
    two_copies.act("crash", "3")
    sound = two_copies.ok("verify")
    assert sound.out.splitlines()[-1].startswith("verdict on 4 brokers: ok; no findings in ")
    assert "partial" not in sound.out
    flip_byte(next((two_copies.path / "broker-3" / "orders-2").glob("*.log")), 15, mask=1)
    run = two_copies("verify", "orders", "--json")
    assert run.code == 1
    report = run.document
    assert report["verdict"] == "findings"
    assert {one["broker"] for one in report["partitions"]} == {0, 1, 2, 3}
    (finding,) = report["findings"]
    assert [sample["broker"] for sample in finding["samples"]] == [3]
    assert finding["count"] == 1
    assert str(two_copies.path / "broker-3") in finding["samples"][0]["command"]
    text = two_copies("verify")
    assert text.code == 1
    assert text.out.splitlines()[-1].startswith("verdict on 4 brokers: findings; 1 error in ")
    allowed = two_copies("verify", "--allow", finding["class"])
    assert allowed.code == 0
    assert_one_line(two_copies("verify", "--report", "x.html"), 2, "--cluster takes none of them")
    assert_one_line(two_copies("verify", "nope"), 2, "Topic nope doesn't exist")


def test_verify_says_that_copies_are_not_compared_with_each_other(two_copies):
    why = "each is checked by itself, not compared with the others"
    where = str(two_copies.path)
    told = {"what": "copies", "where": where, "why": why, "option": None, "asked": False}
    report = two_copies.ok("verify", "--json").document
    assert (report["verdict"], report["unchecked"].count(told)) == ("ok", 1)
    words = " ".join(two_copies.ok("verify", "orders").out.split())
    assert f"not checked: copies of {where}: {why} verdict on 4 brokers: ok;" in words
    two_copies.ok("topic", "create", "alone", "--partitions", "2", "--replicas", "1")
    assert told["why"] not in " ".join(two_copies.ok("verify", "alone").out.split())
    unchecked = two_copies.ok("verify", "alone", "--json").document["unchecked"]
    assert not [one for one in unchecked if one["what"] == "copies"]


def test_verify_finds_copies_that_belong_to_no_topic(two_copies):
    """Also on a broker that should hold no copy of a topic."""
    two_copies.produce("--acks", "-1")
    brokers = [two_copies.path / f"broker-{number}" for number in (0, 1)]
    shutil.copytree(next(brokers[0].glob("orders-*")), brokers[1] / "gone-0")
    (brokers[0] / "orders.json").unlink()
    whole = two_copies("verify", "--json").document
    (found,) = whole["findings"]
    assert (whole["verdict"], found["class"]) == ("findings", "orphan-partition")
    where = {(one["broker"], one["topic"]) for one in found["samples"]}
    assert where == {(0, "orders"), (1, "gone")}
    (found,) = two_copies("verify", "orders", "--json").document["findings"]
    assert {(one["broker"], one["topic"]) for one in found["samples"]} == {(0, "orders")}


def test_topic_list_and_describe_show_what_leaders_have(two_copies):
    two_copies.produce("--acks", "-1")
    assert [one["topic"] for one in two_copies.ok("topic", "list", "--json").document] == ["orders"]
    described = two_copies.ok("topic", "describe", "orders", "--json").document
    assert [one["log_end_offset"] for one in described["partitions"]] == [1, 1, 1, 1]


def test_topic_create_says_how_many_copies_there_are(empty):
    out = empty.ok("topic", "create", "a", "--partitions", "2", "--replicas", "3").out
    assert out == "created topic a: 2 partitions, 3 copies, documented dialect\n"
    out = empty.ok("topic", "create", "b", "--partitions", "1", "--dialect", "kafka").out
    assert out == "created topic b: 1 partition, 1 copy, kafka dialect\n"
    assert empty.ok("topic", "create", "c", "--partitions", "1", "--json").document["topic"] == "c"
    assert_one_line(empty("topic", "create", "a", "--partitions", "1"), 2, "exists already")


def test_topic_that_exists_with_other_copies_is_told(two_copies):
    create = ["topic", "create", "orders", "--partitions", "4", "--if-not-exists"]
    run = two_copies(*create, "--replicas", "3")
    assert run.code == 0
    assert "is different, and stays as it is: 2 copies, not 3" in run.err
    two_copies.ok(*create, "--replicas", "2")
    two_copies.ok(*create)


def test_commands_that_an_error_names_have_the_cluster(two_copies):
    shop = two_copies.path
    listed = f"`kminilog --cluster {shop} topic list`"
    assert_one_line(two_copies.act("describe", "nope"), 2, listed)
    assert_one_line(two_copies("consume", "nope"), 2, listed)
    groups = f"`kminilog --cluster {shop} group list`"
    assert_one_line(two_copies("group", "describe", "nobody"), 2, groups)
    two_copies.produce("--acks", "-1")
    two_copies.values("--group", "readers")
    timeout = ["--config", "consumer.timeout.ms=300"]
    for options in (END, ["--streams", "2", *timeout]):
        run = two_copies(
            "consume", "orders", "--group", "readers", "--offset", "earliest", *options
        )
        assert f"`kminilog --cluster {shop} group reset readers --to" in run.err
    again = two_copies("topic", "create", "orders", "--partitions", "1")
    assert_one_line(again, 2, "exists already; choose another name\n")


def test_create_where_nothing_can_be_written_says_what_to_do(tmp_path):
    run = Cluster(Path("/proc/x")).act("create", "--brokers", "1")
    assert_one_line(run, 2, "/proc/x: ", "name a new or empty directory where you can write")


def test_add_broker_can_hold_copies_of_new_topics(empty):
    assert empty.act("add-broker").out == "broker 4 is live\n"
    empty.ok("topic", "create", "wide", "--partitions", "1", "--replicas", "5")
    assert empty.act("add-broker", "--json").document["broker"] == 5


def test_members_of_a_group_share_a_cluster_and_go_on_after_a_crash(two_copies):
    group = ["--group", "readers", "--offset", "earliest"]
    two_copies.produce("--acks", "-1")
    assert two_copies.values(*group) == ["a", "b", "c", "d"]
    two_copies.act("crash", "0")
    two_copies.produce("--acks", "-1")
    assert two_copies.values(*group) == ["a", "b", "c", "d"]
    assert two_copies.values(*group) == []


def test_groups_of_a_cluster_are_listed_described_reset_and_deleted(two_copies):
    two_copies.produce("--acks", "-1")
    two_copies.values("--group", "readers")
    (group,) = two_copies.ok("group", "list", "--json").document
    assert (group["group"], group["state"]) == ("readers", "Empty")

    def lags() -> list[int]:
        described = two_copies.ok("group", "describe", "readers", "--json").document
        return [one["lag"] for one in described["partitions"]]

    assert lags() == [0, 0, 0, 0]
    shown = two_copies.ok("group", "reset", "readers", "--to", "earliest").out
    assert "would read 4 messages again" in shown
    assert lags() == [0, 0, 0, 0]
    two_copies.ok("group", "reset", "readers", "--topic", "orders:2", "--to", "0", "--yes")
    assert lags() == [0, 0, 1, 0]
    assert two_copies.values("--group", "readers") == ["c"]
    assert "nothing was deleted" in two_copies.ok("group", "delete", "readers").out
    two_copies.ok("group", "delete", "readers", "--yes")
    assert two_copies.ok("group", "list").out == "no groups\n"


def test_group_is_described_though_a_partition_has_no_leader(one_copy):
    one_copy.produce()
    one_copy.values("--group", "readers")
    one_copy.act("crash", "1")
    described = one_copy.ok("group", "describe", "readers", "--json").document
    assert [one["lag"] for one in described["partitions"]].count(None) == 1
    run = one_copy("group", "reset", "readers", "--to", "latest", "--yes")
    assert_one_line(run, 2, "No leader for partition", "start a broker")


def test_group_of_a_cluster_lags_by_what_is_not_committed_yet_and_nothing_is_copied(two_copies):
    two_copies.produce("--acks", "1")
    two_copies.values("--group", "readers")
    two_copies.produce("--acks", "1")
    before = two_copies.seen("high_watermark")
    described = two_copies.ok("group", "describe", "readers", "--json").document
    assert [one["lag"] for one in described["partitions"]] == [1, 1, 1, 1]
    moves = two_copies.ok("group", "reset", "readers", "--to", "latest", "--json").document
    assert [one["new_offset"] for one in moves["partitions"]] == before
    assert two_copies.seen("high_watermark") == before


def test_streams_of_a_group_share_a_cluster(two_copies):
    two_copies.produce("--acks", "-1")
    options = ["--streams", "3", "--group", "readers", "--max-messages", "4"]
    read = two_copies.ok("consume", "orders", *options).out.split()
    assert sorted(read) == ["a", "b", "c", "d"]
    described = two_copies.ok("group", "describe", "readers", "--json").document
    assert [one["committed"] for one in described["partitions"]] == [1, 1, 1, 1]


def test_damaged_broker_is_down_with_a_warning_and_the_rest_goes_on(two_copies):
    two_copies.produce("--acks", "-1")
    log = next((two_copies.path / "broker-0" / "orders-0").glob("*.log"))
    log.unlink()
    log.mkdir()
    run = two_copies.produce("--acks", "-1")
    assert run.code == 0
    assert run.err.startswith("kminilog: broker 0 cannot start, so it is down now: ")
    assert two_copies.seen("leader") == [1, 1, 2, 3]
    assert_one_line(two_copies.act("start", "0"), 2, "not a regular file")


def test_replica_with_messages_of_another_format_is_down_and_keeps_them(two_copies):
    two_copies.produce("--acks", "-1")
    two_copies.act("crash", "0")
    log = next((two_copies.path / "broker-0" / "orders-0").glob("*.log"))
    log.write_bytes(log.read_bytes() + later_message(3, 99, b"value"))
    before = log.read_bytes()
    assert_one_line(two_copies.act("start", "0"), 2, "an unknown format; 0 whole messages after it")
    assert log.read_bytes() == before


def test_topic_has_the_same_id_on_all_brokers(two_copies):
    described = two_copies.ok("topic", "describe", "orders", "--json").document
    found = {LogDir(two_copies.path / f"broker-{n}").topic_id("orders") for n in range(4)}
    assert found == {described["topic_id"]}
    assert None not in found


@pytest.mark.parametrize("dialect", ["documented", "kafka"])
def test_broker_whose_topic_was_replaced_is_refused_by_readers_and_by_the_cluster(empty, dialect):
    options = ["--partitions", "1", "--replicas", "2", "--dialect", dialect]
    empty.ok("topic", "create", "orders", *options)
    empty("produce", "orders", "--acks", "-1", stdin=ROUND)
    alone = ["--log-dir", str(empty.path / "broker-0")]
    empty.run(*alone, "topic", "delete", "orders", "--yes")
    empty.run(*alone, "topic", "create", "orders", "--partitions", "1")
    empty.run(*alone, "produce", "orders", stdin=b"strange\n" * 9)
    told = "broker-0: its topic orders has the id "
    assert_one_line(empty("consume", "orders", *END), 2, told, "put the files of that topic back")
    run = empty("produce", "orders", "--acks", "-1", stdin=ROUND)
    assert run.code == 0
    assert run.err.startswith("kminilog: broker 0 cannot start, so it is down now: ")
    assert told in run.err
    assert empty.values() == sorted(["0:a", "1:b", "2:c", "3:d"] * 2)


def test_leader_that_lost_its_end_is_told_by_consume_and_describe(empty):
    empty.ok("topic", "create", "orders", "--partitions", "1", "--replicas", "2")
    empty("produce", "orders", "--acks", "-1", stdin=ROUND)
    os.truncate(next((empty.path / "broker-0" / "orders-0").glob("*.log")), 40)
    told = "the leader of orders-0 has lost offsets 1..3, which were committed; put its files back"
    run = empty("consume", "orders", *END)
    assert (run.code, run.out) == (2, "0:a\n")
    assert run.err.count("\n") == 1
    assert told in run.err
    described = empty.act("describe", "--json")
    assert (described.code, described.err.count("\n")) == (2, 1)
    assert told in described.err
    (partition,) = described.document["topics"][0]["partitions"]
    assert (partition["log_end_offset"], partition["high_watermark"]) == (1, 4)


def test_leader_that_lost_its_start_is_told_by_consume_and_find(empty):
    config = ["--config", "segment.bytes=60"]
    empty.ok("topic", "create", "orders", "--partitions", "1", "--replicas", "2", *config)
    empty("produce", "orders", "--acks", "-1", stdin=ROUND)
    first_segment(empty.path / "broker-0" / "orders-0")
    told = "orders-0: offsets 0 to 1 are gone; retention has not deleted them"
    for command in (["consume", "orders", *END], ["find", "orders", "--key", "d"]):
        run = empty(*command)
        assert (run.code, run.err.splitlines()[0]) == (1, f"kminilog: {told}")
    assert_one_line(empty("find", "orders-0", "0"), 1, "out of range", told.partition(": ")[2])


def test_a_copy_that_is_lost_changes_nothing(two_copies):
    two_copies.produce("--acks", "-1")
    next((two_copies.path / "broker-0" / "orders-0").glob("*.log")).unlink()
    run = two_copies.produce("--acks", "-1")
    assert run.code == 0
    assert "broker 0: it has lost offsets 0..0 of orders-0, so it copies them from" in run.err
    assert two_copies.values() == sorted("abcd" * 2)
    assert two_copies.seen("leader") == [1, 1, 2, 3]
    two_copies.act("crash", "1")
    assert two_copies.values() == sorted("abcd" * 2)


def test_ls_and_verify_show_the_rest_if_the_files_of_a_broker_are_gone(two_copies):
    two_copies.produce("--acks", "-1")
    shutil.rmtree(two_copies.path / "broker-0")
    for gone in ("no such directory", "its topic orders is gone"):
        told = f"{two_copies.path}/broker-0: {gone}; put its files back\n"
        listed = two_copies("ls", "--json")
        assert (listed.code, listed.err) == (2, f"kminilog: log dir {told}")
        assert [one["broker"] for one in listed.document] == [1, 1, 2, 2, 3, 3]
        verified = two_copies("verify")
        assert (verified.code, verified.err.count("\n")) == (2, 1)
        assert verified.err == f"kminilog: broker 0 is not checked: log dir {told}"
        last = verified.out.splitlines()[-1]
        assert last.startswith("verdict on 3 of 4 brokers: partial; no findings in ")
        assert last.endswith("; broker 0 is not checked")
        report = two_copies("verify", "--json").document
        assert report["verdict"] == "partial"
        assert [one["what"] for one in report["unchecked"] if one["where"] == "broker 0"]
        if gone == "no such directory":
            assert_one_line(two_copies("find", "orders-0", "0"), 2, told.strip())
            assert_one_line(two_copies("consume", "orders", "--partition", "0", *END), 2, gone)
            two_copies.produce()  # from now on broker 1 leads, and broker 0 has an empty log dir
    assert two_copies.ok("find", "orders-0", "0").out.startswith("broker-1/")


def test_verify_says_which_brokers_have_nothing_to_check(empty):
    empty.ok("topic", "create", "orders", "--partitions", "2")
    *_, last = empty.ok("verify").out.splitlines()
    held = "no findings in 4 partitions, 4 segments, 0 whole messages, 0 bytes"
    verdict = f"verdict on 2 of 4 brokers: ok; {held}"
    assert last == f"{verdict}; broker 2 has no copy; broker 3 has no copy"
    assert_one_line(empty("verify", "--partitioner", "nope"), 2, "nope")


# ---- odd input


WRONG = [
    ("crash 9", "there is no broker 9; the brokers are 0, 1, 2, 3"),
    ("start 9", "there is no broker 9"),
    ("start 0", "broker 0 is live already"),
    ("crash x", "'x' is not a valid integer", "cluster crash --help"),
    ("crash -- -1", "there is no broker -1"),
    ("crash '٣'", "broker 3"),
    ("crash", "Missing argument 'BROKER'"),
    ("describe 'nö'", "illegal topic name"),
    ("describe nope", "Topic nope doesn't exist"),
    ("describe orders more", "unexpected extra argument"),
    ("add-broker 7", "unexpected extra argument"),
    ("create", "Missing option '--brokers'"),
    ("create --brokers 0", "0 is not in the range 1<=x<=100"),
    ("create --brokers 101", "101 is not in the range 1<=x<=100"),
    ("create --brokers many", "'many' is no whole number"),
]


def test_odd_input_of_cluster_commands_is_one_line(one_copy):
    one_copy.act("crash", "3")
    assert_refused(one_copy.act, one_copy.path.parent, WRONG)


WRONG_WITH_A_CLUSTER = [
    ("topic create x --partitions 1 --replicas 5", "4 available brokers"),
    ("topic create x --partitions 1 --replicas 0", "factor 0 with 4"),
    ("topic create x --partitions 1 --replicas -1", "factor -1 with 4"),
    ("topic create x --partitions 1 --replicas ''", "not a valid integer"),
    ("topic delete orders", "`kminilog cluster create DIR --brokers N`"),
    ("topic delete orders --yes", "keeps its topics", "begin with a new cluster"),
    ("topic alter orders --partitions 9", "create another one", "shop topic"),
    ("topic alter orders --config segment.bytes=9", "topic create NAME"),
    ("verify --engine spark", "leave out --engine spark"),
    ("recover orders-0", "`recover` does not take --cluster", "shop/broker-0"),
    ("step record", "`step` does not take --cluster", "shop/broker-0"),
    ("dump x", "`dump` does not take --cluster: leave it out", "broker-0/TOPIC-0/FILE"),
    ("ingest x --topic y", "`ingest` does not take", "shop produce TOPIC FILE`"),
    ("demo", "`demo` does not take --cluster: leave it out"),
    ("partition --partitions 2", "`partition` does not take --cluster: leave it out"),
    ("lab list", "`lab` does not take --cluster: leave it out"),
    ("consume orders --streams 2", "--streams needs --group"),
    ("consume orders --streams 2 --group g --until-end", "has no --until-end"),
    ("group describe g", "Group g doesn't exist"),
    ("group reset g --to latest", "Group g doesn't exist"),
    ("group delete g", "Group g doesn't exist"),
    ("cluster describe x", "name the directory after the command"),
    ("produce nope", "Topic nope doesn't exist"),
    ("produce orders --partition 4", "record: 4 is not in the range [0...3]"),
    ("consume nope", "Topic nope doesn't exist"),
    ("find nope-0 0", "Topic nope doesn't exist"),
    ("ls nope", "Topic nope doesn't exist"),
]


def test_odd_input_with_a_cluster_is_one_line(one_copy):
    # Each opens the log dirs of all brokers, which is counted there.
    assert_refused(one_copy, one_copy.path.parent, WRONG_WITH_A_CLUSTER, without=(".changes",))


COMMANDS = [
    "ls",
    "topic list",
    "verify",
    "group list",
    "group describe g",
    "group reset g --to latest",
    "group delete g",
    "produce x",
    "consume x",
    "find x-0 0",
]


def test_no_cluster_is_one_line(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        said = (f"{path}: not a cluster", "`kminilog cluster create DIR")
        assert_refused(Cluster(path), tmp_path, [(command, *said) for command in COMMANDS])


def test_cluster_and_log_dir_exclude_each_other(one_copy, monkeypatch):
    run = one_copy.run("--log-dir", "x", "--cluster", str(one_copy.path), "ls")
    assert_one_line(run, 2, "give --log-dir or --cluster, not both")
    monkeypatch.setenv("KMINILOG_LOG_DIR", "elsewhere")
    one_copy.ok("ls")
    run = one_copy.run("--log-dir", "x", "topic", "create", "y", "--partitions", "1",
                       "--replicas", "1")  # fmt: skip
    assert_one_line(run, 2, "--replicas needs --cluster")


def test_empty_name_of_a_directory_is_refused(one_copy):
    assert_one_line(one_copy.run("--cluster", "", "ls"), 2, "the name is empty")
    assert_one_line(one_copy.run("cluster", "create", "", "--brokers", "1"), 2, "name is empty")


def test_cluster_of_another_name_than_ascii(tmp_path):
    cluster = Cluster(tmp_path / "集群 1")
    assert cluster.act("create", "--brokers", "1").code == 0
    cluster.ok("topic", "create", "orders", "--partitions", "1")
    assert cluster.produce(stdin="你好\n".encode()).code == 0
    assert cluster.values() == ["你好"]


@pytest.mark.parametrize(
    "change",
    [
        {"brokers": [{"id": "../../x", "live": True}]},
        {"brokers": []},
        {"partitions": {"../x-0": {}}},
        {"topics": [{"topic": "../x", "partitions": 1, "dialect": "kafka", "config": {}}]},
    ],
)
def test_state_that_somebody_changed_is_refused_by_every_command(one_copy, change):
    file = one_copy.path / STATE_FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    for run in (
        one_copy("ls"),
        one_copy("topic", "list"),
        one_copy("verify"),
        one_copy.produce(),
        one_copy("consume", "orders", *END),
        one_copy.act("describe"),
        one_copy.act("crash", "0"),
        one_copy.act("add-broker"),
    ):
        assert_one_line(run, 2, "cluster.json holds no state of a cluster", "mend it")


def test_state_that_is_no_file_is_one_line(one_copy):
    (one_copy.path / STATE_FILE).unlink()
    os.mkfifo(one_copy.path / STATE_FILE)
    assert_one_line(one_copy.act("describe"), 2, "not a regular file")
    assert_one_line(one_copy.produce(), 2, "not a regular file")


@pytest.mark.processes
@pytest.mark.parametrize("module", ["ls.command", "find", "topic", "produce.command"])
def test_command_without_cluster_does_not_load_one(module):
    loaded = "'kminilog.cluster.mini_cluster' in sys.modules"
    code = f"import sys, kminilog.cli.{module}; print({loaded})"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PROJECT)
    assert done.stdout == "False\n"


# ---- several processes


def start(cluster: Cluster, *arguments: str, **options: Any) -> Process[bytes]:
    command = [*PROGRAM, "--cluster", str(cluster.path), *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return Process(command, env=environment(), **pipes, **options)


@pytest.mark.processes
def test_consumer_waits_while_others_produce_and_let_brokers_die(two_copies):
    with start(two_copies, "consume", "orders") as consumer:
        assert consumer.stdout
        assert consumer.stderr
        for acks, node in (("1", "0"), ("-1", "2")):
            assert two_copies.produce("--acks", acks, stdin=b"0:x\n").code == 0
            assert consumer.stdout.readline() == b"x\n"
            assert two_copies.act("crash", node).code == 0
        assert two_copies.produce("--acks", "-1", stdin=b"0:last\n").code == 0
        assert consumer.stdout.readline() == b"last\n"
        consumer.send_signal(signal.SIGINT)
        assert (consumer.stdout.read(), consumer.stderr.read()) == (b"", b"")
        assert consumer.wait() == 130


@pytest.mark.processes
def test_killed_producer_leaves_a_cluster_that_goes_on(two_copies):
    options = [*BY_NUMBER, "--acks", "-1", "--json"]
    with start(two_copies, "produce", "orders", *options, stdin=subprocess.PIPE) as producer:
        assert producer.stdin
        assert producer.stdout
        producer.stdin.write(ROUND)
        producer.stdin.flush()
        acknowledged = [json.loads(producer.stdout.readline()) for _ in range(4)]
        assert [one["offset"] for one in acknowledged] == [0, 0, 0, 0]
        assert two_copies.act("describe").code == 0
        producer.kill()
        producer.wait()
    assert two_copies.values() == ["a", "b", "c", "d"]
    assert two_copies.produce("--acks", "-1").code == 0
    assert two_copies.seen("in_sync") == [[0, 1], [1, 2], [2, 3], [3, 0]]
    assert "verdict on 4 brokers: ok;" in two_copies.ok("verify").out.splitlines()[-1]


def test_second_writer_waits_and_then_says_who_has_the_cluster(two_copies, monkeypatch):
    monkeypatch.setattr("kminilog.cli.shared.clusters.LOCK_TIMEOUT_MS", 0)
    with closing(MiniCluster.reopen(two_copies.path, clock=SystemClock())) as cluster:
        for run in (two_copies.act("crash", "0"), two_copies.produce()):
            assert_one_line(run, 2, f"{two_copies.path}: process {os.getpid()} is writing")
        cluster.replicate()


# ---- interrupts


def test_interrupt_of_cluster_commands_comes_between_brokers_and_partitions(
    tmp_path, monkeypatch, without_fsync
):
    """What was begun can be done again, also with other settings."""
    cluster = Cluster(tmp_path / "shop")
    with monkeypatch.context() as patch:
        called = press_at_call(patch, Broker, "start", 2)
        assert (cluster.act("create", "--brokers", "5").code, len(called)) == (130, 2)
    assert cluster.act("create", "--brokers", "5").code == 0

    topic = ["topic", "create", "q", "--replicas", "3", "--partitions"]
    made, opened = (partition_directories, "_make_segment"), (LogDirWriter, "log")
    steps = [
        (*made, 10, 50),
        (*made, 70, 110),
        (*opened, 1, 1),
        (*opened, 10, 10),
        (*opened, 99, 99),
    ]
    for owner, name, last, all_calls in steps:
        with monkeypatch.context() as patch:
            called = press_at_call(patch, owner, name, last)
            assert (cluster(*topic, "60").code, len(called)) == (130, all_calls)
        assert not ClusterFiles(cluster.path).topics()
        assert not list(cluster.path.glob("broker-*/q*"))

    with_messages = cluster.path / "broker-1" / "q-99" / f"{0:020}.log"
    with_messages.parent.mkdir()
    with_messages.write_bytes(b"a message")
    with monkeypatch.context() as patch:
        press_at_call(patch, *made, 10)
        assert cluster(*topic, "60").code == 130
    assert with_messages.read_bytes() == b"a message"
    shutil.rmtree(with_messages.parent)
    cluster.ok(*topic, "10")

    assert cluster.act("crash", "0").code == 0
    with monkeypatch.context() as patch:
        called = press_at_call(patch, LogDirWriter, "log", 3)
        assert (cluster.act("start", "0").code, len(called)) == (130, 3)
    assert cluster.act("start", "0").out.startswith("broker 0 is live")
    assert len(ClusterFiles(cluster.path).state().live) == 5


@pytest.mark.parametrize("length", [243, 246, 247, 249])
def test_topic_with_a_name_of_any_legal_length_works(empty, length):
    empty.ok("topic", "create", "n" * length, "--partitions", "2", "--replicas", "2")
    empty.ok("produce", "n" * length, stdin=b"a\nb\n")
    assert sorted(empty.ok("consume", "n" * length, "--until-end").out.split()) == ["a", "b"]


# ---- retention


HOUR_MS = 3_600_000


@pytest.fixture
def aged(tmp_path: Path, without_fsync: None) -> Cluster:
    """`old` on brokers 0 (it leads), 1 and 2, in segments of two messages, written at the epoch.

    The copies of the followers are newer, by their files.
    """
    cluster = Cluster(tmp_path / "shop")
    assert cluster.act("create", "--brokers", "3").code == 0
    config = ["--config", "segment.bytes=60", "--config", f"retention.ms={HOUR_MS}"]
    cluster.ok("topic", "create", "old", "--partitions", "1", "--replicas", "3", *config)
    cluster.ok("produce", "old", "--acks", "-1", stdin=b"a\nb\nc\nd\ne\nf\ng\n")
    for broker in range(3):
        for log in (cluster.path / f"broker-{broker}" / "old-0").glob("*.log"):
            os.utime(log, (broker * 36000, broker * 36000))
    return cluster


def segments_of(cluster: Cluster, broker: int) -> list[str]:
    directory = cluster.path / f"broker-{broker}" / "old-0"
    return sorted(path.stem for path in directory.glob("*.log"))


def newest_again(cluster: Cluster, count: int) -> None:
    """The last segments of the leader were written just now."""
    directory = cluster.path / "broker-0" / "old-0"
    for log in sorted(directory.glob("*.log"))[-count:]:
        os.utime(log, (9 * HOUR_MS // 1000, 9 * HOUR_MS // 1000))


def test_retain_in_a_cluster_deletes_the_same_segments_of_all_copies(aged):
    newest_again(aged, 2)
    before = segments_of(aged, 0)
    assert len(before) == 4
    planned = aged.ok("retain", "--now", str(9 * HOUR_MS), "--dry-run", "--json").document
    assert [segments_of(aged, broker) for broker in range(3)] == [before] * 3
    done = aged.ok("retain", "--now", str(9 * HOUR_MS), "--json").document
    assert done["deleted_segments"] == planned["deleted_segments"]
    assert [(one["broker"], one["segment"]) for one in done["deleted_segments"]] == [
        (broker, segment) for broker in (1, 2, 0) for segment in before[:2]
    ]
    assert {one["reason"] for one in done["deleted_segments"]} == {"retention.ms"}
    assert [segments_of(aged, broker) for broker in range(3)] == [before[2:]] * 3
    assert aged.ok("consume", "old", "--until-end").out == "e\nf\ng\n"
    assert aged.ok("verify", "old").code == 0
    assert aged.ok("retain", "--now", str(9 * HOUR_MS)).out == "nothing to delete\n"


def test_retain_dry_run_in_a_cluster_names_a_copy_that_a_run_refuses(aged):
    copy = aged.path / "broker-1" / "old-0" / f"{segments_of(aged, 1)[1]}.log"
    flip_byte(copy, 14, mask=1)
    for name in (CLEAN_SHUTDOWN_FILE, "recovery-point-offset-checkpoint"):
        (aged.path / "broker-1" / name).unlink()
    planned = aged("retain", "--now", str(9 * HOUR_MS), "--dry-run", "--json")
    assert (planned.code, planned.document["deleted_segments"]) == (2, [])
    assert f"{copy}, byte 0: damaged" in planned.err
    done = aged("retain", "--now", str(9 * HOUR_MS))
    assert f"{copy}, byte 0: damaged" in done.err


def test_retain_in_a_cluster_keeps_what_a_copy_that_is_down_does_not_have(aged):
    """Else it could not go on where it was."""
    assert aged.act("crash", "2").code == 0
    aged.ok("produce", "old", "--acks", "1", stdin=b"h\ni\nj\n")
    for log in (aged.path / "broker-0" / "old-0").glob("*.log"):
        os.utime(log, (0, 0))
    before = segments_of(aged, 2)
    run = aged("retain", "--now", str(9 * HOUR_MS))
    assert (run.code, run.err) == (0, "kminilog: broker 2 is down: its copies stay as they are\n")
    assert f"deleted: broker-1/old-0/{before[0]}, " in run.out
    assert segments_of(aged, 2) == before
    assert segments_of(aged, 0) == segments_of(aged, 1)
    assert aged.ok("consume", "old", "--until-end").out == "h\ni\nj\n"
    assert aged.act("start", "2").code == 0
    aged.ok("produce", "old", "--acks", "-1", stdin=b"k\n")
    aged.ok("retain", "--now", str(9 * HOUR_MS))
    assert not set(before) & set(segments_of(aged, 2))
    assert aged.ok("consume", "old", "--until-end").out == "k\n"
    aged.ok("verify", "old")


def test_retain_in_a_cluster_keeps_where_a_copy_that_is_down_may_differ(aged):
    """Else nobody could find the difference later: what the old leader has would count as agreed.

    It has an uncommitted `lost` at the offsets of messages that were committed since.
    """
    aged.ok("produce", "old", "--acks", "1", stdin=b"lost 1\nlost 2\nlost 3\n")
    assert aged.act("crash", "0").code == 0
    aged.ok("produce", "old", "--acks", "-1", stdin=b"h\ni\nj\nk\nl\nm\n")
    for log in aged.path.glob("broker-*/old-0/*.log"):
        os.utime(log, (0, 0))
    assert aged("retain", "--now", str(9 * HOUR_MS)).code == 0
    assert segments_of(aged, 1) == segments_of(aged, 2) != segments_of(aged, 0)
    assert aged.act("start", "0").code == 0
    for broker in "12":
        assert aged.act("crash", broker).code == 0
    # What was deleted while broker 0 was down does not come back with it, either.
    assert aged.ok("consume", "old", "--until-end").out.split() == list("hijklm")


def test_retain_in_a_cluster_trims_a_copy_that_was_down_at_the_last_one(aged):
    """Else deleted messages come back as soon as that copy leads."""
    newest_again(aged, 2)
    assert aged.act("crash", "2").code == 0
    assert aged("retain", "--now", str(9 * HOUR_MS)).code == 0
    assert len(segments_of(aged, 2)) == len(segments_of(aged, 0)) + 2
    assert aged.act("start", "2").code == 0
    aged.ok("retain", "--now", str(9 * HOUR_MS))
    assert segments_of(aged, 2) == segments_of(aged, 0)
    for broker in "01":
        assert aged.act("crash", broker).code == 0
    assert aged.ok("consume", "old", "--until-end").out == "e\nf\ng\n"


def test_retain_in_a_cluster_of_everything_goes_on_at_the_same_offset(aged):
    for broker in range(3):
        assert len(segments_of(aged, broker)) == 4
    aged.ok("retain", "--now", str(10**12))
    assert [len(segments_of(aged, broker)) for broker in range(3)] == [1] * 3
    produced = aged.ok("produce", "old", "--acks", "-1", stdin=b"h\n").out
    assert produced == "old-0: offsets 7..7 (1 message)\n"
    aged.ok("verify", "old")
    assert aged.ok("consume", "old", "--until-end").out == "h\n"


def test_retain_in_a_cluster_leaves_a_partition_without_a_leader_and_says_so(aged):
    for broker in "012":
        assert aged.act("crash", broker).code == 0
    run = aged("retain", "--now", str(10**12))
    assert run.code == 2
    assert "No leader for partition 0 of topic old" in run.err
    assert [len(segments_of(aged, broker)) for broker in range(3)] == [4] * 3


# ---- `cluster demo`: both figures as text and as JSON


def last_table(lines):
    """The cells of the table of the last step, without the rows' marks."""
    shown = [line.replace("→", "").split() for line in lines]
    return shown[max(number for number, row in enumerate(shown) if row[:1] == ["second"]) :]


def test_cluster_demo_shows_both_replays_second_by_second(kminilog):
    title = "Where messages go when a broker dies, with send.switch.broker.enable = "
    run = kminilog.ok("cluster", "demo")
    _, on, off = run.out.split(title)
    for replay, value, outcome in (
        (on, "true", "72 of 72 messages acknowledged, 0 lost."),
        (off, "false", "66 of 72 messages acknowledged, 6 lost: those for partition 0"),
    ):
        lines = replay.splitlines()
        assert lines[0] == value
        headings, *seconds = last_table(lines)
        assert headings == ["second", "p0", "p1", "p2", "p3", "retries", "lost", "what", "happens"]
        assert seconds[0] == ["0", "2", "2", "2", "2", "0", "0"]
        assert seconds[3][:2] == ["3", "0"]
        assert seconds[3][-3:] == ["broker", "0", "dies"]
        assert seconds[6] == ["6", "2", "2", "2", "2", "0", "0", "broker", "0", "returns"]
        assert outcome in replay
    assert "No leader for partition 0" in " ".join(off.split())
    assert not kminilog.log_dir.exists()


@pytest.mark.parametrize(
    "options", [["--switch", "on", "--seed", 7], ["--switch", "off", "--on-failure", "stop"]]
)
def test_cluster_demo_is_the_step_through_of_a_failover_in_short(kminilog, options):
    assert_short_form(kminilog, kminilog.ok("cluster", "demo", *options).out.splitlines(), options)


@pytest.mark.parametrize("seed", [0, 1])
def test_cluster_demo_json_has_the_same_figures(kminilog, seed):
    document = kminilog.ok("cluster", "demo", "--seed", seed, "--json").document
    on, off = document["replays"]
    assert (on["switch"], on["acknowledged"], on["lost"]) == (True, 72, 0)
    assert (off["switch"], off["acknowledged"], off["lost"]) == (False, 66, 6)
    dead = off["seconds"][3]
    assert dead["partitions"] == {"0": 0, "1": 2, "2": 2, "3": 2}
    assert (dead["event"], dead["retries"], dead["lost"]) == ("broker 0 dies", 3, 2)
    assert dead["error"].startswith("No leader")
    assert off["seconds"][6]["event"] == "broker 0 returns"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--switch off --seed 1", "--seed changes nothing here: nothing is chosen at random"),
        ("--switch on --on-failure stop", "--on-failure changes nothing here: no message is lost"),
        ("--switch off --partitioner round-robin --seed 1", "--seed changes nothing here"),
    ],
)
def test_cluster_demo_option_that_cannot_act_is_refused(kminilog, tmp_path, options, said):
    assert_refused(kminilog, tmp_path, [(options, said)], "cluster", "demo")


def test_cluster_demo_can_stop_at_the_first_loss(kminilog):
    run = kminilog.ok("cluster", "demo", "--switch", "off", "--on-failure", "stop", "--json")
    (off,) = run.document["replays"]
    assert (len(off["seconds"]), off["lost"]) == (4, 2)
    assert off["seconds"][-1]["event"].endswith("the sender stops")


def test_cluster_demo_shows_what_another_partitioner_does(kminilog):
    run = kminilog.ok("cluster", "demo", "--switch", "off", "--partitioner", "round-robin")
    title, *lines = run.out.splitlines()
    assert title == "round-robin, send.switch.broker.enable off"
    headings, *seconds = last_table(lines)
    assert headings == ["second", "p0", "p1", "p2", "p3", "lost", "what", "happens"]
    assert seconds[3][:2] == ["3", "0"]
    assert seconds[3][-3:] == ["broker", "0", "dies"]
    assert lines[-1] == "72 messages acknowledged, 0 lost."
