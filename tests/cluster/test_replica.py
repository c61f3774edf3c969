from pathlib import Path

import pytest

from kminilog.cluster.replica import Replica
from kminilog.cluster.requests import decode_request
from kminilog.errors import CompressedMessageError, CorruptBytesError
from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.message import encode
from kminilog.settings import TopicSettings
from kminilog.storage.partition.cuts import truncate_log
from kminilog.storage.partition.log import PartitionLog
from tests.support.cluster.clusters import ORDERS, SETTINGS, request
from tests.support.invariants import check_replica


def replica(
    directory: Path, dialect: Dialect, *values: bytes, high_watermark: int = 0, base: int = 0
) -> Replica:
    log = PartitionLog.open(directory, ORDERS, dialect, SETTINGS, base_offset=base)
    if values:
        log.append((None, value) for value in values)
    return Replica(log, high_watermark)


def files_of(one: Replica) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in one.log.directory.iterdir()}


def test_append_request_gives_offsets_of_its_own_in_the_dialect_of_the_topic(tmp_path, dialect):
    one = replica(tmp_path, dialect)
    data = encode(KAFKA, 99, b"k", b"a") + encode(KAFKA, -1, None, b"b")
    assert one.append_request(data, now_ms=0) == range(2)
    expected = encode(dialect, 0, b"k", b"a") + encode(dialect, 1, None, b"b")
    assert files_of(one)["00000000000000000000.log"] == expected
    assert one.append_request(b"", now_ms=0) == range(2, 2)


def test_append_copies_makes_the_same_files_whatever_the_bites(tmp_path, dialect):
    leader = replica(tmp_path / "leader", dialect)
    for n in range(20):
        leader.append_request(request(*[b"%d" % n] * n, key=b"k"), now_ms=0)
    for max_bytes in (1, 100, 700, 1 << 20):
        follower = replica(tmp_path / str(max_bytes), dialect)
        while messages := leader.fetch(follower.log.log_end_offset, max_bytes):
            follower.append_copies(messages, now_ms=0)
        assert files_of(follower) == files_of(leader)
        assert len(files_of(follower)) > 10


def test_append_copies_refuses_a_gap(tmp_path, dialect):
    leader = replica(tmp_path / "leader", dialect, b"a", b"b")
    follower = replica(tmp_path / "follower", dialect)
    with pytest.raises(ValueError, match="offset 1, expected 0"):
        follower.append_copies(leader.fetch(1), now_ms=0)
    follower.append_copies([], now_ms=0)
    assert follower.log.log_end_offset == 0


@pytest.mark.parametrize(("on_record", "expected"), [(0, 1), (2, 2), (3, 3), (99, 3)])
def test_high_watermark_on_record_is_brought_into_the_log(tmp_path, on_record, expected):
    log = PartitionLog.open(tmp_path, ORDERS, KAFKA, TopicSettings(), base_offset=1)
    log.append([(None, b"a"), (None, b"b")])
    one = Replica(log, on_record)
    assert one.high_watermark == expected
    check_replica(one)


@pytest.mark.parametrize(
    ("own", "leaders", "high_watermark", "expected"),
    [
        ("abc", "abc", 0, 3),
        ("abc", "abcde", 0, 3),
        ("abcde", "abc", 0, 3),
        ("abXde", "abcde", 0, 2),
        ("Xbc", "abc", 1, 3),  # what was committed is not compared
        ("", "abc", 0, 0),
        ("abc", "", 0, 0),
        ("abc", "a", 3, 1),  # the leader has lost what was committed
    ],
)
def test_first_difference_compares_from_the_high_watermark_on(
    tmp_path, dialect, own, leaders, high_watermark, expected
):
    for directory, letters in (("one", own), ("leader", leaders)):
        values = [bytes([letter]) for letter in letters.encode()]
        replica(tmp_path / directory, dialect, *values)
    one = replica(tmp_path / "one", dialect, high_watermark=high_watermark)
    assert one.first_difference(replica(tmp_path / "leader", dialect)) == expected


def test_first_difference_compares_nothing_below_the_log_start_of_the_leader(tmp_path, dialect):
    one = replica(tmp_path / "one", dialect, *[b"%d" % n for n in range(6)])
    base = 4 if dialect is KAFKA else 3
    leader = replica(tmp_path / "leader", dialect, b"4", b"5", base=base)
    assert (leader.log.log_start_offset, one.high_watermark) == (4, 0)
    assert one.first_difference(leader) == 6
    truncate_log(one.log, 5)
    one.append_request(request(b"X"), now_ms=0)
    assert one.first_difference(leader) == 5


def test_first_difference_goes_on_over_many_fetches(tmp_path):
    values = [(None, b"x" * 400)] * 6000
    logs = [
        PartitionLog.open(tmp_path / name, ORDERS, KAFKA, TopicSettings()) for name in ("a", "b")
    ]
    for log in logs:
        log.append(values)
    one, leader = map(Replica, logs)
    assert one.first_difference(leader) == 6000
    truncate_log(one.log, 5900)
    one.log.append([(None, b"y"), (None, b"x")])
    assert one.first_difference(leader) == 5900


@pytest.mark.parametrize(
    ("data", "position"),
    [
        (request(b"a")[:-1], 0),
        (request(b"a") + b"\x00", 27),
        (request(b"a") + request(b"b")[:-1] + b"!", 27),
        (bytes(26), 0),
    ],
)
def test_decode_request_that_is_not_sound_names_the_place(data, position):
    with pytest.raises(CorruptBytesError) as caught:
        decode_request(data)
    assert caught.value.position == position


def test_decode_request_refuses_compressed_messages():
    with pytest.raises(CompressedMessageError, match="gzip"):
        decode_request(encode(KAFKA, 0, None, b"...", attributes=1))


def test_decode_request_keeps_null_and_empty_apart():
    data = b"".join(
        encode(KAFKA, 0, key, value) for key, value in [(None, None), (b"", b""), (None, b"")]
    )
    assert decode_request(data) == [(None, None), (b"", b""), (None, b"")]
