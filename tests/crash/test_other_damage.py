"""Damage of other kinds, after an unclean stop: zeros, wrong fields with a right crc, messages that
hold messages, and cuts by force."""

import pytest

from kminilog.errors import CorruptLogError
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from tests.support.crash.small_log import (
    MESSAGES,
    ORDERS_0,
    SmallLog,
    assert_never_a_wrong_message,
    assert_works,
    contents,
    refusal_of,
    stop_uncleanly,
    write_small_log,
)
from tests.support.damage import (
    CRC_END,
    SIZE_END,
    cut_to,
    files_of,
    fix_crc,
    flip_byte,
    restore,
    zero_range,
)
from tests.support.properties.expected_layout import encode_message

pytestmark = pytest.mark.usefixtures("without_fsync")


# ---- zeros, as a file system leaves them where data did not reach the disk


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_recover_zeros_in_place_of_the_last_messages_cuts_them_off(tmp_path, dialect, lost):
    log = write_small_log(tmp_path, dialect)
    name = log.logs[-1]
    start, end = log.positions(name)[-1 - lost], log.positions(name)[-1]
    zero_range(log.directory / name, start, end)
    assert_never_a_wrong_message(log.reader(), log.messages)
    with log.open() as writer:
        assert contents(writer.log(ORDERS_0).reader.read(0, 10**6)) == log.messages[:-lost]
    assert (log.directory / f"{name}.{start}.cut").read_bytes() == bytes(end - start)
    assert_works(log, log.messages[:-lost])


def test_recover_zeros_behind_the_last_message_cuts_them_off(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect)
    name = log.logs[-1]
    end = log.positions(name)[-1]
    zero_range(log.directory / name, end, end + 4096)
    assert_never_a_wrong_message(log.reader(), log.messages)
    assert_works(log, log.messages)
    assert (log.directory / f"{name}.{end}.cut").read_bytes() == bytes(4096)


def test_recover_zeros_from_the_middle_of_the_last_message_on_cuts_it_off(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect)
    name = log.logs[-1]
    start, end = log.positions(name)[-2:]
    for position in range(start, end):
        restore(log.directory, log.files)
        stop_uncleanly(log.path)
        zero_range(log.directory / name, position, end)
        assert_never_a_wrong_message(log.reader(), log.messages)
        assert refusal_of(log) is None
        assert_works(log, log.messages[:-1])


def test_recover_zeros_in_place_of_a_message_with_others_behind_it_is_refused(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect)
    name = log.logs[-1]
    start, end = log.positions(name)[:2]
    zero_range(log.directory / name, start, end)
    assert_never_a_wrong_message(log.reader(), log.messages)
    error = refusal_of(log)
    assert error is not None
    assert (error.path, error.position) == (str(log.directory / name), start)
    assert "bad-length" in error.reason


# ---- fields that are wrong although the crc is right


def test_recover_other_magic_with_a_right_crc_is_refused(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect)
    name = log.logs[1]
    start = log.positions(name)[1]
    flip_byte(log.directory / name, start + CRC_END, value=1)
    fix_crc(log.directory / name, start)
    error = refusal_of(log)
    assert error is not None
    assert (error.position, "bad-magic" in error.reason) == (start, True)
    assert_never_a_wrong_message(log.reader(), log.messages)


def test_recover_key_length_beyond_the_message_with_a_right_crc_is_refused(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect)
    name = log.logs[0]
    start = log.positions(name)[1]
    flip_byte(log.directory / name, start + CRC_END + 5, value=200)
    fix_crc(log.directory / name, start)
    error = refusal_of(log)
    assert error is not None
    assert (error.position, "bad-length" in error.reason) == (start, True)
    assert_never_a_wrong_message(log.reader(), log.messages)


def test_recover_size_that_spans_the_next_message_too_is_refused(tmp_path, dialect):
    """The size is changed so that it ends exactly where the next message does, and the crc made
    right for it: one message where there were two, so the offset after it is a gap."""
    log = write_small_log(tmp_path, dialect)
    name = log.logs[0]
    start, _, end, *_ = log.positions(name)
    flip_byte(log.directory / name, start + SIZE_END - 1, value=end - start - SIZE_END)
    fix_crc(log.directory / name, start)
    error = refusal_of(log)
    assert error is not None
    assert error.position == (start if dialect.has_value_length else end)


# ---- a log whose payloads are pieces of logs


def log_in_log(tmp_path, dialect, inner_offset: int) -> tuple[SmallLog, int]:
    """Three messages, the last with a whole message in its payload; where that one ends."""
    inner = encode_message(dialect.has_value_length, inner_offset, b"inner", b"message")
    outer: list[tuple[bytes | None, bytes | None]] = [
        (None, b"plain"),
        (b"copy", b"head" + inner + b"tail"),
        (b"copy", b"head" + inner + b"tail"),
    ]
    log = write_small_log(
        tmp_path, dialect, messages=outer, settings=TopicSettings(segment_bytes=2**20)
    )
    (name,) = log.logs
    return log, log.files[name].rindex(inner) + len(inner)


