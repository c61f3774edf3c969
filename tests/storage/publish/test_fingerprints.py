"""What fingerprints tell: any single alteration, but not the order; and what a job records."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns import windows
from kminilog.columns.staged_logs import join_logs, seal
from kminilog.errors import CorruptLogError
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.message import SIZE_END, decode, encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.manifests import StagedPartition
from kminilog.storage.publish import fingerprints
from kminilog.storage.publish.fingerprints import (
    RANGE_MESSAGES,
    RangeSums,
    message_fingerprint,
    range_borders,
)
from kminilog.storage.publish.publication import open_staged_log
from kminilog.storage.topics import Topic

ORDERS = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=300, index_interval_bytes=60)
FIELDS = st.tuples(st.integers(0, 2**62), st.integers(10, 2**31 - 1), st.integers(0, 2**32 - 1))


@given(fields=FIELDS, other=FIELDS)
def test_fingerprint_of_other_bytes_at_the_same_offset_is_another(fields, other):
    offset, size, crc = fields
    is_same = message_fingerprint(*fields) == message_fingerprint(offset, *other[1:])
    assert is_same == ((size, crc) == other[1:])


@pytest.mark.parametrize("field", range(3))
def test_fingerprint_changes_half_of_its_bits_with_any_bit_of_a_field(field):
    fields = [1_000, 120, 0xDEADBEEF]
    before = message_fingerprint(*fields)
    for bit in range(20):
        changed = list(fields)
        changed[field] ^= 1 << bit
        assert 16 <= (before ^ message_fingerprint(*changed)).bit_count() <= 48, bit


@given(
    rows=st.lists(FIELDS, max_size=20),
    borders=st.lists(st.integers(0, 2**62), unique=True, max_size=9).map(sorted),
    data=st.data(),
)
def test_sums_belong_to_the_range_of_the_offset_in_any_order_and_in_parts(rows, borders, data):
    sums, shuffled = RangeSums(borders), RangeSums(borders)
    for row in rows:
        sums.add(*row)
    for row in data.draw(st.permutations(rows)):
        shuffled.add(*row)
    assert sums.rows() == shuffled.rows()
    expected = []
    for first, end in pairwise(borders):
        inside = [message_fingerprint(*row) for row in rows if first <= row[0] < end]
        if inside:
            expected.append([first, len(inside), sum(inside) % 2**64])
    assert sums.rows() == expected


def test_borders_cut_a_job_into_ranges_from_its_first_offset_on():
    end = 100 + 2 * RANGE_MESSAGES
    assert range_borders(100, end) == [100, 100 + RANGE_MESSAGES, end]
    assert range_borders(100, end + 1)[-2:] == [end, end + 1]
    assert range_borders(100, 101) == [100, 101]


# ---- what a job records


def values(count: int) -> list[tuple[bytes, bytes]]:
    return [(b"k%d" % (n % 3), b"value %d" % n) for n in range(count)]


def stage(path: Path, dialect: Dialect, first_offset: int, count: int) -> StagedPartition:
    path.mkdir(parents=True)
    log = open_staged_log(
        path,
        Topic("orders", 1, dialect, SETTINGS),
        0,
        target=path / "none",
        first_offset=first_offset,
    )
    log.append(values(count))
    return seal(log, path, first_offset)


def expected_rows(dialect: Dialect, first_offset: int, count: int, width: int) -> list[list[int]]:
    sums = RangeSums([*range(first_offset, first_offset + count, width), first_offset + count])
    for offset, (key, value) in enumerate(values(count), first_offset):
        message = decode(dialect, encode(dialect, offset, key, value))
        sums.add(offset, message.length_bytes - SIZE_END, message.crc)
    return sums.rows()


def test_seal_records_the_fingerprints_of_each_range(tmp_path, dialect, monkeypatch):
    monkeypatch.setattr(fingerprints, "RANGE_MESSAGES", 10)
    staged = stage(tmp_path / "job", dialect, 7, 25)
    assert [row[:2] for row in staged.fingerprints] == [[7, 10], [17, 10], [27, 5]]
    assert staged.fingerprints == expected_rows(dialect, 7, 25, 10)


def test_join_logs_records_the_fingerprints_with_the_final_offsets(tmp_path, dialect, monkeypatch):
    monkeypatch.setattr(fingerprints, "RANGE_MESSAGES", 10)
    staging = tmp_path / "staging"
    once = stage(tmp_path / "once", dialect, 300, 25)
    runs = []
    for number, chosen in enumerate((values(25)[:12], values(25)[12:])):
        (staging / str(number)).mkdir(parents=True, exist_ok=True)
        log = open_staged_log(staging / str(number), Topic("orders", 1, dialect, SETTINGS), 0)
        log.append(chosen)
        runs.append(seal(log, staging, 0))
    (staging / "joined").mkdir(parents=True, exist_ok=True)
    log = open_staged_log(
        staging / "joined",
        Topic("orders", 1, dialect, SETTINGS),
        0,
        target=tmp_path,
        first_offset=300,
    )
    joined = join_logs(log, staging, runs)
    assert joined.fingerprints == once.fingerprints
    assert len(joined.fingerprints) == 3


def test_seal_leaves_out_the_message_in_front_that_is_not_of_the_job(tmp_path):
    target = tmp_path / "orders-0"
    before = open_staged_log(tmp_path, Topic("orders", 1, DOCUMENTED, SETTINGS), 0)
    before.append([(None, b"not of the job")])
    before.close()
    (tmp_path / "job").mkdir(parents=True, exist_ok=True)
    log = open_staged_log(
        tmp_path / "job", Topic("orders", 1, DOCUMENTED, SETTINGS), 0, target=target, first_offset=1
    )
    log.append(values(3))
    staged = seal(log, tmp_path / "job", 1)
    assert staged.fingerprints == expected_rows(DOCUMENTED, 1, 3, 10)


def test_seal_of_messages_larger_than_a_window(tmp_path, dialect, monkeypatch):
    whole = stage(tmp_path / "whole", dialect, 9, 25)
    monkeypatch.setitem(windows.windows.__kwdefaults__, "window_bytes", 5)
    cut = stage(tmp_path / "cut", dialect, 9, 25)
    assert (cut.fingerprints, cut.digest, cut.bytes) == (
        whole.fingerprints,
        whole.digest,
        whole.bytes,
    )


def test_seal_of_a_log_with_part_of_a_message_behind_it_is_refused(tmp_path, dialect):
    log = open_staged_log(tmp_path, Topic("orders", 1, dialect, SETTINGS), 0)
    log.append(values(2))
    path = log.segments()[-1].log_path
    path.write_bytes(path.read_bytes() + bytes(5))
    with pytest.raises(CorruptLogError, match=r"unfinished message.*not published"):
        seal(log, tmp_path, 0)
