"""Lab 10, a verifier: your answers. README.md says what to do."""

from collections.abc import Iterable, Mapping, Sequence

from kminilog.verification.coverage import Unchecked
from kminilog.verification.findings import FindingKind


# 10.1  The equation
def holds(counts: Mapping[str, int]) -> bool:
    """Tell if both sides of the equation are equal.

    >>> holds(dict(source=9, extra=0, duplicate=1, stored=8, rejected=0, missing=2))
    True
    >>> holds(dict(source=9, extra=0, duplicate=0, stored=8, rejected=0, missing=0))
    False
    """
    raise NotImplementedError


# 10.2  A fingerprint that sees a row three times
def add_to(self, slot: int, count: int, fingerprints: int) -> None:
    """Add `count` messages to a range, with the sum of their fingerprints modulo 2^64. O(1)."""
    raise NotImplementedError


# 10.3  A difference that counts copies, with places
def partners(groups: Sequence[int], is_record: Sequence[bool]) -> Sequence[int]:
    """Return for each row the place of the message that belongs to it; -1 for a row without one.

    The n-th record of a group belongs to its n-th message. Rows of a group stand together, its
    records in front of its messages. Messages have -1. O(rows).

    >>> groups, is_record = [5, 5, 5, 5, 5, 8, 9, 9], [1, 1, 0, 0, 0, 1, 1, 0]
    >>> [int(place) for place in partners(groups, is_record)]
    [2, 3, -1, -1, -1, -1, 7, -1]
    """
    raise NotImplementedError


# 10.4  The verdict, and the exit code
def concluded(
    found: Iterable[FindingKind],
    allowed: Iterable[FindingKind],
    unchecked: Iterable[Unchecked],
) -> tuple[str, int]:
    """Return the verdict and the exit code: "findings" and 1, "partial" and 2, or "ok" and 0.

    `found` are the classes of all findings, `allowed` those that the user allows, `unchecked` what
    was not checked; what the user asked for is `asked`.

    >>> concluded([FindingClass.EXTRA], [], []), concluded([FindingClass.EXTRA], FindingClass, [])
    (('findings', 1), ('ok', 0))
    """
    raise NotImplementedError


# 10.5  Ten damaged logs
LOG_0 = ...
LOG_1 = ...
LOG_2 = ...
LOG_3 = ...
LOG_4 = ...
LOG_5 = ...
LOG_6 = ...
LOG_7 = ...
LOG_8 = ...
LOG_9 = ...


# 10.6  One record of ten thousand
def find_altered(source, log):
    """Return the number of the one record that is altered in the log; None if all are equal.

    `source.sum(first, end)` and `log.sum(first, end)` cost no reading, `source.read(number)` and
    `log.read(number)` do. `len(source)` is the number of records.
    """
    raise NotImplementedError


# 10.10  Inputs that expose a wrong verdict
EXPOSE_VERDICT = ...
