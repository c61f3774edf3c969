from pathlib import Path

import pytest

from kminilog.errors import (
    CompressedMessageError,
    CorruptLogError,
    LogClosedError,
    LogDirError,
    MessageTooLargeError,
    NullValueError,
    OffsetOutOfRangeError,
)
from kminilog.explain.recorded_search import Trace
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA, Dialect
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.notices import Gap
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.retention import delete_expired
from kminilog.storage.segment.lookup import NAMES
from kminilog.storage.segment.segment import Segment
from tests.support.damage import files_of
from tests.support.invariants import check_log
from tests.support.steps import steps_of

ORDERS = TopicPartition("orders", 0)
both_dialects = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)


def open_log(
    directory: Path, dialect: Dialect, *, base_offset: int = 0, **settings: int
) -> PartitionLog:
    return PartitionLog.open(
        directory, ORDERS, dialect, TopicSettings(**settings), base_offset=base_offset
    )


def open_reader(log: PartitionLog) -> PartitionReader:
    return PartitionReader(log.directory, ORDERS, log.dialect, log.settings)


def names(log: PartitionReader) -> list[int]:
    return [segment.base_offset for segment in log.segments()]


def fill(log: PartitionLog, count: int, value_bytes: int = 30) -> None:
    log.append((None, b"%0*d" % (value_bytes, n)) for n in range(count))


# ---- roll


@pytest.mark.parametrize(
    ("dialect", "expected"), [(DOCUMENTED, [0, 368769]), (KAFKA, [0, 368770])], ids=str
)
def test_roll_names_the_new_segment_by_the_dialect(tmp_path, dialect, expected):
    log = open_log(tmp_path, dialect, base_offset=dialect.base_offset_for(368_767))
    fill(log, 3)
    assert log.roll()
    fill(log, 1)
    assert names(log)[1:] == expected[1:]
    assert log.segments()[1].first_offset == 368_770
    check_log(log)


def test_roll_first_segment_with_one_message_waits(tmp_path):
    log = open_log(tmp_path, DOCUMENTED, segment_bytes=60, segment_ms=1)
    fill(log, 1)
    assert not log.roll()
    log.append([(None, b"%030d" % 1)], now_ms=10**9)
    assert names(log) == [0]
    fill(log, 1)
    assert names(log) == [0, 1]


@both_dialects
def test_roll_of_an_empty_segment_does_nothing(tmp_path, dialect):
    log = open_log(tmp_path, dialect)
    assert not log.roll()
    fill(log, 2)
    assert log.roll()
    assert not log.roll()
    assert len(names(log)) == 2


@both_dialects
def test_roll_by_size_fills_a_segment_to_the_last_byte_and_not_beyond(tmp_path, dialect):
    length = len(encode(dialect, 0, None, bytes(30)))
    log = open_log(tmp_path, dialect, segment_bytes=3 * length)
    fill(log, 7)
    assert [segment.file_bytes for segment in log.segments()] == [3 * length, 3 * length, length]


@both_dialects
def test_roll_by_age_counts_from_the_first_append(tmp_path, dialect):
    log = open_log(tmp_path, dialect, segment_ms=1000)
    for now_ms in (5000, 5900, 6000):
        log.append([(None, b"v")], now_ms=now_ms)
    assert len(names(log)) == 1
    log.append([(None, b"v")], now_ms=6001)
    assert len(names(log)) == 2
    log.append([(None, b"v")], now_ms=7001)
    assert len(names(log)) == 2


@both_dialects
def test_roll_by_full_index_keeps_the_index_within_its_bytes(tmp_path, dialect):
    log = open_log(tmp_path, dialect, index_interval_bytes=0, segment_index_bytes=24)
    fill(log, 12)
    assert [len(segment.index) for segment in log.segments()] == [3, 3, 3, 0][: len(names(log))]
    check_log(log)


@both_dialects
def test_roll_and_delete_first_take_as_many_steps_with_few_segments_as_with_many(tmp_path, dialect):
    log = open_log(tmp_path, dialect, segment_bytes=100)
    rolls, deletions = [], []
    for count in (10, 500):
        while len(log.segments()) < count:
            fill(log, 2)
        rolls.append(steps_of(lambda: fill(log, 2)))
        deletions.append(steps_of(lambda: log.remove_first_segment(Segment.remove)))
    assert rolls[1] < rolls[0] + 150  # a flush finds its first segment by binary search
    assert deletions[1] < deletions[0] + 20


# ---- append


@both_dialects
def test_append_message_over_segment_bytes_is_refused(tmp_path, dialect):
    log = open_log(tmp_path, dialect, segment_bytes=100)
    with pytest.raises(MessageTooLargeError, match=r"segment\.bytes = 100"):
        log.append([(None, b"small"), (None, bytes(100))])
    assert log.log_end_offset == 0
    assert log.segments()[0].file_bytes == 0


