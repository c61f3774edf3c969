"""The three indexes of a broker's segment: entries of fixed length, one after the other.

    .index      relative offset int32 | position int32                                     8 bytes
    .timeindex  timestamp int64 | relative offset int32                                   12 bytes
    .txnindex   version int16 | producer id, first offset, last offset, last stable
                offset: int64 each                                                        34 bytes

A broker makes `.index` and `.timeindex` of the segment that it writes as large as they may become
(`segment.index.bytes`, 10 MiB), full of zeros, and cuts them when it closes them in order. So zeros
at the end are *padding*: no entry. The first batch never has an entry in `.index`, so none is all
zeros; in `.timeindex` only one of 1 January 1970 would be.

An offset of `.index` is that of the last record of the batch at the position; that of `.timeindex`
is the first record with the greatest timestamp so far. Whether entries ascend, and agree with the
log, is not judged here. Source: Kafka: OffsetIndex, TimeIndex, TransactionIndex, AbortedTxn.
"""

import struct
from typing import Generic, NamedTuple, TypeVar

from kminilog.format.index_entry import IndexEntry

_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_ABORTED = struct.Struct(">hqqqq")
EntryOf = TypeVar("EntryOf")


class TimeIndexEntry(NamedTuple):
    """No record before this one has a greater timestamp."""

    timestamp: int
    relative_offset: int


class AbortedTransaction(NamedTuple):
    """The records of this producer from `first_offset` to `last_offset`, its marker, do not count.

    `last_stable_offset` is one that no open transaction was below when this one ended.
    """

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class IndexContents(NamedTuple, Generic[EntryOf]):
    """The entries of an index file; zeros after them; and bytes at the end that are no entry."""

    entries: list[EntryOf]
    padding_bytes: int = 0
    torn_bytes: int = 0


def parse_offset_index(data: bytes) -> IndexContents[IndexEntry]:
    """Return what an `.index` holds. O(bytes).

    >>> parse_offset_index(bytes.fromhex("00000003 000001f1") + bytes(17)).entries
    [IndexEntry(relative_offset=3, position=497)]
    >>> parse_offset_index(bytes.fromhex("00000003 000001f1") + bytes(17))[1:]
    (16, 1)
    """
    rows, padding_bytes, torn_bytes = _parse(_OFFSET_ENTRY, data, is_padded=True)
    return IndexContents([IndexEntry(*row) for row in rows], padding_bytes, torn_bytes)


def parse_time_index(data: bytes) -> IndexContents[TimeIndexEntry]:
    """Return what a `.timeindex` holds. O(bytes).

    >>> parse_time_index(bytes.fromhex("0000018bcfe56800 00000005"))[0]
    [TimeIndexEntry(timestamp=1700000000000, relative_offset=5)]
    """
    rows, padding_bytes, torn_bytes = _parse(_TIME_ENTRY, data, is_padded=True)
    return IndexContents([TimeIndexEntry(*row) for row in rows], padding_bytes, torn_bytes)


def parse_transaction_index(data: bytes) -> IndexContents[AbortedTransaction]:
    """Return what a `.txnindex` holds; a broker adds to its end, so it has no padding. O(bytes)."""
    rows, _, torn_bytes = _parse(_ABORTED, data, is_padded=False)
    return IndexContents([AbortedTransaction(*row) for row in rows], 0, torn_bytes)


def _parse(
    entry: struct.Struct, data: bytes, *, is_padded: bool
) -> tuple[list[tuple[int, ...]], int, int]:
    torn_bytes = len(data) % entry.size
    whole_bytes = len(data) - torn_bytes
    end = whole_bytes
    if is_padded:
        used_bytes = len(data[:whole_bytes].rstrip(b"\0"))
        end = -(-used_bytes // entry.size) * entry.size  # the entry that ends with zeros is whole
    return list(entry.iter_unpack(data[:end])), whole_bytes - end, torn_bytes
