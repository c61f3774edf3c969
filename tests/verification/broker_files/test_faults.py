"""Each fault of a broker's files by one damage; a whole partition has none."""

import os
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from kminilog.broker_files import directory, untouched
from kminilog.broker_files.untouched import DirectoryEntry
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.system import SystemClock
from kminilog.verification.broker_files import (
    partition_checks,
    segment_checks,
    segment_indexes,
)
from kminilog.verification.broker_files.faults import BrokerFault
from kminilog.verification.broker_files.report import verify_broker
from kminilog.verification.broker_files.segment_checks import SegmentCounts
from kminilog.verification.report import Report
from tests.broker_files.golden_files import java
from tests.support.broker_files.partition_writer import (
    ABORT,
    COMMIT,
    NOBODY,
    PartitionWriter,
    Producer,
    batch,
)
from tests.support.damage import cut_to, flip_byte


def judged(log_dir: Path, *, full: bool = False, strict: bool = True) -> Report:
    return verify_broker(log_dir, clock=SystemClock(), full=full, strict_index=strict)


def found(log_dir: Path, **options: bool) -> dict[str, int]:
    return {kind.value: n for kind, n in judged(log_dir, **options).tally.counts().items()}


def written(writer: PartitionWriter, rounds: int = 12) -> PartitionWriter:
    """Append batches of all kinds: plain, compressed, idempotent, transactional, two leaders."""
    plain, sender, other = Producer(7), Producer(8, 2), Producer(9, is_transactional=True)
    for number in range(rounds):
        epoch = 3 * (number * 2 // rounds)
        plain = writer.append(5, producer=plain, epoch=epoch)
        writer.append(3, epoch=epoch, is_gzip=True)
        sender = writer.append(1, producer=sender, epoch=epoch)
        other = writer.append(4, producer=other, epoch=epoch)
        writer.end(other, ABORT if number % 3 else COMMIT, epoch=epoch)
    return writer


@pytest.fixture
def writer(tmp_path: Path) -> PartitionWriter:
    """A partition of three segments, written and closed."""
    writer = written(PartitionWriter(tmp_path / "broker", segment_bytes=2200))
    writer.close()
    return writer


def logs(writer: PartitionWriter) -> list[Path]:
    return sorted(writer.directory.glob("*.log"))


def replace_at(path: Path, position: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[position : position + len(data)] = data
    path.write_bytes(content)


def test_verify_of_a_whole_partition_finds_nothing(writer: PartitionWriter):
    report = judged(writer.log_dir, full=True)
    assert (report.verdict, len(logs(writer))) == ("ok", 3)
    (partition,) = report.partitions
    assert partition["message_count"] == 12 * 13
    assert partition["missing_offsets"]["control"] == 12
    assert partition["last_stable_offset"] == partition["log_end_offset"] == writer.offset


# ---- bytes of a batch


@pytest.mark.parametrize(
    ("at", "kind"),
    [
        (0, "offset-disorder"),  # the base offset
        (7, "offset-disorder"),
        (8, "bad-length"),
        (11, "bad-length"),
        (12, "leader-epoch"),
        (15, "leader-epoch"),
        (16, "bad-magic"),
        (17, "bad-crc"),
        (30, "bad-crc"),
        (70, "bad-crc"),
    ],
)
def test_verify_of_a_changed_byte_finds_one_fault(writer: PartitionWriter, at: int, kind: str):
    file, position, _ = writer.batches[6]
    flip_byte(file, position + at, mask=0x40)
    counts = found(writer.log_dir)
    assert counts.get(kind) == 1
    assert set(counts) <= {kind, "bad-length"}, counts


def test_verify_of_a_damaged_batch_names_the_byte_and_the_offsets(writer: PartitionWriter):
    file, position, _ = writer.batches[6]
    now = file.read_bytes()[position + 70] ^ 0x40
    flip_byte(file, position + 70, mask=0x40)
    (finding,) = judged(writer.log_dir).tally.findings()
    said = f"if only one bit is wrong: byte {position + 70}, {now:02x} was {now ^ 0x40:02x}"
    assert f"; {said}; 3 offsets were in these bytes" in finding.detail
    assert finding.last_offset == (finding.offset or 0) + 2
    assert f", offsets {finding.offset}..{finding.last_offset}, byte {position}" in finding.place


def test_verify_without_leader_epochs_on_record_finds_the_odd_batch(tmp_path: Path):
    writer = written(PartitionWriter(tmp_path / "broker"))
    writer.close(with_epochs=False)
    file, position, _ = writer.batches[6]
    flip_byte(file, position + 15, mask=0x40)
    (finding,) = judged(writer.log_dir).tally.findings()
    assert (finding.kind.value, finding.position) == ("leader-epoch", position)


def test_verify_of_a_higher_epoch_in_the_last_batch_asks_the_record(writer: PartitionWriter):
    file, position, _ = writer.batches[-1]
    flip_byte(file, position + 15, mask=0x40)
    assert found(writer.log_dir) == {"leader-epoch": 1}


def test_verify_of_wrong_epoch_order_finds_it(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    for epoch in (0, 4, 4, 2, 2):
        writer.append(epoch=epoch)
    writer.close(with_epochs=False)
    assert found(writer.log_dir) == {"leader-epoch": 1}


def test_verify_of_a_torn_last_batch_finds_a_torn_tail(writer: PartitionWriter):
    file, position, size = writer.batches[-1]
    cut_to(file, position + size - 3)
    assert found(writer.log_dir) == {"torn-tail": 1}


def test_verify_of_a_torn_batch_in_another_segment_finds_a_bad_length(writer: PartitionWriter):
    file = logs(writer)[0]
    cut_to(file, file.stat().st_size - 3)
    assert found(writer.log_dir) == {"bad-length": 1}


def test_verify_of_a_lost_last_batch_finds_a_lost_end(writer: PartitionWriter):
    file, position, _ = writer.batches[-1]
    cut_to(file, position)
    assert "lost-end" in found(writer.log_dir)


def test_verify_of_zeros_at_the_end_says_so(writer: PartitionWriter):
    with writer.batches[-1][0].open("ab") as file:
        file.write(bytes(5000))
    assert found(writer.log_dir) == {"zero-tail": 1}


def test_verify_of_zeros_in_place_of_batches_tells_that_they_are_lost(tmp_path: Path):
    """Padding is no damage: the log ends there, and the high watermark says that it went on."""
    writer = PartitionWriter(tmp_path / "broker", interval_bytes=1 << 20)
    for _ in range(3):
        writer.append()
    file, position, size = writer.batches[-1]
    writer.close()
    replace_at(file, position, bytes(size))
    counts = found(writer.log_dir)
    assert counts == {"zero-tail": 1, "lost-end": 1, "time-index-entry": 1}


def test_verify_of_an_open_transaction_in_front_of_zeros_finds_it(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    writer.append(producer=Producer(9, is_transactional=True))
    with writer.path(".log").open("ab") as file:
        file.write(bytes(5000))
    writer.close()
    assert found(writer.log_dir) == {"zero-tail": 1, "open-transaction": 1}


def test_verify_of_zeros_in_the_middle_finds_one_fault(writer: PartitionWriter):
    file, position, size = writer.batches[6]
    replace_at(file, position + 20, bytes(size + 10))
    assert found(writer.log_dir) == {"bad-crc": 1}
    (partition,) = judged(writer.log_dir).partitions
    assert partition["missing_offsets"]["damage"] == 4


def test_verify_of_two_batches_swapped_finds_one_disorder(writer: PartitionWriter):
    (file, start, first), (_, _, second) = writer.batches[5:7]
    content = file.read_bytes()[start : start + first + second]
    replace_at(file, start, content[first:] + content[:first])
    counts = found(writer.log_dir)
    assert counts.pop("offset-disorder") == 1
    assert set(counts) <= {"index-position", "time-index-entry"}


def test_verify_of_a_doubled_batch_finds_an_overlap(writer: PartitionWriter):
    file, position, size = writer.batches[-1]
    content = file.read_bytes()
    file.write_bytes(content + content[position : position + size])
    report = judged(writer.log_dir)
    assert report.tally.counts() == {BrokerFault.OFFSET_OVERLAP: 1}
    assert report.partitions[0]["readable_until"] is None  # a consumer reads on


def test_verify_of_a_batch_with_more_records_than_offsets_finds_it(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    records = [(None, b"a"), (None, b"b"), (None, b"c")]
    writer.append_bytes(batch(0, records, last_delta=1, deltas=[0, 0, 1]))
    writer.close()
    assert found(writer.log_dir) == {"bad-record-count": 1}


def test_full_verify_of_a_record_that_cannot_be_read_finds_it(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    writer.append_bytes(batch(0, [(b"k", b"v")], count=2, last_delta=1))
    writer.close()
    assert found(writer.log_dir) == {}
    assert found(writer.log_dir, full=True) == {"bad-record": 1}


def test_full_verify_compares_the_greatest_timestamp(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    writer.append_bytes(batch(0, [(b"k", b"v")], timestamp=1000, max_timestamp=2000))
    writer.close()
    assert found(writer.log_dir) == {}
    assert found(writer.log_dir, full=True) == {"bad-max-timestamp": 1}


def test_full_verify_counts_the_records_in_a_compressed_message(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    wrapper = struct.pack(">q", 3) + java("v1-gzip")[8:]  # the offset of its last message
    writer.path(".log").write_bytes(wrapper)
    writer.offset = 4
    writer.close(with_epochs=False)
    counts = [judged(writer.log_dir, full=full).partitions[0] for full in (False, True)]
    assert [one["message_count"] for one in counts] == [1, 4]


# ---- gaps


def test_verify_of_missing_offsets_finds_a_loss(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    writer.append()
    writer.offset += 10
    writer.append()
    writer.close()
    report = judged(writer.log_dir)
    (finding,) = report.tally.findings()
    assert (finding.kind.value, finding.detail) == ("offset-gap", "10 offsets missing, 5 to 14")
    assert (finding.offset, finding.last_offset) == (5, 14)
    assert report.partitions[0]["missing_offsets"]["loss"] == 10


def test_verify_of_missing_offsets_before_another_leader_finds_a_truncation(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    writer.append()
    writer.offset += 10
    writer.append(epoch=1)
    writer.close()
    assert found(writer.log_dir) == {"truncated": 1}


@pytest.mark.parametrize("by", ["the cleaner's checkpoint", "a batch that lost records"])
def test_verify_of_a_compacted_partition_explains_its_gaps(tmp_path: Path, by: str):
    writer = PartitionWriter(tmp_path / "broker")
    writer.append(producer=Producer(7))
    writer.offset += 10
    writer.append(producer=Producer(7, sequence=15))
    if by == "the cleaner's checkpoint":
        writer.checkpoint("cleaner-offset-checkpoint", 20)
    else:
        writer.append_bytes(batch(20, [(b"k", b"v")], deltas=[2], last_delta=9))
        writer.append_bytes(batch(30, [], last_delta=9, max_timestamp=1))
    writer.close()
    report = judged(writer.log_dir, full=True)
    assert report.verdict == "ok", report.to_text()
    assert report.partitions[0]["missing_offsets"]["compaction"] == 10


def test_verify_of_a_gap_above_what_is_compacted_tells_it(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    writer.append()
    writer.offset += 10
    writer.append()
    writer.checkpoint("cleaner-offset-checkpoint", 5)
    writer.close()
    report = judged(writer.log_dir)
    assert report.verdict == "ok"
    (why,) = (one.why for one in report.unchecked if "missing" in one.why)
    assert why.startswith("10 offsets missing from 5 on")


def test_verify_of_a_new_replica_of_the_consumers_offsets_explains_its_gaps(tmp_path: Path):
    """Its leader has compacted them: this broker has compacted nothing so far."""
    writer = PartitionWriter(tmp_path / "broker", name="__consumer_offsets-3")
    writer.append(1)
    writer.offset += 10
    writer.append(1)
    writer.close()
    assert found(writer.log_dir) == {}


def test_verify_after_retention_explains_the_start(writer: PartitionWriter):
    start = int(logs(writer)[1].stem)
    for file in writer.directory.glob(f"{logs(writer)[0].stem}.*"):
        file.unlink()
    epochs = writer.directory / "leader-epoch-checkpoint"
    report = judged(writer.log_dir)
    assert report.tally.counts() == {BrokerFault.LOST_START: 1}
    missing = report.partitions[0]["missing_offsets"]
    assert (missing["loss"], missing["retention"]) == (start, 0)
    later = [row for row in writer.epochs if row[1] > start]
    rows = [(0, start), *later]
    epochs.write_text(f"0\n{len(rows)}\n" + "".join(f"{e} {at}\n" for e, at in rows))
    report = judged(writer.log_dir)
    assert report.verdict == "ok", report.to_text()
    assert report.partitions[0]["missing_offsets"]["retention"] == start


def test_verify_after_retention_of_the_beginning_of_transactions_finds_nothing(tmp_path: Path):
    """One is aborted later, and so is another one meanwhile: both have entries in the index."""
    writer = PartitionWriter(tmp_path / "broker", segment_bytes=200)
    one, other = Producer(8, is_transactional=True), Producer(9, is_transactional=True)
    one, other = writer.append(producer=one), writer.append(producer=other)
    one, other = writer.append(producer=one), writer.append(producer=other)
    writer.end(other, ABORT)
    writer.end(one, ABORT)
    writer.close(with_epochs=False)
    for log in logs(writer)[:2]:
        for file in writer.directory.glob(f"{log.stem}.*"):
            file.unlink()
    assert found(writer.log_dir) == {}


@pytest.mark.parametrize("suffix", [".deleted", ".swap"])
def test_verify_of_a_start_that_the_broker_has_renamed_finds_no_loss(
    writer: PartitionWriter, suffix: str
):
    """Retention writes the leader epochs anew after that; or a compaction has not ended."""
    for file in writer.directory.glob(f"{logs(writer)[0].stem}.*"):
        file.rename(f"{file}{suffix}")
    report = judged(writer.log_dir)
    assert report.verdict == "ok", report.to_text()
    is_told = any(one.where.endswith(".log.swap") for one in report.unchecked)
    assert is_told == (suffix == ".swap")


def test_verify_of_a_start_in_remote_storage_finds_no_loss(writer: PartitionWriter):
    """The leader epochs go back to the first record in remote storage; so does the checkpoint."""
    for file in writer.directory.glob(f"{logs(writer)[0].stem}.*"):
        file.unlink()
    writer.checkpoint("log-start-offset-checkpoint", 0)
    assert found(writer.log_dir) == {"lost-start": 1}
    (writer.log_dir / "remote-log-index-cache").mkdir()
    report = judged(writer.log_dir)
    assert report.verdict == "ok", report.to_text()
    assert any(one.why.endswith("are in remote storage") for one in report.unchecked)


def test_verify_of_a_lost_segment_in_the_middle_finds_a_gap(writer: PartitionWriter):
    for file in writer.directory.glob(f"{logs(writer)[1].stem}.*"):
        file.unlink()
    counts = found(writer.log_dir)
    assert {*counts} & {"offset-gap", "truncated"}


def test_verify_of_a_lost_last_segment_finds_a_lost_end(writer: PartitionWriter):
    end = int(logs(writer)[-1].stem)
    for file in writer.directory.glob(f"{end:020}.*"):
        file.unlink()
    assert found(writer.log_dir) == {"lost-end": 1}
    (partition,) = judged(writer.log_dir).partitions
    assert partition["missing_offsets"]["loss"] == writer.offset - end


def test_verify_of_a_damaged_end_says_how_far_the_log_went_on(writer: PartitionWriter):
    """The last two batches cannot be read, and no batch stands after them."""
    file, position, _ = writer.batches[-2]
    replace_at(file, position + 30, b"???")
    cut_to(file, writer.batches[-1][1] + 30)
    (partition,) = (report := judged(writer.log_dir)).partitions
    lost = writer.offset - partition["log_end_offset"]
    assert partition["missing_offsets"]["damage"] == lost > 0
    (finding,) = (one for one in report.tally.findings() if one.position == position)
    assert finding.detail.endswith(f" says that it reached {writer.offset}: {lost} offsets lost")
    assert "lost-end" not in found(writer.log_dir)


def test_verify_of_a_gap_in_front_of_the_log_start_finds_nothing(tmp_path: Path):
    """Its records were deleted, also those that are still in the first segment."""
    writer = PartitionWriter(tmp_path / "broker")
    writer.append()
    writer.offset += 10
    writer.append()
    writer.close()
    writer.checkpoint("log-start-offset-checkpoint", 15)
    (partition,) = (report := judged(writer.log_dir)).partitions
    assert (report.verdict, partition["missing_offsets"]["loss"]) == ("ok", 0)
    writer.checkpoint("log-start-offset-checkpoint", 13)
    (partition,) = judged(writer.log_dir).partitions
    assert partition["missing_offsets"]["loss"] == 2


def test_verify_of_a_log_that_ends_before_it_begins_finds_a_lost_end(writer: PartitionWriter):
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (writer.log_dir / name).unlink()
    assert found(writer.log_dir) == {}
    writer.checkpoint("log-start-offset-checkpoint", writer.offset + 1)
    assert found(writer.log_dir) == {"lost-end": 1}


def test_verify_of_a_partition_without_segments_says_so(writer: PartitionWriter):
    for file in writer.directory.glob("0*"):
        file.unlink()
    report = judged(writer.log_dir)
    assert [one.kind.value for one in report.tally.findings()] == ["lost-end"]
    assert report.partitions[0]["missing_offsets"]["loss"] == writer.offset
    writer.checkpoint("log-start-offset-checkpoint", writer.offset)
    (partition,) = (report := judged(writer.log_dir)).partitions
    assert partition["log_end_offset"] == partition["log_start_offset"] == writer.offset
    assert [one.why for one in report.unchecked if one.asked] == ["there is no segment"]


def test_verify_of_a_lost_log_finds_the_orphans(writer: PartitionWriter):
    logs(writer)[1].unlink()
    assert found(writer.log_dir)["orphan-file"] >= 2


def test_verify_of_a_renamed_segment_finds_the_name(writer: PartitionWriter):
    name = logs(writer)[1].stem
    for file in writer.directory.glob(f"{name}.*"):
        file.rename(file.with_name(f"{int(name) + 3:020d}{file.suffix}"))
    counts = found(writer.log_dir)
    assert counts["name-base-mismatch"] == 1
    assert not {*counts} & {"offset-gap", "offset-overlap", "offset-disorder"}


# ---- producers


def test_verify_of_a_sequence_gap_finds_it(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    producer = writer.append(producer=Producer(7))
    writer.append(producer=producer.after(3))
    writer.close()
    assert found(writer.log_dir) == {"sequence-gap": 1}


def test_verify_of_a_batch_sent_twice_finds_a_duplicate(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    producer = writer.append(producer=Producer(7))
    writer.append(producer=producer)
    writer.append(producer=producer)
    writer.close()
    assert found(writer.log_dir) == {"duplicate-sequence": 1}


def test_verify_of_a_fenced_producer_finds_it(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    writer.append(producer=Producer(7, 1))
    writer.append(producer=Producer(7, 0, 5))
    writer.close()
    assert found(writer.log_dir) == {"producer-epoch": 1}


def test_verify_of_a_fenced_producer_finds_nothing_in_the_batches_after_it(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    producer = writer.append(producer=Producer(7, 1))
    writer.append(producer=Producer(7, 0, 5))
    writer.append(producer=producer)
    writer.close()
    assert found(writer.log_dir) == {"producer-epoch": 1}


def test_verify_of_a_half_compacted_transaction_in_front_of_many_gaps_finds_nothing(tmp_path: Path):
    """Its first batch is gone, but the transaction index has it. Offsets are missing there."""
    writer = PartitionWriter(tmp_path / "broker")
    start, writer.offset = writer.offset, 5
    producer = writer.append(producer=Producer(9, sequence=5, is_transactional=True))
    entry = struct.pack(">hqqqq", 0, 9, start, writer.offset, writer.offset + 1)
    writer.end(producer, ABORT)
    writer.path(".txnindex").write_bytes(entry)
    for _ in range(1100):
        writer.offset += 1
        writer.append(1)
    writer.checkpoint("cleaner-offset-checkpoint", writer.offset)
    writer.close()
    assert found(writer.log_dir) == {}


def test_verify_accepts_a_new_epoch_and_the_first_sequence_again(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    writer.append(producer=Producer(7, sequence=(1 << 31) - 3))
    writer.append(producer=Producer(7, sequence=2))
    writer.append(producer=Producer(8, sequence=(1 << 31) - 5))
    writer.append(producer=Producer(8, sequence=0))
    writer.append(producer=Producer(7, 1, 0))
    writer.close()
    assert found(writer.log_dir) == {}


def test_verify_of_an_open_transaction_says_where_it_begins(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    writer.append()
    writer.append(producer=Producer(9, is_transactional=True))
    writer.append()
    writer.close()
    report = judged(writer.log_dir)
    (finding,) = report.tally.findings()
    assert (finding.kind.value, finding.offset) == ("open-transaction", 5)
    assert report.partitions[0]["last_stable_offset"] == 5


def test_verify_of_a_compacted_transaction_without_records_finds_none_open(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    producer = Producer(9, is_transactional=True)
    writer.append_bytes(batch(0, [], last_delta=4, producer=producer, max_timestamp=1))
    writer.append(producer=NOBODY)
    writer.close()
    assert found(writer.log_dir) == {}


def test_verify_of_a_transaction_that_began_with_a_compacted_batch_finds_nothing(tmp_path: Path):
    """It was open when another one was aborted: the index has its first offset."""
    writer = PartitionWriter(tmp_path / "broker")
    one, other = Producer(8, is_transactional=True), Producer(9, is_transactional=True)
    writer.append(0, producer=one, last_delta=4, max_timestamp=1)
    other = writer.append(producer=other)
    writer.end(other, ABORT)
    writer.end(one, COMMIT)
    writer.close()
    assert found(writer.log_dir) == {}


# ---- indexes


def shifted(data: bytes, layout: str, slot: int, by: int) -> bytes:
    rows = [list(row) for row in struct.iter_unpack(layout, data)]
    for row in rows:
        row[slot] += by
    return b"".join(struct.pack(layout, *row) for row in rows)


@pytest.mark.parametrize(
    ("suffix", "layout", "slot", "kind"),
    [
        (".index", ">ii", 0, "index-offset"),
        (".index", ">ii", 1, "index-position"),
        (".timeindex", ">qi", 0, "time-index-entry"),
        (".timeindex", ">qi", 1, "time-index-entry"),
        (".txnindex", ">hqqqq", 1, "transaction-index-entry"),
        (".txnindex", ">hqqqq", 2, "transaction-index-entry"),
        (".txnindex", ">hqqqq", 3, "transaction-index-entry"),
        (".txnindex", ">hqqqq", 4, "transaction-index-entry"),
    ],
)
def test_verify_of_a_shifted_index_finds_it(
    writer: PartitionWriter, suffix: str, layout: str, slot: int, kind: str
):
    path = logs(writer)[1].with_suffix(suffix)
    path.write_bytes(shifted(path.read_bytes(), layout, slot, 1))
    counts = found(writer.log_dir)
    assert kind in counts
    assert {one.partition("-index")[0] for one in counts} <= {
        "index-offset",
        "index-position",
        "time",
        "transaction",
        "index-sparse",
    }


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex"])
def test_verify_of_an_index_without_its_last_entry_finds_it_by_the_strict_rule(
    writer: PartitionWriter, suffix: str
):
    path = logs(writer)[1].with_suffix(suffix)
    entry_bytes = {".index": 8, ".timeindex": 12, ".txnindex": 34}[suffix]
    cut_to(path, path.stat().st_size - entry_bytes)
    (kind,) = found(writer.log_dir)
    assert kind.endswith("-sparse")
    report = judged(writer.log_dir, strict=False)
    if suffix == ".txnindex":
        assert report.verdict == "findings"
    else:
        assert report.verdict == "ok"
        assert any(one.option == "--strict-index" for one in report.unchecked)


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_verify_without_an_index_finds_it_sparse(writer: PartitionWriter, suffix: str):
    logs(writer)[1].with_suffix(suffix).unlink()
    (kind,) = found(writer.log_dir, strict=False)
    assert kind.endswith("index-sparse")


def test_verify_of_an_index_past_the_end_finds_it(writer: PartitionWriter):
    with logs(writer)[-1].with_suffix(".index").open("ab") as file:
        file.write(struct.pack(">ii", 10_000, 1 << 20))
    assert found(writer.log_dir) == {"index-past-end": 1}


def test_verify_of_padding_accepts_it_only_in_the_last_segment(writer: PartitionWriter):
    for suffix, size in (".index", 80), (".timeindex", 120):
        with logs(writer)[-1].with_suffix(suffix).open("ab") as file:
            file.write(bytes(size))
    assert found(writer.log_dir) == {}
    with logs(writer)[0].with_suffix(".index").open("ab") as file:
        file.write(bytes(80))
    assert found(writer.log_dir) == {"index-order": 1}


def test_verify_of_offsets_of_appended_sets_notes_them(tmp_path: Path):
    """A broker before 4.0 writes the last offset of the whole set."""
    writer = PartitionWriter(tmp_path / "broker")
    for _ in range(20):
        writer.append(1)
    writer.close()
    path = writer.path(".index")
    path.write_bytes(shifted(path.read_bytes(), ">ii", 0, 1))
    assert judged(writer.log_dir, strict=False).verdict == "ok"
    assert found(writer.log_dir) == {"index-offset": path.stat().st_size // 8}


@pytest.mark.parametrize(
    ("suffix", "entry_bytes", "kind"),
    [(".index", 8, "index-order"), (".timeindex", 12, "time-index-order")],
)
def test_verify_of_entries_that_do_not_ascend_finds_it(
    writer: PartitionWriter, suffix: str, entry_bytes: int, kind: str
):
    path = logs(writer)[1].with_suffix(suffix)
    data = path.read_bytes()
    path.write_bytes(data + data[:entry_bytes])
    assert found(writer.log_dir) == {kind: 1}
    path.write_bytes(data + data[:3])
    assert found(writer.log_dir) == {kind: 1}
    path.write_bytes(data + data[:1])
    (finding,) = judged(writer.log_dir).tally.findings()
    assert finding.detail == "the index ends with 1 byte that is no entry"


def test_verify_of_an_entry_below_its_batch_finds_it_by_any_rule(writer: PartitionWriter):
    path = logs(writer)[1].with_suffix(".index")
    path.write_bytes(shifted(path.read_bytes(), ">ii", 0, -7))
    counts = found(writer.log_dir, strict=False)
    assert counts == {"index-offset": path.stat().st_size // 8}


def test_verify_of_a_time_that_was_reached_before_finds_the_entry(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    for timestamp in (5000, 9000, 7000):
        writer.append_bytes(batch(writer.offset, [(b"k", b"v")], timestamp=timestamp))
    writer.close()
    writer.path(".timeindex").write_bytes(struct.pack(">qiqi", 7000, 2, 9000, 3))
    assert "time-index-entry" in found(writer.log_dir, strict=False)
    writer.path(".timeindex").write_bytes(struct.pack(">qi", 7000, 2))
    assert found(writer.log_dir, strict=False) == {"time-index-entry": 1}


def test_verify_while_a_broker_appends_waits_for_the_whole_batch(
    writer: PartitionWriter, monkeypatch: pytest.MonkeyPatch
):
    """The first look at the size of the last log sees a part of its last batch."""
    sizes = iter([writer.batches[-1][1] + 20] * 2)  # to open it is a look, too
    real = os.fstat

    def fstat(descriptor: int) -> os.stat_result | SimpleNamespace:
        status = real(descriptor)
        is_last = status.st_ino == writer.batches[-1][0].stat().st_ino
        size = next(sizes, status.st_size) if is_last else status.st_size
        return SimpleNamespace(st_size=size, st_mode=status.st_mode)

    monkeypatch.setattr(segment_checks.os, "fstat", fstat)
    assert found(writer.log_dir) == {}


def test_verify_while_a_broker_fills_what_it_has_reserved_reads_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Zeros are met, and by the next look a batch stands there: with `log.preallocate`."""
    writer = PartitionWriter(tmp_path / "broker")
    writer.append()
    writer.close()
    path, real = writer.path(".log"), os.fstat
    reserved_at = path.stat().st_size
    with path.open("ab") as file:
        file.write(bytes(500))
    looks = []

    def fstat(descriptor: int) -> os.stat_result:
        if real(descriptor).st_ino == path.stat().st_ino:
            looks.append(1)
            if len(looks) == 3:  # the first ones are before it reads
                replace_at(path, reserved_at, batch(writer.offset, [(b"k", b"v")]))
        return real(descriptor)

    monkeypatch.setattr(segment_checks.os, "fstat", fstat)
    report = judged(writer.log_dir)
    assert report.partitions[0]["message_count"] == 6
    assert {one.kind.value for one in report.tally.findings()} == {"zero-tail"}


def test_verify_while_a_transaction_ends_does_not_miss_its_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    writer = PartitionWriter(tmp_path / "broker")
    producer = writer.append(producer=Producer(9, is_transactional=True))
    writer.close()
    real, is_open = segment_indexes.read_untouched, [True]

    def read(asked: Path) -> bytes:
        try:
            return real(asked)
        finally:
            if asked.suffix == ".txnindex" and is_open.pop():
                is_open.append(False)
                writer.end(producer, ABORT)
                writer.close()

    monkeypatch.setattr(segment_indexes, "read_untouched", read)
    assert found(writer.log_dir) == {}


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_verify_while_a_broker_rolls_does_not_miss_the_index_that_it_makes(
    writer: PartitionWriter, suffix: str, monkeypatch: pytest.MonkeyPatch
):
    """The index is not there yet when its turn comes: the log of the segment was made first."""
    path = logs(writer)[-1].with_suffix(suffix)
    content = path.read_bytes()
    path.unlink()
    real = segment_indexes.read_untouched

    def read(asked: Path) -> bytes:
        try:
            return real(asked)
        finally:
            if asked == path:
                path.write_bytes(content)

    monkeypatch.setattr(segment_indexes, "read_untouched", read)
    assert found(writer.log_dir) == {}
    monkeypatch.undo()
    path.unlink()
    kind = "index-sparse" if suffix == ".index" else "time-index-sparse"
    assert found(writer.log_dir) == {kind: 1}


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Return what makes a broker do something just before the first segment is checked."""

    def arrange(act: Callable[[], object]) -> None:
        acts, real = [act], partition_checks.check_segment

        def check(*args: Any, **options: Any) -> SegmentCounts:
            if acts:
                acts.pop()()
            return real(*args, **options)

        monkeypatch.setattr(partition_checks, "check_segment", check)

    return arrange


def test_verify_while_retention_deletes_a_segment_finds_no_loss(
    writer: PartitionWriter, meanwhile: Callable[[Callable[[], object]], None]
):
    def delete() -> None:
        for file in writer.directory.glob(f"{logs(writer)[0].stem}.*"):
            file.unlink()

    meanwhile(delete)
    assert found(writer.log_dir) == {}


def test_verify_while_retention_deletes_all_segments_that_were_there_is_partial(
    writer: PartitionWriter, meanwhile: Callable[[Callable[[], object]], None]
):
    def delete() -> None:
        for file in writer.directory.glob("0*"):
            file.unlink()

    meanwhile(delete)
    report = judged(writer.log_dir)
    assert report.verdict == "partial", report.to_text()


def test_verify_while_compaction_merges_segments_is_partial(
    writer: PartitionWriter, meanwhile: Callable[[Callable[[], object]], None]
):
    """What was in the second one stands in the first one by now, and nobody has seen that."""

    def merge() -> None:
        for file in writer.directory.glob(f"{logs(writer)[1].stem}.*"):
            file.rename(f"{file}.deleted")

    meanwhile(merge)
    assert judged(writer.log_dir).verdict == "partial"


def test_verify_while_a_leader_is_elected_finds_nothing(
    writer: PartitionWriter, meanwhile: Callable[[Callable[[], object]], None]
):
    def elect() -> None:
        writer.segment_bytes *= 2  # so the last segment has room
        writer.append(epoch=4)
        writer.append(epoch=4)
        writer.close()

    meanwhile(elect)
    assert found(writer.log_dir) == {}


def test_verify_while_a_broker_appends_and_rolls_finds_nothing(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker", segment_bytes=5000)
    written(writer, rounds=2)
    is_over = Event()

    def append() -> None:
        producer = Producer(5)
        while not is_over.is_set():
            producer = writer.append(3, producer=producer, epoch=3)

    thread = Thread(target=append)
    thread.start()
    try:
        verdicts = [judged(writer.log_dir, strict=False) for _ in range(10)]
        while len({one.partitions[0]["segment_count"] for one in verdicts}) == 1:  # no roll yet
            verdicts.append(judged(writer.log_dir, strict=False))
    finally:
        is_over.set()
        thread.join()
    assert [one.to_text() for one in verdicts if one.verdict != "ok"] == []


# ---- small files


def test_verify_of_a_broken_checkpoint_says_so(writer: PartitionWriter):
    epochs = writer.directory / "leader-epoch-checkpoint"
    epochs.write_text("0\n2\n0 0\n")
    assert found(writer.log_dir) == {"bad-checkpoint": 1}
    epochs.unlink()
    (writer.log_dir / "recovery-point-offset-checkpoint").write_text("what")
    assert judged(writer.log_dir).verdict == "partial"


def test_verify_of_a_damaged_snapshot_says_so(writer: PartitionWriter):
    path = logs(writer)[1].with_suffix(".snapshot")
    path.write_bytes(bytes.fromhex("0001 48674bc7") + bytes(4))
    assert found(writer.log_dir) == {}
    flip_byte(path, 4, mask=1)
    assert found(writer.log_dir) == {"bad-checkpoint": 1}


def test_verify_of_a_damaged_snapshot_at_the_log_end_says_so(writer: PartitionWriter):
    """A broker that ended in order begins with it."""
    (writer.directory / f"{writer.offset:020d}.snapshot").write_bytes(b"what")
    assert found(writer.log_dir) == {"bad-checkpoint": 1}


def test_verify_of_a_topic_id_that_cannot_be_read_says_so(writer: PartitionWriter):
    path = writer.directory / "partition.metadata"
    path.write_text("version: 0\ntopic_id: 4WTCM5k4QEaTjZ_CAFp1Jw\n")
    assert found(writer.log_dir) == {}
    path.write_text("version: 0\n")
    assert found(writer.log_dir) == {"bad-checkpoint": 1}


def test_verify_of_a_leader_that_wrote_nothing_finds_nothing(tmp_path: Path):
    """A broker before 2.0 keeps its epoch, with the offset at which the next one began, too."""
    writer = PartitionWriter(tmp_path / "broker")
    writer.append(epoch=1)
    writer.close()
    (writer.directory / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n1 0\n")
    assert found(writer.log_dir) == {}


def test_verify_of_leader_epochs_that_do_not_ascend_says_so(writer: PartitionWriter):
    epochs = writer.directory / "leader-epoch-checkpoint"
    epochs.write_text("0\n2\n3 0\n3 50\n")
    assert found(writer.log_dir)["bad-checkpoint"] == 1


def test_verify_changes_nothing(writer: PartitionWriter):
    def listing() -> list[tuple[str, int, int, int]]:
        paths = sorted(writer.log_dir.rglob("*"))
        stats = [(path, path.stat()) for path in paths]
        return [(str(p), s.st_size, s.st_mtime_ns, s.st_ino) for p, s in stats]

    before = listing()
    judged(writer.log_dir, full=True)
    assert listing() == before


def test_verify_of_an_old_broker_asks_for_no_time_index(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    with writer.path(".log").open("ab") as file:
        file.write(encode(KAFKA, 0, None, b"of format v0"))
    writer.offset = 1
    writer.close(with_epochs=False)
    writer.path(".timeindex").unlink()
    assert found(writer.log_dir, full=True) == {}


def test_verify_of_a_quorum_takes_its_other_files_for_kafkas(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker", name="__cluster_metadata-0")
    leader_change = struct.pack(">hh", 0, 2), b""
    writer.append_bytes(batch(0, [leader_change], is_control=True))
    writer.append()
    writer.close()
    snapshot = "00000000000000000003-0000000001"
    for suffix in (".checkpoint", ".checkpoint.deleted", "-1234.checkpoint.part"):
        (writer.directory / (snapshot + suffix)).write_bytes(b"what")
    report = judged(writer.log_dir)
    assert report.verdict == "ok", report.to_text()
    assert report.partitions[0]["message_count"] == 5
    assert report.partitions[0]["missing_offsets"]["control"] == 1
    (not_seen,) = (one for one in report.unchecked if one.where.endswith(".checkpoint"))
    assert not_seen.why == "a snapshot of the metadata"


# ---- since the last ok


def trusted_until(writer: PartitionWriter, state: Path) -> int | None:
    report = verify_broker(writer.log_dir, clock=SystemClock(), since_last=state)
    until: int | None = report.partitions[0]["trusted_until"]
    return until


def test_verify_since_last_trusts_no_file_whose_time_was_set_back(
    writer: PartitionWriter, tmp_path: Path
):
    last = int(logs(writer)[-1].stem)
    assert [trusted_until(writer, tmp_path / "state") for _ in range(2)] == [None, last]
    path = logs(writer)[0]
    status = path.stat()
    flip_byte(path, 100, mask=1)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert trusted_until(writer, tmp_path / "state") is None


def test_verify_since_last_trusts_no_segment_of_which_the_epochs_say_something_else(
    writer: PartitionWriter, tmp_path: Path
):
    (_, first), (second_epoch, second) = writer.epochs
    last = int(logs(writer)[-1].stem)
    assert first < second < last
    assert [trusted_until(writer, tmp_path / "state") for _ in range(2)] == [None, last]
    path = writer.directory / "leader-epoch-checkpoint"
    path.write_text(f"0\n3\n0 0\n{second_epoch} {second}\n9 {writer.offset}\n")
    assert trusted_until(writer, tmp_path / "state") == last  # another leader, no batch of it yet
    path.write_text(f"0\n2\n0 0\n{second_epoch} {second - 5}\n")
    assert trusted_until(writer, tmp_path / "state") is None


def test_verify_of_nothing_is_ok(tmp_path: Path):
    writer = PartitionWriter(tmp_path / "broker")
    writer.close()
    assert judged(writer.log_dir).verdict == "ok"
    shutil.rmtree(writer.directory)
    assert judged(writer.log_dir).partitions == []


def test_verify_of_a_partition_that_cannot_be_listed_is_partial(
    writer: PartitionWriter, monkeypatch: pytest.MonkeyPatch
):
    def entries_of(path: Path) -> Iterator[DirectoryEntry]:
        if path == writer.directory:
            raise OSError(5, "Input/output error", str(path))
        return untouched.entries_of(path)

    monkeypatch.setattr(directory, "entries_of", entries_of)
    report = judged(writer.log_dir)
    assert report.verdict == "partial"
    assert [one.where for one in report.unchecked if one.asked] == ["orders-0"]


@pytest.mark.parametrize("slot", [0, 1, 2])
def test_verify_of_a_file_that_cannot_be_read_is_partial(writer: PartitionWriter, slot: int):
    path = logs(writer)[slot]
    path.unlink()
    os.mkfifo(path)
    report = judged(writer.log_dir)
    assert report.verdict == "partial", report.to_text()
    (why,) = (one.why for one in report.unchecked if one.asked)
    assert why.startswith(f"{path}: a FIFO, not a regular file")
