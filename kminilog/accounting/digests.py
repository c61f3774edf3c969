"""A number of 128 bits for each record or message: the same for the same key and value.

    key    --XXH3--> 128 bits --mixed--+
                                       xor --mixed--> low 64 bits, high 64 bits
    value  --XXH3--> 128 bits ---------+

Two records that differ have the same number with a chance of about 2^-128. XXH3 is no cryptographic
hash: it finds accidents, and whoever wants to can make two values with the same number. Null and
empty differ. Source: ours; XXH3 (Collet).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_128_digest

from kminilog.bulk.mixing import mixed

Words = NDArray[np.uint64]
_NULL = xxh3_128_digest(b"null", seed=1)


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
    >>> len({*found.low.tolist()}), bool(found.families[0] == found.families[1])
    (3, True)
    """
    low, high = _words(values)
    encoded = keys.dictionary_encode()
    key_low, key_high = (mixed(words) for words in _words(encoded.dictionary, _NULL))
    places = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy()
    low, high = mixed(low ^ key_low[places]), mixed(high ^ key_high[places])
    families = key_low[places]
    if keys.null_count:
        families = np.where(keys.is_null().to_numpy(zero_copy_only=False), low, families)
    return Digests(low, high, families)


def _words(column: Any, *more: bytes) -> tuple[Words, Words]:
    """Return both halves of the digest of each entry of a column, then those of `more` digests."""
    data = [_NULL if entry is None else xxh3_128_digest(entry) for entry in column.to_pylist()]
    words = np.frombuffer(b"".join([*data, *more]), "<u8").astype(np.uint64).reshape(-1, 2)
    return words[:, 0].copy(), words[:, 1].copy()
