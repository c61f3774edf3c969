"""A number of 128 bits for each record or message: the same for the same key and value.

    key    --XXH3--> 128 bits --mixed--+
                                       xor --mixed--> low 64 bits, high 64 bits
    value  --XXH3--> 128 bits ---------+

Two records that differ have the same number with a chance of about 2^-128. XXH3 is no cryptographic
hash: it finds accidents, and whoever wants to can make two values with the same number. Null and
empty differ. Source: ours; XXH3 (Collet).
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from xxhash import xxh3_128_digest

from kminilog.columns.mixing import mixed

Words = NDArray[np.uint64]
_NULL = np.frombuffer(xxh3_128_digest(b"null", seed=1), "<u8")
_ROWS = 2048  # so many Python objects at once: they fit into a processor's cache


class Digests(NamedTuple):
    """The two halves of each number, and `families`: 64 bits of its key.

    Records with the same key are of one family. A record without a key is of the family of its
    copies.
    """

    low: Words
    high: Words
    families: Words


def digests(keys: Any, values: Any, wanted: NDArray[np.bool_] | None = None) -> Digests:
    """Return the digests of records, for two Arrow columns of bytes. O(bytes).

    With `wanted`, which tells for each cell if it is, values of other cells are not read: only the
    families of these records are right.

    >>> import pyarrow as pa
    >>> keys, values = pa.array([b"k", b"k", None]), pa.array([b"v", None, b""])
    >>> found = digests(keys, values)
    >>> len({*found.low.tolist()}), len({*found.families[:2].tolist()})
    (3, 1)
    >>> none = digests(keys, values, wanted=np.array([False, False]))
    >>> none.families.tolist() == found.families.tolist(), (none.low == found.low).tolist()
    (True, [False, False, True])
    """
    key_low, key_high = map(mixed, _words(keys))
    is_null = keys.is_null().to_numpy(zero_copy_only=False)
    if wanted is None:
        low, high = _words(values)
    else:
        read = is_null | wanted[cells_of(key_low, len(wanted))]
        low, high = np.zeros_like(key_low), np.zeros_like(key_high)
        low[read], high[read] = _words(values.filter(pa.array(read)))
    low, high = mixed(low ^ key_low), mixed(high ^ key_high)
    return Digests(low, high, np.where(is_null, low, key_low))


def sum_of_rows(keys: Any, values: Any, partitions: Any = None) -> int:
    """Return a number of 64 bits, the same for the same rows in any order. O(bytes).

    `partitions` are an Arrow column of those that rows name, null where one names none. Sums of
    parts are added modulo 2^64. Other rows have the same sum with a chance of 2^-64.

    >>> import pyarrow as pa
    >>> keys, values = pa.array([b"k", b"j"]), pa.array([b"v", None])
    >>> parts = [sum_of_rows(keys[n:][:1], values[n:][:1]) for n in (1, 0)]
    >>> sum(parts) % (1 << 64) == sum_of_rows(keys, values)
    True
    """
    found = digests(keys, values).low
    if partitions is not None:
        named = partitions.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        found = mixed(found ^ mixed(named.astype(np.uint64)))
    return int(found.sum())


def as_texts(found: Digests) -> list[str]:
    """Return each number as text, which no program takes for a number when it reads a table.

    >>> word = np.array([255], np.uint64)
    >>> as_texts(Digests(word, word, word))
    ['00000000000000ff-00000000000000ff']
    """
    pairs = zip(found.high.tolist(), found.low.tolist(), strict=True)
    return [f"{high:016x}-{low:016x}" for high, low in pairs]


def cells_of(families: Words, cell_count: int) -> NDArray[np.int64]:
    """Return the cell of each family; `cell_count` is a power of 2."""
    return (families & np.uint64(cell_count - 1)).astype(np.int64)


def _words(column: Any) -> tuple[Words, Words]:
    """Return both halves of the digest of each entry of a column."""
    slices = (column.slice(start, _ROWS) for start in range(0, len(column), _ROWS))
    entries: Iterator[Any] = chain.from_iterable(part.to_pylist() for part in slices)
    if column.null_count:
        entries = (b"" if entry is None else entry for entry in entries)
    data = b"".join(map(xxh3_128_digest, entries))
    words = np.frombuffer(data, "<u8").astype(np.uint64).reshape(-1, 2)
    words[column.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return words[:, 0].copy(), words[:, 1].copy()
