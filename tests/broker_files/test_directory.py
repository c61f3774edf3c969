"""A broker's log directory: is it one, and what is in it?"""

from pathlib import Path

import pytest

from kminilog.broker_files.directory import (
    BrokerDirectory,
    NotInDirectoryError,
    broker_directory_of,
    is_broker_directory,
)
from kminilog.errors import LogDirError
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic

ORDERS_0 = TopicPartition("orders", 0)
FIRST = "00000000000000000000"
HEX = "4f0b9ec1d23a4f5b8c7d6e5f4a3b2c1d"


def partition(log_dir: Path, name: str = "orders-0", count: int = 3) -> Path:
    """Make a partition of messages in format v0, as Kafka 0.8 wrote them."""
    directory = log_dir / name
    directory.mkdir(parents=True)
    messages = (encode(KAFKA, offset, None, b"hi") for offset in range(count))
    (directory / f"{FIRST}.log").write_bytes(b"".join(messages))
    return directory


def test_directory_with_segments_and_no_settings_is_a_brokers(tmp_path: Path) -> None:
    partition(tmp_path)
    assert is_broker_directory(tmp_path)


def test_directory_with_meta_properties_alone_is_a_brokers(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\n")
    assert is_broker_directory(tmp_path)


@pytest.mark.parametrize("name", ["orders-0", "orders", "orders-00"])
def test_directory_without_segments_of_a_partition_is_no_brokers(tmp_path: Path, name: str) -> None:
    directory = partition(tmp_path, name)
    if name == "orders-0":
        (directory / f"{FIRST}.log").rename(directory / "notes.log")
    assert not is_broker_directory(tmp_path)
    assert not is_broker_directory(tmp_path / "nothing")
    assert not is_broker_directory(directory / "notes.log")


def test_log_dir_of_kminilog_is_never_a_brokers(tmp_path: Path) -> None:
    """Not with meta.properties beside it, nor if a topic, or each one, has lost its settings."""
    with LogDirWriter.open(tmp_path) as writer:
        for name in ("orders", "views"):
            writer.create_topic(Topic(name, 1, KAFKA, TopicSettings()))
            writer.log(TopicPartition(name, 0)).append([(None, b"hi")])
    (tmp_path / "meta.properties").touch()
    assert not is_broker_directory(tmp_path)
    (tmp_path / "orders.json").unlink()
    assert not is_broker_directory(tmp_path)
    (tmp_path / "views.json").unlink()
    assert not is_broker_directory(tmp_path)


def test_log_dir_of_kminilog_without_its_small_files_is_none_of_a_broker(tmp_path: Path) -> None:
    partition(tmp_path)
    (tmp_path / "orders.json").write_text("broken settings are settings, too")
    assert not is_broker_directory(tmp_path)


def test_files_of_a_partition_are_all_named(tmp_path: Path) -> None:
    directory = partition(tmp_path)
    for suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
        (directory / (FIRST + suffix)).write_bytes(b"1")
    for name in (
        *("leader-epoch-checkpoint", "partition.metadata", "remote_log_snapshot", "notes.txt"),
        *(f"{9:020}.log.deleted", f"{9:020}.index.swap", f"{9:020}.log.cleaned"),
        *(f"{3:020}.snapshot", f"{4:020}.index"),
    ):
        (directory / name).touch()

    found = BrokerDirectory(tmp_path).files_of(ORDERS_0)
    assert [segment.name for segment in found.segments] == [FIRST]
    assert found.segments[0].sizes == {
        ".log": 3 * 28,
        ".index": 1,
        ".timeindex": 1,
        ".txnindex": 1,
        ".snapshot": 1,
    }
    what = {other.name: other.what for other in found.others}
    assert len(what) == 9
    assert what[f"{4:020}.index"] == "of a segment without its .log"
    assert [other.name for other in found.others if not other.is_known] == ["notes.txt"]


def test_topics_and_what_is_not_served_are_listed_apart(tmp_path: Path) -> None:
    for name in ("orders-0", "orders-2", "page-views-0"):
        partition(tmp_path, name)
    for suffix in ("future", "delete", "stray"):
        partition(tmp_path, f"orders-1.{HEX}-{suffix}")
    for name in ("meta.properties", ".lock", "cleaner-offset-checkpoint", "who-knows"):
        (tmp_path / name).touch()

    broker = BrokerDirectory(tmp_path)
    assert [str(one) for one in broker.partitions()] == ["orders-0", "orders-2", "page-views-0"]
    assert [str(one) for one in broker.partitions("orders")] == ["orders-0", "orders-2"]
    others = {other.name: other for other in broker.others()}
    assert len(others) == 7
    assert others[f"orders-1.{HEX}-future"].what == "a copy that is on its way to this disk"
    assert [other.name for other in others.values() if not other.is_known] == ["who-knows"]


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    partition(tmp_path)
    broker = BrokerDirectory(tmp_path)
    with pytest.raises(NotInDirectoryError, match="has no partition orders-7"):
        broker.files_of(TopicPartition("orders", 7))
    with pytest.raises(NotInDirectoryError, match="has no topic views"):
        broker.partitions("views")
    with pytest.raises(LogDirError):
        BrokerDirectory(tmp_path / "nothing")


def test_log_starts_are_those_of_the_checkpoint(tmp_path: Path) -> None:
    partition(tmp_path)
    broker = BrokerDirectory(tmp_path)
    assert broker.log_starts() == {}
    checkpoint = tmp_path / "log-start-offset-checkpoint"
    checkpoint.write_text("0\n2\norders 0 2\nnonsense\n")
    assert broker.log_starts() == {ORDERS_0: 2}
    checkpoint.write_bytes(b"\xff")
    assert broker.log_starts() == {}


def test_directory_of_a_file_is_found(tmp_path: Path) -> None:
    log = partition(tmp_path) / f"{FIRST}.log"
    assert broker_directory_of(log) == tmp_path
    assert broker_directory_of(tmp_path / "notes.txt") is None


def test_log_starts_are_parsed_once_until_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker has thousands of partitions, and a line for each of them."""
    partition(tmp_path)
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 0 2\n")
    parsed: list[bytes] = []

    def parse(data: bytes) -> dict[TopicPartition, int]:
        parsed.append(data)
        return {}

    monkeypatch.setattr("kminilog.broker_files.directory.parse_checkpoint", parse)
    broker = BrokerDirectory(tmp_path)
    for _ in range(3):
        broker.log_starts()
    assert len(parsed) == 1
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 0 10\n")
    broker.log_starts()
    assert len(parsed) == 2
