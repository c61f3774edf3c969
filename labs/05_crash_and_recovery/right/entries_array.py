# exercise: 4
# differs: the array module, and two lists that are shifted by one
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
    before = [(-1, 0), *entries]
    bad = [i for i, (a, b) in enumerate(entries) if a <= before[i][0] or b <= before[i][1]]
    if bad:
        raise CorruptBytesError("out of order", position=8 * min(bad))
    return entries
