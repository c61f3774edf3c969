import os
from pathlib import Path
from typing import Any

import pytest

from kminilog.columns.segment_scan import FAST
from kminilog.errors import CorruptLogError
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA, Dialect
from kminilog.format.index_entry import IndexEntry, encode_entry
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.recovery import (
    RecoveryPlan,
    carry_out,
    describe,
    leftovers_and_strays,
    plan_recovery,
)
from kminilog.storage.segment.scan import PLAIN
from tests.support.damage import later_message
from tests.support.invariants import check_log

ORDERS = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=256, index_interval_bytes=20)
both_dialects = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)


def make_log(directory: Path, dialect: Dialect, count: int = 20) -> PartitionLog:
    log = PartitionLog.open(directory, ORDERS, dialect, SETTINGS)
    log.append((b"k%d" % n, b"value %d" % n) for n in range(count))
    return log


def plan(log: PartitionLog, **options: Any) -> RecoveryPlan:
    reader = PartitionReader(log.directory, ORDERS, log.dialect, SETTINGS)
    return plan_recovery(reader, **options)


def reopen(log: PartitionLog) -> PartitionLog:
    return PartitionLog.open(log.directory, ORDERS, log.dialect, SETTINGS)


def put(path: Path, position: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[position : position + len(data)] = data
    path.write_bytes(content)


def append(path: Path, data: bytes) -> None:
    path.write_bytes(path.read_bytes() + data)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@both_dialects
def test_recover_sound_log_does_nothing(tmp_path, dialect):
    log = make_log(tmp_path, dialect)
    before = contents(tmp_path)
    assert plan(log).is_valid
    assert describe(plan(log)) == []
    assert carry_out(plan(log)) == []
    assert contents(tmp_path) == before


class Name(str):
    """A file name that counts how often it is compared with another."""

    comparisons = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.comparisons += 1
        return str(self) == other


def test_plan_recovery_of_many_files_compares_no_name_with_all_others(tmp_path, monkeypatch):
    names = [Name(f"{number:020}.index") for number in range(200)]
    monkeypatch.setattr(os, "listdir", lambda directory: list(names))
    reader = PartitionReader(tmp_path, ORDERS, DOCUMENTED, SETTINGS)
    assert len(plan_recovery(reader).leftovers) == len(names)
    assert Name.comparisons < 5 * len(names)


@both_dialects
def test_recover_torn_tail_is_cut_and_its_bytes_are_kept(tmp_path, dialect):
    log = make_log(tmp_path, dialect)
    last = log.segments()[-1].log_path
    size_bytes = last.stat().st_size
    torn = encode(dialect, 20, b"key", b"never finished")[:-3]
    with open(last, "ab") as file:
        file.write(torn)
    (side_file,) = carry_out(plan(log))
    assert side_file.name == f"{last.name}.{size_bytes}.cut"
    assert side_file.read_bytes() == torn
    assert last.stat().st_size == size_bytes
    log = reopen(log)
    assert log.append([(None, b"next")]) == range(20, 21)
    check_log(log)


@both_dialects
def test_recover_second_cut_at_the_same_place_keeps_both_side_files(tmp_path, dialect):
    log = make_log(tmp_path, dialect)
    last = log.segments()[-1].log_path
    kept = []
    for torn in (b"first", b"second"):
        with open(last, "ab") as file:
            file.write(torn)
        kept += carry_out(plan(log))
    assert [path.read_bytes() for path in kept] == [b"first", b"second"]


@both_dialects
def test_recover_keeps_the_modification_time(tmp_path, dialect):
    log = make_log(tmp_path, dialect)
    last = log.segments()[-1].log_path
    with open(last, "ab") as file:
        file.write(b"torn")
    os.utime(last, (1000, 2000))
    carry_out(plan(log))
    assert last.stat().st_mtime == 2000


@both_dialects
def test_recover_damage_before_valid_messages_is_refused(tmp_path, dialect):
    log = make_log(tmp_path, dialect)
    first = log.segments()[0].log_path
    put(first, 30, b"?")
    before = contents(tmp_path)
    with pytest.raises(CorruptLogError, match=f"{first}, byte 0: damaged: bad-crc"):
        carry_out(plan(log))
    assert contents(tmp_path) == before
    assert plan(log).damage.lost.message_count == 19


@both_dialects
def test_recover_changed_size_is_not_a_torn_tail(tmp_path, dialect):
    log = make_log(tmp_path, dialect, count=3)
    located = log.reader.find(1)
    put(log.segments()[0].log_path, located.position + 8, b"\x00\x7f\xff\xff")
    found = plan(log)
    assert (found.cut, found.damage.position) == (None, located.position)
    assert found.damage.reason == "unfinished message"
    assert found.damage.lost.message_count == 1


@pytest.mark.parametrize("scanner", [PLAIN, FAST], ids=["plain", "fast"])
@pytest.mark.parametrize("front", [b"", b"rubbish", "torn", "bad crc"], ids=str)
@pytest.mark.parametrize("magic", [1, 3])
@both_dialects
def test_recover_whole_messages_of_another_format_is_refused(
    tmp_path, dialect, magic, front, scanner
):
    log = make_log(tmp_path, dialect)
    end = log.log_end_offset
    if front == "torn":
        front = encode(dialect, end, b"k", bytes(3000))[:30]
    elif front == "bad crc":
        front = encode(dialect, end, b"k", b"v")[:-1] + b"!"
    later = [later_message(magic, end + 1 + n, b"value") for n in range(3)]
    append(log.segments()[-1].log_path, front + b"".join(later))
    before = contents(tmp_path)
    found = plan(log, scanner=scanner)
    assert found.cut is None
    assert (str(found.damage.lost), found.whole_end_offset) == ("3 whole messages", end + 4)
    after = 3 if front else 2  # else the first of them stands at the fault itself
    with pytest.raises(CorruptLogError, match=f"; {after} whole messages after it"):
        carry_out(found)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("scanner", [PLAIN, FAST], ids=["plain", "fast"])
@pytest.mark.parametrize("magic", [1, 3])
@both_dialects
def test_recover_torn_tail_before_a_segment_of_another_format_is_refused(
    tmp_path, dialect, magic, scanner
):
    log = make_log(tmp_path, dialect)
    *_, before_last, last = log.segments()
    append(before_last.log_path, b"torn")
    last.log_path.write_bytes(later_message(magic, last.first_offset, b"value"))
    found = plan(log, scanner=scanner)
    assert found.cut is None
    assert str(found.damage.lost) == "1 whole message"


@pytest.mark.parametrize("scanner", [PLAIN, FAST], ids=["plain", "fast"])
def test_recover_whole_messages_of_the_other_dialect_is_refused(tmp_path, scanner):
    log = make_log(tmp_path, KAFKA)
    append(log.segments()[-1].log_path, encode(DOCUMENTED, log.log_end_offset, b"k", b"v"))
    found = plan(log, scanner=scanner)
    assert found.cut is None
    assert found.damage.lost.message_count == 1


@pytest.mark.parametrize("magic", [1, 2, 3])
@both_dialects
def test_recover_torn_message_of_another_format_is_cut(tmp_path, dialect, magic):
    log = make_log(tmp_path, dialect)
    append(log.segments()[-1].log_path, later_message(magic, log.log_end_offset, b"v")[:-1])
    assert plan(log).cut.lost.message_count == 0


@both_dialects
def test_recover_valid_message_with_wrong_offset_is_damage(tmp_path, dialect):
    for offset in (0, 3, 2**40):
        log = make_log(tmp_path / str(offset), dialect, count=3)
        located = log.reader.find(2)
        put(log.segments()[0].log_path, located.position, offset.to_bytes(8))
        found = plan(log)
        assert found.cut is None
        assert found.damage.position == located.position
        assert f"offset {offset}, expected 2" in found.damage.reason


@both_dialects
def test_recover_gap_between_segments_is_damage(tmp_path, dialect):
    log = make_log(tmp_path, dialect)
    first, second, third, *_ = log.segments()
    second.log_path.unlink()
    found = plan(log)
    assert found.damage.segment.base_offset == first.base_offset
    assert third.name in found.damage.reason
    assert found.log_end_offset == second.first_offset


@both_dialects
def test_recover_by_force_cuts_at_the_damage_and_keeps_all_bytes(tmp_path, dialect):
    log = make_log(tmp_path, dialect)
    position = log.reader.find(7).position
    damaged = log.reader.find(7).segment
    put(damaged.log_path, position + 25, b"?")
    before = contents(tmp_path)
    behind = [s for s in log.segments() if s.base_offset > damaged.base_offset]
    side_files = carry_out(plan(log), force=True)
    kept = {path.name.split(".")[0]: path.read_bytes() for path in side_files}
    assert kept[damaged.name] == before[damaged.log_path.name][position:]
    assert {s.name: before[s.log_path.name] for s in behind}.items() <= kept.items()
    log = reopen(log)
    assert log.log_end_offset == 7
    log.append([(None, b"v")])
    check_log(log)
    assert plan(log).is_valid


@both_dialects
def test_recover_empty_segments_behind_a_torn_tail_go_with_it(tmp_path, dialect):
    log = make_log(tmp_path, dialect)
    log.roll()
    last_with_messages = log.segments()[-2]
    size_bytes = last_with_messages.file_bytes
    os.truncate(last_with_messages.log_path, size_bytes - 1)
    found = plan(log)
    assert found.damage is None
    carry_out(found)
    log = reopen(log)
    assert log.log_end_offset == 19
    check_log(log)


@both_dialects
def test_recover_below_the_recovery_point_warns(tmp_path, dialect):
    log = make_log(tmp_path, dialect)
    assert plan(log, recovery_point=20).warnings == []
    last = log.segments()[-1].log_path
    os.truncate(last, last.stat().st_size - 1)
    (warning,) = plan(log, recovery_point=20).warnings
    assert warning.endswith(": the log is valid up to offset 19 only, but its recovery point is 20")


@both_dialects
def test_recover_below_the_recovery_point_by_damage_does_not_say_that_messages_are_gone(
    tmp_path, dialect
):
    log = make_log(tmp_path, dialect)
    located = log.reader.find(17)
    put(located.segment.log_path, located.position + 8, b"\x10")
    found = plan(log, recovery_point=20)
    assert found.damage.lost.message_count == 2
    (warning,) = found.warnings
    assert "gone" not in warning


@both_dialects
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: None,
        lambda data: data[:-8],
        lambda data: data[:-3],
        lambda data: b"",
        lambda data: data + bytes(16),
        lambda data: data[8:] + data[:8],
        lambda data: data[:-8] + encode_entry(IndexEntry(5, 10_000)),
        lambda data: data[:-8] + data[-8:-1] + bytes([data[-1] + 1]),
    ],
    ids=[
        "missing",
        "short",
        "torn",
        "empty",
        "zero tail",
        "out of order",
        "past the end",
        "between messages",
    ],
)
@pytest.mark.parametrize("slot", [0, 1, -1])
@pytest.mark.parametrize("is_after_crash", [True, False], ids=["read whole", "quick look"])
def test_recover_index_that_is_damaged_is_rebuilt_to_the_same_bytes(
    tmp_path, dialect, damage, slot, is_after_crash
):
    log = make_log(tmp_path, dialect, count=6 * (256 // 34))
    before = contents(tmp_path)
    index = log.segments()[slot].index.path
    assert len(before[index.name]) >= 16
    damaged = damage(before[index.name])
    if damaged is None:
        index.unlink()
    else:
        index.write_bytes(damaged)
    found = plan(log, is_after_crash=is_after_crash)
    assert [segment.index.path for segment, _ in found.rebuilt_indexes] == [index]
    carry_out(found)
    assert contents(tmp_path) == before


@both_dialects
def test_recover_leftovers_go_and_strays_stay(tmp_path, dialect):
    log = make_log(tmp_path, dialect)
    before = contents(tmp_path)
    for name in ("99999999999999999.index", "notes.txt", "00000000000000000000.log.9.cut"):
        (tmp_path / name).write_bytes(b"x")
    leftovers = ["00000000000000099999.index", "00000000000000000001.log.deleted"]
    for name in leftovers:
        (tmp_path / name).write_bytes(b"x")
    found = plan(log)
    assert sorted(path.name for path in found.leftovers) == sorted(leftovers)
    assert [path.name for path in found.strays] == ["99999999999999999.index", "notes.txt"]
    assert len(describe(found)) == 4
    carry_out(found)
    assert set(contents(tmp_path)) - set(before) == {
        "99999999999999999.index",
        "notes.txt",
        "00000000000000000000.log.9.cut",
    }


@pytest.mark.parametrize("is_after_crash", [True, False])
def test_leftovers_and_strays_are_told_by_their_names(is_after_crash):
    base = "00000000000000000001"
    alone, deleted = "00000000000000000009.index", [f"{base}.index.deleted", f"{base}.log.deleted"]
    known = [f"{base}.log", f"{base}.index", f"{base}.log.9.cut"]
    names = ["b.txt", "a.txt", *reversed(deleted), alone, *known]
    leftovers, strays = leftovers_and_strays(names, is_after_crash=is_after_crash)
    assert leftovers == ([*deleted, alone] if is_after_crash else [alone])
    assert strays == ["a.txt", "b.txt"]