@both_dialects
def test_append_message_over_max_message_bytes_is_refused_and_of_it_is_not(tmp_path, dialect):
    length = len(encode(dialect, 0, None, bytes(30)))
    log = open_log(tmp_path, dialect, max_message_bytes=length)
    with pytest.raises(MessageTooLargeError, match=r"max\.message\.bytes"):
        log.append([(None, bytes(31))])
    assert log.append([(None, bytes(30))]) == range(1)


def test_append_null_value_is_refused_in_the_documented_dialect(tmp_path):
    log = open_log(tmp_path, DOCUMENTED)
    with pytest.raises(NullValueError):
        log.append([(b"k", b"v"), (b"k", None)])
    assert log.log_end_offset == 0


@both_dialects
def test_append_takes_the_last_offset_and_refuses_what_follows(tmp_path, dialect):
    """One offset is never used: the log would end above what any file can say."""
    first = 2**63 - 4
    log = open_log(tmp_path, dialect, base_offset=dialect.base_offset_for(first))
    assert log.append([(None, b"v")] * 2) == range(first, first + 2)
    for count in (2, 3, 9):
        with pytest.raises(LogClosedError, match=f"no offset is left after {first + 1}$"):
            log.append([(None, b"v")] * count)
    assert log.append([(None, b"v")]) == range(first + 2, first + 3)
    with pytest.raises(LogClosedError, match="no offset is left"):
        log.append([(None, b"v")])
    check_log(log)


@both_dialects
def test_append_nothing_gives_no_offsets(tmp_path, dialect):
    log = open_log(tmp_path, dialect)
    assert log.append([]) == range(0)


@both_dialects
def test_append_to_a_closed_log_is_refused(tmp_path, dialect):
    log = open_log(tmp_path, dialect)
    log.close()
    log.close()
    with pytest.raises(LogClosedError, match="it is closed"):
        log.append([(None, b"v")])


@both_dialects
def test_roll_and_retention_of_a_closed_log_are_refused(tmp_path, dialect):
    log = open_log(tmp_path, dialect, segment_bytes=100, retention_bytes=0)
    fill(log, 5)
    log.close()
    before = files_of(tmp_path)
    for change in (log.roll, lambda: delete_expired(log, now_ms=0)):
        with pytest.raises(LogClosedError, match="it is closed"):
            change()
    assert files_of(tmp_path) == before


class InterruptedLog(PartitionLog):
    """A log in which Ctrl-C arrives just after a step of its work."""

    after = ""

    def flush(self, *, now_ms: int | None = None) -> None:
        super().flush(now_ms=now_ms)
        if self.after == "flush":
            raise KeyboardInterrupt

    def _roll(self) -> Segment:
        segment = super()._roll()
        if self.after == "roll":
            raise KeyboardInterrupt
        return segment


@both_dialects
@pytest.mark.parametrize("after", ["flush", "roll"])
def test_append_or_roll_that_is_interrupted_leaves_what_was_before(tmp_path, dialect, after):
    settings = TopicSettings(flush_messages=3)
    log = InterruptedLog.open(tmp_path, ORDERS, dialect, settings)
    fill(log, 2)
    before = files_of(tmp_path)
    log.after = after
    with pytest.raises(KeyboardInterrupt):
        fill(log, 3) if after == "flush" else log.roll()
    assert files_of(tmp_path) == before
    assert (log.log_end_offset, log.recovery_point) == (2, 0)
    log.after = ""
    fill(log, 1)  # the third that waits for a flush
    assert (log.log_end_offset, log.recovery_point) == (3, 3)
    check_log(log)


