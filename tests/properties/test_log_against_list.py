"""PartitionLog against a plain list, through any sequence of writes, stops, retention and reads."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from kminilog.errors import MessageTooLargeError, NullValueError, OffsetOutOfRangeError
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.message import Message
from kminilog.format.names import TopicPartition
from kminilog.storage.checkpoint import CHECKPOINT_FILE
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.retention import delete_expired, unlink_marked
from kminilog.storage.topics import Topic
from tests.support.damage import files_of
from tests.support.invariants import check_log
from tests.support.properties.expected_layout import KeyValue, encode_message
from tests.support.properties.strategies import expected_log, key_values, settings_that_hold

ORDERS_0 = TopicPartition("orders", 0)
NOW_MS = 10**9
MESSAGES = {dialect: st.lists(key_values(dialect), max_size=6) for dialect in (DOCUMENTED, KAFKA)}


class LogMachine(RuleBasedStateMachine):
    """`model` says which files there should be, `messages` what each offset from `start` holds."""

    dialect: ClassVar[Dialect]

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(mkdtemp())
        self.readers: list[PartitionReader] = []

    def teardown(self) -> None:
        if hasattr(self, "writer"):
            self.writer.close()
        shutil.rmtree(self.path)

    @initialize(data=st.data(), base_offset=st.sampled_from([0, 0, 1, 368_769]))
    def create(self, data: st.DataObject, base_offset: int) -> None:
        largest = (b"k" * 48, b"v" * 400)  # 12 characters of 4 bytes
        self.settings = data.draw(settings_that_hold(self.dialect, [largest]))
        self.settings = replace(self.settings, retention_ms=-1, file_delete_delay_ms=1000)
        self.writer = LogDirWriter.open(self.path)
        topic = Topic("orders", 1, self.dialect, self.settings)
        self.writer.create_topic(topic, base_offset=base_offset)
        self.model = expected_log(self.dialect, self.settings, base_offset)
        self.start = self.model.next_offset
        self.messages: list[KeyValue] = []

    @property
    def log(self) -> PartitionLog:
        return self.writer.log(ORDERS_0)

    @property
    def end(self) -> int:
        return self.start + len(self.messages)

    # ---- writing

    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        batch = data.draw(MESSAGES[self.dialect])
        assert self.log.append(batch) == range(self.end, self.end + len(batch))
        for message in batch:
            self.model.append(*message)
        self.messages += batch

    @rule(data=st.data())
    def append_with_a_message_too_large(self, data: st.DataObject) -> None:
        batch = data.draw(MESSAGES[self.dialect])
        place = data.draw(st.integers(0, len(batch)))
        batch.insert(place, (None, bytes(self.settings.segment_bytes)))
        with pytest.raises(MessageTooLargeError):
            self.log.append(batch)

    @precondition(lambda self: self.dialect is DOCUMENTED)
    @rule(data=st.data())
    def append_with_a_null_value(self, data: st.DataObject) -> None:
        with pytest.raises(NullValueError):
            self.log.append([*data.draw(MESSAGES[self.dialect]), (b"key", None)])

    @rule()
    def roll(self) -> None:
        assert self.log.roll() == self.model.roll()

    @rule()
    def flush(self) -> None:
        self.log.flush()
        assert self.log.recovery_point == self.end

    # ---- stopping

    @rule()
    def reopen_after_a_clean_stop(self) -> None:
        self.writer.close()
        self.writer = LogDirWriter.open(self.path)
        assert self.log.log_end_offset == self.end
        assert self.writer.warnings == []

    @rule(
        has_checkpoint=st.booleans(),
        has_indexes=st.booleans(),
        torn_bytes=st.integers(0, 40),
        data=st.data(),
    )
    def reopen_after_an_unclean_stop(
        self, has_checkpoint: bool, has_indexes: bool, torn_bytes: int, data: st.DataObject
    ) -> None:
        """With part of the message that comes next after the last one."""
        self.writer.close()
        (self.path / CLEAN_SHUTDOWN_FILE).unlink()
        if not has_checkpoint:
            (self.path / CHECKPOINT_FILE).unlink()
        directory = self.path / "orders-0"
        if not has_indexes:
            for path in directory.glob("*.index"):
                path.unlink()
        with open(max(directory.glob("*.log")), "ab") as file:
            key, value = data.draw(key_values(self.dialect))
            torn = encode_message(self.model.rules.is_kafka, self.end, key, value)[:-1]
            file.write(torn[:torn_bytes])
        self.writer = LogDirWriter.open(self.path)
        assert self.log.log_end_offset == self.end
        assert any("torn-tail" in line for line in self.writer.warnings) == (torn_bytes > 0)

    # ---- retention

    @rule(retention_bytes=st.integers(0, 1500))
    def delete_by_size(self, retention_bytes: int) -> None:
        sizes = [segment.size_bytes for segment in self.model.segments]
        count, excess_bytes = 0, sum(sizes) - retention_bytes
        while count < len(sizes) and excess_bytes >= sizes[count]:
            excess_bytes -= sizes[count]
            count += 1
        self._delete(count, retention_bytes=retention_bytes)

    @rule(data=st.data())
    def delete_by_age(self, data: st.DataObject) -> None:
        names = [f"{segment.name:020d}.log" for segment in self.model.segments]
        ages_ms = [data.draw(st.sampled_from([0, 999, 1000, 1001, 5000])) for _ in names]
        for name, age_ms in zip(names, ages_ms, strict=True):
            seconds = (NOW_MS - age_ms) / 1000
            os.utime(self.path / "orders-0" / name, (seconds, seconds))
        count = next((n for n, age_ms in enumerate(ages_ms) if age_ms <= 1000), len(names))
        self._delete(count, retention_ms=1000)

    def _delete(self, count: int, **retention: int) -> None:
        """The first `count` segments expire; if that is all, an empty one stays if it can."""
        if count == len(self.model.segments) and not self.model.roll():
            count -= 1
        self.writer.alter_topic("orders", settings=replace(self.settings, **retention))
        deleted = delete_expired(self.log, NOW_MS)
        self.writer.alter_topic("orders", settings=self.settings)
        gone, self.model.segments = self.model.segments[:count], self.model.segments[count:]
        assert [segment.base_offset for segment in deleted] == [segment.name for segment in gone]
        message_count = sum(len(segment.messages) for segment in gone)
        del self.messages[:message_count]
        self.start += message_count

    @rule(later_ms=st.sampled_from([0, 999, 1000]))
    def remove_files_deleted_long_enough_ago(self, later_ms: int) -> None:
        directory = self.path / "orders-0"
        waiting = sorted(directory.glob("*.deleted"))
        removed = unlink_marked(directory, self.settings, NOW_MS + later_ms)
        assert removed == (waiting if later_ms == 1000 else [])

    # ---- reading: as the writer, and with readers that were there before

    @precondition(lambda self: len(self.readers) < 3)
    @rule()
    def open_a_reader(self) -> None:
        self.readers.append(LogDir(self.path).reader(ORDERS_0))

    @rule(data=st.data(), max_bytes=st.sampled_from([1, 60, 500, 10**6]))
    def read_anywhere(self, data: st.DataObject, max_bytes: int) -> None:
        offset = data.draw(st.integers(max(self.start - 2, 0), self.end + 2))
        for reader in [self.log.reader, *self.readers]:
            if not self.start <= offset <= self.end:
                with pytest.raises(OffsetOutOfRangeError):
                    reader.read(offset, max_bytes)
                continue
            self._assert_messages(reader.read(offset, max_bytes), offset, max_bytes)

    def _assert_messages(self, read: list[Message], offset: int, max_bytes: int) -> None:
        sizes = [message.length_bytes for message in read]
        assert len(read) <= 1 or sum(sizes) <= max_bytes
        assert [message.offset for message in read] == list(range(offset, offset + len(read)))
        expected = self.messages[offset - self.start :]
        assert [(message.key, message.value) for message in read] == expected[: len(read)]
        if len(read) < len(expected):
            following = encode_message(self.model.rules.is_kafka, 0, *expected[len(read)])
            assert read, "at least one message"
            assert sum(sizes) + len(following) > max_bytes, "one more would have had room"

    @rule(data=st.data())
    def find_anywhere(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(max(self.start - 2, 0), self.end + 2))
        for reader in [self.log.reader, *self.readers]:
            if not self.start <= offset < self.end:
                with pytest.raises(OffsetOutOfRangeError):
                    reader.find(offset)
                continue
            found = reader.find(offset)
            message = found.message
            assert (message.offset, message.key, message.value) == (
                offset,
                *self.messages[offset - self.start],
            )
            holders = [s.name for s in self.model.segments if self._first_offset(s.name) <= offset]
            assert found.segment.base_offset == holders[-1]

    def _first_offset(self, name: int) -> int:
        return name + 1 if self.dialect is DOCUMENTED and name else name

    # ---- after every step

    @invariant()
    def files_are_those_of_the_model(self) -> None:
        if not hasattr(self, "model"):
            return
        check_log(self.log)
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)
        files = files_of(self.path / "orders-0")
        pairs = {n: d for n, d in files.items() if n.endswith((".log", ".index"))}
        assert pairs == self.model.files()


class DocumentedLogMachine(LogMachine):
    dialect = DOCUMENTED


class KafkaLogMachine(LogMachine):
    dialect = KAFKA


@pytest.mark.usefixtures("without_fsync")
class TestDocumentedLog(DocumentedLogMachine.TestCase):  # type: ignore[name-defined,misc]
    pass


@pytest.mark.usefixtures("without_fsync")
class TestKafkaLog(KafkaLogMachine.TestCase):  # type: ignore[name-defined,misc]
    pass
