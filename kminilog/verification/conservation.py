"""The equation that accounts for every record of a source and every message of a topic.

    source + extra + duplicate  =  stored + rejected + missing

Each record of the source is stored, rejected or missing. Each stored message belongs to a record,
or is extra, or is a duplicate. `source` and `stored` are counted while reading, the others while
comparing records with messages. So if the equation does not hold, a count is wrong, or the data has
changed meanwhile. Source: ours.
"""

from collections.abc import Mapping

LEFT_SIDE, RIGHT_SIDE = ("source", "extra", "duplicate"), ("stored", "rejected", "missing")


def holds(counts: Mapping[str, int]) -> bool:
    """Tell if both sides of the equation are equal.

    >>> holds(dict(source=9, extra=0, duplicate=1, stored=8, rejected=0, missing=2))
    True
    >>> holds(dict(source=9, extra=0, duplicate=0, stored=8, rejected=0, missing=0))
    False
    """
    left, right = (sum(counts[name] for name in side) for side in (LEFT_SIDE, RIGHT_SIDE))
    return left == right
