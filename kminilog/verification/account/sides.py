"""Both sides of a comparison, as tasks see them: batches of records and messages become rows.

    source   key, value, place   --> digest, partition where it belongs, is it rejected?
    log      key, value, offset  --> digest, partition where it stands

Both steps begin here. The checksum pass adds the rows to sums, the row join sends them to be
paired. This module does not know who reads the batches. Source: ours.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kminilog.columns.digests import Digests, digests
from kminilog.columns.mixing import mixed
from kminilog.jobs.source.places import TOLD_COLUMNS, Order, places_of
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.verification.account.expected import ExpectedPartition
from kminilog.verification.account.log_parts import Part, Ranges, messages_of
from kminilog.verification.account.rejections import Rejections
from kminilog.verification.account.rows import UNKNOWN, Bits, Integers, bits_of


class SourceRecords(NamedTuple):
    """Some records of the source, in source order.

    `numbers` are those of their places, `rows` what these say of rows. A rejected record belongs to
    no partition: UNKNOWN.
    `told_offsets` are where they say that their messages are, if that is compared.
    """

    keys: pa.Array
    values: pa.Array
    digests: Digests
    numbers: Integers
    rows: Integers
    partitions: Integers
    has_key: Bits
    is_rejected: Bits
    told_offsets: Integers | None = None


class Messages(NamedTuple):
    """Some messages of one segment, in the order of the file.

    `is_counted` are those whose record's partition can be known.
    """

    segment: int
    keys: pa.Array
    values: pa.Array
    digests: Digests
    offsets: Integers
    positions: Integers
    has_key: Bits
    is_counted: Bits


@dataclass(frozen=True)
class Sides:
    """What tasks must know to read both sides."""

    log_dir: LogDir
    partitions: int
    within: Ranges | None
    expected: ExpectedPartition
    rejections: Rejections
    order: Order
    same_places: bool = False

    def reader(self, wanted: Bits | None = None) -> Callable[[pa.RecordBatch], SourceRecords]:
        """Return a new function of a batch with the columns of `Columns`; O(bytes).

        Both sides read values only of the cells that are `wanted`; None stands for all.
        """
        choose = self.expected.chooser()

        def read(batch: pa.RecordBatch) -> SourceRecords:
            keys, places = batch.column("key"), places_of(batch)
            numbers = self.order.numbers(places)
            is_undecodable = bits_of(batch.column("rejected").is_valid())
            values = batch.column("value")
            is_rejected = self.rejections.known(
                places.rank,
                numbers,
                is_undecodable,
                lambda rows: digests(*(column.filter(pa.array(rows)) for column in (keys, values))),
            )
            partitions, told = choose(keys, places), None
            if self.same_places:
                partitions, told = self._told(batch)
            if is_rejected.any():
                partitions = np.where(is_rejected, UNKNOWN, partitions)
            found = digests(keys, values, wanted)
            found = _without_copies(found, is_undecodable, numbers)
            has_key = bits_of(keys.is_valid())
            at = (numbers, places.row, partitions)
            return SourceRecords(keys, values, found, *at, has_key, is_rejected, told)

        return read

    def _told(self, batch: pa.RecordBatch) -> tuple[Integers, Integers]:
        """Return in which partitions, and at which offsets, records say that their messages are."""
        partitions, offsets = (
            pc.fill_null(batch.column(name), UNKNOWN).to_numpy() for name in TOLD_COLUMNS
        )
        return np.where(partitions < self.partitions, partitions, UNKNOWN), offsets

    def messages(self, part: Part, wanted: Bits | None = None) -> Iterator[Messages]:
        """Yield the messages of a part; O(bytes)."""
        for segment, batch in messages_of(self.log_dir, part, self.within):
            keys, values = batch.column("key"), batch.column("value")
            has_key = bits_of(keys.is_valid())
            counted = np.full(len(batch), self.expected.knows_keyless)
            yield Messages(
                segment,
                keys,
                values,
                digests(keys, values, wanted),
                batch.column("offset").to_numpy(),
                batch.column("position").to_numpy(),
                has_key,
                counted | (has_key & self.expected.knows_keyed),
            )


def _without_copies(found: Digests, is_undecodable: Bits, numbers: Integers) -> Digests:
    """Return the digests of records; one that cannot be decoded is a copy of nothing."""
    if not is_undecodable.any():
        return found
    own = mixed(numbers.astype(np.uint64)), mixed(~numbers.astype(np.uint64))
    low, high = (
        np.where(is_undecodable, one, other) for one, other in zip(own, found[:2], strict=True)
    )
    return Digests(low, high, np.where(is_undecodable, low, found.families))
