"""Find the cause of a finding: another finding, as far as their places can prove it.

A message with a wrong offset may also be out of order by its key. Both findings have the same
place, so one is the cause of the other. A missing record belongs between two stored messages, by
the order of the source. Damage between these two messages may be why it is missing:

    source   r4   r5   r6   r7        r5 and r6 are missing
    log      m4  ~~~~~~~~~  m7        bad-crc at offset 5: two messages are lost, m5 and m6

If as many records are missing there as messages are lost, the lost messages are these records: the
cause is certain. With another number, the damage is only a possible cause.

In the other direction, comparison with a source explains findings of the storage: a range of
messages is `altered`, or a log ends before its job did. Then one message in that range has a
finding, or messages in front of it were added or lost, which shifts offsets. Or messages of one key
have changed places: only the one that comes too late has a finding. Source: ours.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kminilog.verification.findings import Cause, Effect, Finding, FindingClass

DAMAGE = [kind for kind in FindingClass if kind.effect in (Effect.LOSS, Effect.DISORDER)]


class Slot(NamedTuple):
    """Where a missing record belongs: after offset `before`, in front of offset `after`.

    It is number `number`, from 1 on, of `missing_count` records that are missing there.
    """

    partition: int
    before: int
    after: int
    number: int
    missing_count: int


def cause_of(slot: Slot, findings: Iterable[Finding]) -> Cause | None:
    """Return the damage that explains a missing record; None if no damage lies in its slot.

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
        if found.kind.effect == Effect.LOSS
        and found.partition == slot.partition
        and found.offset is not None
        and slot.before < found.offset <= slot.after  # a gap is found at the message after it
    ]
    if not there:
        return None
    is_certain = slot.after - slot.before - 1 == slot.missing_count
    there.sort(key=lambda pair: pair[0])
    reached = [found for offset, found in there if offset <= slot.before + slot.number]
    cause = reached[-1] if reached else there[0][1]
    return Cause(cause.kind, cause.place, is_certain)


def cause_at(found: Finding, findings: Iterable[Finding]) -> Cause | None:
    """Return the damage at the same message as a finding; None if there is none.

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


def cause_in_source(stored: Finding, findings: Iterable[Finding]) -> Cause | None:
    """Return the cause that comparison with a source gives for a finding of the storage, or None.

    `findings` are those of that comparison, and messages in a wrong partition. If the cause has a
    cause itself, it returns that one.

    >>> stored = Finding(FindingClass.ALTERED, "orders", 0, "", offset=0, last_offset=9)
    >>> altered = Finding(FindingClass.ALTERED, "orders", 0, "", offset=5)
    >>> missing = Finding(FindingClass.MISSING, "orders", 0, "")
    >>> cause_in_source(stored, [missing, altered]) == Cause(altered.kind, altered.place, True)
    True
    >>> cause_in_source(stored, [missing]) == Cause(missing.kind, missing.place, False)
    True
    """
    others = [found for found in findings if found is not stored]
    there = next((found for found in others if _is_in(stored, found)), None)
    moved = next((found for found in others if _may_have_moved(stored, found)), None)
    found = there or moved
    return found and (found.cause or Cause(found.kind, found.place, there is not None))


def _is_in(stored: Finding, found: Finding) -> bool:
    """Tell if both findings are about one message, or about a range and a message in it."""
    if stored.kind not in (FindingClass.ALTERED, FindingClass.WRONG_PARTITION):
        return False
    return found.partition == stored.partition and found.offset in _offsets(stored)


def _may_have_moved(stored: Finding, found: Finding) -> bool:
    """Tell if `found` may have given other offsets to messages of `stored`."""
    is_end = stored.kind == FindingClass.MANIFEST_MISMATCH and stored.segment is not None
    if not (is_end or stored.kind == FindingClass.ALTERED):
        return False
    is_here = found.partition == stored.partition
    if found.kind == FindingClass.MISSING:
        return is_here or found.partition < 0
    if found.kind == FindingClass.KEY_ORDER:
        return is_here and not is_end  # others of its key may have moved
    if found.kind == FindingClass.WRONG_PARTITION and not is_here:
        return True  # that message may belong into this partition
    is_before = found.offset is not None and found.offset < _offsets(stored).stop
    return found.kind.effect == Effect.ADDITION and is_here and is_before and not is_end


def _offsets(stored: Finding) -> range:
    start = -1 if stored.offset is None else stored.offset
    last = start if stored.last_offset is None else stored.last_offset
    is_swap = stored.kind == FindingClass.ALTERED and stored.last_offset is None
    return range(start, last + 1 + is_swap)
