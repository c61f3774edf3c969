"""Reading a partition of a broker: by offset, by time, and what is committed."""

import struct
from pathlib import Path
from random import Random

import pytest

from kminilog.broker_files.crc32c import crc32c
from kminilog.broker_files.directory import BrokerDirectory
from kminilog.broker_files.partition import (
    BrokerPartition,
    CommittedRecords,
    NotReadError,
    offset_index,
)
from kminilog.errors import CorruptLogError, OffsetOutOfRangeError
from kminilog.format.names import TopicPartition
from tests.broker_files.golden_files import java
from tests.broker_files.partitions import at, broker_directory, transactions, write_segment

MIXED = TopicPartition("mixed", 0)
FIRST, SECOND = f"{0:020}", f"{16:020}"


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    return broker_directory(tmp_path / "kafka")


@pytest.fixture
def mixed(log_dir: Path) -> BrokerPartition:
    return BrokerPartition(BrokerDirectory(log_dir), MIXED)


def partition_of(tmp_path: Path, *segments: tuple[int, bytes]) -> BrokerPartition:
    """Return a partition `orders-0` of these segments."""
    (tmp_path / "meta.properties").touch()
    for base_offset, data in segments:
        write_segment(tmp_path / "orders-0", base_offset, data)
    return BrokerPartition(BrokerDirectory(tmp_path), TopicPartition("orders", 0))


def offsets_of(partition: BrokerPartition, offset: int = 0) -> list[int]:
    return [stored.record.offset for stored in partition.read(offset)]


def test_log_begins_where_the_checkpoint_says_and_ends_after_the_last_batch(
    mixed: BrokerPartition, log_dir: Path
) -> None:
    assert (mixed.log_start_offset, mixed.log_end_offset) == (1, 34)
    (log_dir / "log-start-offset-checkpoint").unlink()
    assert mixed.list_again() is False
    assert mixed.log_start_offset == 0


def test_read_crosses_formats_codecs_and_segments(mixed: BrokerPartition) -> None:
    stored = list(mixed.read(1))
    assert [one.record.offset for one in stored] == list(range(1, 34))
    assert {(one.batch.magic, one.batch.codec) for one in stored} == {
        (0, "none"),
        (1, "none"),
        *((2, codec) for codec in ("none", "gzip", "snappy", "lz4", "zstd")),
    }
    assert [one.record.value for one in stored if one.record.key == b"key"] == [b"value"] * 6


@pytest.mark.parametrize("has_index", [True, False])
def test_find_returns_every_record(mixed: BrokerPartition, log_dir: Path, has_index: bool) -> None:
    if not has_index:
        for path in log_dir.rglob("*.index"):
            path.unlink()
    for offset in range(1, 34):
        found = mixed.find(offset)
        assert found.stored.record.offset == offset
        assert found.stored.segment.name == (FIRST if offset < 16 else SECOND)
    assert (mixed.find(33).index_entry is not None) == has_index


@pytest.mark.parametrize("offset", [0, 34])
def test_find_of_an_offset_outside_says_what_is_there(mixed: BrokerPartition, offset: int) -> None:
    with pytest.raises(OffsetOutOfRangeError, match="from 1 up to, not including, 34"):
        mixed.find(offset)
    if offset == 34:
        assert offsets_of(mixed, offset) == []
    else:
        with pytest.raises(OffsetOutOfRangeError):
            offsets_of(mixed, offset)


def test_find_in_a_gap_of_compaction_says_so_and_read_goes_on(tmp_path: Path) -> None:
    data = at(100, java("v2-empty")) + at(200, java("v2-compacted"))
    partition = partition_of(tmp_path, (100, data), (300, at(300, java("v2-none"))))
    assert offsets_of(partition, 100) == [201, 205, 209, 300, 301, 302, 303]
    assert partition.find(205).stored.record.offset == 205
    for offset in (110, 202, 250):
        with pytest.raises(OffsetOutOfRangeError, match="in a gap"):
            partition.find(offset)


