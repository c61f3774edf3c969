"""Fingerprints of many messages at once; the fast twin of `storage.fingerprints`.

`seal` and `join_runs` take `fingerprint_messages` as their argument `fingerprint`. Source:
storage/publish/fingerprints.py.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kminilog.bulk.boundaries import walk_whole_messages
from kminilog.format.message import CRC_END
from kminilog.storage.publish.fingerprints import (
    LAST_SHIFT,
    MIXING,
    OFFSET_FACTOR,
    Bytes,
    RangeSums,
)

_BEGINNING = np.dtype([("offset", ">i8"), ("size_and_crc", ">u8")])


def fingerprint_messages(data: Bytes, sums: RangeSums, hints: Sequence[int] = ()) -> int:
    """Do the same as the plain one; the better the hints where messages begin, the faster.

    Raises ValueError for a size that none can have; the messages in front of it are then added.
    """
    boundaries, fault = walk_whole_messages(data, hints)
    if len(boundaries) > 1:
        everywhere = np.ndarray(len(data) - CRC_END + 1, "V16", data, strides=1)
        fields = everywhere[boundaries[:-1]].view(_BEGINNING)
        offsets = fields["offset"].astype(np.int64)
        add_messages(sums, offsets, fields["size_and_crc"].astype(np.uint64))
    if fault:
        raise ValueError(fault)
    return int(boundaries[-1])


def add_messages(
    sums: RangeSums, offsets: NDArray[np.int64], sizes_and_crcs: NDArray[np.uint64]
) -> None:
    """Add messages to the sums of their ranges; of each its offset, and size * 2^32 + crc.

    O(messages * ranges between the smallest and the greatest offset).
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
