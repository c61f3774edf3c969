"""Slips of the hand, which one line answers; and Kafka's names of classes, taken for ours."""

import pytest

from kminilog.storage.publish.manifests import committed_manifests
from tests.cli.command_line import CommandLine, assert_one_line


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["ls", "--log-dir", "x"], "'--log-dir': write it before the command: "
         "`kminilog --log-dir DIR ls`"),
        (["topic", "list", "--log-dir=x"], "`kminilog --log-dir DIR topic list`"),
        (["consume", "orders", "--cluster", "x"], "`kminilog --cluster DIR consume`"),
        (["find", "orders-0", "0", "--debug"], "`kminilog --debug find`"),
        (["cluster", "describe", "--cluster", "x"], "'--cluster': name the directory after the"),
        (["retain", "--cluster", "x"], "`kminilog --cluster DIR retain`"),
        (["recover", "--cluster", "x"], "name the log dir of a broker: --log-dir DIR/broker-0"),
        (["lab", "list", "--cluster", "x"], "leave it out, no topics are needed"),
    ],
)  # fmt: skip
def test_option_of_kminilog_behind_a_command_says_where_it_belongs(kminilog, arguments, part):
    run = kminilog(*arguments)
    line = [line for line in run.err.splitlines() if line.startswith("kminilog: ")]
    assert (run.code, run.out, len(line)) == (2, "", 1)
    assert part in line[0]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["help"], "No such command 'help'"),
        (["--json", "consume", "-t", "orders", "-C"], "'-t'"),
        (["consume", "orders", "-y"], "No such option '-y'; see `kminilog consume --help`"),
        (["consum"], "Did you mean 'consume'"),
        (["lab", "predict", "1.7", "--answer"], "argument; see `kminilog lab predict --help`"),
        (["--json", "topic", "create", "t", "--partitions"], "see `kminilog topic create --help`"),
        (["--log-dir"], "argument; see `kminilog --help`"),
        (["größe"], "'größe'"),
        (["topic", "lst"], "Did you mean 'list'"),
        (["consume", "orders", "--max-mesages", 3], "Did you mean '--max-messages'"),
    ],
)
def test_slip_of_the_hand_is_one_line(kminilog: CommandLine, arguments, part):
    assert_one_line(kminilog(*arguments), 2, part)
    assert not kminilog.log_dir.exists()


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
