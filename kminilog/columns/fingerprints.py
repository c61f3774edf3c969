"""Fingerprints of many messages at once; the fast twin of `RangeSums.add`.

Source: storage/publish/fingerprints.py.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kminilog.columns.boundaries import Positions, everywhere
from kminilog.format.message import CRC_END
from kminilog.storage.publish.fingerprints import (
    LAST_SHIFT,
    MIXING,
    OFFSET_FACTOR,
    RangeSums,
)

_BEGINNING = np.dtype([("offset", ">i8"), ("size_and_crc", ">u8")])


def fingerprint_messages(data: Any, boundaries: Positions, sums: RangeSums) -> None:
    """Add the messages between these boundaries to the sums of their ranges; costs `add_messages`.

    `boundaries` are those that `find_beginnings` returns for `data`.
    """
    fields = everywhere(data, CRC_END)[boundaries[:-1]].view(_BEGINNING)
    sizes_and_crcs = fields["size_and_crc"].astype(np.uint64)
    add_messages(sums, fields["offset"].astype(np.int64), sizes_and_crcs)


def add_messages(
    sums: RangeSums, offsets: NDArray[np.int64], sizes_and_crcs: NDArray[np.uint64]
) -> None:
    """Add messages to the sums of their ranges, in place; outside all ranges they do not count.

    `sizes_and_crcs` has size * 2^32 + CRC of each message. O(messages * ranges between the smallest
    and the greatest offset).
    """
    if not len(offsets) or len(sums.borders) < 2:
        return
    prints = offsets.view(np.uint64) * np.uint64(OFFSET_FACTOR)
    prints ^= sizes_and_crcs
    for shift, factor in MIXING:
        prints ^= prints >> shift
        prints *= np.uint64(factor)
    prints ^= prints >> LAST_SHIFT
    for slot in sums.slots(int(offsets.min()), int(offsets.max())):
        is_inside = (offsets >= sums.borders[slot]) & (offsets < sums.borders[slot + 1])
        sums.add_to(slot, int(is_inside.sum()), int(prints[is_inside].sum()))
