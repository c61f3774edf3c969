"""Two neighbouring messages that have changed places: found by the fingerprints of their job alone.

    the job wrote   17 a   18 b       both messages are valid, and have the offsets of their places:
    the log has     17 b   18 a       so only the sum of their range tells that something is wrong

In an `altered` range, each pair of neighbours is put back in thought. If the sum is then that of
the manifest, these two have changed places. For other messages the chance of that is 1 to 2^50. The
two may stand on both sides of a border between ranges: then both sums must fit. So they alter one
range or two: if more are altered, none is read again. Source: ours.
"""

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

from kminilog.errors import KMiniLogError, LogDirError
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.publish.fingerprints import message_fingerprint
from kminilog.verification.findings import Finding, FindingClass
from kminilog.verification.manifest_checks import PartitionJobs

_MOST_RANGES = 2
_READ_BYTES = 1 << 20
_MODULUS = 1 << 64


def name_swaps(
    reader: PartitionReader, jobs: PartitionJobs, findings: Sequence[Finding]
) -> list[Finding]:
    """Return the findings; an `altered` range in which two neighbours have changed places says so.

    Reads altered ranges once more, message by message, if they are not more than two. O(their
    bytes), memory O(their messages) without keys and values.
    """
    ranges = [one for one in findings if one.kind == FindingClass.ALTERED]
    if len(ranges) > _MOST_RANGES:
        return list(findings)
    named: dict[Finding, list[Finding]] = {}
    with suppress(KMiniLogError, OSError):  # somebody changes the log: the ranges stay as they are
        read = [_Range.read(reader, jobs, found) for found in ranges]
        for found, here, after in zip(ranges, read, [*read[1:], None], strict=False):
            swap = found not in named and _swap_in(here, after)
            if swap:
                one, is_across = swap
                first = reader.find(one)
                detail = f"offsets {one} and {one + 1} have changed places: {found.detail}"
                place = found._replace(
                    segment=first.segment.name, offset=one, position=first.position
                )
                named[found] = [place._replace(detail=detail, last_offset=None)]
                if is_across and after:
                    named[ranges[ranges.index(found) + 1]] = []
    return [kept for found in findings for kept in named.get(found, [found])]


class _Stored(NamedTuple):
    """What the fingerprint of a message is made of."""

    offset: int
    size: int
    crc: int


class _Range(NamedTuple):
    """The messages of a range, and what their sum lacks to be that of the manifest."""

    messages: list[_Stored]
    difference: int

    @classmethod
    def read(cls, reader: PartitionReader, jobs: PartitionJobs, found: Finding) -> "_Range":
        written = {first: total for _, one in jobs.staged for first, _, total in one.fingerprints}
        first, last = found.offset or 0, found.last_offset or 0
        stored: list[_Stored] = []
        while len(stored) <= last - first:
            messages = reader.read(first + len(stored), _READ_BYTES)
            if not messages:
                raise LogDirError(str(reader.directory), reason="the log was cut meanwhile")
            stored += [_Stored(one.offset, one.size, one.crc) for one in messages]
        del stored[last - first + 1 :]
        total = sum(message_fingerprint(*one) for one in stored)
        return cls(stored, written[first] - total)


def _swap_in(here: _Range, after: _Range | None) -> tuple[int, bool] | None:
    """Return the offset of the first of two messages that have changed places; None without any.

    The other one may be the first of the range `after`: then the second value is true.
    """
    for one, other in pairwise(here.messages):
        if (_change(one, other) + _change(other, one) - here.difference) % _MODULUS == 0:
            return one.offset, False
    if after and after.messages[0].offset == here.messages[-1].offset + 1:
        one, other = here.messages[-1], after.messages[0]
        changes = _change(one, other) - here.difference, _change(other, one) - after.difference
        if not any(change % _MODULUS for change in changes):
            return one.offset, True
    return None


def _change(place: _Stored, content: _Stored) -> int:
    """Return how a sum changes if a place has another content."""
    before = message_fingerprint(*place)
    return message_fingerprint(place.offset, content.size, content.crc) - before
