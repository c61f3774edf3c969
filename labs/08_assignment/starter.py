"""Lab 8, assignment: your answers. README.md says what to do."""

from collections.abc import Mapping, Sequence

from kminilog.consumer.assignors.interface import Assignment, Assignor, Member


# 8.1  Range: one topic, and what is left over
def runs(partitions: int, members: int) -> list[tuple[int, int]]:
    """Return the run of each member, of whom there is at least one: its start and its count.

    >>> runs(10, 3)
    [(0, 4), (4, 3), (7, 3)]
    >>> runs(1, 2)
    [(0, 1), (1, 0)]
    """
    raise NotImplementedError


# 8.2  Range: several topics
def assign(self, partitions: Mapping[str, int], members: Sequence[Member]) -> Assignment:
    """Return the partitions of every member."""
    raise NotImplementedError


# 8.3  The documents' rule: multiple
class Multiple(Assignor):
    """M neighbours of each topic for each member, as long as there are any.

    >>> given = Multiple().assign({"t": 4}, [Member(id, ("t",)) for id in ("a", "b", "c")])
    >>> {member: [partition for _, partition in found] for member, found in given.items()}
    {'a': [0, 1], 'b': [2, 3], 'c': []}
    """

    def assign(self, partitions: Mapping[str, int], members: Sequence[Member]) -> Assignment:
        """Return the partitions of every member."""
        raise NotImplementedError


# 8.4  A member joins: who gives up what?
FIRST_COUNT = ...
LAST_COUNT = ...
MOVED_BY_RANGE = ...
MOVED_BY_STICKY = ...


# 8.8  What is wrong with this assignment?
DIAGNOSIS = ...


# 8.9  Inputs that expose wrong runs
EXPOSE_RUNS = ...
