"""A log of three small segments in a log dir, what is in it, and how it is opened after a stop."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from kminilog.errors import CorruptLogError, KMiniLogError
from kminilog.format.dialect import Dialect
from kminilog.format.message import Message
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.checkpoint import CHECKPOINT_FILE
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.topics import Topic
from tests.support.damage import files_of, index_entries, message_positions, offsets_in
from tests.support.invariants import check_log

KeyValue = tuple[bytes | None, bytes | None]
ORDERS_0 = TopicPartition("orders", 0)
MESSAGES: list[KeyValue] = [
    (None, b"first"),
    (b"", "größer".encode()),
    (b"k2", b""),
    ("ключ".encode(), b"\x00\xff"),
    (b"k4", b"fourth value"),
    (None, b"fifth"),
    (b"k6", b"sixth, and longer"),
    (b"k7", b"7"),
    (None, b"the last"),
]
SETTINGS = TopicSettings(segment_bytes=110, index_interval_bytes=35)


@dataclass(frozen=True)
class SmallLog:
    """A stopped log dir with a topic of one partition, and its bytes as they were written."""

    path: Path
    dialect: Dialect
    messages: list[KeyValue]
    files: dict[str, bytes]

    @property
    def directory(self) -> Path:
        return self.path / "orders-0"

    @property
    def logs(self) -> list[str]:
        """The names of the `.log` files, ascending."""
        return [name for name in self.files if name.endswith(".log")]

    def positions(self, name: str) -> list[int]:
        """Where the messages of a `.log` begin, and where it ends."""
        return message_positions(self.files[name])

    def offsets(self, name: str) -> list[int]:
        return offsets_in(self.files[name])

    def entries(self, name: str) -> list[tuple[int, int]]:
        return index_entries(self.files[name.replace(".log", ".index")])

    def open(self) -> LogDirWriter:
        return LogDirWriter.open(self.path)

    def reader(self) -> PartitionReader:
        return LogDir(self.path).reader(ORDERS_0)


def write_small_log(
    path: Path,
    dialect: Dialect,
    *,
    messages: list[KeyValue] = MESSAGES,
    settings: TopicSettings = SETTINGS,
    has_checkpoint: bool = False,
) -> SmallLog:
    """Write a log and stop uncleanly: no marker, and the recovery point 0 or at its end."""
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, settings))
        writer.log(ORDERS_0).append(messages)
    stop_uncleanly(path, has_checkpoint=has_checkpoint)
    return SmallLog(path, dialect, messages, files_of(path / "orders-0"))


def stop_uncleanly(path: Path, *, has_checkpoint: bool = False) -> None:
    """Make a closed log dir look as if its writer had died."""
    (path / CLEAN_SHUTDOWN_FILE).unlink(missing_ok=True)
    if not has_checkpoint:
        (path / CHECKPOINT_FILE).unlink(missing_ok=True)


def contents(read: list[Message]) -> list[KeyValue]:
    return [(message.key, message.value) for message in read]


def assert_never_a_wrong_message(reader: PartitionReader, messages: list[KeyValue]) -> None:
    """Whatever the reader answers, by reading or finding, is what was written, or an error of ours.

    Reading goes on after an offset that cannot be read, as a consumer that skips it would.
    """
    written = dict(enumerate(messages))
    for offset in written:
        with contextlib.suppress(KMiniLogError):
            found = reader.find(offset).message
            assert (found.offset, found.key, found.value) == (offset, *written[offset])
        with contextlib.suppress(KMiniLogError):
            for message in reader.read(offset, 10**6):
                assert (message.key, message.value) == written[message.offset]


def assert_works(log: SmallLog, expected: list[KeyValue]) -> None:
    """The log opens with exactly these messages, takes more, and still has all after a stop."""
    more: list[KeyValue] = [(None, b"more %d" % n) for n in range(4)]
    with log.open() as writer:
        partition = writer.log(ORDERS_0)
        check_log(partition)
        assert contents(partition.reader.read(0, 10**6)) == expected
        partition.append(more[:1])
        partition.append(more[1:])
    stop_uncleanly(log.path)
    with log.open() as writer:
        assert writer.warnings == []
        partition = writer.log(ORDERS_0)
        check_log(partition)
        assert contents(partition.reader.read(0, 10**6)) == expected + more
        assert partition.log_end_offset == len(expected) + len(more)


def refusal_of(log: SmallLog) -> CorruptLogError | None:
    """Open the log for writing; return the error if it is refused, None if it is not."""
    with log.open() as writer:
        try:
            writer.log(ORDERS_0)
        except CorruptLogError as error:
            return error
    return None
