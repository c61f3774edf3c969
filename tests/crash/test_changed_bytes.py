"""Every byte of a small log changed, after an unclean stop.

The expected outcome follows from the layout alone. With the recovery point 0, so that everything is
read: a changed message with another after it is refused; of the last message, a changed offset is
refused (a whole message with a wrong offset), anything else is cut off; an index is rebuilt. With
the recovery point at the end, segments but the last get a quick look from their last index entry
on; what it does not see must then be refused by whoever reads it.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator

import pytest

from kminilog.errors import CorruptLogError
from tests.support.crash.small_log import (
    ORDERS_0,
    SmallLog,
    assert_never_a_wrong_message,
    assert_works,
    contents,
    refusal_of,
    stop_uncleanly,
    write_small_log,
)
from tests.support.damage import OFFSET_BYTES, files_of, flip_byte, restore

pytestmark = pytest.mark.usefixtures("without_fsync")

THREE_VALUES = (lambda old: old ^ 0x01, lambda old: old ^ 0x80, lambda old: 0xFF if old == 0 else 0)
ALL_VALUES = tuple((lambda old, mask=mask: old ^ mask) for mask in range(1, 256))
some_values_or_all = pytest.mark.parametrize(
    "values", [THREE_VALUES, pytest.param(ALL_VALUES, marks=pytest.mark.soak)], ids=["three", "all"]
)
each_segment = pytest.mark.parametrize("slot", [0, 1, 2], ids=["first", "middle", "last"])
Values = tuple[Callable[[int], int], ...]


def changes(
    log: SmallLog, name: str, values: Values, *, has_checkpoint: bool = False
) -> Iterator[int]:
    """Change each byte of a file to each value in turn, after an unclean stop; yield its place."""
    for position, old in enumerate(log.files[name]):
        for value in sorted({new(old) for new in values}):
            restore(log.directory, log.files)
            stop_uncleanly(log.path, has_checkpoint=has_checkpoint)
            flip_byte(log.directory / name, position, value=value)
            yield position


def message_at(log: SmallLog, name: str, position: int) -> tuple[int, int]:
    """The offset of the message to which a byte belongs, and where that message begins."""
    slot = bisect_right(log.positions(name), position) - 1
    return log.offsets(name)[slot], log.positions(name)[slot]


@some_values_or_all
@each_segment
def test_recover_log_with_any_byte_changed_is_refused_or_cut_at_the_last_message(
    tmp_path, dialect, slot, values
):
    log = write_small_log(tmp_path, dialect)
    name = log.logs[slot]
    for position in changes(log, name, values):
        offset, start = message_at(log, name, position)
        is_last = offset == len(log.messages) - 1
        assert_never_a_wrong_message(log.reader(), log.messages)
        if is_last and position - start >= OFFSET_BYTES:
            assert_cut_before_the_last_message(log, name, start)
        else:
            assert_refused(log, name, start)


def assert_refused(log: SmallLog, name: str, start: int) -> None:
    damaged = files_of(log.directory)
    error = refusal_of(log)
    assert error is not None
    assert (error.path, error.position) == (str(log.directory / name), start)
    assert error.reason
    assert files_of(log.directory) == damaged


def assert_cut_before_the_last_message(log: SmallLog, name: str, start: int) -> None:
    changed = (log.directory / name).read_bytes()
    with log.open() as writer:
        assert contents(writer.log(ORDERS_0).reader.read(0, 10**6)) == log.messages[:-1]
        (said,) = (line for line in writer.warnings if "torn-tail: " in line)
        assert f"{len(changed) - start} bytes with 0 whole messages lost" in said
    assert (log.directory / f"{name}.{start}.cut").read_bytes() == changed[start:]
    assert_works(log, log.messages[:-1])


@some_values_or_all
@pytest.mark.parametrize("slot", [0, 1], ids=["first", "middle"])
def test_open_log_with_a_byte_changed_below_the_recovery_point_never_gives_a_wrong_message(
    tmp_path, dialect, slot, values
):
    log = write_small_log(tmp_path, dialect, has_checkpoint=True)
    name = log.logs[slot]
    seen_from = log.entries(name)[-1][1]
    for position in changes(log, name, values, has_checkpoint=True):
        offset, start = message_at(log, name, position)
        if start >= seen_from:
            assert_refused(log, name, start)
            continue
        with log.open() as writer:
            partition = writer.log(ORDERS_0)
            assert partition.log_end_offset == len(log.messages)
            assert_never_a_wrong_message(partition.reader, log.messages)
            with pytest.raises(CorruptLogError) as caught:
                partition.reader.read(offset, 1)
            assert caught.value.path == str(log.directory / name)


@some_values_or_all
@each_segment
def test_recover_log_with_any_index_byte_changed_rebuilds_the_same_bytes(
    tmp_path, dialect, slot, values
):
    log = write_small_log(tmp_path, dialect)
    name = log.logs[slot].replace(".log", ".index")
    for _ in changes(log, name, values):
        assert_finds_every_message(log)
        with log.open() as writer:
            (said,) = writer.warnings
            assert str(log.directory / name) in said
            assert "rebuilt" in said
        assert files_of(log.directory) == log.files
    assert_works(log, log.messages)


@some_values_or_all
@each_segment
def test_open_log_with_an_index_byte_changed_below_the_recovery_point_finds_every_message(
    tmp_path, dialect, slot, values
):
    log = write_small_log(tmp_path, dialect, has_checkpoint=True)
    name = log.logs[slot].replace(".log", ".index")
    for _ in changes(log, name, values, has_checkpoint=True):
        with log.open() as writer:
            writer.log(ORDERS_0)
        assert_finds_every_message(log)


def assert_finds_every_message(log: SmallLog) -> None:
    reader = log.reader()
    for offset, expected in enumerate(log.messages):
        message = reader.find(offset).message
        assert (message.offset, message.key, message.value) == (offset, *expected)
    assert contents(reader.read(0, 10**6)) == log.messages
