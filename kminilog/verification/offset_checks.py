"""Decide which fault it is when a valid message has an unexpected offset.

The crc does not cover the offset, so the next message decides. `e` is the expected offset:

    stands there        after it     finding            because                          go on with
    e                   any          none                                                e + 1
    x                   e + 1        offset-disorder    one offset was altered           e + 1
    x < 0               any          offset-disorder    the same                         e + 1
    e + 1               e            offset-disorder    two messages changed places      e + 2
    x, missing before   x + 1        offset-disorder    those before it are wrong        x + 1
    x, missing before   else         offset-disorder    it was moved back                e
    x > e               else         offset-gap         e to x - 1 are missing           x itself
    x < e               else         offset-overlap     a copy of an offset seen before  e

A damaged message between the two counts as one offset. A compressed message has the offset of the
last message inside it, so a greater offset may be right (`is_next_message`). At the end and the
beginning of a segment, the neighbouring segment decides (partition_checks). Source: ours.
"""

from typing import NamedTuple

from kminilog.format.message import Message, is_next_message
from kminilog.verification.findings import FindingClass

_NOTHING = range(0)


class OffsetFault(NamedTuple):
    """What is wrong with an offset, which offsets it affects, and which offset to expect now.

    After a gap, expect the same message's offset. `swapped_offset` may come next all the same.
    """

    kind: FindingClass
    detail: str
    concerned: range
    next_offset: int
    swapped_offset: int | None = None


def judge_offset(
    message: Message,
    expected: int,
    after: Message | None,
    *,
    missing: range = _NOTHING,
    is_damage_between: bool = False,
) -> OffsetFault | None:
    """Return what is wrong with the offset of a message; None if it is the expected one. O(1).

    `after` is the next valid message; `missing` is the last gap in front of both.

    >>> m7, m8, m9 = (Message(offset, 0, 0, 0, 0, None, b"") for offset in (7, 8, 9))
    >>> judge_offset(m7, 7, m8) is None
    True
    >>> [judge_offset(*case).kind.value for case in ((m9, 7, m8), (m8, 7, m7), (m8, 7, m9))]
    ['offset-disorder', 'offset-disorder', 'offset-gap']
    >>> judge_offset(m7, 8, m8).detail
    'offset 7 once more, expected 8'
    """
    offset = message.offset
    reach = 2 if is_damage_between else 1
    is_altered = _is_altered(message, expected, after, reach)
    if offset == expected or (is_next_message(message, expected) and not is_altered):
        return None
    if is_altered or offset < 0 or (offset > expected and message.is_compressed):
        next_offset = after.offset if after and message.is_compressed else expected + 1
        return _disorder(expected, f"offset {offset}, expected {expected}", next_offset)
    if after and offset - 1 == expected == after.offset:
        detail = f"offsets {offset} and {expected} have changed places"
        fault = _disorder(expected, detail, expected + 2)
        return fault._replace(concerned=range(expected, expected + 2), swapped_offset=expected)
    if offset in missing:
        next_offset = offset + 1 if goes_on(offset, after, reach) else expected
        return _disorder(offset, f"offset {offset} stands after later ones", next_offset)
    if offset > expected:
        return gap(range(expected, offset))
    return overlap(offset, expected)


def _is_altered(message: Message, expected: int, after: Message | None, reach: int) -> bool:
    """Tell if the next message follows the expected offset, but not the one that stands here."""
    if after is None or goes_on(message.offset, after, reach):
        return False
    if message.is_compressed:
        return expected < after.offset and not expected <= message.offset <= after.offset
    return goes_on(expected, after, reach)


def goes_on(offset: int, after: Message | None, reach: int = 1) -> bool:
    """Tell if the message `after` may follow one with this offset; False for None."""
    if after is None or after.offset <= offset:
        return False
    return after.offset <= offset + reach or after.is_compressed


def gap(missing: range) -> OffsetFault:
    """Return the fault for offsets that are missing in front of a message.

    >>> gap(range(5, 6)).detail, gap(range(5, 9)).detail
    ('1 offset is missing: 5', '4 offsets are missing: 5 to 8')
    """
    first, last = missing[0], missing[-1]
    detail = f"{len(missing)} offsets are missing: {first} to {last}"
    if first == last:
        detail = f"1 offset is missing: {first}"
    return OffsetFault(FindingClass.OFFSET_GAP, detail, missing, missing.stop)


def overlap(offset: int, expected: int) -> OffsetFault:
    """Return the fault for an offset that occurs a second time."""
    detail = f"offset {offset} once more, expected {expected}"
    return OffsetFault(FindingClass.OFFSET_OVERLAP, detail, _NOTHING, expected)


def _disorder(offset: int, detail: str, next_offset: int) -> OffsetFault:
    concerned = range(offset, offset + 1)
    return OffsetFault(FindingClass.OFFSET_DISORDER, detail, concerned, next_offset)
