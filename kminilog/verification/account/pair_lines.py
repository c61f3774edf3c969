"""Every pair that is a finding as a line: where its record is, and in which column it differs.

The task that judges the pairs of a partition writes them down, so they never leave it. Rows then
carry their keys and values, and a task needs memory for those of the unsound pairs of its
partition. A line of a text file is known by its row in a piece of the file, and by the lines in
front of that piece. Source: ours.
"""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from kminilog.columns.digests import as_texts, digests
from kminilog.format.names import segment_name
from kminilog.jobs.source.description import DATAFRAME, Place, Source
from kminilog.verification.account.account import Sample
from kminilog.verification.account.rows import SHOWN_BYTES
from kminilog.verification.both_sides import BothSides, KeyValue, both_sides, differing_columns
from kminilog.verification.finding_parts import FindingParts
from kminilog.verification.findings import NO_ORIGIN, Finding, FindingClass, Origin

if TYPE_CHECKING:
    from kminilog.verification.account.alterations import Pairs, PartitionPairs

_PAIRS = 4096  # at once: a digest of many costs less

DETAILS = {
    FindingClass.MISSING: "the source has this record, the log does not",
    FindingClass.EXTRA: "the source has no record with this key and value",
    FindingClass.DUPLICATE: "the source has this record, but fewer times",
    FindingClass.ALTERED: "here the source has another key or value",
    FindingClass.KEY_ORDER: "the log has a later record with this key before it",
    FindingClass.MOVED: "the source says that it has another partition or offset",
}
"""What is said of a pair of each kind that is a finding."""


def finding_of(topic: str, kind: FindingClass, sample: Sample) -> Finding:
    """Return the finding that a pair is, without its record."""
    detail = f"{_shown(sample.key)}: {DETAILS[kind]}"
    if sample.stored is None:
        return Finding(kind, topic, sample.partition, detail)
    partition, offset, position, base = sample.stored
    return Finding(kind, topic, partition, detail, segment_name(base), offset, position)


def with_sides(finding: Finding, sides: BothSides) -> Finding:
    """Return a finding with its record and its message; it says which byte differs first."""
    first = sides.first_difference
    detail = f"{finding.detail}; {first}" if first else finding.detail
    return finding._replace(sides=sides, detail=detail)


def _shown(key: bytes | None) -> str:
    if key is None:
        return "no key"
    shown = key[:SHOWN_BYTES].decode(errors="backslashreplace")
    return f"key {shown!r}{' …' if len(key) > SHOWN_BYTES else ''}"


def _digests(kind: FindingClass, records: Sequence[KeyValue]) -> Sequence[str | None]:
    """Return what tells if a missing record is still there; of no others the value is known."""
    if kind != FindingClass.MISSING:
        return [None] * len(records)
    columns = zip(*records, strict=True)
    return as_texts(digests(*(pa.array(column, pa.large_binary()) for column in columns)))


@dataclass(frozen=True)
class PairLines:
    """What tasks must know to write pairs down; Spark pickles it.

    `paths` are those of the source's files, by rank. `by_position` tells if a record is known by
    where it begins, not by its row; `in_front` has, by rank and start of a piece, how many lines
    are in front of it, if records are lines.
    """

    topic: str
    source: Source
    paths: Sequence[str]
    by_position: bool
    in_front: Mapping[tuple[int, int], int]
    parts: FindingParts

    @cached_property
    def kinds(self) -> Collection[FindingClass]:
        """The kinds of pairs that are findings; rows of a DataFrame have no order."""
        has_order = self.source != DATAFRAME
        return [kind for kind in DETAILS if has_order or kind != FindingClass.KEY_ORDER]

    @cached_property
    def _starts(self) -> list[tuple[int, int]]:
        return sorted(self.in_front)

    def write(self, pairs: "PartitionPairs", found: Mapping[str, "Pairs"]) -> list[str]:
        """Write the pairs of a partition that are findings; return the part, if there are any.

        Raises OSError.
        """
        with closing(self.parts.rest()) as part:
            for kind in (kind for kind in self.kinds if kind in found):
                every = pairs.all_of(found[kind])
                while some := list(islice(every, _PAIRS)):
                    told = _digests(kind, [record for *_, (record, _) in some])
                    for (sample, row, (record, message)), digest in zip(some, told, strict=True):
                        finding = finding_of(self.topic, kind, sample)
                        if kind == FindingClass.ALTERED:
                            finding = with_sides(finding, both_sides(record, message))
                        whole = message if sample.stored else record
                        origin = self._origin(kind, sample.source, row, record, message)
                        part.add(finding._replace(key=whole.key), origin._replace(digest=digest))
            path = part.close()
        return [path] if path else []

    def _origin(
        self,
        kind: FindingClass,
        place: Place | None,
        row: int,
        record: KeyValue,
        message: KeyValue,
    ) -> Origin:
        if place is None:
            return NO_ORIGIN
        origin = Origin(self.paths[place.rank], row=place.row + 1)
        if self.by_position:
            line = self._line(place, row) if self.in_front else None
            origin = origin._replace(line=line, row=None, position=place.position)
        if kind == FindingClass.ALTERED:
            names, told = differing_columns(record, message, self.source.value or "value")
            origin = origin._replace(columns=names, differs=told)
        return origin

    def _line(self, place: Place, row: int) -> int:
        piece = self._starts[bisect_right(self._starts, (place.rank, place.position)) - 1]
        return self.in_front[piece] + row + 1
