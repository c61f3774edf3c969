"""Which messages a query can want, by topic, partition and offset: options and filters as bounds.

    partition IN (1, 2) AND offset >= 500 AND value LIKE 'x%'
    `---- bounds, done here -------------'     `-- left to Spark

A filter is done if no message outside of the bounds that it leaves could pass it, and all inside
do. Nothing here knows files.
"""

from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from kminilog.format.names import MAX_OFFSET
from kminilog.spark.datasource.options import ReadOptions

_NEVER_NULL = ("topic", "partition", "offset", "position", "segment")


@dataclass(frozen=True)
class Bounds:
    """Numbers from `start` to `end` - 1; if some are `chosen`, only those of them."""

    start: int = 0
    end: int = MAX_OFFSET + 1
    chosen: frozenset[int] | None = None

    def __contains__(self, number: int) -> bool:
        return self.start <= number < self.end and (self.chosen is None or number in self.chosen)

    def within(self, start: int, end: int) -> "Bounds":
        """Return what is left of them between two numbers.

        >>> Bounds(3, 9).within(5, 20)
        Bounds(start=5, end=9, chosen=None)
        """
        return replace(self, start=max(self.start, start), end=min(self.end, end))


@dataclass(frozen=True)
class Selection:
    """Topics (None: all), partitions and offsets that are wanted."""

    topics: frozenset[str] | None = None
    partition: Bounds = Bounds()
    offset: Bounds = Bounds()

    @classmethod
    def of(cls, options: ReadOptions) -> "Selection":
        """Return what the options of a read leave."""
        chosen = frozenset(options.partitions) if options.partitions else None
        end = MAX_OFFSET + 1 if options.end_offset is None else options.end_offset
        return cls(None, Bounds(chosen=chosen), Bounds(options.start_offset, end))

    def narrowed(self, by: Filter) -> "tuple[Selection, bool]":
        """Return what a filter leaves, and whether it is done with that."""
        column = ".".join(by.attribute) if hasattr(by, "attribute") else ""
        if isinstance(by, IsNotNull):
            return self, column in _NEVER_NULL
        value = getattr(by, "value", None)
        if column == "topic":
            return self._of_topics(by, value)
        if column == "partition" and (bounds := _narrowed(self.partition, by, value)):
            return replace(self, partition=bounds), True
        if column == "offset" and (bounds := _narrowed(self.offset, by, value)):
            # Offsets between the chosen ones are read along; Spark drops them.
            return replace(self, offset=bounds), not isinstance(by, In)
        return self, False

    def _of_topics(self, by: Filter, value: Any) -> "tuple[Selection, bool]":
        if isinstance(by, (EqualTo, EqualNullSafe)) and isinstance(value, str):
            names = frozenset({value})
        elif isinstance(by, In) and all(isinstance(name, str) for name in value):
            names = frozenset(value)
        else:
            return self, False
        return replace(self, topics=names if self.topics is None else self.topics & names), True


def _are_numbers(value: Any) -> bool:
    values = value if isinstance(value, (tuple, list)) else (value,)
    return all(type(number) is int for number in values)


def _narrowed(bounds: Bounds, by: Filter, value: Any) -> Bounds | None:
    if not _are_numbers(value):
        return None
    match by:
        case EqualTo() | EqualNullSafe():
            return bounds.within(value, value + 1)
        case GreaterThan():
            return bounds.within(value + 1, bounds.end)
        case GreaterThanOrEqual():
            return bounds.within(value, bounds.end)
        case LessThan():
            return bounds.within(0, value)
        case LessThanOrEqual():
            return bounds.within(0, value + 1)
        case In() if value:
            chosen = frozenset(value) if bounds.chosen is None else bounds.chosen & set(value)
            return replace(bounds.within(min(value), max(value) + 1), chosen=chosen)
    return None
