"""The equation that accounts for every record of a source and every message of a topic.

    source + extra + duplicate  =  stored + rejected + missing

Each record of the source is stored, rejected or missing; each message that is stored has a record,
or is extra, or a duplicate. `source` and `stored` are counted where they are read, the others where
records and messages are compared. So an equation that does not hold says that something was counted
wrongly, or changed meanwhile. Source: ours.
"""

from collections.abc import Mapping

LEFT_SIDE, RIGHT_SIDE = ("source", "extra", "duplicate"), ("stored", "rejected", "missing")


def holds(counts: Mapping[str, int]) -> bool:
    """Tell if both sides of the equation are the same.

    >>> holds(dict(source=9, extra=0, duplicate=1, stored=8, rejected=0, missing=2))
    True
    >>> holds(dict(source=9, extra=0, duplicate=0, stored=8, rejected=0, missing=0))
    False
    """
    left, right = (sum(counts[name] for name in side) for side in (LEFT_SIDE, RIGHT_SIDE))
    return left == right
