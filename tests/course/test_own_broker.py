"""`lab run all`: one's own functions of all labs make one broker, and its files are the same."""

import json
import shlex
from pathlib import Path

from kminilog.course.decisions import decisions
from kminilog.course.judging.patching import library_answer
from kminilog.course.judging.sandbox import run_module
from kminilog.course.material import all_labs

LINES = "".join(f"k{number % 3}:value {number}\n" for number in range(20))
SMALL = "--config batch.size=60"
COMMANDS = [
    "demo --documents --keep demo",
    "topic create orders --partitions 3 --config segment.bytes=200 "
    "--config index.interval.bytes=60",
    "produce orders lines.txt --key-separator :",
    "produce orders lines.txt --key-separator :",
    "consume orders --group g --until-end",
    "verify",
]
# What the commands above do not need: other partitioners, too little memory, a crash, an assignor
# that is asked for, a bulk job and its source, retention, and brokers that fail.
OTHER_COMMANDS = [
    f"produce orders lines.txt --partitioner round-robin {SMALL}",
    f"produce orders lines.txt --partitioner built-in {SMALL}",
    f"produce orders lines.txt {SMALL} --config buffer.memory=60 --config linger.ms=60000",
    "TEAR",
    "produce orders lines.txt",
    "dump kminilog-data/orders-0/00000000000000000000.index",
    "ingest lines.txt --topic new --partitions 3 --job-id job-1 --engine local",
    "verify orders --against lines.txt --engine local --allow extra --allow duplicate",
    "assign --strategy multiple --topic orders=10 --member a --member b",
    "retain --now 4102444800000",
    "cluster demo",
]
BY_OTHER_COMMANDS = {
    "cluster.leadership.settle",
    "consumer.assignors.multiple.Multiple",
    "format.index_entry.decode_entries",
    "jobs.accounting.pairing.partners",
    "partitioners.built_in.BuiltIn.on_appended",
    "partitioners.round_robin.RoundRobin",
    "producer.buffer_pool.BufferPool.wait_in_queue",
    "producer.buffer_pool.BufferPool.wait_until_served",
    "producer.delivery.may_retry",
    "storage.publish.fingerprints.RangeSums.add_to",
    "storage.recovery.decide",
    "storage.retention.expired_segments",
    "verification.conservation.holds",
}


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
    """Run commands in a folder, on the engine or on answers; return what was called of these."""
    called: set[str] = set()
    for command in commands:
        if command == "TEAR":
            tear(folder)
            continue
        words = shlex.split(command)
        if answers is None:
            ran = run_module("__main__", *words, folder=folder)
        else:
            module = "cli.lab.patched"
            ran = run_module(module, "RESULT", answers, *words, folder=folder, needs_result=True)
            assert ran.result
            assert ran.result["complaint"] is None, command
            called |= {symbol for symbol, count in ran.result["calls"].items() if count}
        assert ran.code == 0, (command, ran.errors)
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
    assert wanted - called == BY_OTHER_COMMANDS
    assert files_of(own) == files_of(of_engine)
    assert wanted == called | run_all(own, OTHER_COMMANDS, answers)


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
