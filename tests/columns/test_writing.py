"""The files of columns are those of the same messages one by one: against PartitionLog itself."""

import struct
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns.writing import ColumnWriter
from kminilog.errors import LogClosedError, MessageTooLargeError, NullValueError
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.message import encoded_bytes
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from tests.support.columns.strategies import both_dialects, columns_of, messages
from tests.support.damage import files_of
from tests.support.invariants import check_log
from tests.support.properties.strategies import key_values, settings_that_hold

ORDERS = TopicPartition("orders", 0)
Open = Callable[[Path], PartitionLog]


def opener(dialect: Dialect, settings: TopicSettings, base_offset: int = 0) -> Open:
    return lambda path: PartitionLog.open(path, ORDERS, dialect, settings, base_offset=base_offset)


@both_dialects
@given(data=st.data(), base_offset=st.sampled_from([0, 1, 368769, 2**62]))
def test_writer_makes_the_files_of_the_partition_log(dialect, data, base_offset):
    rows = data.draw(messages(dialect) | st.lists(key_values(dialect), max_size=80))
    settings = data.draw(settings_that_hold(dialect, rows))
    settings = replace(settings, max_message_bytes=2**31 - 1)
    before, after = (data.draw(st.integers(0, len(rows))) for _ in range(2))
    opened = opener(dialect, settings, base_offset)
    with TemporaryDirectory() as path:
        plain = opened(Path(path, "plain"))
        plain.append(rows)
        log = opened(Path(path, "bulk"))
        log.append(rows[:before])  # by the plain log, then by columns, then by the plain log
        writer = ColumnWriter(log)
        middle = rows[before : max(before, after)]
        while middle:
            count = data.draw(st.integers(1, len(middle)))
            first = writer.next_offset
            assert writer.append(*data.draw(columns_of(middle[:count]))) == range(
                first, first + count
            )
            middle = middle[count:]
        reopened = writer.reopen()
        reopened.append(rows[max(before, after) :])
        assert reopened.log_end_offset == plain.log_end_offset
        assert files_of(Path(path, "bulk")) == files_of(Path(path, "plain"))
        check_log(reopened)


@both_dialects
@pytest.mark.parametrize("index_bytes", [8, 24, 10_000])
@pytest.mark.parametrize("interval_bytes", [0, 100, 4096])
@pytest.mark.parametrize("segment_bytes", [2000, 100_000])
def test_writer_of_many_messages_makes_the_files_of_the_partition_log(
    tmp_path, dialect, segment_bytes, interval_bytes, index_bytes
):
    settings = TopicSettings(
        segment_bytes=segment_bytes,
        index_interval_bytes=interval_bytes,
        segment_index_bytes=index_bytes,
    )
    rows = [(b"k" * (n % 9), b"v" * (n * 7 % 90)) for n in range(2500)]
    opened = opener(dialect, settings)
    plain = opened(tmp_path / "plain")
    plain.append(rows)
    log = opened(tmp_path / "bulk")
    table = pa.Table.from_pylist([{"key": key, "value": value} for key, value in rows])
    for start, stop in pairwise([0, 1, 2, 700, 703, 1234, 2500]):  # each by a writer of its own
        writer = ColumnWriter(log)
        part = table.slice(start, stop - start)
        assert writer.append(part["key"], part["value"]) == range(start, stop)
        log = writer.reopen()
    assert files_of(tmp_path / "bulk") == files_of(tmp_path / "plain")


def test_writer_in_a_documented_first_segment_rolls_behind_the_second_message(tmp_path):
    size = encoded_bytes(DOCUMENTED, b"k", b"value")
    opened = opener(DOCUMENTED, TopicSettings(segment_bytes=size, index_interval_bytes=0))
    writer = ColumnWriter(opened(tmp_path))
    column = pa.array([b"value"] * 4)
    assert writer.append(pa.array([b"k"] * 4), column) == range(4)
    files = files_of(tmp_path)
    logs = [len(data) for name, data in sorted(files.items()) if name.endswith(".log")]
    assert logs == [2 * size, size, size]
    assert files["00000000000000000000.index"] == struct.pack(">ii", 1, size)


@both_dialects
def test_writer_refuses_a_message_above_a_limit(tmp_path, dialect):
    keys, values = pa.array([None], pa.binary()), pa.array([b"x" * 100])
    largest = encoded_bytes(dialect, None, b"x" * 100)
    for name in ("max_message_bytes", "segment_bytes"):
        opened = opener(dialect, TopicSettings(**{name: largest - 1}))
        writer = ColumnWriter(opened(tmp_path / name))
        with pytest.raises(MessageTooLargeError, match=name.replace("_", ".")):
            writer.append(keys, values)
        writer = ColumnWriter(opener(dialect, TopicSettings(**{name: largest}))(tmp_path / name))
        assert writer.append(keys, values) == range(1)


def test_writer_refuses_a_null_value_where_the_dialect_has_none(tmp_path):
    writer = ColumnWriter(opener(DOCUMENTED, TopicSettings())(tmp_path))
    with pytest.raises(NullValueError):
        writer.append(pa.array([b"k"]), pa.array([None], pa.binary()))


def test_writer_takes_over_from_a_log_that_writes_no_more(tmp_path):
    log = opener(DOCUMENTED, TopicSettings())(tmp_path)
    writer = ColumnWriter(log)
    with pytest.raises(LogClosedError):
        log.append([(None, b"v")])
    writer.append(pa.array([b"k"]), pa.array([b"v"]))
    writer.flush()
    assert writer.reopen().log_end_offset == 1
