"""A log whose file ends too early, after an unclean stop: torn tails, and what looks like one."""

from pathlib import Path

import pytest

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
from tests.support.damage import cut_to, files_of, restore

pytestmark = pytest.mark.usefixtures("without_fsync")


@pytest.fixture(params=[False, True], ids=["recovery-point-0", "recovery-point-at-the-end"])
def has_checkpoint(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def put_back(log: SmallLog, has_checkpoint: bool, checkpoint: dict[str, bytes]) -> None:
    """Everything as it was written, and stopped uncleanly."""
    restore(log.directory, log.files)
    for name, data in checkpoint.items():
        (log.path / name).write_bytes(data)
    stop_uncleanly(log.path, has_checkpoint=has_checkpoint)


def top_level_files(log: SmallLog) -> dict[str, bytes]:
    return {name: data for name, data in files_of(log.path).items() if "/" not in name}


def assert_cut(log: SmallLog, name: str, size: int, survivors: int, has_checkpoint: bool) -> None:
    """Opening keeps `survivors` messages; what is not one of them is in a side file."""
    path = log.directory / name
    positions = [p for p in log.positions(name) if p <= size]
    torn = path.read_bytes()[positions[-1] :]
    assert contents(log.reader().read(0, 10**6)) == log.messages[:survivors]
    assert log.reader().read(survivors, 10**6) == []
    with log.open() as writer:
        partition = writer.log(ORDERS_0)
        assert contents(partition.reader.read(0, 10**6)) == log.messages[:survivors]
        said = "\n".join(writer.warnings)
    assert ("torn-tail" in said) == bool(torn)
    lost = f"valid up to offset {survivors} only, but its recovery point is {len(log.messages)}"
    assert (lost in said) == has_checkpoint
    kept = [path.read_bytes() for path in log.directory.glob("*.cut")]
    assert kept == ([torn] if torn else [])
    assert path.stat().st_size == positions[-1]
    assert_works(log, log.messages[:survivors])


def test_recover_log_cut_at_every_byte_of_its_last_two_messages_keeps_the_whole_ones(
    tmp_path, dialect, has_checkpoint
):
    log = write_small_log(tmp_path, dialect, has_checkpoint=has_checkpoint)
    name, checkpoint = log.logs[-1], top_level_files(log)
    *_, start, middle, end = log.positions(name)
    for size in range(start, end):
        put_back(log, has_checkpoint, checkpoint)
        cut_to(log.directory / name, size)
        assert_never_a_wrong_message(log.reader(), log.messages)
        survivors = len(log.messages) - (1 if size >= middle else 2)
        assert_cut(log, name, size, survivors, has_checkpoint)


def test_recover_log_cut_at_every_byte_of_a_segment_with_one_message_keeps_the_others(
    tmp_path, dialect, has_checkpoint
):
    log = write_small_log(tmp_path, dialect, messages=MESSAGES[:7], has_checkpoint=has_checkpoint)
    name, checkpoint = log.logs[-1], top_level_files(log)
    assert len(log.offsets(name)) == 1
    for size in range(log.positions(name)[1]):
        put_back(log, has_checkpoint, checkpoint)
        cut_to(log.directory / name, size)
        assert_never_a_wrong_message(log.reader(), log.messages)
        assert_cut(log, name, size, len(log.messages) - 1, has_checkpoint)


def test_recover_log_without_its_last_segment_cut_at_every_byte_keeps_the_whole_messages(
    tmp_path, dialect, has_checkpoint
):
    log = write_small_log(tmp_path, dialect, messages=MESSAGES[:7], has_checkpoint=has_checkpoint)
    name, checkpoint = log.logs[-2], top_level_files(log)
    *_, start, end = log.positions(name)
    for size in range(start, end):
        put_back(log, has_checkpoint, checkpoint)
        (log.directory / log.logs[-1]).unlink()
        cut_to(log.directory / name, size)
        assert_never_a_wrong_message(log.reader(), log.messages)
        assert_cut(log, name, size, len(log.messages) - 2, has_checkpoint)


@pytest.mark.parametrize("slot", [0, 1], ids=["first", "middle"])
def test_recover_segment_cut_at_any_byte_with_others_behind_it_is_refused(
    tmp_path, dialect, has_checkpoint, slot
):
    log = write_small_log(tmp_path, dialect, has_checkpoint=has_checkpoint)
    name, checkpoint = log.logs[slot], top_level_files(log)
    for size in range(log.positions(name)[-1]):
        put_back(log, has_checkpoint, checkpoint)
        cut_to(log.directory / name, size)
        damaged = files_of(log.directory)
        assert_never_a_wrong_message(log.reader(), log.messages)
        error = refusal_of(log)
        assert error is not None, f"cut to {size}"
        assert error.path == str(log.directory / name)
        assert error.position == max(p for p in log.positions(name) if p <= size)
        is_whole = size in log.positions(name)
        assert ("the segment" if is_whole else "unfinished message") in error.reason
        assert files_of(log.directory) == damaged


def test_recover_two_torn_segments_at_the_end_cuts_at_the_first(tmp_path, dialect):
    log = write_small_log(tmp_path, dialect, messages=MESSAGES[:7])
    middle, last = log.logs[1:]
    torn = {name: (log.directory / name).read_bytes() for name in (middle, last)}
    position = log.positions(middle)[-2]
    cut_to(log.directory / middle, position + 5)
    cut_to(log.directory / last, 20)
    assert_never_a_wrong_message(log.reader(), log.messages)
    with log.open() as writer:
        assert contents(writer.log(ORDERS_0).reader.read(0, 10**6)) == log.messages[:5]
    kept = {path.name: path.read_bytes() for path in log.directory.glob("*.cut")}
    assert kept == {
        f"{middle}.{position}.cut": torn[middle][position : position + 5],
        f"{last}.0.cut": torn[last][:20],
    }
    assert_works(log, log.messages[:5])


def test_recover_log_of_nothing_but_a_torn_message_begins_again(tmp_path: Path, dialect):
    log = write_small_log(tmp_path, dialect, messages=MESSAGES[:1])
    for size in range(log.positions(log.logs[0])[1]):
        restore(log.directory, log.files)
        stop_uncleanly(log.path)
        cut_to(log.directory / log.logs[0], size)
        assert_cut(log, log.logs[0], size, 0, has_checkpoint=False)
