"""What the account of a source says of a finding of the storage."""

import pytest

from kminilog.verification.causes import cause_in_source
from kminilog.verification.findings import Cause, Finding, FindingClass

SEGMENT = "0" * 20
RANGE = Finding(FindingClass.ALTERED, "t", 1, "", SEGMENT, 10, last_offset=19)
MISPLACED = Finding(FindingClass.WRONG_PARTITION, "t", 1, "", SEGMENT, 10, 300)
END = Finding(FindingClass.MANIFEST_MISMATCH, "t", 1, "", SEGMENT, 30, 900)
DAMAGED = Finding(FindingClass.BAD_CRC, "t", 1, "", SEGMENT, 10, 300)


def at(kind: FindingClass, offset: int | None, partition: int = 1) -> Finding:
    return Finding(kind, "t", partition, "", SEGMENT, offset, 0)


@pytest.mark.parametrize(
    ("stored", "found", "is_certain"),
    [
        (RANGE, at(FindingClass.ALTERED, 19), True),
        (RANGE, at(FindingClass.ALTERED, 20), None),
        (RANGE, at(FindingClass.ALTERED, 10, partition=2), None),
        (RANGE, at(FindingClass.KEY_ORDER, 10), True),
        (RANGE, at(FindingClass.KEY_ORDER, 9), False),
        (RANGE, at(FindingClass.KEY_ORDER, 20), False),
        (RANGE, at(FindingClass.KEY_ORDER, 20, partition=2), None),
        (RANGE, at(FindingClass.EXTRA, 9), False),
        (RANGE, at(FindingClass.EXTRA, 20), None),
        (RANGE, at(FindingClass.DUPLICATE, 9, partition=2), None),
        (RANGE, at(FindingClass.MISSING, None), False),
        (RANGE, at(FindingClass.MISSING, None, partition=-1), False),
        (RANGE, at(FindingClass.MISSING, None, partition=2), None),
        (RANGE, at(FindingClass.WRONG_PARTITION, 99, partition=2), False),
        (RANGE, at(FindingClass.WRONG_PARTITION, 20), None),
        (MISPLACED, at(FindingClass.ALTERED, 10), True),
        (MISPLACED, at(FindingClass.MISSING, None), None),
        (MISPLACED, MISPLACED, None),
        (END, at(FindingClass.MISSING, None), False),
        (END, at(FindingClass.EXTRA, 9), None),
        (END, at(FindingClass.KEY_ORDER, 9), None),
        (END._replace(segment=None), at(FindingClass.MISSING, None), None),
        (DAMAGED, at(FindingClass.MISSING, None), None),
    ],
)
def test_cause_in_source_by_class_and_place(stored, found, is_certain):
    cause = cause_in_source(stored, [found])
    assert cause == (None if is_certain is None else Cause(found.kind, found.place, is_certain))


def test_cause_in_source_is_the_exact_one_and_its_own_cause_if_it_has_one():
    missing, altered = at(FindingClass.MISSING, None), at(FindingClass.ALTERED, 12)
    root = Cause(DAMAGED.kind, DAMAGED.place, True)
    assert cause_in_source(RANGE, [missing, altered]) == Cause(altered.kind, altered.place, True)
    assert cause_in_source(RANGE, [missing._replace(cause=root)]) == root
