"""Every finding as a line of JSON: parts of a file, which tasks write beside each other.

A report counts all findings but keeps samples. Who wants every one names a file. Then whoever finds
something writes it down at once, so no memory grows with the damage:

    a segment      what its samples stand for: a part for each class
    the report     each sample, and the parts of those that it keeps
    the row join   all pairs of a partition

A task may run twice, so each part has a name that no other has; only parts that are named by a
result count. They are joined at the end. Source: ours.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TextIO
from uuid import uuid4

from kminilog.verification.findings import NO_ORIGIN, Finding, Origin, row_of


class FindingParts(NamedTuple):
    """The directory where parts are written; all tasks must see it."""

    directory: Path

    def rest(self) -> "FindingPart":
        """Return a new part; its file is made with its first finding."""
        return FindingPart(self.directory / uuid4().hex)


class FindingPart:
    """One part."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None

    def add(self, finding: Finding, origin: Origin = NO_ORIGIN) -> None:
        """Write a finding, and where its record is. Raises OSError."""
        if self._file is None:
            self._file = self._path.open("w", encoding="utf-8")
        self._file.write(json.dumps(row_of(finding, origin), ensure_ascii=False) + "\n")

    def close(self) -> str | None:
        """Return the path of the part; None if nothing was written. Raises OSError."""
        if self._file is None:
            return None
        self._file.close()
        return str(self._path)


class AllFindings:
    """All findings of one verification."""

    def __init__(self, parts: FindingParts) -> None:
        """Keep them in these parts."""
        self.parts = parts
        self._own, self._others = parts.rest(), list[str]()

    def add(self, finding: Finding) -> None:
        """Take a finding, and those that it stands for."""
        self._own.add(finding)
        self.add_parts([finding.rest] if finding.rest else [])

    def add_parts(self, paths: Sequence[str]) -> None:
        """Take the findings of parts that tasks have written."""
        self._others += paths

    def close(self) -> list[str]:
        """Return the paths of all parts."""
        own = self._own.close()
        return [*([own] if own else []), *self._others]


class EveryFinding(Protocol):
    """All findings of a verification, where they were written."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield them as rows of ROW_TYPES."""
        ...

    def to_frame(self, spark: Any, /) -> Any:
        """Return them as a DataFrame of a Spark session."""
        ...
