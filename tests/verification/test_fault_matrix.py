"""Each single fault is named by exactly its class at its place, and nothing else is reported."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from kminilog.format.dialect import Dialect
from kminilog.verification.fast_segment_checks import check_segment as check_quickly
from kminilog.verification.partition_checks import check_partition
from kminilog.verification.summaries import PartitionSummary
from tests.support.crash.small_log import SmallLog, write_small_log
from tests.support.damage import files_of, flip_byte, index_entries, message_positions, restore
from tests.support.verification.faults import (
    FILE_FAULTS,
    INDEX_FAULTS,
    MESSAGE_FAULTS,
    Fault,
    IndexFault,
    Slots,
    Spot,
)
from tests.support.verification.logs import check, found_in, write_log

pytestmark = pytest.mark.usefixtures("without_fsync", "without_writers")

SHAPES = {
    "mixed": {},
    "uniform": {"is_uniform": True},
    "later": {"first_offset": 368_770},
}


@pytest.fixture
def log(tmp_path: Path, dialect: Dialect) -> Path:
    """A clean log of more than three segments."""
    write_log(tmp_path / "orders-0", dialect)
    return tmp_path / "orders-0"


def first_middle_last(count: int) -> list[int]:
    return sorted({0, count // 2, count - 1})


def segments_of(log: Path) -> list[int]:
    count = len(list(log.glob("*.log")))
    assert count > 3
    return first_middle_last(count)


def spots(log: Path) -> Iterator[Spot]:
    """First, second, middle and last message of the first, a middle and the last segment."""
    for segment in segments_of(log):
        count = len(Spot(log, segment, 0).offsets)
        for slot in sorted({1, *first_middle_last(count)}):
            yield Spot(log, segment, slot)


def assert_named(log: Path, dialect: Dialect, fault: Fault, spot: Spot) -> bool:
    """Put a fault in, check, take it out; tell if there was one."""
    files = files_of(log)
    expected = fault(spot)
    if expected is None:
        return False
    found = found_in(check(log, dialect))
    assert found == sorted(expected, key=str), f"message {spot.slot} of segment {spot.segment}"
    restore(log, files)
    return True


@pytest.mark.parametrize("name", MESSAGE_FAULTS)
def test_fault_in_a_message_is_named_by_its_class_at_its_place(log, dialect, name):
    fault = MESSAGE_FAULTS[name]
    assert sum(assert_named(log, dialect, fault, spot) for spot in spots(log)) > 0


@pytest.mark.parametrize("name", FILE_FAULTS)
def test_fault_in_a_file_is_named_by_its_class_at_its_place(log, dialect, name):
    fault = FILE_FAULTS[name]
    spots = [Spot(log, segment, 0) for segment in segments_of(log)]
    assert sum(assert_named(log, dialect, fault, spot) for spot in spots) > 0


def in_slot(fault: IndexFault, slot: int) -> Fault:
    return lambda spot: fault(Slots(spot, slot))


@pytest.mark.parametrize("name", INDEX_FAULTS)
def test_fault_in_an_index_is_named_by_its_class_at_its_place(log, dialect, name):
    named = []
    for segment in segments_of(log):
        spot = Spot(log, segment, 0)
        entry_count = len(index_entries(spot.index.read_bytes()))
        assert entry_count > 1
        for slot in first_middle_last(entry_count):
            named.append(assert_named(log, dialect, in_slot(INDEX_FAULTS[name], slot), spot))
    assert any(named)


@pytest.mark.soak
@pytest.mark.parametrize("shape", SHAPES)
def test_every_fault_at_every_place_is_named(tmp_path, dialect, shape):
    write_log(tmp_path, dialect, **SHAPES[shape])
    for segment in range(len(list(tmp_path.glob("*.log")))):
        spot = Spot(tmp_path, segment, 0)
        for slot in range(len(spot.offsets)):
            for fault in MESSAGE_FAULTS.values():
                assert_named(tmp_path, dialect, fault, Spot(tmp_path, segment, slot))
        for slot in range(len(index_entries(spot.index.read_bytes()))):
            for index_fault in INDEX_FAULTS.values():
                assert_named(tmp_path, dialect, in_slot(index_fault, slot), spot)
        for fault in FILE_FAULTS.values():
            assert_named(tmp_path, dialect, fault, spot)


# ---- every byte


FIELDS = {
    range(8): {"offset-disorder"},
    range(8, 12): {"bad-length"},
    range(12, 16): {"bad-crc"},
    range(16, 17): {"bad-magic"},
    range(17, 18): {"bad-crc"},
    range(18, 10**6): {"bad-crc", "bad-length"},  # key and value with their lengths
}
WITHOUT_WITNESS = {"offset-gap", "offset-overlap", "offset-disorder"}


Values = Callable[[int], list[int]]


def three_values(byte: int) -> list[int]:
    return [byte ^ 0x01, byte ^ 0x80, byte ^ 0xFF]


def all_values(byte: int) -> list[int]:
    return [value for value in range(256) if value != byte]


EFFORTS = pytest.mark.parametrize(
    "values", [three_values, pytest.param(all_values, marks=pytest.mark.soak)]
)


@EFFORTS
@pytest.mark.parametrize("segment", [0, 1, 2])
def test_any_changed_byte_of_a_log_is_one_finding_at_its_message(
    tmp_path, dialect, segment, values: Values
):
    log = write_small_log(tmp_path, dialect)
    path = log.directory / log.logs[segment]
    data = path.read_bytes()
    positions = message_positions(data)
    for position, end in pairwise(positions):
        for byte in range(position, end):
            (kinds,) = [kinds for field, kinds in FIELDS.items() if byte - position in field]
            if kinds == {"offset-disorder"} and segment == 2 and end == len(data):
                kinds = WITHOUT_WITNESS
            for value in values(data[byte]):
                flip_byte(path, byte, value=value)
                (found,) = found_in(check_small(log))
                assert (found.segment, found.position) == (path.stem, position), (byte, value)
                assert found.kind in kinds, (byte, value)
                path.write_bytes(data)


@EFFORTS
def test_any_changed_byte_of_an_index_is_one_finding_at_its_entry(
    tmp_path, dialect, values: Values
):
    log = write_small_log(tmp_path, dialect)
    for path in sorted(log.directory.glob("*.index")):
        data = path.read_bytes()
        for byte in range(len(data)):
            for value in values(data[byte]):
                flip_byte(path, byte, value=value)
                (found,) = found_in(check_small(log))
                assert (found.segment, found.position) == (path.stem, byte // 8 * 8)
                assert found.kind in {"index-position", "index-order", "index-past-end"}
                path.write_bytes(data)


def test_last_message_cut_at_any_byte_is_a_torn_tail(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect)
    path = log.directory / log.logs[-1]
    *_, position, end = log.positions(path.name)
    data = path.read_bytes()
    for cut in range(position + 1, end):
        path.write_bytes(data[:cut])
        (found,) = found_in(check_small(log))
        assert (found.kind, found.position) == ("torn-tail", position), cut


def check_small(log: SmallLog) -> PartitionSummary:
    plain = check_partition(log.reader())
    assert check_partition(log.reader(), check_segment=check_quickly) == plain
    return plain
