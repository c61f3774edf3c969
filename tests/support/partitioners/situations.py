"""The eight situations in which every partitioner's rule is stated, and how a rule is written.

Every family's test has one table, a rule for each situation. The situations with a key list the
partitions as `[1 (no leader), 2, 0]`, so that they tell too whether all partitions count or only
the available ones.
"""

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import pytest

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.errors import KMiniLogError
from kminilog.partitioners.interface import Partitioner, ask_partitioner

TOPIC = "orders"
NEGATIVE = b"21"  # murmur2 is -973932308
LOWEST = bytes.fromhex("a7d6506c")  # murmur2 is -2**31: murmur2 solved for a key of four bytes
JAVA_NEGATIVE = "order4"  # String.hashCode is -1008770394
JAVA_LOWEST = "polygenelubricants"  # String.hashCode is -2**31
SEEDS = range(60)


class Situation(NamedTuple):
    """The partitions in metadata order, those without leader, and the key."""

    order: list[int]
    unavailable: set[int]
    key: Any = None

    @property
    def cluster(self) -> ClusterMetadata:
        return ClusterMetadata.of_one_topic(TOPIC, self.order, self.unavailable)


def situations(negative: Any = NEGATIVE, lowest: Any = LOWEST) -> dict[str, Situation]:
    """Return the eight, with keys whose hash is negative and -2**31 in the hash that matters."""
    listed, down = [1, 2, 0], {1}
    return {
        "none available": Situation([0, 1, 2], {0, 1, 2}),
        "exactly one available": Situation([0, 1, 2], {0, 2}),
        "several available": Situation([0, 1, 2, 3], {1}),
        "listed 1 without leader, 2, 0": Situation(listed, down),
        "empty key": Situation(listed, down, type(negative)()),
        "null key": Situation([0, 1, 2], set()),
        "key with a negative hash": Situation(listed, down, negative),
        "key with hash -2**31": Situation(listed, down, lowest),
    }


SITUATIONS = situations()
JAVA_SITUATIONS = situations(JAVA_NEGATIVE, JAVA_LOWEST)


class Exactly(NamedTuple):
    """These answers, one after the other, whatever the seed."""

    answers: list[int]


class Drawn(NamedTuple):
    """Any of these, by the seed; then `again` ("same" or "any"), and `renewed` when it is time to
    move on ("same", "any", or "other" for never the one before)."""

    of: set[int]
    again: str
    renewed: str


class Refused(NamedTuple):
    """This error, whose text has this part."""

    error: type[KMiniLogError]
    part: str


Rule = Exactly | Drawn | Refused
Renew = Callable[[Partitioner, ClusterMetadata, int], None]


def ask(partitioner: Partitioner, key: Any, cluster: ClusterMetadata) -> int:
    """Ask for the partition of one record; the bytes of a text are its UTF-8."""
    key_bytes = key.encode() if isinstance(key, str) else key
    return ask_partitioner(partitioner, TOPIC, key, key_bytes, None, b"", cluster)


def a_new_batch(partitioner: Partitioner, cluster: ClusterMetadata, previous: int) -> None:
    """Renew as a producer does when a batch begins."""
    partitioner.on_new_batch(TOPIC, cluster, previous)


def assert_rule(
    make: Callable[[Random], Partitioner],
    situation: Situation,
    rule: Rule,
    renew: Renew = a_new_batch,
) -> None:
    """Assert that a partitioner keeps to its rule in a situation."""
    cluster = situation.cluster
    if isinstance(rule, Refused):
        with pytest.raises(rule.error, match=rule.part):
            ask(make(Random(0)), situation.key, cluster)
    elif isinstance(rule, Exactly):
        for seed in range(3):
            partitioner = make(Random(seed))
            assert [ask(partitioner, situation.key, cluster) for _ in rule.answers] == rule.answers
    else:
        _assert_drawn(make, situation, rule, renew)


def _assert_drawn(
    make: Callable[[Random], Partitioner], situation: Situation, rule: Drawn, renew: Renew
) -> None:
    pairs, renewed_pairs = set(), set()
    for seed in SEEDS:
        partitioner = make(Random(seed))
        first = ask(partitioner, situation.key, situation.cluster)
        second = ask(partitioner, situation.key, situation.cluster)
        renew(partitioner, situation.cluster, second)
        third = ask(partitioner, situation.key, situation.cluster)
        pairs.add((first, second))
        renewed_pairs.add((second, third))
    assert pairs == _pairs(rule.of, rule.again)
    assert renewed_pairs == _pairs(rule.of, rule.renewed)


def _pairs(of: set[int], relation: str) -> set[tuple[int, int]]:
    return {
        (one, two)
        for one in of
        for two in of
        if relation == "any" or (one == two) == (relation == "same")
    }
