"""The partition of many keys at once, by murmur2; the fast twin of `partitioners.keyed`.

Keys of one length are the rows of a table; each step of the hash is one operation on a column of
it. Keys of different lengths are sorted, the longest first. So the keys that still have a word to
mix are always the first ones. Source: format/hashing.py; Kafka: Utils.murmur2.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kminilog.columns.arrow_columns import Column, blocks

_SEED = 0x9747B28C
_MULTIPLIER = np.uint32(0x5BD1E995)
_WORD_BYTES = 4
_BLOCK_ROWS = 1 << 14
_TAIL_MASKS = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], np.uint32)

Hashes = NDArray[np.uint32]


def partition_column(keys: Any, partitions: int) -> Any:
    """Return the partition of each key as a `pa.Int32Array`; null for a null key.

    Kafka's clients from 0.9 on choose the same partitions. `keys` is any Arrow column of byte
    strings or texts. Raises ValueError for other columns. O(bytes).

    >>> partition_column(pa.array(["k1", "k2", None]), 7).to_pylist()
    [0, 2, None]
    """
    results, nulls = [np.empty(0, np.int32)], [np.empty(0, np.bool_)]
    for (block,) in blocks(keys, block_rows=_BLOCK_ROWS):
        length = block.fixed_length
        hashes = _of_mixed_lengths(block) if length is None else _of_one_length(block.rows(length))
        hashes ^= hashes >> 13
        hashes *= _MULTIPLIER
        hashes ^= hashes >> 15
        chosen = (hashes & 0x7FFFFFFF) % np.uint32(partitions)
        results.append(chosen.view(np.int32))
        none = np.zeros(len(block), np.bool_)
        nulls.append(none if block.is_null is None else block.is_null)
    return pa.array(np.concatenate(results), pa.int32(), mask=np.concatenate(nulls))


def _of_one_length(rows: NDArray[np.uint8]) -> Hashes:
    count, length = rows.shape
    hashes = np.full(count, _SEED ^ length, np.uint32)
    whole = length - length % _WORD_BYTES
    for start in range(0, whole, _WORD_BYTES):
        words = np.ndarray(count, "<u4", rows, start, strides=length)
        _mix(hashes, words.astype(np.uint32))
    if length > whole:
        for place in range(length - whole):
            hashes ^= rows[:, whole + place].astype(np.uint32) << 8 * place
        hashes *= _MULTIPLIER
    return hashes


def _of_mixed_lengths(keys: Column) -> Hashes:
    order = _longest_first(keys.lengths)
    lengths, starts = keys.lengths[order], keys.starts[:-1].astype(np.int64)[order]
    # A word is read even where a key has one byte left, so bytes are added after the last key.
    padded = np.frombuffer(bytes(keys.data) + bytes(_WORD_BYTES - 1), np.uint8)
    words = np.ndarray(len(padded) - _WORD_BYTES + 1, "<u4", padded, strides=1)
    hashes = lengths.astype(np.uint32) ^ np.uint32(_SEED)
    word_counts = lengths // _WORD_BYTES
    ascending = word_counts[::-1]
    for done in range(int(word_counts[0]) if len(lengths) else 0):
        active = len(lengths) - int(ascending.searchsorted(done, "right"))
        _mix(hashes[:active], words[starts[:active] + _WORD_BYTES * done].astype(np.uint32))
    tails = lengths % _WORD_BYTES
    with_tail = np.flatnonzero(tails)
    tail_starts = starts[with_tail] + word_counts[with_tail] * _WORD_BYTES
    last = words[tail_starts] & _TAIL_MASKS[tails[with_tail]]
    hashes[with_tail] = (hashes[with_tail] ^ last) * _MULTIPLIER
    in_place = np.empty_like(hashes)
    in_place[order] = hashes
    return in_place


def _longest_first(lengths: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the order of rows by descending length; 16-bit numbers are sorted faster, by radix."""
    if len(lengths) and int(lengths.max()) < 1 << 16:
        return np.argsort((65535 - lengths).astype(np.uint16), kind="stable")
    return np.argsort(-lengths, kind="stable")


def _mix(hashes: Hashes, words: Hashes) -> None:
    """Mix one word of each key into its hash, in place; `words` is used up."""
    words *= _MULTIPLIER
    words ^= words >> 24
    words *= _MULTIPLIER
    hashes *= _MULTIPLIER
    hashes ^= words
