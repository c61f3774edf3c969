"""What opening a log dir after an unclean stop reports, repairs and leaves alone."""

import os
from itertools import product

import pytest

from kminilog.settings import TopicSettings
from kminilog.storage.checkpoint import read_checkpoint
from tests.support.crash.numbered_messages import numbered_messages
from tests.support.crash.small_log import (
    MESSAGES,
    ORDERS_0,
    SmallLog,
    assert_never_a_wrong_message,
    assert_works,
    contents,
    stop_uncleanly,
    write_small_log,
)
from tests.support.damage import cut_to, encode_entries, files_of

pytestmark = pytest.mark.usefixtures("without_fsync")

SEEN_AT_ITS_END = [
    "missing",
    "empty",
    "an entry short",
    "torn",
    "zero-tailed",
    "all zeros",
    "out of order",
    "with an entry twice",
    "past the end",
    "between messages",
    "at the wrong message",
]
Entries = list[tuple[int, int]]


def entries_after(log: SmallLog, name: str, damage: str) -> bytes | None:
    """The damaged bytes of a segment's index; None for no file."""
    entries, data = log.entries(name), log.files[name.replace(".log", ".index")]
    *others, (relative_offset, position) = entries
    first_offset = log.offsets(name)[1] - int(name[:20])
    wrong: dict[str, Entries] = {
        "out of order": [*entries[:-2], entries[-1], entries[-2]],
        "with an entry twice": [*entries, entries[-1]],
        "past the end": [*entries, (relative_offset + 1, 10**6)],
        "between messages": [*others, (relative_offset, position + 1)],
        "at the wrong message": [*others, (relative_offset + 1, position)],
        "too dense": [(first_offset, log.positions(name)[1]), *entries],
    }
    return {
        "missing": None,
        "empty": b"",
        "an entry short": data[:-8],
        "torn": data[:-3],
        "zero-tailed": data + bytes(96),
        "all zeros": bytes(len(data)),
        **{name: encode_entries(entries) for name, entries in wrong.items()},
    }[damage]


@pytest.fixture
def indexed_log(tmp_path, dialect) -> SmallLog:
    """Segments with several index entries each."""
    settings = TopicSettings(segment_bytes=3000, index_interval_bytes=200)
    return write_small_log(tmp_path, dialect, messages=numbered_messages(0, 30), settings=settings)


@pytest.mark.parametrize(
    ("stop", "slot", "damage"),
    [  # after a clean shutdown, what is below the recovery point is trusted
        *product(["unclean"], [0, -1], SEEN_AT_ITS_END),
        *product(["clean"], [-1], SEEN_AT_ITS_END),
    ],
)
def test_open_index_that_is_wrong_is_rebuilt_to_identical_bytes(indexed_log, damage, slot, stop):
    log, name = indexed_log, indexed_log.logs[slot]
    path = log.directory / name.replace(".log", ".index")
    if stop == "clean":
        log.open().close()
    data = entries_after(log, name, damage)
    path.unlink() if data is None else path.write_bytes(data)
    assert_never_a_wrong_message(log.reader(), log.messages)
    with log.open() as writer:
        writer.log(ORDERS_0)
        (said,) = writer.warnings
        assert str(path) in said
    assert files_of(log.directory) == log.files
    assert_works(log, log.messages)


def test_open_index_that_is_too_dense_is_rebuilt_unless_a_broker_may_have_written_it(indexed_log):
    log, name = indexed_log, indexed_log.logs[-1].replace(".log", ".index")
    written, path = entries_after(log, indexed_log.logs[-1], "too dense"), log.directory / name
    assert written
    path.write_bytes(written)
    with log.open() as writer:
        writer.log(ORDERS_0)
        said = [str(path) in line for line in writer.warnings]
    may_be_kafkas = log.dialect.is_kafkas
    assert said == ([] if may_be_kafkas else [True])
    assert path.read_bytes() == (written if may_be_kafkas else log.files[name])
    assert contents(log.reader().read(0, 10**6)) == log.messages
    for offset in range(len(log.messages)):
        assert log.reader().find(offset).message.offset == offset


def test_open_reports_what_is_left_over_and_removes_it_and_keeps_strays(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect)
    left = ["00000000000000000777.index", f"{log.logs[0]}.deleted"]
    strays = ["notes.txt", "777.log", f"{log.logs[0]}.swap"]
    for name in left + strays:
        (log.directory / name).write_bytes(b"whatever")
    with log.open() as writer:
        assert contents(writer.log(ORDERS_0).reader.read(0, 10**6)) == log.messages
        said = writer.warnings
    assert len(said) == len(left) + len(strays)
    for name in left:
        assert any(line == f"{log.directory / name}: left over; removed" for line in said)
    for name in strays:
        assert any(
            f"{log.directory / name}: orphan-file: not a file of a partition" in line
            for line in said
        )
    assert files_of(log.directory) == {**log.files, **dict.fromkeys(strays, b"whatever")}


def test_recover_cut_keeps_the_modification_time_by_which_retention_goes(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect)
    path = log.directory / log.logs[-1]
    cut_to(path, log.positions(log.logs[-1])[-1] - 1)
    os.utime(path, ns=(10**18, 10**18))
    with log.open() as writer:
        assert writer.log(ORDERS_0).log_end_offset == len(MESSAGES) - 1
    assert path.stat().st_mtime_ns == 10**18


@pytest.mark.parametrize("gone", [1, 2, 3])
def test_open_log_that_ends_below_the_recovery_point_warns_with_both_ends(tmp_path, dialect, gone):
    log = write_small_log(tmp_path, dialect, has_checkpoint=True)
    name = log.logs[-1]
    cut_to(log.directory / name, log.positions(name)[-1 - gone])
    with log.open() as writer:
        (said,) = writer.warnings[:1]
        ends = (len(MESSAGES) - gone, len(MESSAGES))
        assert "valid up to offset {} only, but its recovery point is {}".format(*ends) in said
    assert_works(log, MESSAGES[:-gone])


def test_open_after_a_cut_below_the_recovery_point_does_not_warn_again(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect, has_checkpoint=True)
    name = log.logs[-1]
    cut_to(log.directory / name, log.positions(name)[-2])
    log.open().close()
    stop_uncleanly(log.path, has_checkpoint=True)
    with log.open() as writer:
        assert writer.warnings == []


def test_open_after_a_cut_puts_the_lower_recovery_point_on_record_at_once(tmp_path, dialect):
    """Else what is appended below the old one would not be read after the next crash."""
    log = write_small_log(tmp_path, dialect, has_checkpoint=True)
    name = log.logs[-1]
    assert read_checkpoint(log.path) == {ORDERS_0: len(MESSAGES)}
    cut_to(log.directory / name, log.positions(name)[-2])
    with log.open():
        assert read_checkpoint(log.path) == {ORDERS_0: len(MESSAGES) - 1}


def test_recover_same_place_twice_keeps_both_side_files(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect)
    name = log.logs[-1]
    end = log.positions(name)[-1]
    for torn in (b"first", b"second"):
        with open(log.directory / name, "ab") as file:
            file.write(torn)
        stop_uncleanly(log.path)
        log.open().close()
    kept = {path.name: path.read_bytes() for path in log.directory.glob("*.cut")}
    assert kept == {f"{name}.{end}.cut": b"first", f"{name}.{end}-1.cut": b"second"}
    assert_works(log, MESSAGES)
