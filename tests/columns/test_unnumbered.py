"""Messages without offsets: marked, then numbered, they are what the plain codec writes."""

from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns import arrow_columns, unnumbered
from kminilog.columns.unnumbered import (
    encode_unnumbered,
    join_groups,
    marks_of,
    put_numbers,
    whole_messages,
)
from kminilog.columns.writing import ColumnWriter
from kminilog.errors import MessageTooLargeError
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from tests.support.columns.strategies import both_dialects, columns_of, log_of, messages

MARKS = st.sampled_from([-1, 0, 1, 2**31, 2**62])


def number(dialect, column, first_offset):
    """The bytes of all messages, with offsets from `first_offset` on in place of their marks."""
    found = b""
    for data, boundaries in whole_messages(dialect, column):
        assert boundaries[-1] == len(data)
        count = len(boundaries) - 1
        put_numbers(data, boundaries[:-1], first_offset + np.arange(count))
        found, first_offset = found + bytes(data), first_offset + count
    return found


@both_dialects
@given(data=st.data(), first_offset=st.sampled_from([0, 7, 2**31 - 3, 2**62]))
def test_whole_messages_with_offsets_give_the_bytes_of_the_plain_codec(dialect, data, first_offset):
    rows = data.draw(messages(dialect, max_size=30))
    marks = np.array([data.draw(MARKS) for _ in rows], np.int64)
    with patch.object(
        arrow_columns.blocks, "__kwdefaults__", {"block_rows": 5, "block_bytes": 1 << 20}
    ):
        column = encode_unnumbered(dialect, *data.draw(columns_of(rows)), marks)
        assert marks_of(column).tolist() == marks.tolist()
        assert number(dialect, column, first_offset) == log_of(dialect, rows, first_offset)
    assert b"".join(m[8:] for m in column.to_pylist()) == b"".join(
        log_of(dialect, [row], 0)[8:] for row in rows
    )


@both_dialects
@given(data=st.data())
def test_whole_messages_after_sorting_and_slicing_give_the_bytes_of_the_plain_codec(dialect, data):
    rows = data.draw(messages(dialect, max_size=30))
    order = data.draw(st.permutations(range(len(rows))))
    keys, values = data.draw(columns_of(rows))
    column = encode_unnumbered(dialect, keys, values, np.arange(len(rows)))
    slots = pa.array(order, pa.int64())
    whole = pa.chunked_array([column.take(slots[:3]), column.take(slots)])
    taken = whole.slice(min(3, len(rows)))
    assert marks_of(taken).tolist() == order
    expected = log_of(dialect, [rows[slot] for slot in order], 9)
    assert number(dialect, taken, 9) == expected


@both_dialects
@given(data=st.data(), row_bytes=st.sampled_from([1, 60, 4096]))
def test_join_groups_keeps_the_order_in_each_group(dialect, data, row_bytes):
    rows = data.draw(messages(dialect, max_size=60))
    groups = np.array([data.draw(st.sampled_from([-1, 0, 1, 65535, 65536])) for _ in rows], int)
    column = encode_unnumbered(dialect, *data.draw(columns_of(rows)), groups)
    firsts, joined = join_groups(column, groups, row_bytes)
    assert marks_of(joined).tolist() == groups[firsts].tolist()
    alone, written = column.to_pylist(), []
    for group in set(groups.tolist()):
        slots = np.flatnonzero(groups == group).tolist()
        own = [slot for slot in firsts.tolist() if groups[slot] == group]
        assert own == sorted(own)
        for first, end in zip(own, [*own[1:], len(groups)], strict=True):
            together = [slot for slot in slots if first <= slot < end]
            (row,) = [joined[at].as_py() for at in np.flatnonzero(firsts == first)]
            assert row == b"".join(alone[slot] for slot in together)
            assert len(row) - len(alone[together[-1]]) < row_bytes
            written += [(first, rows[slot]) for slot in together]
    rank = {first: at for at, first in enumerate(firsts.tolist())}
    in_rows = [row for first, row in sorted(written, key=lambda found: rank[found[0]])]
    assert number(dialect, joined, 9) == log_of(dialect, in_rows, 9)
    if row_bytes == 4096 and len(rows) > 40:
        assert len(joined) < len(rows)


def test_encode_unnumbered_refuses_what_is_too_much_for_a_column(dialect, monkeypatch):
    monkeypatch.setattr(unnumbered, "_MOST_BYTES", 40)
    keys, values = pa.nulls(2, pa.binary()), pa.array([b"x", b"y"])
    with pytest.raises(ValueError, match="bytes of messages are too many for one column"):
        encode_unnumbered(dialect, keys, values, np.zeros(2))


def test_append_whole_writes_what_append_writes(tmp_path, dialect):
    keys = pa.array([[None, b"", b"key"][n % 3] for n in range(300)], pa.binary())
    values = pa.array([b"x" * (n * 7 % 90) for n in range(300)], pa.binary())
    settings = TopicSettings(segment_bytes=900, index_interval_bytes=100, max_message_bytes=130)
    tp = TopicPartition("t", 0)
    for name in ("plain", "unnumbered"):
        writer = ColumnWriter(PartitionLog.open(tmp_path / name, tp, dialect, settings))
        for start in range(0, 300, 70):
            part = keys[start : start + 70], values[start : start + 70]
            if name == "plain":
                found = writer.append(*part)
            else:
                marks = np.full(len(part[0]), 5)
                column = encode_unnumbered(dialect, *part, marks)
                (found,) = (writer.append_whole(*m) for m in whole_messages(dialect, column))
            assert found == range(start, min(start + 70, 300))
        writer.flush()
    files = [
        sorted(path.name for path in (tmp_path / n).iterdir()) for n in ("plain", "unnumbered")
    ]
    assert files[0] == files[1]
    assert len(files[0]) > 20
    for name in files[0]:
        plain, unnumbered = (tmp_path / n / name for n in ("plain", "unnumbered"))
        assert plain.read_bytes() == unnumbered.read_bytes()
    large = encode_unnumbered(
        dialect, pa.nulls(1, pa.binary()), pa.array([b"x" * 200]), np.zeros(1)
    )
    with pytest.raises(MessageTooLargeError):
        writer.append_whole(*next(whole_messages(dialect, large)))