@both_dialects
def test_log_whose_undo_is_interrupted_takes_no_more_messages(tmp_path, dialect, monkeypatch):
    """The user presses Ctrl-C twice: nobody knows what is undone, so recovery has to look."""
    log = InterruptedLog.open(tmp_path, ORDERS, dialect, TopicSettings(flush_messages=3))
    log.after = "flush"

    def interrupt(segment: Segment, size_bytes: int, entry_count: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Segment, "truncate_to", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fill(log, 3)
    assert log.is_broken
    with pytest.raises(LogClosedError, match="undoing it did too"):
        fill(log, 1)


@both_dialects
def test_append_message_by_message_with_flush_messages_1_moves_the_recovery_point(
    tmp_path, dialect
):
    log = open_log(tmp_path, dialect, flush_messages=1)
    fill(log, 3)
    assert log.recovery_point == 3
    fill(log, 1)
    assert log.recovery_point == 4


@both_dialects
def test_append_later_than_flush_ms_flushes(tmp_path, dialect):
    log = open_log(tmp_path, dialect, flush_ms=1000)
    log.append([(None, b"v")], now_ms=0)
    log.append([(None, b"v")], now_ms=1000)
    assert log.recovery_point == 0
    log.append([(None, b"v")], now_ms=1001)
    assert log.recovery_point == 3
    log.append([(None, b"v")], now_ms=2001)
    assert log.recovery_point == 3


@both_dialects
@pytest.mark.parametrize("flush", ["alone", "for retention"])
def test_append_within_flush_ms_of_another_flush_does_not_flush(tmp_path, dialect, flush):
    segment_bytes = 1000 if flush == "alone" else 100  # a roll would flush, too
    log = open_log(tmp_path, dialect, flush_ms=1000, segment_bytes=segment_bytes, retention_bytes=0)
    for _ in range(5):
        log.append([(None, b"%030d" % 0)], now_ms=10_000)
    if flush == "alone":
        log.flush()
    else:
        assert delete_expired(log, now_ms=10_000)
    assert log.recovery_point == 5
    log.append([(None, b"v")], now_ms=10_500)
    assert log.recovery_point == 5
    log.append([(None, b"v")], now_ms=11_501)
    assert log.recovery_point == 7


# ---- open


def test_open_empty_documented_segment_continues_one_past_its_name(tmp_path):
    assert open_log(tmp_path / "a", DOCUMENTED, base_offset=5).log_end_offset == 6
    assert open_log(tmp_path / "b", DOCUMENTED, base_offset=0).log_end_offset == 0
    assert open_log(tmp_path / "c", KAFKA, base_offset=5).log_end_offset == 5


@both_dialects
def test_open_log_with_a_torn_tail_is_refused_with_its_place(tmp_path, dialect):
    log = open_log(tmp_path, dialect)
    fill(log, 2)
    log.close()
    path = log.segments()[0].log_path
    size_bytes = path.stat().st_size
    with open(path, "ab") as file:
        file.write(b"torn")
    with pytest.raises(CorruptLogError, match=f"byte {size_bytes}: damaged"):
        open_log(tmp_path, dialect)


# ---- find and read


@both_dialects
def test_find_below_log_start_is_out_of_range(tmp_path, dialect):
    log = open_log(tmp_path, dialect, base_offset=dialect.base_offset_for(100))
    fill(log, 3)
    for reader in (log.reader, open_reader(log)):
        for offset in (0, 99, 103, 10**6):
            with pytest.raises(OffsetOutOfRangeError) as caught:
                reader.find(offset)
            error = caught.value
            assert (error.log_start_offset, error.log_end_offset) == (100, 103)
        with pytest.raises(OffsetOutOfRangeError):
            reader.read(99, 1000)
        with pytest.raises(OffsetOutOfRangeError):
            reader.read(104, 1000)
        with pytest.raises(ValueError, match="never negative"):
            reader.find(-1)


@both_dialects
def test_read_at_the_end_is_empty_and_sees_what_comes_later(tmp_path, dialect):
    log = open_log(tmp_path, dialect, segment_bytes=200)
    reader = open_reader(log)
    assert reader.read(0, 1000) == []
    fill(log, 10)
    assert reader.log_end_offset == 10
    assert reader.read(10, 1000) == []
    fill(log, 10)
    assert reader.read(10, 1)[0].offset == 10
    assert reader.log_end_offset == 20


@both_dialects
def test_read_crosses_segments_within_max_bytes(tmp_path, dialect):
    length = len(encode(dialect, 0, None, bytes(30)))
    log = open_log(tmp_path, dialect, segment_bytes=2 * length)
    fill(log, 7)
    for max_bytes, expected in (
        (1, 1),
        (length, 1),
        (2 * length - 1, 1),
        (2 * length, 2),
        (5 * length, 5),
        (10**9, 6),
    ):
        assert [m.offset for m in log.reader.read(1, max_bytes)] == list(range(1, 1 + expected))


@both_dialects
def test_read_goes_on_into_a_segment_that_has_come_since_the_last_look(tmp_path, dialect):
    length = len(encode(dialect, 0, None, bytes(30)))
    log = open_log(tmp_path, dialect, segment_bytes=2 * length)
    reader = open_reader(log)
    assert reader.log_end_offset == 0
    fill(log, 7)
    assert [message.offset for message in reader.read(1, 10**9)] == [1, 2, 3, 4, 5, 6]


@both_dialects
def test_read_after_the_first_segment_was_deleted_is_out_of_range(tmp_path, dialect):
    log = open_log(tmp_path, dialect, segment_bytes=200)
    fill(log, 20)
    reader = open_reader(log)
    assert reader.read(0, 1)
    log.remove_first_segment(Segment.remove)
    with pytest.raises(OffsetOutOfRangeError):
        reader.read(0, 1)
    assert reader.log_start_offset == log.log_start_offset > 0


@both_dialects
def test_reader_of_a_deleted_partition_says_so(tmp_path, dialect):
    reader = PartitionReader(tmp_path / "gone", ORDERS, dialect, TopicSettings())
    with pytest.raises(LogDirError, match="no such partition directory"):
        reader.read(0, 1)


@both_dialects
def test_find_tells_what_it_probed_and_scanned(tmp_path, dialect):
    log = open_log(tmp_path, dialect, segment_bytes=400, index_interval_bytes=100)
    fill(log, 100)
    trace = Trace()
    found = log.reader.find(77, trace)
    assert found.message.offset == 77
    probes = trace.probes(NAMES)
    assert 0 < len(probes) <= len(names(log)).bit_length()
    assert {probe.value for probe in probes} <= set(names(log))
    segment, located = found.segment, found
    entries = segment.index.entries()
    assert located.index_entry == max(
        (e for e in entries if segment.base_offset + e.relative_offset <= 77), default=None
    )
    start = located.index_entry.position if located.index_entry else 0
    assert located.scanned_bytes == located.position + located.message.length_bytes - start
    scanned = [o for p, o in segment.scan(start) if p <= located.position]
    assert located.scanned_messages == len(scanned)
    walked = [(message.offset, message.size, message.crc) for message in scanned]
    assert [read.fields for read in trace.header_reads] == walked


def test_find_2049_is_in_the_segment_named_2048(tmp_path):
    log = open_log(tmp_path, DOCUMENTED, base_offset=2046)
    fill(log, 2)
    log.roll()
    fill(log, 1)
    assert log.reader.find(2049).segment.base_offset == 2048
    assert log.reader.find(2048).segment.base_offset == 2046


@pytest.mark.parametrize("offset", [0, 1, 12])
def test_find_offset_n_is_the_message_behind_n_others(tmp_path, dialect, offset):
    log = open_log(tmp_path, dialect)
    fill(log, 20)
    before = [message for message in log.reader.read(0, 10_000) if message.offset < offset]
    assert len(before) == offset
    assert log.reader.find(offset).position == sum(each.length_bytes for each in before)


def test_index_first_entry_comes_after_the_interval(tmp_path):
    log = open_log(tmp_path, DOCUMENTED)
    fill(log, 200)
    first = log.segments()[0].index.entries()[0]
    length = log.reader.read(0, 1)[0].length_bytes
    assert first.position > 4096 >= first.position - length


@both_dialects
def test_read_of_damage_in_the_middle_raises_and_names_the_place(tmp_path, dialect):
    log = open_log(tmp_path, dialect)
    fill(log, 5)
    located = log.reader.find(2)
    path = log.segments()[0].log_path
    data = bytearray(path.read_bytes())
    data[located.position + 30] ^= 1
    path.write_bytes(data)
    reader = open_reader(log)
    assert [m.offset for m in reader.read(0, 10**6)] == [0, 1]
    with pytest.raises(CorruptLogError) as caught:
        reader.read(2, 10**6)
    assert (caught.value.path, caught.value.position) == (str(path), located.position)


@both_dialects
def test_find_of_a_compressed_message_is_refused(tmp_path, dialect):
    log = open_log(tmp_path, dialect)
    fill(log, 2)
    log.close()
    with open(log.segments()[0].log_path, "ab") as file:
        file.write(encode(dialect, 4, None, b"three messages", attributes=1))
    reader = open_reader(log)
    for offset in (2, 4):
        with pytest.raises(CompressedMessageError, match="compressed with gzip"):
            reader.find(offset)
    assert len(reader.read(0, 10**6)) == 2
    with pytest.raises(CompressedMessageError):
        reader.read(2, 10**6)
    assert open_log(tmp_path, dialect).log_end_offset == 5


@both_dialects
def test_read_of_a_foreign_log_with_a_gap_goes_on_behind_it_if_gaps_are_allowed(tmp_path, dialect):
    log = open_log(tmp_path, dialect)
    fill(log, 3)
    log.close()
    with open(log.segments()[0].log_path, "ab") as file:
        file.write(encode(dialect, 10, None, b"behind the gap"))
    gaps: list[Gap] = []
    reader = PartitionReader(log.directory, ORDERS, dialect, log.settings, on_gap=gaps.append)
    assert [m.offset for m in reader.read(5, 10**6)] == [10]
    assert [(gap.first_offset, gap.next_offset) for gap in gaps] == [(5, 10)]
    assert reader.log_end_offset == 11
    with pytest.raises(OffsetOutOfRangeError):
        reader.find(5)
