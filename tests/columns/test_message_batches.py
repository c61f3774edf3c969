"""Windows of a `.log` as columns, against the plain codec, message by message."""

import os
from itertools import count, islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns import message_batches, windows
from kminilog.columns.decoding import SCHEMA
from kminilog.columns.message_batches import (
    all_messages,
    valid_messages,
)
from kminilog.errors import CompressedMessageError, CorruptLogError
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import CODECS, Message, encode, scan
from kminilog.storage.segment.segment import Segment
from tests.support.columns.strategies import both_dialects, messages
from tests.support.damage import encode_entries, message_positions

Row = tuple[int, int, bytes | None, bytes | None]


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    assert batch.schema == SCHEMA
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def plain_rows(dialect: Dialect, data: bytes, position: int, next_offset: int) -> list[Row]:
    """What one message at a time gives, up to the first that does not follow."""
    rows: list[Row] = []
    for at, outcome in scan(dialect, data):
        if not isinstance(outcome, Message) or outcome.codec != CODECS[0]:
            break
        if outcome.offset != next_offset + len(rows):
            break
        rows.append((outcome.offset, position + at, outcome.key, outcome.value))
    return rows


@st.composite
def logs(draw: st.DrawFn, dialect: Dialect, first_offset: int) -> bytes:
    """Messages, some of them perhaps compressed, out of turn, or damaged, and the end torn off."""
    offset, encoded = first_offset, []
    for key, value in draw(messages(dialect)):
        is_odd = draw(st.integers(0, 30)) == 0
        offset += draw(st.sampled_from([-1, 2])) if is_odd and draw(st.booleans()) else 0
        attributes = draw(st.sampled_from([1, 2, 3, 8])) if is_odd else 0
        encoded.append(encode(dialect, max(offset, 0), key, value, attributes=attributes))
        offset += 1
    data = bytearray(b"".join(encoded))
    if data and draw(st.booleans()):
        data[draw(st.integers(0, len(data) - 1))] ^= draw(st.integers(1, 255))
    return bytes(data[: len(data) - draw(st.sampled_from([0, 0, 1, 20]))])


def segment_of(directory: Path, dialect: Dialect, content: bytes, entries: list[int]) -> Segment:
    """A segment whose index has these positions, right or wrong."""
    segment = Segment(directory, 0, dialect, 4096)
    segment.log_path.write_bytes(content)
    true = {position: slot for slot, position in enumerate(plain_positions(dialect, content))}
    made = [IndexEntry(true.get(position, position), position) for position in entries]
    segment.index.path.write_bytes(encode_entries([tuple(entry) for entry in made]))
    return segment


def plain_positions(dialect: Dialect, content: bytes) -> list[int]:
    return [position for position, _ in scan(dialect, content)]


@both_dialects
@given(data=st.data(), first_offset=st.sampled_from([0, 7, 2**40]), position=st.integers(0, 99))
def test_windows_give_what_the_plain_codec_gives(
    dialect, data, first_offset, position, tmp_path_factory
):
    content = data.draw(logs(dialect, first_offset))
    entries = sorted(data.draw(st.sets(st.integers(1, len(content) + position + 1))))
    directory = tmp_path_factory.mktemp("log")
    segment = segment_of(directory, dialect, bytes(position) + content, entries)
    found = list(message_batches.batches_in_turn(segment, position, first_offset))
    rows = plain_rows(dialect, content, position, first_offset)
    assert [row for batch, _ in found for row in rows_of(batch)] == rows
    ends = [at + outcome.length_bytes for at, outcome in islice(scan(dialect, content), len(rows))]
    assert [end - position for _, end in found[-1:]] == ends[-1:]


@both_dialects
@given(data=st.data())
def test_windows_of_any_size_and_any_index_give_the_same_messages(dialect, data, tmp_path_factory):
    rows = data.draw(messages(dialect))
    content = b"".join(encode(dialect, n, *pair) for n, pair in enumerate(rows))
    entries = sorted(data.draw(st.sets(st.integers(0, len(content) + 9), max_size=9)))
    segment = segment_of(tmp_path_factory.mktemp("log"), dialect, content, entries)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(rows) + 2)] * 2)))
    window_bytes = data.draw(st.sampled_from([1, 30, 200, 5000, 1 << 20]))
    with patch.object(message_batches, "WINDOW_BYTES", window_bytes):
        found = [row for d in valid_messages(segment, start, end, None) for row in rows_of(d)]
        everything = [row for d in all_messages(segment) for row in rows_of(d)]
    wanted = [(n, position, *rows[n]) for n, position in enumerate(message_positions(content)[:-1])]
    assert found == wanted[start:end]
    assert everything == wanted


@both_dialects
@pytest.mark.parametrize("left_bytes", [0, 40, 41])
def test_windows_of_a_file_that_is_cut_meanwhile_end(dialect, tmp_path, monkeypatch, left_bytes):
    content = b"".join(encode(dialect, n, None, b"value") for n in range(9))
    segment = segment_of(tmp_path, dialect, content, [])
    reads = count()

    def read(*arguments: Any) -> int:
        assert next(reads) < 9, "it reads for ever"
        return preadv(*arguments)

    preadv = os.preadv
    monkeypatch.setattr(os, "preadv", read)
    found = windows.windows(segment, windows.index_hints(segment.index.path), window_bytes=40)
    assert next(found)[0] == 0
    os.truncate(segment.log_path, left_bytes)
    assert sum(len(window) for _, window, _ in found) <= left_bytes


@both_dialects
def test_what_stops_a_window_is_named_by_the_plain_engine(dialect, tmp_path):
    """Each kind of fault in turn, in the middle of messages that are all of one length."""
    rows = [(b"key", b"value %03d" % n) for n in range(60)]
    encoded = [encode(dialect, n, *row) for n, row in enumerate(rows)]
    faults = {
        "bad-crc, crc is": encoded[30][:-1] + b"?",
        "bad-magic, magic 7 is not 0": encoded[30][:16] + b"\7" + encoded[30][17:],
        "a whole message with offset 99, expected 30": encode(dialect, 99, *rows[30]),
    }
    for told, damaged in faults.items():
        content = b"".join([*encoded[:30], damaged, *encoded[31:]])
        segment = segment_of(tmp_path, dialect, content, [])
        found: list[Row] = []
        where = f"byte {30 * len(encoded[0])}: damaged: {told}"
        with pytest.raises(CorruptLogError, match=where):
            found.extend(row for d in valid_messages(segment, 0, 60, None) for row in rows_of(d))
        assert [offset for offset, *_ in found] == list(range(30))
    content = b"".join([*encoded[:30], encode(dialect, 30, None, b"gzip", attributes=1)])
    segment = segment_of(tmp_path, dialect, content, [])
    with pytest.raises(CompressedMessageError, match="compressed with gzip"):
        list(valid_messages(segment, 0, 60, None))
