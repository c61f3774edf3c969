"""Groups get the partitions that kafka-python and Kafka's own Java client give them.

Three hundred random groups with mixed subscriptions, without a previous assignment. For the Java
client only: ids on both sides of U+FFFF, and what its cooperative assignor makes of a group that
has a previous assignment.
"""

import logging
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kminilog.consumer.assignor_registry import make_assignor
from kminilog.consumer.assignors.interface import Assignment, Member
from kminilog.format.names import TopicPartition, parse_topic_partition
from tests.support.conformance.wheel_oracles import kafka_python, require, run_java

pytestmark = pytest.mark.conformance

PROGRAM = Path(__file__).parents[1] / "support" / "conformance" / "AssignorOracle.java"
SHARED = ["range", "roundrobin", "sticky"]
ASSIGNORS_OF_KAFKA_PYTHON = {
    "range": ("kafka.coordinator.assignors.range", "RangePartitionAssignor"),
    "roundrobin": ("kafka.coordinator.assignors.roundrobin", "RoundRobinPartitionAssignor"),
    "sticky": ("kafka.coordinator.assignors.sticky.sticky_assignor", "StickyPartitionAssignor"),
}
# Java's order of the first three: é, emoji, private use; by code points the last two change places.
BEFORE_IDS = [chr(0xE9), chr(0x1F600), chr(0xE000), chr(0x10FFFF), chr(0xFF21), "c"]
Group = tuple[dict[str, int], list[Member]]


def random_groups(seed: int, *, count: int = 300, is_static: bool = False) -> list[Group]:
    """Return topics and members; a fifth of the groups has equal subscriptions."""
    chance = random.Random(seed)
    groups = []
    for _ in range(count):
        topics = {f"t{number}": chance.randint(1, 9) for number in chance.sample(range(12), 6)}
        names = [*chance.sample(sorted(topics), chance.randint(1, 6)), "missing"]
        equal = tuple(chance.sample(names[:-1], chance.randint(1, len(names) - 1)))
        has_equal = chance.random() < 0.2
        members = [
            Member(
                f"c{number}",
                equal if has_equal else tuple(chance.sample(names, chance.randint(1, len(names)))),
                f"i{chance.randrange(100)}-{number}"
                if is_static and chance.random() < 0.4
                else None,
            )
            for number in range(chance.randint(1, 12))
        ]
        groups.append((topics, members))
    return groups


def of_kafka_python(strategy: str, groups: Sequence[Group]) -> list[Assignment]:
    """Return what kafka-python answers to each of the groups."""
    module, name = ASSIGNORS_OF_KAFKA_PYTHON[strategy]
    found, protocol = kafka_python(module, "kafka.coordinator.protocol")
    logging.getLogger("kafka").setLevel(logging.ERROR)  # it warns of each missing topic
    answers = []
    for topics, members in groups:
        metadata = {
            member.id: protocol.ConsumerProtocolMemberMetadata(0, list(member.topics), b"")
            for member in members
        }
        answer = getattr(found, name).assign(ClusterOfKafkaPython(topics), metadata)
        answers.append(
            {
                member: sorted(
                    TopicPartition(topic, number)
                    for topic, numbers in given.assignment
                    for number in numbers
                )
                for member, given in answer.items()
            }
        )
    return answers


class ClusterOfKafkaPython:
    """As much of kafka-python's cluster as its assignors ask."""

    def __init__(self, topics: Mapping[str, int]) -> None:
        self._topics = topics

    def topics(self) -> set[str]:
        return set(self._topics)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(self._topics[topic])) if topic in self._topics else None


def of_java_client(strategy: str, groups: Sequence[Group]) -> list[Assignment]:
    """Return what the Java client answers to each of the groups."""
    lines = [_question(strategy, topics, members) for topics, members in groups]
    answers = run_java(PROGRAM, "".join(f"{line}\n" for line in lines)).splitlines()
    assert len(answers) == len(groups)
    return [_answer(line) for line in answers]


def _question(strategy: str, topics: Mapping[str, int], members: Sequence[Member]) -> str:
    # The client hands only topics to its assignors that somebody subscribes to.
    read = {topic for member in members for topic in member.topics}
    counts = ",".join(f"{topic}={count}" for topic, count in topics.items() if topic in read)
    described = [
        ":".join(
            [
                member.id if member.instance_id is None else f"{member.id}@{member.instance_id}",
                ",".join(member.topics),
                ",".join(map(str, member.owned)),
                str(member.generation),
            ]
        )
        for member in members
    ]
    return "\t".join([strategy, counts, ";".join(described)])