@pytest.mark.parametrize("position", [1, 100, 331 + 5, 1 << 30])
def test_find_does_not_believe_a_false_index(
    mixed: BrokerPartition, log_dir: Path, position: int
) -> None:
    """One that leads into a batch, behind the log, or to a batch after the offset."""
    index = log_dir / "mixed-0" / f"{SECOND}.index"
    index.write_bytes(struct.pack(">ii", 0, position))
    assert mixed.find(17).stored.record.offset == 17
    index.write_bytes(struct.pack(">ii", 0, 331))  # the batch of 24
    assert mixed.find(17).stored.record.offset == 17
    assert mixed.find(17).index_entry is None


def test_index_ends_at_the_first_entry_that_does_not_ascend(
    mixed: BrokerPartition, log_dir: Path
) -> None:
    index = log_dir / "mixed-0" / f"{SECOND}.index"
    assert len(offset_index(mixed.segments[1])) == 2  # without its padding
    index.write_bytes(index.read_bytes()[:16] + struct.pack(">ii", 3, 700))
    assert len(offset_index(mixed.segments[1])) == 2


def test_find_time_is_the_first_record_that_is_not_earlier(mixed: BrokerPartition) -> None:
    """As a scan of all records finds it; format v0 has no timestamps."""
    times = [(one.record.timestamp, one.record.offset) for one in mixed.read(1)]
    for timestamp in sorted({time + step for time, _ in times if time > 0 for step in (-1, 0, 1)}):
        expected = next((offset for time, offset in times if time >= timestamp), None)
        found = mixed.find_time(timestamp)
        assert (found and found.stored.record.offset) == expected
    assert mixed.find_time(2**62) is None


def test_find_time_does_not_need_a_time_index(mixed: BrokerPartition, log_dir: Path) -> None:
    for path in log_dir.rglob("*.timeindex"):
        path.unlink()
    found = mixed.find_time(1_700_000_100_000)
    assert found is not None
    assert found.stored.record.offset == 7


def test_committed_leaves_out_aborted_records_and_markers(mixed: BrokerPartition) -> None:
    committed = CommittedRecords(mixed, 26)
    assert [one.record.offset for one in committed] == [26, 27, 28, 32]
    assert (committed.aborted_count, committed.control_count) == (1, 3)
    assert (committed.open_offset, committed.next_offset) == (None, 34)


def test_committed_ends_at_an_open_transaction_and_goes_on_later(tmp_path: Path) -> None:
    data = transactions(0, "commit", "abort", "open")
    partition = partition_of(tmp_path, (0, data))
    committed = CommittedRecords(partition, 0)
    assert [one.record.offset for one in committed] == [0]
    assert (committed.open_offset, committed.next_offset) == (4, 4)
    assert list(committed) == []

    log = partition.segments[0].log_path
    log.write_bytes(data + at(5, java("v2-none")) + at(9, java("v2-commit")))
    assert [one.record.offset for one in committed] == [4, 5, 6, 7, 8]
    assert (committed.aborted_count, committed.control_count) == (1, 3)
    assert committed.open_offset is None


def test_committed_passes_an_empty_batch_whose_marker_is_gone(tmp_path: Path) -> None:
    partition = partition_of(tmp_path, (100, java("v2-empty") + at(120, java("v2-none"))))
    committed = CommittedRecords(partition, 100)
    assert [one.record.offset for one in committed] == [120, 121, 122, 123]
    assert committed.open_offset is None


def test_committed_finds_a_marker_in_a_later_segment(tmp_path: Path) -> None:
    partition = partition_of(
        tmp_path, (0, transactions(0, "open")), (1, at(1, java("v2-abort"))), (2, b"")
    )
    committed = CommittedRecords(partition, 0)
    assert list(committed) == []
    assert (committed.aborted_count, committed.control_count) == (1, 1)


def test_offsets_above_two_to_the_31_are_found(tmp_path: Path) -> None:
    base_offset = 3_000_000_000
    data = b"".join(java(f"v0-{codec}") for codec in ("none",)) + at(
        base_offset + 4, java("v2-none")
    )
    partition = partition_of(tmp_path, (base_offset, data))
    assert partition.find(base_offset + 6).stored.record.key == b"tombstone"
    assert partition.log_end_offset == base_offset + 8


@pytest.mark.parametrize("case", ["v0-gzip", "v1-snappy", "v1-lz4"])
def test_records_of_a_compressed_message_are_found_one_by_one(tmp_path: Path, case: str) -> None:
    partition = partition_of(tmp_path, (3_000_000_000, java(case)))
    for offset in range(3_000_000_000, 3_000_000_004):
        assert partition.find(offset).stored.record.offset == offset


