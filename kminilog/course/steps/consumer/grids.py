"""Who has which partition: a grid of members and partitions.

    member  0  1  2  3  count
    C0      ■  −  ·  ·      1        owned before and now; given away
    C1      ·  +  ■  ■      3        gained

Source: ours.
"""

from collections.abc import Iterable, Mapping

from kminilog.consumer.assignors.interface import Assignment, Member, in_order
from kminilog.course.steps.document import Table, Value
from kminilog.format.names import TopicPartition

OWNED, GAINED, LOST, FREE = "■", "+", "−", "·"


def grid(
    name: str,
    topic: str,
    partitions: int,
    assignment: Assignment,
    *,
    before: Assignment | None = None,
    marked: tuple[int, ...] = (),
) -> Table:
    """Return the answer of the assignor `name` for one topic, and what has changed since `before`.

    Members are in the order of an assignor.

    >>> grid("range", "t", 2, {"a": [TopicPartition("t", 0)], "b": []}).rows
    (('a', '■', '·', 1), ('b', '·', '·', 0))
    """
    had = assignment if before is None else before
    rows: list[tuple[Value, ...]] = []
    for member in in_order(Member(id, ()) for id in assignment):
        has_now = _numbers(assignment[member.id], topic)
        has_had = _numbers(had.get(member.id, ()), topic)
        cells = [_cell(n in has_had, n in has_now) for n in range(partitions)]
        rows.append((member.id, *cells, len(has_now)))
    columns = ("member", *map(str, range(partitions)), "count")
    return Table(f"{topic} by {name}", columns, tuple(rows), marked)


def grids_side_by_side(topics: Mapping[str, int], answers: Mapping[str, Assignment]) -> list[Table]:
    """Return one grid for each topic, with the answers of all assignors below each other."""
    tables = []
    for topic, partitions in topics.items():
        found = {name: grid(name, topic, partitions, given) for name, given in answers.items()}
        columns = ("assignor", *next(iter(found.values())).columns)
        rows = tuple((name, *row) for name, one in found.items() for row in one.rows)
        tables.append(Table(topic, columns, rows))
    return tables


def moves(before: Assignment, after: Assignment) -> list[TopicPartition]:
    """Return the partitions that have another owner than before, ascending."""
    owner = {partition: member for member, given in before.items() for partition in given}
    return sorted(p for member, given in after.items() for p in given if owner[p] != member)


def _cell(had: bool, has: bool) -> str:
    if has:
        return OWNED if had else GAINED
    return LOST if had else FREE


def _numbers(given: Iterable[TopicPartition], topic: str) -> set[int]:
    return {partition.partition for partition in given if partition.topic == topic}
