"""Checkpoint files: sound ones, and broken ones, which are kept."""

import re

import pytest

from kminilog.format.names import TopicPartition
from kminilog.storage.checkpoint import (
    CHECKPOINT_FILE,
    LOG_START_FILE,
    BrokenRowsError,
    known_offsets,
    parse_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from kminilog.storage.log_dir.writer import LogDirWriter

ORDERS_0 = TopicPartition("orders", 0)
ORDERS_1 = TopicPartition("orders", 1)


@pytest.mark.parametrize(
    "text", ["", "1\n0\n", "0\n2\norders 0 5\n", "0\nx\n", "0\n1\norders 0\n", "0\n1\norders 0 x\n"]
)
def test_checkpoint_that_is_not_sound_is_no_checkpoint(log_dir, text):
    (log_dir / CHECKPOINT_FILE).write_text(text)
    assert read_checkpoint(log_dir) == {}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "its first line is not 0, the version"),
        (b"zzz", "its first line is not 0, the version"),
        (b"\xff\xfe", "its first line is not 0, the version"),
        (b"0\n", "its second line is not the number of lines that follow"),
        (b"0\nx\n", "its second line is not the number of lines that follow"),
        (b"0\n2\norders 0 5\n", "its second line is not the number of lines that follow"),
        (b"0\n1\norders 0\n", "'orders 0' is no topic, partition and offset"),
        (b"0\n1\norders 0 \xff\n", r"'orders 0 \\xff' is no topic, partition and offset"),
        (b"0\n1\norders 00 5\n", "'orders 00 5' is no topic, partition and offset"),
        (b"0\n1\norders 0 -5\n", "'orders 0 -5' is no topic, partition and offset"),
        (b"0\n1\norders 0 %d\n" % 2**63, "9223372036854775808 is outside of 0 to"),
    ],
)
def test_checkpoint_that_is_broken_is_kept_and_named(log_dir, data, reason):
    """For nothing else tells that a log has lost its end."""
    (log_dir / CHECKPOINT_FILE).write_bytes(data)
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}"):
        parse_checkpoint(data)
    with LogDirWriter.open(log_dir) as writer:
        (told,) = writer.warnings
        writer.log(ORDERS_0).append([(None, b"v")])
    assert f"{CHECKPOINT_FILE} holds no recovery points ({reason}" in told
    assert (
        f"at their ends until now do not show; kminilog keeps it as {CHECKPOINT_FILE}.broken"
        in told
    )
    assert (log_dir / f"{CHECKPOINT_FILE}.broken").read_bytes() == data
    assert read_checkpoint(log_dir) == {ORDERS_0: 6}
    with LogDirWriter.open(log_dir) as writer:
        assert writer.warnings == []


@pytest.mark.parametrize("file_name", [CHECKPOINT_FILE, LOG_START_FILE])
def test_checkpoint_with_broken_rows_costs_these_rows_and_names_one(log_dir, file_name):
    data = b"0\n4\nu 0 %d\norders 0 3\nx\norders 1 7\n" % 2**63
    (log_dir / file_name).write_bytes(data)
    others = {ORDERS_0: 3, ORDERS_1: 7}
    assert read_checkpoint(log_dir, file_name) == others
    with pytest.raises(BrokenRowsError, match=r"'u 0 9223372036854775808'; 1 more are") as caught:
        parse_checkpoint(data)
    assert known_offsets(caught.value) == others
    writer = LogDirWriter.open(log_dir)
    (told,) = writer.warnings
    assert "the other rows count (9223372036854775808 is outside" in told
    assert (log_dir / f"{file_name}.broken").read_bytes() == data
    assert parse_checkpoint((log_dir / file_name).read_bytes()) == others
    if file_name == CHECKPOINT_FILE:
        assert writer.ends.recovery_point(ORDERS_1) == 7
    writer.close(cleanly=False)


def test_write_checkpoint_of_an_offset_that_no_reader_takes_changes_nothing(log_dir):
    before = (log_dir / CHECKPOINT_FILE).read_bytes()
    write_checkpoint(log_dir, read_checkpoint(log_dir))
    assert (log_dir / CHECKPOINT_FILE).read_bytes() == before
    for offset in (-1, 2**63):
        with pytest.raises(ValueError, match=f"{offset} is outside"):
            write_checkpoint(log_dir, {ORDERS_0: offset})
    assert (log_dir / CHECKPOINT_FILE).read_bytes() == before


def test_checkpoints_under_two_names_do_not_touch_each_other(log_dir):
    write_checkpoint(log_dir, {ORDERS_0: 3}, "another-checkpoint")
    assert read_checkpoint(log_dir, "another-checkpoint") == {ORDERS_0: 3}
    assert read_checkpoint(log_dir) == {ORDERS_0: 5, ORDERS_1: 0}
