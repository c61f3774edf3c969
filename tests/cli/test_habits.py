"""Words of Kafka's scripts and of kcat: each is answered with words that exist here."""

import re
import shlex

import click
import pytest

from kminilog.cli.habits import COMMANDS, EVERYWHERE, OPTIONS
from kminilog.cli.main import main
from kminilog.storage.publish.manifests import committed_manifests
from tests.cli.command_line import CommandLine, assert_one_line

PLACEHOLDERS = re.compile(r"[A-Z]+|NAME=VALUE|batch\.size=N|consumer\.timeout\.ms=N")
ANSWERS = [
    (command, word, answer)
    for command, words in OPTIONS.items()
    for word, answer in {**EVERYWHERE, **words}.items()
]


def command_named(path: str) -> tuple[click.Command, list[str]]:
    """Return a command, and the words of the line behind it."""
    command: click.Command = main
    context = click.Context(main)
    _, *words = shlex.split(path)
    while words and isinstance(command, click.Group):
        below = command.get_command(context, words[0])
        if below is None:
            break
        command, words = below, words[1:]
    return command, words


def options_of(command: click.Command) -> set[str]:
    return {opt for param in command.get_params(click.Context(command)) for opt in param.opts}


def assert_exists(answer: str, called: str) -> None:
    """Assert that an answer names something in backquotes, and that all of it exists."""
    quoted = re.findall(r"`(.*?)`", answer.format(command=called))
    assert quoted, answer
    for one in quoted:
        line = one if one.startswith("kminilog") else f"{called} {one}"
        command, words = command_named(line)
        for word in words:
            if word.startswith("--"):
                assert word in options_of(command), (one, called)
            elif word not in ("earliest", "latest", "-N"):
                assert PLACEHOLDERS.fullmatch(word), (one, called)
        has_arguments = [param for param in command.params if isinstance(param, click.Argument)]
        named = [word for word in words[:2] if PLACEHOLDERS.fullmatch(word)]
        assert has_arguments or not named or words[0].startswith("--"), (one, called)


@pytest.mark.parametrize(("called", "word", "answer"), ANSWERS)
def test_habit_is_answered_with_a_word_that_exists(kminilog, called, word, answer):
    command, rest = command_named(called)
    assert rest == []
    assert word not in options_of(command), "it exists: nothing has to be answered"
    assert_exists(answer, called)
    _, *words = called.split()
    run = kminilog(*words, word)
    assert_one_line(run, 2, f"No such option '{word}': {answer.format(command=called)}; see `")


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


@pytest.mark.parametrize("word", COMMANDS)
def test_name_of_a_script_is_answered_with_a_command_that_exists(kminilog, word):
    assert_exists(COMMANDS[word], "kminilog")
    for name in (word, f"{word}.sh"):
        run = kminilog(name, "--topic", "orders")
        assert_one_line(run, 2, f"No such command '{name}': {COMMANDS[word]}; see")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["help"], "write `kminilog --help`, or `kminilog COMMAND --help` for one command"),
        (["help", "consume"], "`kminilog COMMAND --help`"),
        (["topic", "help"], "write `kminilog topic --help`"),
        (["group", "help"], "write `kminilog group --help`"),
        (["consume", "orders", "-n", 5], "write `--max-messages N`"),
        (["consume", "orders", "-n5"], "'-n': write `--max-messages N`"),
        (["consume", "orders", "--from-beginning"], "leave it out"),
        (["consume", "--topic=orders"], "`kminilog consume TOPIC`"),
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
def test_habit_or_a_slip_of_the_hand_is_one_line(kminilog: CommandLine, arguments, part):
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
