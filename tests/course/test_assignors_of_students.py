"""A student's assignor runs by its path, in a real group too; a spoilt assignment is diagnosed."""

import json
import subprocess
import sys
from random import Random

import pytest

from kminilog.consumer.assignors.custom import faults_of_answer
from kminilog.consumer.assignors.interface import Member
from kminilog.consumer.assignors.range import Range
from kminilog.course.broken_assignment import (
    ASSIGNMENT_FAULTS,
    diagnosis_by_check,
    read_group,
    write_broken_assignment,
)
from kminilog.course.judging.sandbox import environment_of_package
from kminilog.format.names import TopicPartition

ANSWERS = """
from pathlib import Path


class Backwards:
    def assign(self, partitions, members):
        with Path("calls.txt").open("a") as file:
            file.write("called\\n")
        last = max(members, key=lambda member: member.id)
        answer = {member.id: [] for member in members}
        answer[last.id] = [(t, n) for t in sorted(last.topics) for n in range(partitions[t])]
        return answer
"""


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
def test_students_assignor_stands_beside_those_of_the_suite(run):
    strategies = ("--strategy", "answers:Backwards", "--strategy", "range")
    group = ("--topic", "t=4", "--member", "a", "--member", "b")
    found = json.loads(run("assign", *strategies, *group, "--json"))["strategies"]
    assert [len(each["assignment"]["a"]) for each in found] == [0, 2]


@pytest.mark.processes
def test_students_assignor_shares_out_the_topic_of_a_real_group(run, tmp_path):
    run("topic", "create", "t", "--partitions", "3")
    run("produce", "t", "lines.txt", "--partitioner", "round-robin")
    strategy = ("--config", "partition.assignment.strategy=answers:Backwards")
    lines = run("consume", "t", "--group", "g", "--max-messages", "8", *strategy).splitlines()
    assert sorted(lines) == [f"line {number}" for number in range(8)]
    assert (tmp_path / "calls.txt").read_text() == "called\n"


@pytest.mark.processes
def test_students_assignor_is_asked_whenever_members_come_and_go(run, tmp_path):
    run("group", "demo", "--strategy", "answers:Backwards")
    assert len((tmp_path / "calls.txt").read_text().splitlines()) > 4


@pytest.mark.parametrize("fault", sorted(ASSIGNMENT_FAULTS))
@pytest.mark.parametrize("seed", range(8))
def test_spoilt_assignment_is_one_fault_of_one_member(tmp_path, fault, seed):
    write_broken_assignment(tmp_path, (fault,), Random(seed))
    diagnosis, lines = diagnosis_by_check(tmp_path)
    assert diagnosis.finding == fault
    assert len(lines) == 1
    group = read_group(tmp_path)
    right = Range().assign(*group)
    found = json.loads((tmp_path / "broken" / "assignment.json").read_text())["assignment"]
    changed = {id for id in right if [TopicPartition(*pair) for pair in found[id]] != right[id]}
    assert diagnosis.member in changed
    assert len(changed) == (2 if fault == "not-subscribed" else 1)
    has_it = diagnosis.partition in [
        f"{topic}-{number}" for topic, number in found[diagnosis.member]
    ]
    assert has_it == (fault != "given-to-nobody")


def test_every_fault_of_an_answer_is_told():
    answer = {"a": [TopicPartition("t", 0), TopicPartition("u", 0)], "b": [TopicPartition("t", 0)]}
    members = [Member("a", ("t",)), Member("b", ("t",))]
    answer["b"].append(TopicPartition("t", 9))
    faults = list(faults_of_answer(answer, {"t": 2, "u": 1}, members))
    assert [(fault.kind, str(fault.partition), fault.members) for fault in faults] == [
        ("not-subscribed", "u-0", ("a",)),
        ("given-twice", "t-0", ("a", "b")),
        ("no-such-partition", "t-9", ("b",)),
        ("given-to-nobody", "t-1", ()),
    ]
