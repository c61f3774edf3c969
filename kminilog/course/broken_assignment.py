"""An assignment that is wrong by a student's own seed, and what the library's check says of it.

    broken/group.json         topics with their numbers of partitions, members with their topics
    broken/assignment.json    what range answered, with one fault, in the form of `assign --json`

Source: ours.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kminilog.clock import Chance
from kminilog.consumer.assignors.custom import faults_of_answer
from kminilog.consumer.assignors.interface import Assignment, Member, members_by_topic
from kminilog.consumer.assignors.range import Range
from kminilog.course.broken import FOLDER
from kminilog.format.names import TopicPartition


class AssignmentDiagnosis(NamedTuple):
    """What is wrong: the class, the partition, and whose mistake: a member.

    given-twice        who should not have it
    given-to-nobody    who should have it
    not-subscribed     who has it and does not read its topic
    """

    finding: str
    partition: str
    member: str


Fault = Callable[[Assignment, TopicPartition, str, str], None]


def _given_twice(given: Assignment, partition: TopicPartition, owner: str, other: str) -> None:
    given[other].append(partition)


def _given_to_nobody(given: Assignment, partition: TopicPartition, owner: str, other: str) -> None:
    given[owner].remove(partition)


def _not_subscribed(given: Assignment, partition: TopicPartition, owner: str, other: str) -> None:
    given[owner].remove(partition)
    given[other].append(partition)


ASSIGNMENT_FAULTS: dict[str, Fault] = {
    "given-twice": _given_twice,
    "given-to-nobody": _given_to_nobody,
    "not-subscribed": _not_subscribed,
}


def write_broken_assignment(folder: Path, faults: tuple[str, ...], chance: Chance) -> str:
    """Write both files into `folder`/broken; chance chooses fault and place. Deterministic.

    Returns the name of the fault.
    """
    target = folder / FOLDER
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    topics = {"orders": 8 + chance.randrange(5), "views": 5 + chance.randrange(5)}
    reads = {
        "c1": ["orders", "views"],
        "c2": ["orders", "views"],
        "c3": ["views"],
        "c4": ["orders"],
    }
    _write(target / "group.json", {"topics": topics, "members": reads})
    group = read_group(folder)
    given = Range().assign(*group)
    fault = faults[chance.randrange(len(faults))]
    readers = {
        topic: [each.id for each in found] for topic, found in members_by_topic(*group).items()
    }
    topic = sorted(topics)[chance.randrange(2)]
    partition = TopicPartition(topic, chance.randrange(topics[topic]))
    owner = next(member for member in given if partition in given[member])
    is_foreign = fault == "not-subscribed"
    others = [id for id in given if id != owner and (id in readers[topic]) != is_foreign]
    ASSIGNMENT_FAULTS[fault](given, partition, owner, others[chance.randrange(len(others))])
    _write(target / "assignment.json", {"assignment": {id: sorted(given[id]) for id in given}})
    return fault


def read_group(folder: Path) -> tuple[dict[str, int], list[Member]]:
    """Return the topics and members of a student's broken assignment, as an assignor gets them."""
    found = json.loads((folder / FOLDER / "group.json").read_text(encoding="utf-8"))
    members = [Member(id, tuple(topics)) for id, topics in found["members"].items()]
    return found["topics"], members


def diagnosis_by_check(folder: Path) -> tuple[AssignmentDiagnosis, list[str]]:
    """Return what the library's check finds first in the broken assignment, and its sentence."""
    group = read_group(folder)
    found = json.loads((folder / FOLDER / "assignment.json").read_text(encoding="utf-8"))
    given = {
        member: [TopicPartition(*pair) for pair in pairs]
        for member, pairs in found["assignment"].items()
    }
    fault = next(faults_of_answer(given, *group))
    right = Range().assign(*group)
    owner = next(member for member in right if fault.partition in right[member])
    wrong = [member for member in fault.members if member != owner]
    member = wrong[0] if wrong else owner
    return AssignmentDiagnosis(fault.kind, str(fault.partition), member), [fault.text]


def _write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
