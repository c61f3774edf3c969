"""The account of a source, in one pass or two.

    sums are equal                            ok, after one pass over each side
    sums differ in some cells                 the account of the families in these cells
    sums say nothing                          the account of everything

Sums say nothing if nobody can know where records with keys belong, if the source is a DataFrame, or
if offsets are not ascending. Source: ours.
"""

from collections.abc import Collection, Mapping
from functools import partial

from kminilog.jobs.accounting.account import REJECTED, Account, PairGroup, merged
from kminilog.jobs.accounting.checksum_pass import (
    ChecksumPass,
    cell_count,
    compare_sums,
    sum_messages,
    sum_records,
)
from kminilog.jobs.accounting.engine import Groups, Reader
from kminilog.jobs.accounting.row_join import RowJoin, add_counts
from kminilog.jobs.accounting.rows import Bits
from kminilog.jobs.accounting.sides import Sides

_BUCKET_BYTES = 256 << 20
_BUCKET_ROWS = 1_000_000  # of each side: about 600 MB while they are paired

Bounds = Mapping[int, tuple[int, int]]
Shown = Collection[tuple[int, int]]


def compare(
    reader: Reader,
    sides: Sides,
    groups: Groups,
    *,
    total_bytes: int,
    messages: int,
    shown: Shown,
    bounds: Bounds,
    is_full: bool,
) -> Account:
    """Return the account of a source and a log that are read in `groups` of parts.

    `total_bytes` is about what both sides have, `messages` how many the log has. `shown` has
    partitions and offsets of messages whose records are wanted; `bounds` by partition the first and
    the next offset of what jobs wrote. With `is_full` everything is compared row by row. O(bytes),
    in tasks.
    """
    steps, wanted, rows = [], None, messages
    if not is_full and reader.task_count and sides.expected.knows_keyed:
        first = _checksum_pass(reader, sides, groups, total_bytes)
        steps.append("sums")
        if first.differing is not None and not first.differing.any() and not shown:
            rejected = {REJECTED: PairGroup(first.rejected, [])} if first.rejected else {}
            return Account(first.source, first.stored, rejected, steps)
        wanted = first.differing if not shown else None
        rows = max(messages, first.source)
    steps.append("account" if wanted is None else _described(wanted))
    buckets = max(reader.cores, -(-total_bytes // _BUCKET_BYTES), -(-rows // _BUCKET_ROWS))
    join = RowJoin(sides, buckets, wanted, shown, bounds)
    judged = reader.compare(join, groups)
    counted = add_counts(one.counted for one in judged)
    left_out = {REJECTED: PairGroup(counted.left_out, [])} if counted.left_out else {}
    found = merged([left_out, *(one.groups for one in judged)])
    return Account(counted.source, counted.stored, found, steps)


def _checksum_pass(reader: Reader, sides: Sides, groups: Groups, total_bytes: int) -> ChecksumPass:
    cells = cell_count(sides.partitions, reader.task_count + len(groups), total_bytes)
    runs = reader.map_source(partial(sum_records, sides, cells))
    parts = reader.map_parts(groups, partial(sum_messages, sides, cells))
    return compare_sums(sides.partitions, cells, runs, parts)


def _described(wanted: Bits) -> str:
    return f"account of {int(wanted.sum())} of {len(wanted)} cells"
