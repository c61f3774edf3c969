"""Bytes that are overwritten, as by a bad disk: one damage, one finding, however many messages.

And zeros after the entries of an index, as a killed broker of Kafka 0.8 leaves 10 MiB of them.
"""

from itertools import pairwise
from pathlib import Path

import pytest

from kminilog.cli.dump.reading import read_index
from kminilog.columns.segment_scan import FAST
from kminilog.format.dialect import Dialect
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.recovery import plan_recovery
from kminilog.storage.segment.scan import PLAIN
from kminilog.verification.summaries import PartitionSummary
from tests.support.damage import message_positions
from tests.support.steps import steps_of
from tests.support.verification.logs import ORDERS, check

SETTINGS = TopicSettings(segment_bytes=20_000, index_interval_bytes=500)
COUNT = 1200


@pytest.fixture
def logs(tmp_path: Path, dialect: Dialect) -> list[Path]:
    log = PartitionLog.open(tmp_path, ORDERS, dialect, SETTINGS)
    log.append((b"k%d" % n, b"value %d" % n * (n % 4)) for n in range(COUNT))
    log.close()
    found = sorted(tmp_path.glob("*.log"))
    assert len(found) > 2
    return found


def overwrite(log: Path, start: int, size: int, byte: bytes = b"\0") -> list[int]:
    """Overwrite some bytes; return the numbers of the messages that are others now."""
    data = log.read_bytes()
    end = min(start + size, len(data))
    changed = data[:start] + byte * (end - start) + data[end:]
    log.write_bytes(changed)
    positions = message_positions(data)
    spans = [*pairwise(positions)]
    return [n for n, (first, last) in enumerate(spans) if data[first:last] != changed[first:last]]


def one_finding(summary: PartitionSummary):
    assert not summary.unchecked
    (found,) = summary.findings
    return found


@pytest.mark.parametrize("size", [512, 4096, 9000])
@pytest.mark.parametrize("start", [0, 30, 5000, 5020])
@pytest.mark.parametrize("slot", [0, 1])
def test_zeros_in_a_segment_are_one_finding_that_counts_the_messages(
    tmp_path, dialect, logs, slot, start, size
):
    hit = overwrite(logs[slot], start, size)
    found = one_finding(check(tmp_path, dialect, settings=SETTINGS))
    assert found.detail.endswith(f"; {len(hit)} messages were in these bytes")
    assert found.segment == logs[slot].stem


def test_zeros_at_the_end_of_a_segment_before_another_are_one_finding(tmp_path, dialect, logs):
    hit = overwrite(logs[0], logs[0].stat().st_size - 4096, 4096)
    found = one_finding(check(tmp_path, dialect, settings=SETTINGS))
    assert found.detail.endswith(f"; {len(hit)} messages were in these bytes")


def test_zeros_at_the_end_of_a_log_are_one_finding(tmp_path, dialect, logs):
    overwrite(logs[-1], logs[-1].stat().st_size - 4096, 4096)
    assert one_finding(check(tmp_path, dialect, settings=SETTINGS)).segment == logs[-1].stem


def test_other_bytes_than_zeros_are_one_finding_too(tmp_path, dialect, logs):
    overwrite(logs[1], 3000, 4096, b"\xa5")
    one_finding(check(tmp_path, dialect, settings=SETTINGS))


def test_more_missing_offsets_than_fit_into_the_damage_are_a_gap_as_well(tmp_path, dialect, logs):
    data, positions = logs[0].read_bytes(), message_positions(logs[0].read_bytes())
    cut = data[: positions[10] + 4] + b"\0" * 60 + data[positions[60] :]
    logs[0].write_bytes(cut)
    logs[0].with_suffix(".index").unlink()
    kinds = {found.kind for found in check(tmp_path, dialect, settings=SETTINGS).findings}
    assert "offset-gap" in kinds


# ---- an index


def reader_of(directory: Path, dialect: Dialect) -> PartitionReader:
    return PartitionReader(directory, ORDERS, dialect, SETTINGS)


DOORS = {
    "verify": lambda path, dialect: check(path, dialect, settings=SETTINGS),
    "find": lambda path, dialect: reader_of(path, dialect).find(COUNT - 1),
    "log end": lambda path, dialect: reader_of(path, dialect).log_end_offset,
    "dump": lambda path, dialect: [*read_index(max(path.glob("*.index")))],
    "recover": lambda path, dialect: plan_recovery(reader_of(path, dialect), scanner=FAST),
    "recover plainly": lambda path, dialect: plan_recovery(reader_of(path, dialect), scanner=PLAIN),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("are_entries_kept", [True, False])
@pytest.mark.usefixtures("logs")
def test_an_index_with_10_mib_of_zeros_takes_as_many_steps_as_one_with_few(
    tmp_path, dialect, are_entries_kept, door
):
    index = max(tmp_path.glob("*.index"))
    entries = index.read_bytes() if are_entries_kept else b""
    steps = []
    for size in (64, 10 << 20):
        index.write_bytes(entries + bytes(size))
        DOORS[door](tmp_path, dialect)  # the first call of all fills caches
        steps.append(steps_of(lambda: DOORS[door](tmp_path, dialect)))
    assert steps[1] < steps[0] + 20


@pytest.mark.usefixtures("logs")
def test_zeros_in_an_index_are_one_finding_that_counts_them(tmp_path, dialect):
    index = max(tmp_path.glob("*.index"))
    entries = index.read_bytes()
    index.write_bytes(entries + bytes(10 << 20))
    found = one_finding(check(tmp_path, dialect, settings=SETTINGS))
    assert (found.kind, found.position) == ("index-order", len(entries))
    number, more = len(entries) // 8, (10 << 20) // 8 - 1
    assert found.detail == f"entry {number}, (0, 0), does not ascend, nor do {more} more"
