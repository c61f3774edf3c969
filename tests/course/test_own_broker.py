"""`lab run all`: one's own functions of all labs make one broker, and its files are the same."""

import json
import shlex
from pathlib import Path

import pytest

from kminilog.course.judging.patching import library_answer
from kminilog.course.judging.sandbox import run_module
from kminilog.course.material import all_labs
from kminilog.course.teaching.decisions import decisions

pytestmark = pytest.mark.processes

LINES = "".join(f"k{number % 3}:value {number}\n" for number in range(20))
SMALL = "--config batch.size=60"
EXAMPLES = "kminilog.partitioners.examples"
OF_A_TOPIC = "--partitions 3 --config segment.bytes=200 --config index.interval.bytes=60"
FOUR = {"demo", "produce", "consume", "verify"}
"""The commands that call the seams; the others below make what they work on."""
COMMANDS = [
    "demo --documents --keep demo",
    f"topic create orders {OF_A_TOPIC}",
    f"topic create views {OF_A_TOPIC} --dialect kafka",
    "produce orders lines.txt --key-separator :",
    "produce views lines.txt --key-separator :",
    "TEAR",
    "produce orders lines.txt --key-separator :",
    f"produce orders lines.txt --partitioner round-robin {SMALL}",
    f"produce views lines.txt --partitioner built-in --seed 1 {SMALL}",
    f"produce orders lines.txt --key-separator : {SMALL} --config buffer.memory=60 "
    "--config linger.ms=60000",
    "produce orders lines.txt --partitioner default-0.8 --key-separator :",
    f"produce orders lines.txt --partitioner {EXAMPLES}.ByCustomer08 --key-separator :",
    f"produce views lines.txt --partitioner {EXAMPLES}.ByCustomer --key-separator :",
    "consume orders --group g --until-end",
    "consume --pattern .* --group h --until-end --config partition.assignment.strategy=multiple",
    "ingest lines.txt --topic new --partitions 3 --job-id job-1 --engine local",
    "verify --full",
    "verify orders --against lines.txt --engine local --allow extra --allow duplicate",
    "cluster create c --brokers 2",
    "--cluster c topic create payments --partitions 2 --replicas 1",
    "cluster crash c 0",
    "--cluster c produce payments lines.txt --partition 0 --config retry.backoff.ms=1",
]
FAILS = COMMANDS[-1]  # its leader is down, so each attempt fails


def tear(folder: Path) -> None:
    """Leave the log dir as a process that was killed does."""
    last = max((folder / "kminilog-data" / "orders-0").glob("*.log"))
    last.write_bytes(last.read_bytes() + bytes(5))
    (folder / "kminilog-data" / ".clean-shutdown").unlink()


def answers_of_library(folder: Path) -> str:
    """Write a file for each lab with the library's own functions; return what runs them."""
    files = []
    for lab in all_labs():
        mine = [each for each in lab.exercises if each.symbol]
        lines = [f"{each.name} = library_answer({each.symbol!r})" for each in mine]
        head = f"from {library_answer.__module__} import library_answer\n"
        path = folder / f"lab_{lab.number}.py"
        path.write_text(head + "\n".join(lines) + "\n")
        files.append((str(path), lab.number, [each.symbol for each in mine]))
    return json.dumps(files)


def run_all(folder: Path, commands: list[str], answers: str | None) -> set[str]:
    """Run commands in a folder, on the engine or on answers.

    Returns which of these the four commands called.
    """
    called: set[str] = set()
    for command in commands:
        if command == "TEAR":
            tear(folder)
            continue
        words = shlex.split(command)
        if answers is None:
            ran = run_module("kminilog", *words, folder=folder)
        else:
            words = ["kminilog.course.judging.patched", "kminilog", "RESULT", answers, *words]
            ran = run_module(*words, folder=folder, needs_result=True)
            assert ran.result
            assert ran.result["complaint"] is None, command
            if set(words) & FOUR:
                called |= {symbol for symbol, count in ran.result["calls"].items() if count}
        assert ran.code == (2 if command == FAILS else 0), (command, ran.errors)
    return called


def test_own_functions_of_all_labs_are_called_and_write_the_same_bytes(tmp_path):
    of_engine, own = tmp_path / "engine", tmp_path / "own"
    for folder in (of_engine, own):
        folder.mkdir()
        (folder / "lines.txt").write_text(LINES)
    answers = answers_of_library(tmp_path)
    wanted = {each.symbol for each in decisions()}
    called = run_all(own, COMMANDS, answers)
    run_all(of_engine, COMMANDS, None)
    assert wanted - called == set()
    assert files_of(own) == files_of(of_engine)


def files_of(folder: Path) -> dict[str, bytes]:
    """Return all .log and .index files, of the demo too."""
    paths = [*folder.rglob("*.log"), *folder.rglob("*.index")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


ALWAYS_2 = """
class RoundRobin:
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        return 2
"""


def test_own_class_without_a_base_works_under_the_librarys_name(tmp_path):
    (tmp_path / "lines.txt").write_text(LINES)
    (tmp_path / "mine.py").write_text(ALWAYS_2)
    symbol = "partitioners.round_robin.RoundRobin"
    answers = json.dumps([(str(tmp_path / "mine.py"), 6, [symbol])])
    commands = [
        "topic create orders --partitions 3",
        "produce orders lines.txt --partitioner round-robin",
    ]
    assert run_all(tmp_path, commands, answers) == {symbol}
    files = {name: data for name, data in files_of(tmp_path).items() if data}
    assert list(files) == ["kminilog-data/orders-2/00000000000000000000.log"]


LAST = """
class Multiple:
    def assign(self, partitions, members):
        last = sorted(members)[-1].id
        return {last: [(t, n) for t, count in partitions.items() for n in range(count)]}


class Helper:
    pass
"""


def test_answers_of_all_labs_are_found_by_their_path_whatever_was_loaded_last(tmp_path):
    """A path such as answers:RoundRobin names the lab that has it, not the last one loaded."""
    (tmp_path / "lines.txt").write_text(LINES)
    header = "from kminilog.course.judging.patching import library_answer\n"
    header += "header = library_answer('format.message.header')\n"
    labs = {
        1: (header, "format.message.header"),
        6: (f"{ALWAYS_2}\nclass Helper:\n    pass\n", "partitioners.round_robin.RoundRobin"),
        8: (LAST, "consumer.assignors.multiple.Multiple"),
    }
    for number, (text, _) in labs.items():
        (tmp_path / f"{number}.py").write_text(text)
    answers = json.dumps(
        [(str(tmp_path / f"{number}.py"), number, [symbol]) for number, (_, symbol) in labs.items()]
    )
    strategy = "--config partition.assignment.strategy=answers:Multiple"
    commands = [
        "topic create orders --partitions 3",
        "produce orders lines.txt",  # loads lab 1
        "produce orders lines.txt --partitioner answers:RoundRobin",
        f"consume orders --group g --until-end {strategy}",
    ]
    assert run_all(tmp_path, commands, answers) == {symbol for _, symbol in labs.values()}
    words = ["kminilog.course.judging.patched", "kminilog", "-", answers]
    words += ["produce", "orders", "lines.txt", "--partitioner"]
    refused = run_module(*words, "answers:Helper", folder=tmp_path)
    one_line = "kminilog: answers:Helper is in your answers to labs 6 and 8; run one lab"
    assert (refused.code, refused.errors.startswith(one_line)) == (2, True), refused.errors
    refused = run_module(*words, "answers:Absent", folder=tmp_path)
    assert (refused.code, "answers has no Absent" in refused.errors) == (2, True), refused.errors