def test_torn_tail_is_the_end_and_damage_elsewhere_is_an_error(tmp_path: Path) -> None:
    data = at(0, java("v2-none")) + at(4, java("v2-none"))
    partition = partition_of(tmp_path, (0, data))
    log = partition.segments[0].log_path
    log.write_bytes(data[:-1])
    assert (offsets_of(partition), partition.log_end_offset) == ([0, 1, 2, 3], 4)
    write_segment(tmp_path / "orders-0", 8, at(8, java("v2-none")))
    with pytest.raises(CorruptLogError, match="an unfinished batch, and segments after it"):
        offsets_of(partition)
    damaged = bytearray(data)
    damaged[100] ^= 1
    log.write_bytes(damaged)
    with pytest.raises(CorruptLogError, match="byte 0: damaged: Record is corrupt"):
        offsets_of(partition)


# Bits of a batch of 227 bytes: of its records; of its length, which then ends past the file, or
# inside its header; of its magic.
@pytest.mark.parametrize(
    ("byte", "mask", "detail"),
    [
        (100, 0x01, "Record is corrupt"),
        (8, 0x01, "an unfinished batch, and batches after it"),
        (11, 0xC0, "Record batch is corrupt"),
        (16, 0x04, "Invalid magic"),
    ],
)
def test_damage_in_the_last_segment_hides_no_batch_after_it(
    tmp_path: Path, byte: int, mask: int, detail: str
) -> None:
    data = b"".join(at(base, java("v2-none")) for base in (0, 4, 8))
    partition = partition_of(tmp_path, (0, data))
    partition.segments[0].path(".index").unlink()  # its entry leads past the damage
    damaged = bytearray(data)
    damaged[227 + byte] ^= mask
    partition.segments[0].log_path.write_bytes(damaged)
    assert partition.log_end_offset == 12
    assert partition.find(9).stored.record.offset == 9
    assert offsets_of(partition, 8) == [8, 9, 10, 11]
    for offset in (0, 4, 7):
        with pytest.raises(CorruptLogError, match=f"byte 227: damaged: {detail}"):
            offsets_of(partition, offset)
    with pytest.raises(CorruptLogError, match="byte 227: damaged"):
        partition.find(7)
    with pytest.raises(CorruptLogError, match="byte 227: damaged"):
        partition.find_time(1 << 62)


def test_zeros_at_the_end_of_the_last_segment_are_reserved_space(tmp_path: Path) -> None:
    partition = partition_of(tmp_path, (0, at(0, java("v2-none"))))
    log = partition.segments[0].log_path
    log.write_bytes(log.read_bytes() + bytes(1000))
    assert (offsets_of(partition), partition.log_end_offset) == ([0, 1, 2, 3], 4)
    log.write_bytes(log.read_bytes() + b"x")
    with pytest.raises(CorruptLogError, match="byte 227: damaged"):
        offsets_of(partition)


def of_producer(producer_id: int, batch: bytes) -> bytes:
    """Return a batch of format v2 of another producer, with a right crc."""
    after_crc = bytearray(batch[21:])
    after_crc[22:30] = struct.pack(">q", producer_id)
    return batch[:17] + struct.pack(">I", crc32c(bytes(after_crc))) + after_crc


