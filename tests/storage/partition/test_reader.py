"""Where a log does not go on as it should: damage, the end, or a gap that is allowed."""

from pathlib import Path

import pytest

from kminilog.errors import CorruptLogError, OffsetOutOfRangeError
from kminilog.format.dialect import DIALECTS, Dialect
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.cuts import truncate_log
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.notices import Gap
from kminilog.storage.partition.reader import PartitionReader
from tests.support.damage import message_positions

ORDERS = TopicPartition("orders", 0)
COUNT = 40
both_dialects = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)


def write_log(directory: Path, dialect: Dialect, *, interval_bytes: int = 100) -> PartitionLog:
    settings = TopicSettings(segment_bytes=400, index_interval_bytes=interval_bytes)
    log = PartitionLog.open(directory, ORDERS, dialect, settings)
    log.append((None, b"value %02d" % n) for n in range(COUNT))
    assert len(log.segments()) > 3
    return log


def reader_of(log: PartitionLog, gaps: list[Gap] | None = None) -> PartitionReader:
    on_gap = None if gaps is None else gaps.append
    return PartitionReader(log.directory, ORDERS, log.dialect, log.settings, on_gap=on_gap)


def put_offset(path: Path, position: int, offset: int) -> None:
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(offset.to_bytes(8))


def read_all(reader: PartitionReader, offset: int = 0) -> list[int]:
    """Read as a consumer does, in small pieces, up to the end of the log."""
    found: list[int] = []
    while messages := reader.read(offset, 100):
        found += [message.offset for message in messages]
        offset = found[-1] + 1
    return found


@both_dialects
@pytest.mark.parametrize("interval_bytes", [0, 4096], ids=["indexed", "not indexed"])
@pytest.mark.parametrize("wrong", [COUNT - 1 + (1 << 40), COUNT, 2], ids=["far", "next", "lower"])
def test_read_last_message_with_a_wrong_offset_is_damage_where_it_stands(
    tmp_path, dialect, interval_bytes, wrong
):
    log = write_log(tmp_path, dialect, interval_bytes=interval_bytes)
    path = log.segments()[-1].log_path
    position = message_positions(path.read_bytes())[-2]
    put_offset(path, position, wrong)
    reader = reader_of(log)
    assert reader.log_end_offset == COUNT - 1
    assert [message.offset for message in reader.read(0, 10**6)] == list(range(COUNT - 1))
    told = f"offset {wrong}, expected {COUNT - 1}"
    for ask in (lambda: reader.read(COUNT - 1, 1), lambda: reader.find(COUNT - 1)):
        with pytest.raises(CorruptLogError, match=told) as caught:
            ask()
        assert (caught.value.path, caught.value.position) == (str(path), position)
        assert ("allow gaps" in str(caught.value)) == (wrong >= COUNT)
    assert reader.find(COUNT - 2).message.offset == COUNT - 2


@both_dialects
def test_read_of_a_log_without_its_middle_segment_stops_at_the_next_one(tmp_path, dialect):
    log = write_log(tmp_path, dialect)
    first, missing, following, *_ = log.segments()
    missing.remove()
    reader = reader_of(log)
    before = list(range(missing.first_offset))
    assert [message.offset for message in reader.read(0, 10**6)] == before
    for offset in range(missing.first_offset, following.first_offset):
        expected = f"its name says offset {following.first_offset}, but {len(before)} comes next"
        expected += f", after {first.log_path.name}"
        for ask in (lambda o: reader.read(o, 1), reader.find):
            with pytest.raises(CorruptLogError, match=expected) as caught:
                ask(offset)
            assert (caught.value.path, caught.value.position) == (str(following.log_path), 0)
    assert read_all(reader, following.first_offset) == list(range(following.first_offset, COUNT))


@both_dialects
def test_read_of_a_segment_whose_name_says_a_lower_offset_is_damage(tmp_path, dialect):
    log = write_log(tmp_path, dialect)
    second = log.segments()[1]
    wrong = second.first_offset - 2
    for path in (second.log_path, second.index.path):
        path.rename(path.with_stem(f"{dialect.base_offset_for(wrong):020d}"))
    reader = reader_of(log)
    read = [message.offset for message in reader.read(0, 10**6)]
    assert read == list(range(second.first_offset))
    for offset in (wrong, second.first_offset):
        told = f"a whole message with offset {second.first_offset}, expected {wrong}"
        expected = f"byte 0: damaged: {told}"
        with pytest.raises(CorruptLogError, match=expected):
            reader.read(offset, 1)


@both_dialects
def test_read_with_allowed_gaps_tells_each_gap_with_its_place(tmp_path, dialect):
    log = write_log(tmp_path, dialect)
    _, missing, following, *_ = log.segments()
    missing.remove()
    last = log.segments()[-1].log_path
    end = last.stat().st_size
    with open(last, "ab") as file:
        file.write(encode(dialect, 50, None, b"behind a gap"))
    gaps: list[Gap] = []
    reader = reader_of(log, gaps)
    lost = range(missing.first_offset, following.first_offset)
    assert read_all(reader) == [o for o in range(COUNT) if o not in lost] + [50]
    assert reader.log_end_offset == 51
    assert gaps == [
        Gap(ORDERS, lost.start, lost.stop, str(following.log_path), 0),
        Gap(ORDERS, COUNT, 50, str(last), end),
    ]
    assert (
        str(gaps[1]) == f"orders-0: a gap: offsets 40 to 49 are not in the log ({last}: byte {end})"
    )
    with pytest.raises(OffsetOutOfRangeError):
        reader.find(45)


@both_dialects
def test_read_with_allowed_gaps_stops_at_an_offset_that_the_next_one_denies(tmp_path, dialect):
    log = write_log(tmp_path, dialect)
    first, second, *_ = log.segments()
    position = message_positions(first.log_path.read_bytes())[-3]
    put_offset(first.log_path, position, 1 << 40)
    with pytest.raises(CorruptLogError, match=f"byte {position}: damaged"):
        reader_of(log, []).read(second.first_offset - 2, 1)


@both_dialects
def test_read_beside_a_writer_takes_an_unfinished_message_for_the_end(tmp_path, dialect):
    log = write_log(tmp_path, dialect)
    path, data = log.segments()[-1].log_path, encode(dialect, COUNT, None, b"unfinished")
    reader = reader_of(log)
    for length in (1, 8, 11, 12, len(data) - 1):
        size = path.stat().st_size
        with open(path, "ab") as file:
            file.write(data[:length])
        assert reader.log_end_offset == COUNT
        assert reader.read(COUNT, 10**6) == []
        assert len(reader.read(0, 10**6)) == COUNT
        with open(path, "r+b") as file:
            file.truncate(size)


@both_dialects
def test_read_with_an_old_list_of_segments_after_a_cut_is_no_damage(tmp_path, dialect):
    log = write_log(tmp_path, dialect)
    reader = reader_of(log)
    assert len(read_all(reader)) == COUNT
    second = log.segments()[1]
    truncate_log(log, second.first_offset + 1)
    assert reader.read(second.first_offset + 1, 1) == []
    assert reader.log_end_offset == second.first_offset + 1
