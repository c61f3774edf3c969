# exercise: 4
# differs: the array module, and zip of two columns
import array
import sys

from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry


def decode_entries(data):
    if (rest := len(data) & 7) > 0:
        raise CorruptBytesError("the last entry is torn", position=len(data) - rest)
    numbers = array.array("i", data)
    if sys.byteorder == "little":
        numbers.byteswap()
    entries = list(map(IndexEntry, numbers[::2], numbers[1::2]))
    slots = range(1, len(entries))
    bad = [i for i in slots if any(a >= b for a, b in zip(entries[i - 1], entries[i], strict=True))]
    if bad:
        raise CorruptBytesError("out of order", position=8 * min(bad))
    return entries