def _answer(line: str) -> Assignment:
    answer: Assignment = {}
    for part in line.split(";"):
        member, _, names = part.partition(":")
        found = [parse_topic_partition(name) for name in names.split(",") if name]
        answer[member] = sorted(partition for partition in found if partition)
    return answer


def ours(strategy: str, group: Group) -> Assignment:
    return make_assignor(strategy).assign(*group)


def test_groups_are_mixed_and_of_all_sizes():
    groups = random_groups(1)
    assert {len(members) for _, members in groups} == set(range(1, 13))
    mixed = [len({frozenset(member.topics) for member in members}) > 1 for _, members in groups]
    assert 180 < sum(mixed) < 260
    assert any("missing" in member.topics for _, members in groups for member in members)


@pytest.mark.parametrize("strategy", SHARED)
def test_assignor_equals_kafka_python(strategy):
    groups = random_groups(1)
    theirs = require("kafka-python", lambda: of_kafka_python(strategy, groups))
    assert differing(strategy, groups, theirs) == []


@pytest.mark.parametrize("strategy", [*SHARED, "cooperative-sticky"])
def test_assignor_equals_the_java_client(strategy):
    groups = random_groups(2, is_static=True)
    theirs = require("Kafka's Java client", lambda: of_java_client(strategy, groups))
    assert differing(strategy, groups, theirs) == []


@pytest.mark.parametrize("strategy", [*SHARED, "cooperative-sticky"])
def test_assignor_with_ids_above_ffff_equals_the_java_client(strategy):
    groups = [with_ids_of_all_planes(group) for group in random_groups(4, is_static=True)]
    theirs = require("Kafka's Java client", lambda: of_java_client(strategy, groups))
    assert differing(strategy, groups, theirs) == []


def with_ids_of_all_planes(group: Group) -> Group:
    """Begin member ids and static ids with characters from below and above U+FFFF."""
    topics, members = group
    chance = random.Random(len(members))
    return topics, [
        member._replace(
            id=chance.choice(BEFORE_IDS) + member.id,
            instance_id=member.instance_id and chance.choice(BEFORE_IDS) + member.instance_id,
        )
        for member in members
    ]


def differing(
    strategy: str, groups: Sequence[Group], theirs: Sequence[Assignment]
) -> list[tuple[Group, Assignment]]:
    """Return the groups for which we answer something else, and what they answer."""
    assert sum(len(given) for answer in theirs for given in answer.values()) > 3_000
    pairs = zip(groups, theirs, strict=True)
    return [(group, answer) for group, answer in pairs if ours(strategy, group) != answer]


@pytest.mark.parametrize("is_equal", [True, False], ids=["equal subscriptions", "mixed"])
def test_cooperative_keeps_no_less_on_the_whole_than_the_java_client(is_equal):
    groups = [with_claims(group, is_equal=is_equal) for group in random_groups(3)]
    theirs = require("Kafka's Java client", lambda: of_java_client("cooperative-sticky", groups))
    kept_by_us = [kept(group, ours("cooperative-sticky", group)) for group in groups]
    kept_by_them = [kept(group, answer) for group, answer in zip(groups, theirs, strict=True)]
    assert sum(kept_by_them) > 1_000
    assert sum(kept_by_us) >= sum(kept_by_them)
    if is_equal:
        assert kept_by_us == kept_by_them


def with_claims(group: Group, *, is_equal: bool) -> Group:
    """Have any one of its readers, or nobody, own each partition."""
    topics, members = group
    chance = random.Random(len(members))
    if is_equal:
        members = [member._replace(topics=tuple(topics)) for member in members]
    owned: Assignment = {member.id: [] for member in members}
    for topic, count in topics.items():
        readers = [member.id for member in members if topic in member.topics]
        for number in range(count):
            owner = chance.choice([*readers, None])
            if owner is not None:
                owned[owner].append(TopicPartition(topic, number))
    return topics, [
        member._replace(owned=tuple(owned[member.id]), generation=5) for member in members
    ]


def kept(group: Group, answer: Assignment) -> int:
    """Return how many partitions stay where they are."""
    return sum(len(set(member.owned) & set(answer[member.id])) for member in group[1])