@pytest.mark.parametrize("seed", range(20))
def test_committed_agrees_with_a_plain_model_of_interleaved_transactions(
    tmp_path: Path, seed: int
) -> None:
    chance = Random(seed)
    data, plain = [b""], list[int]()
    fates: dict[int, str] = {}  # of each transactional record, by its offset
    open_records: dict[int, list[int]] = {1: [], 2: [], 3: []}
    bases, offset = [0], 0
    for _ in range(60):
        if chance.random() < 0.1 and data[-1]:
            bases.append(offset)
            data.append(b"")
        producer_id, what = chance.choice((1, 2, 3)), chance.random()
        if what < 0.2:
            data[-1] += at(offset, java("v2-compacted"))  # no transaction, and gaps
            plain += [offset + 1, offset + 5, offset + 9]
            offset += 10
            continue
        if what < 0.7:
            case = "transactional"
            open_records[producer_id].append(offset)
        else:
            case = chance.choice(("commit", "abort"))
            fates |= dict.fromkeys(open_records[producer_id], case)
            open_records[producer_id] = []
        data[-1] += at(offset, of_producer(producer_id, java(f"v2-{case}")))
        offset += 1
    partition = partition_of(tmp_path, *zip(bases, data, strict=True))
    still_open = sorted(one for records in open_records.values() for one in records)
    for start in range(0, offset, 7):
        stable = next((one for one in still_open if one >= start), offset)
        ended = {case: [one for one in fates if fates[one] == case] for case in ("commit", "abort")}
        seen = range(start, stable)
        committed = CommittedRecords(partition, start)
        found = [one.record.offset for one in committed]
        assert found == sorted({*plain, *ended["commit"]} & {*seen})
        assert committed.aborted_count == len({*ended["abort"]} & {*seen})
        assert committed.open_offset == (stable if stable < offset else None)


def test_batch_of_a_codec_that_is_not_installed_is_not_called_damaged(
    mixed: BrokerPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(NotReadError, match="codec snappy needs pyarrow"):
        mixed.find(17)
    assert mixed.find(13).stored.record.offset == 13


def test_reading_goes_on_after_a_roll(tmp_path: Path) -> None:
    """The segment that was the last one has grown before the broker began the next."""
    partition = partition_of(tmp_path, (0, at(0, java("v2-none"))))
    records = partition.read(0)
    assert next(records).record.offset == 0
    log = partition.segments[0].log_path
    log.write_bytes(log.read_bytes() + at(4, java("v2-none")))
    write_segment(tmp_path / "orders-0", 8, at(8, java("v2-none")))
    assert [one.record.offset for one in records] == list(range(1, 12))


def test_reading_goes_on_after_retention_has_deleted_segments(tmp_path: Path) -> None:
    segments = [(4 * place, at(4 * place, java("v2-none"))) for place in range(4)]
    partition = partition_of(tmp_path, *segments)
    records = partition.read(0)
    assert next(records).record.offset == 0
    for base_offset in (0, 4):
        for path in (tmp_path / "orders-0").glob(f"{base_offset:020}.*"):
            path.rename(f"{path}.deleted")
    assert [one.record.offset for one in records] == [1, 2, 3, *range(8, 16)]


def test_reading_goes_on_if_the_last_segment_is_deleted_before_more_of_it_is_read(
    tmp_path: Path,
) -> None:
    """A broker has rolled so often that what was the last one falls due."""
    segments = [(4 * place, at(4 * place, java("v2-none"))) for place in range(4)]
    partition = partition_of(tmp_path, *segments[:2])
    records = partition.read(0)
    assert [next(records).record.offset for _ in range(8)] == [*range(8)]
    for base_offset, data in segments[2:]:
        write_segment(tmp_path / "orders-0", base_offset, data)
    for path in (tmp_path / "orders-0").glob(f"{4:020}.*"):
        path.unlink()
    assert [one.record.offset for one in records] == [*range(8, 16)]


def test_reading_begins_where_the_log_begins_if_retention_was_there_first(tmp_path: Path) -> None:
    segments = [(4 * place, at(4 * place, java("v2-none"))) for place in range(3)]
    partition = partition_of(tmp_path, *segments)
    for path in (tmp_path / "orders-0").glob(f"{0:020}.*"):
        path.unlink()
    assert [one.record.offset for one in CommittedRecords(partition, 0)] == [*range(4, 12)]
    assert partition.log_end_offset == 12
    assert [one.record.offset for one in CommittedRecords(partition, 0)] == [*range(4, 12)]


def test_reading_goes_on_after_compaction_has_joined_segments(tmp_path: Path) -> None:
    segments = [(4 * place, at(4 * place, java("v2-none"))) for place in range(3)]
    partition = partition_of(tmp_path, *segments)
    records = partition.read(0)
    assert next(records).record.offset == 0
    joined = b"".join(data for _, data in segments)
    write_segment(tmp_path / "orders-0", 0, joined)
    for path in (tmp_path / "orders-0").glob(f"{4:020}.*"):
        path.unlink()
    assert [one.record.offset for one in records] == list(range(1, 12))
