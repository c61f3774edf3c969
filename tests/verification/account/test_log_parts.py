from pathlib import Path

import pytest

from kminilog.format.message import Message
from kminilog.format.names import TopicPartition, segment_name
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import Manifest, StagedPartition
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.topics import Topic, write_topic
from kminilog.verification.account.log_parts import Part, messages_of, parts_of, ranges_of
from tests.support.compacting import join_segments_of
from tests.support.damage import flip_byte, message_positions

MESSAGES = [(None, b"first"), (b"", b""), (b"k\xff", b"\0\xfe"), ("ключ".encode(), b"x" * 90)] * 5


@pytest.fixture
def log_dir(tmp_path: Path, dialect) -> LogDir:
    with LogDirWriter.open(tmp_path, create=True) as writer:
        for topic in ("orders", "others"):
            writer.create_topic(Topic(topic, 3, dialect, TopicSettings(segment_bytes=400)))
            writer.log(TopicPartition(topic, 0)).append(MESSAGES)
            writer.log(TopicPartition(topic, 1)).append([(b"k", topic.encode())])
    return LogDir(tmp_path)


def read(log_dir: LogDir, topic: str, job: Manifest | None = None) -> list[tuple[object, ...]]:
    found = log_dir.topic(topic)
    within = ranges_of(found, job) if job else None
    groups, _ = parts_of(log_dir, found, within, cores=2)
    return [
        (*part.topic_partition, *row.values(), segment_name(segment))
        for group in groups
        for part in group
        for segment, batch in messages_of(log_dir, part, within)
        for row in batch.to_pylist()
    ]


def stored(log_dir: LogDir, topic: str) -> list[tuple[object, ...]]:
    """What the engine's own readers find, as rows."""
    return [
        (*topic_partition, outcome.offset, position, outcome.key, outcome.value, segment.name)
        for topic_partition in log_dir.topic(topic).all_partitions()
        for segment in log_dir.reader(topic_partition).segments()
        for position, outcome in segment.scan()
        if isinstance(outcome, Message)
    ]


def test_parts_have_every_message_with_its_place(log_dir):
    found = read(log_dir, "orders")
    assert len(found) == len(MESSAGES) + 1
    assert found == stored(log_dir, "orders")


def test_parts_pass_over_damage(log_dir):
    log = log_dir.path / "orders-0" / "00000000000000000000.log"
    flip_byte(log, message_positions(log.read_bytes())[2] + 13, mask=1)
    offsets = [offset for _, partition, offset, *_ in read(log_dir, "orders") if partition == 0]
    assert offsets == [0, 1, *range(3, len(MESSAGES))]


def test_topic_without_messages_has_no_parts(tmp_path):
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 2))
    assert read(LogDir(tmp_path), "orders") == []


def test_segment_that_is_deleted_after_planning_is_passed_over(log_dir):
    groups, _ = parts_of(log_dir, log_dir.topic("orders"), None, cores=1)
    first, *rest = sorted((log_dir.path / "orders-0").glob("*.log"))
    kept = [row for row in stored(log_dir, "orders") if (row[1], row[-1]) != (0, first.stem)]
    assert rest
    assert len(kept) < len(MESSAGES) + 1
    first.unlink()
    first.with_suffix(".index").unlink()
    parts = [part for group in groups for part in group]
    found = [len(batch) for part in parts for _, batch in messages_of(log_dir, part, None)]
    assert sum(found) == len(kept)


@pytest.mark.parametrize("done", range(4))
def test_parts_have_every_message_once_if_segments_are_joined_meanwhile(log_dir, done):
    """`done` segments are read before the compaction, the others after it."""
    offsets = [(partition, offset) for _, partition, offset, *_ in stored(log_dir, "orders")]
    groups, _ = parts_of(log_dir, log_dir.topic("orders"), None, cores=1)
    parts = [
        Part(part.topic_partition, [base], [size])
        for group in groups
        for part in group
        for base, size in zip(part.base_offsets, part.sizes, strict=True)
    ]
    found = []
    for number, part in enumerate(parts):
        if number == done:
            join_segments_of(log_dir.path, "orders")
        for _, batch in messages_of(log_dir, part, None):
            found += [
                (part.topic_partition.partition, o) for o in batch.column("offset").to_pylist()
            ]
    assert found == offsets


def test_segment_that_is_deleted_while_parts_are_planned_is_passed_over(log_dir, monkeypatch):
    first = min((log_dir.path / "orders-0").glob("*.log"))
    kept = [row for row in stored(log_dir, "orders") if (row[1], row[-1]) != (0, first.stem)]
    segments = PartitionReader.segments

    def delete_one(reader):
        listed = segments(reader)
        first.unlink(missing_ok=True)
        first.with_suffix(".index").unlink(missing_ok=True)
        return listed

    monkeypatch.setattr(PartitionReader, "segments", delete_one)
    assert read(log_dir, "orders") == kept


def test_parts_of_a_job_have_what_it_wrote_in_3000_partitions(tmp_path):
    filled = range(0, 3000, 500)
    with LogDirWriter.open(tmp_path, create=True) as writer:
        write_topic(tmp_path, Topic("orders", 3000))
        for partition in range(3000):  # without segments: much faster than a topic that is created
            (tmp_path / f"orders-{partition}").mkdir()
        for partition in filled:
            writer.log(TopicPartition("orders", partition)).append(MESSAGES)
    staged = [StagedPartition(number, f"orders-{number}", 2, 4, 0, "") for number in range(1, 3001)]
    job = Manifest("j", "orders", staged, {})  # one of its partitions is not in the topic
    rows = [row[1:3] for row in read(LogDir(tmp_path), "orders", job)]
    assert rows == [(p, o) for p in filled[1:] for o in (2, 3)]
