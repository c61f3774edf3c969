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
from numpy.typing import NDArray
from xxhash import xxh3_128_digest

from kminilog.bulk.mixing import mixed

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


def digests(keys: Any, values: Any) -> Digests:
    """Return the digests of records, for two Arrow columns of bytes. O(bytes).

    >>> import pyarrow as pa
    >>> found = digests(pa.array([b"k", b"k", None]), pa.array([b"v", None, b""]))
    >>> len({*found.low.tolist()}), len({*found.families[:2].tolist()})
    (3, 1)
    """
    low, high = _words(values)
    key_low, key_high = map(mixed, _words(keys))
    low, high = mixed(low ^ key_low), mixed(high ^ key_high)
    is_null = keys.is_null().to_numpy(zero_copy_only=False)
    return Digests(low, high, np.where(is_null, low, key_low))


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
