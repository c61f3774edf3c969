"""A user's own assignor: made without arguments, checked with every answer.

The class has a method `assign(partitions, members)` as in `interface`, and may have an attribute
`is_cooperative`. An exception of its code becomes a PluginError that names the class, unless it is
an error of kminilog. So does an answer that breaks a rule:

    a mapping from member ids to lists of (topic, partition); a member may be missing: nothing
    each partition of a topic that somebody subscribes to, exactly once
    only to members of the group that subscribe to the topic

A cooperative class may leave out any partition that a member still owns.

Source: ours; S3 notes that its Kafka has no assignments of one's own. Kafka: PartitionAssignor
from 0.9 on, which checks less.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kminilog.consumer.assignors.interface import (
    Assignment,
    Assignor,
    Member,
    members_by_topic,
    partitions_of,
)
from kminilog.errors import PluginError
from kminilog.format.names import TopicPartition
from kminilog.plugins import guarded

SETTING = "partition.assignment.strategy"


class CustomAssignor(Assignor):
    """A user's object; its errors and wrong answers become PluginErrors."""

    def __init__(self, found: type[Any], path: str) -> None:
        self._path = path
        self._target = guarded(SETTING, path, found)
        self.is_cooperative = bool(getattr(self._target, "is_cooperative", False))
        if not callable(getattr(self._target, "assign", None)):
            raise PluginError(SETTING, path=path, reason="it has no method assign")

    def assign(self, partitions: Mapping[str, int], members: Sequence[Member]) -> Assignment:
        """Return the partitions of every member; PluginError."""
        given = guarded(SETTING, self._path, self._target.assign, dict(partitions), list(members))
        try:
            answer = _read(given, members)
            check_answer(answer, partitions, members, may_leave_out_owned=self.is_cooperative)
        except ValueError as error:
            raise PluginError(SETTING, path=self._path, reason=str(error)) from error
        return answer


class AnswerFault(NamedTuple):
    """A rule that an answer breaks: its kind, the partition, who has it, and a sentence."""

    kind: str
    partition: TopicPartition
    members: tuple[str, ...]
    text: str


def check_answer(
    answer: Assignment,
    partitions: Mapping[str, int],
    members: Sequence[Member],
    *,
    may_leave_out_owned: bool = False,
) -> None:
    """Raise ValueError if partitions are given to wrong members, twice, or not at all.

    >>> check_answer({"a": []}, {"t": 1}, [Member("a", ("t",))])
    Traceback (most recent call last):
    ...
    ValueError: assign gave t-0 to nobody
    """
    faults = faults_of_answer(answer, partitions, members, may_leave_out_owned=may_leave_out_owned)
    for fault in faults:
        raise ValueError(f"assign gave {fault.text}")


def faults_of_answer(
    answer: Assignment,
    partitions: Mapping[str, int],
    members: Sequence[Member],
    *,
    may_leave_out_owned: bool = False,
) -> Iterator[AnswerFault]:
    """Yield the rules that an answer breaks, those of what was given first."""
    subscribers = {
        topic: {member.id for member in found}
        for topic, found in members_by_topic(partitions, members).items()
    }
    takers: dict[TopicPartition, str] = {}
    for member, given in answer.items():
        for partition in given:
            topic, number = partition
            if member not in subscribers.get(topic, ()):
                text = f"{partition} to {member}, who does not read {topic}"
                yield AnswerFault("not-subscribed", partition, (member,), text)
            elif not 0 <= number < partitions[topic]:
                text = f"{partition}; {topic} has {partitions[topic]}"
                yield AnswerFault("no-such-partition", partition, (member,), text)
            elif partition in takers:
                both = takers[partition], member
                text = f"{partition} twice: {both[0]} and {both[1]}"
                yield AnswerFault("given-twice", partition, both, text)
            else:
                takers[partition] = member
    owned = {partition for member in members for partition in member.owned}
    for topic in subscribers:
        for partition in partitions_of(topic, partitions[topic]):
            if partition not in takers and not (may_leave_out_owned and partition in owned):
                yield AnswerFault("given-to-nobody", partition, (), f"{partition} to nobody")


def _read(given: object, members: Sequence[Member]) -> Assignment:
    """Return an answer of the user's as ours; ValueError if it has the wrong form."""
    if not isinstance(given, Mapping):
        raise ValueError(f"assign answered {given!r}, which is no mapping of members to partitions")
    ids = [member.id for member in members]
    for member in given:
        if member not in ids:
            raise ValueError(f"assign answered for {member!r}, who is no member")
        if not isinstance(given[member], Sequence):
            raise ValueError(f"assign gave {member} {given[member]!r}, which is no list")
    return {id: sorted(_partition(pair) for pair in given.get(id, ())) for id in ids}


def _partition(pair: object) -> TopicPartition:
    if isinstance(pair, Sequence) and len(pair) == 2:
        topic, number = pair
        if isinstance(topic, str) and isinstance(number, int) and not isinstance(number, bool):
            return TopicPartition(topic, number)
    raise ValueError(f"assign gave {pair!r}, which is no (topic, partition)")
