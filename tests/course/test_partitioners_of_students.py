"""A student's partitioner runs by its path, beside those of the suite; a foreign key is found."""

import json
import os
import subprocess
import sys
from random import Random

import pytest

from kminilog.cli.lab.judging import PROGRAM
from kminilog.course.broken import write_broken
from kminilog.course.judging.checking import run_judge
from kminilog.course.judging.diagnosis import diagnosis_by_verify
from kminilog.course.judging.sandbox import environment_of_package
from kminilog.course.material import exercise_of, lab_of
from kminilog.format.dialect import KAFKA
from kminilog.format.hashing import murmur2
from kminilog.format.message import scan
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.partitioners.registry import PARTITIONERS

ANSWERS = """
class RoundRobin:
    is_asked_again = False

    def __init__(self):
        self.count = -1

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        self.count += 1
        available = cluster.available_partitions_for_topic(topic)
        return available[self.count % len(available)].partition
"""
MINE = ("--partitioner", "answers:RoundRobin")


@pytest.fixture
def run(tmp_path):
    """Run a command in a folder with a student's answers; return what it prints."""
    (tmp_path / "answers.py").write_text(ANSWERS)
    (tmp_path / "lines.txt").write_text("".join(f"line {number}\n" for number in range(8)))

    def run(*arguments):
        command = [sys.executable, "-P", "-m", "kminilog", *arguments]
        environment = environment_of_package()
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


@pytest.mark.processes
def test_students_class_places_what_is_produced(run):
    run("topic", "create", "orders", "--partitions", "4")
    told = run("produce", "orders", "lines.txt", "--json", *MINE)
    records = [json.loads(line) for line in told.splitlines()]
    assert [record["partition"] for record in records if "partition" in record] == [0, 1, 2, 3] * 2
    assert json.loads(run("verify", "--json"))["verdict"] == "ok"


@pytest.mark.processes
def test_same_key_is_placed_by_the_students_class_beside_every_partitioner_of_the_suite(run):
    suite = [option for name in PARTITIONERS for option in ("--partitioner", name)]
    keys = ("--partitions", "7", "--key", "alice", "--key", "alice", "--seed", "1", "--json")
    found = json.loads(run("partition", *keys, *MINE, *suite))["partitioners"]
    placed = {each["partitioner"]: [one["partition"] for one in each["choices"]] for each in found}
    assert list(placed) == ["answers:RoundRobin", *PARTITIONERS]
    assert placed["answers:RoundRobin"] == placed["round-robin"] == [0, 1]
    by_hash = murmur2_partition(b"alice", 7)
    assert placed["default-2.4"] == placed["default-0.9"] == placed["built-in"] == [by_hash] * 2


@pytest.mark.processes
def test_students_class_goes_round_a_dead_broker(run):
    assert run("cluster", "demo", "--switch", "off", *MINE) == run(
        "cluster", "demo", "--switch", "off", "--partitioner", "round-robin"
    ).replace("round-robin", "answers:RoundRobin")


@pytest.mark.parametrize("seed", range(4))
def test_key_that_abs_has_placed_is_diagnosed_as_a_wrong_partition(tmp_path, seed):
    write_broken(tmp_path, ("placed-by-abs",), Random(seed))
    diagnosis, lines = diagnosis_by_verify(tmp_path)
    assert diagnosis.finding == "wrong-partition"
    assert len(lines) == 1
    segment = tmp_path / "broken" / "ev-0" / f"{diagnosis.segment}.log"
    foreign = [key for key in _keys(segment) if murmur2_partition(key, 5)]
    assert len(foreign) == 1
    assert abs(murmur2(foreign[0])) % 5 == 0


def _keys(path):

    return [message.key for _, message in scan(KAFKA, path.read_bytes())]


@pytest.mark.processes
@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_builtin_hash_is_told_from_other_readings_with_any_seed(tmp_path, monkeypatch, seed):
    monkeypatch.setitem(os.environ, "PYTHONHASHSEED", seed)
    folder = lab_of(6).folder / "wrong"
    for name in ("partition_of_builtin_hash", "partition_of_hash_of_text"):
        outcome = run_judge(exercise_of("6.3"), tmp_path, str(folder / f"{name}.py"), PROGRAM)
        assert outcome.code == "builtin-hash"