def test_recover_torn_message_that_holds_an_older_message_is_cut(tmp_path, dialect):
    log, _ = log_in_log(tmp_path, dialect, inner_offset=1)
    (name,) = log.logs
    *_, start, end = log.positions(name)
    for size in range(start + 1, end):
        restore(log.directory, log.files)
        stop_uncleanly(log.path)
        cut_to(log.directory / name, size)
        assert_never_a_wrong_message(log.reader(), log.messages)
        assert_works(log, log.messages[:2])


@pytest.mark.parametrize("inner_offset", [2, 7])
def test_recover_torn_message_that_holds_a_whole_newer_message_is_refused(
    tmp_path, dialect, inner_offset
):
    """In doubt nothing is cut: the inner message could be the next one of the log itself."""
    log, inner_end = log_in_log(tmp_path, dialect, inner_offset)
    (name,) = log.logs
    *_, start, end = log.positions(name)
    for size in range(start + 1, end):
        restore(log.directory, log.files)
        stop_uncleanly(log.path)
        cut_to(log.directory / name, size)
        assert_never_a_wrong_message(log.reader(), log.messages)
        error = refusal_of(log)
        assert (error is not None) == (size >= inner_end)
        if error:
            assert error.position == start
            assert (log.directory / name).read_bytes() == log.files[name][:size]
        else:
            assert_works(log, log.messages[:2])


@pytest.mark.parametrize("inner_offset", [0, 1, 2, 7])
def test_recover_message_with_a_changed_size_and_a_message_inside_is_refused(
    tmp_path, dialect, inner_offset
):
    """A size that ends the message before, at or after the one that its payload holds."""
    log, _ = log_in_log(tmp_path, dialect, inner_offset)
    (name,) = log.logs
    start = log.positions(name)[1]
    for value in range(256):
        restore(log.directory, log.files)
        stop_uncleanly(log.path)
        if log.files[name][start + SIZE_END - 1] == value:
            continue
        flip_byte(log.directory / name, start + SIZE_END - 1, value=value)
        assert_never_a_wrong_message(log.reader(), log.messages)
        error = refusal_of(log)
        assert error is not None
        assert error.position == start


# ---- cuts by force


def test_recover_by_force_says_what_is_lost_and_keeps_every_byte(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect)
    for slot, name in enumerate(log.logs):
        for place, start in enumerate(log.positions(name)[:-1]):
            offset = log.offsets(name)[place]
            if offset == len(MESSAGES) - 1:
                continue
            restore(log.directory, log.files)
            stop_uncleanly(log.path)
            flip_byte(log.directory / name, start + CRC_END + 2, mask=0xFF)
            damaged = files_of(log.directory)
            assert_forced_cut(log, damaged, slot, start, offset)
            assert_works(log, log.messages[:offset])


def assert_forced_cut(
    log: SmallLog, damaged: dict[str, bytes], slot: int, start: int, offset: int
) -> None:
    name, behind = log.logs[slot], log.logs[slot + 1 :]
    with LogDirWriter.open(log.path, recover=False) as writer:
        plan = writer.recovery_plan(ORDERS_0)
        assert plan.cut is None
        assert plan.damage is not None
        lost_bytes = sum(len(damaged[n]) for n in [name, *behind]) - start
        assert plan.damage.position == start
        assert plan.damage.lost_bytes == lost_bytes
        assert plan.damage.lost.message_count == len(log.messages) - offset - 1
        assert plan.log_end_offset == offset
        with pytest.raises(CorruptLogError):
            writer.recover(plan)
        assert files_of(log.directory) == damaged
        side_files = writer.recover(plan, force=True)
    kept = {path.name: path.read_bytes() for path in side_files}
    assert kept == {
        f"{name}.{start}.cut": damaged[name][start:],
        **{f"{later}.0.cut": damaged[later] for later in behind},
    }
    assert (log.directory / name).read_bytes() == damaged[name][:start]
    assert not any((log.directory / later).exists() for later in behind)


def test_recover_by_force_of_a_message_with_a_wrong_offset_counts_it_as_lost(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect)
    name = log.logs[1]
    start = log.positions(name)[1]
    flip_byte(log.directory / name, start + 7, value=99)
    with LogDirWriter.open(log.path, recover=False) as writer:
        plan = writer.recovery_plan(ORDERS_0)
        assert plan.damage is not None
        assert plan.damage.lost.message_count == len(log.messages) - log.offsets(name)[1]


def test_recover_by_force_counts_whole_messages_between_two_damages_as_lost(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect, settings=TopicSettings())
    (name,) = log.logs
    for slot in (2, 5):
        flip_byte(log.directory / name, log.positions(name)[slot] + CRC_END + 2, mask=0xFF)
    with LogDirWriter.open(log.path, recover=False) as writer:
        plan = writer.recovery_plan(ORDERS_0)
        assert plan.damage is not None
        assert plan.damage.position == log.positions(name)[2]
        assert plan.damage.lost.message_count == len(log.messages) - 4
