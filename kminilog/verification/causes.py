"""Which damage a finding against the source comes from, as far as its place can prove it.

A message with a wrong offset may also stand in the wrong order: that is the same place, and so one
thing. A missing record belongs between two messages of its partition that are where they should
be, by the order of the source. What is lost lies between them, too:

    source   r4   r5   r6   r7        r5 and r6 are missing
    log      m4  ~~~~~~~~~  m7        bad-crc at offset 5: two messages are lost, m5 and m6

As many records are missing there as messages are lost: then these are the lost ones, and nothing
else can be. Are they more or fewer, then the damage may be why, and no more is said. Source: ours.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kminilog.verification.findings import Cause, Finding, FindingClass

LOSSES = (
    FindingClass.BAD_CRC,
    FindingClass.BAD_LENGTH,
    FindingClass.BAD_MAGIC,
    FindingClass.TORN_TAIL,
    FindingClass.LOST_END,
    FindingClass.OFFSET_GAP,
)
DAMAGE = (*LOSSES, FindingClass.OFFSET_OVERLAP, FindingClass.OFFSET_DISORDER)


class Slot(NamedTuple):
    """Where a missing record belongs: behind offset `before`, in front of `after`.

    There it is the `number`-th, from 1 on, of `missing_count` missing ones.
    """

    partition: int
    before: int
    after: int
    number: int
    missing_count: int


def cause_of(slot: Slot, findings: Iterable[Finding]) -> Cause | None:
    """Return the damage that a missing record comes from, None if none is there.

    >>> damage = Finding(FindingClass.BAD_CRC, "orders", 0, "", offset=5)
    >>> cause_of(Slot(0, 4, 7, 2, 2), [damage]) == Cause(damage.kind, damage.place, True)
    True
    >>> cause_of(Slot(0, 4, 7, 1, 1), [damage]).is_certain
    False
    >>> cause_of(Slot(0, 5, 7, 1, 1), [damage]) is None
    True
    """
    there = [
        (found.offset, found)
        for found in findings
        if found.kind in LOSSES
        and found.partition == slot.partition
        and found.offset is not None
        and slot.before < found.offset <= slot.after  # a gap is found at the message behind it
    ]
    if not there:
        return None
    is_certain = slot.after - slot.before - 1 == slot.missing_count
    there.sort(key=lambda pair: pair[0])
    reached = [found for offset, found in there if offset <= slot.before + slot.number]
    cause = reached[-1] if reached else there[0][1]
    return Cause(cause.kind, cause.place, is_certain)


def cause_at(found: Finding, findings: Iterable[Finding]) -> Cause | None:
    """Return the damage that stands at the very message that a finding is about, if there is one.

    >>> damage = Finding(FindingClass.OFFSET_DISORDER, "orders", 0, "", "0" * 20, 5, 170)
    >>> late = Finding(FindingClass.KEY_ORDER, "orders", 0, "", "0" * 20, 99, 170)
    >>> cause_at(late, [damage]).is_certain, cause_at(late._replace(position=0), [damage])
    (True, None)
    """
    place = (found.partition, found.segment, found.position)
    for one in findings:
        if one.kind in DAMAGE and (one.partition, one.segment, one.position) == place:
            return Cause(one.kind, one.place, True) if found.position is not None else None
    return None
