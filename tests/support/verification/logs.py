"""Logs to verify: written by the engine, checked by the local engine, findings made comparable."""

from pathlib import Path

from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.verification.fast_segment_checks import check_segment as check_quickly
from kminilog.verification.manifest_checks import PartitionJobs
from kminilog.verification.partition_checks import check_partition
from kminilog.verification.summaries import PartitionOf, PartitionSummary, everywhere
from tests.support.verification.faults import Expected

ORDERS = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=420, index_interval_bytes=60)


def write_log(
    directory: Path,
    dialect: Dialect,
    *,
    count: int = 42,
    first_offset: int = 0,
    is_uniform: bool = False,
    settings: TopicSettings = SETTINGS,
) -> None:
    """Write messages of mixed or of equal lengths, some without a key."""
    log = PartitionLog.open(
        directory, ORDERS, dialect, settings, base_offset=dialect.base_offset_for(first_offset)
    )
    log.append(
        (None if n % 5 == 0 else b"k%d" % (n % 7), bytes(15 if is_uniform else 8 + n * 7 % 23))
        for n in range(count)
    )
    log.close()


def check(
    directory: Path,
    dialect: Dialect,
    *,
    settings: TopicSettings = SETTINGS,
    partition_of: PartitionOf | None = None,
) -> PartitionSummary:
    """What the plain check says, which must be what the fast one says."""
    reader = PartitionReader(directory, ORDERS, dialect, settings)
    jobs = PartitionJobs(placement=everywhere(partition_of) if partition_of else ())
    plain = check_partition(reader, jobs)
    fast = check_partition(reader, jobs, check_segment=check_quickly)
    assert fast == plain
    return plain


def found_in(summary: PartitionSummary) -> list[Expected]:
    """Class and place of each finding, sorted."""
    assert all(finding.stands_for == 1 for finding in summary.findings)
    found = [Expected(f.kind.value, f.segment, f.offset, f.position) for f in summary.findings]
    return sorted(found, key=str)
