# exercise: 4
# differs: numpy reads all numbers at once
import numpy

from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry


def decode_entries(data):
    if len(data) % 8:
        raise CorruptBytesError("torn", position=len(data) // 8 * 8)
    pairs = numpy.frombuffer(data, dtype=">i4").reshape(-1, 2).astype(numpy.int64)
    falls = numpy.flatnonzero((numpy.diff(pairs, axis=0, prepend=[[-1, 0]]) <= 0).any(axis=1))
    if len(falls):
        raise CorruptBytesError("not ascending", position=8 * int(falls[0]))
    return [IndexEntry(*pair) for pair in pairs.tolist()]
