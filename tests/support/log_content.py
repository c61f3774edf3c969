"""What is in a log, read without Spark, and logs written anew with a fault in them."""

import shutil
from collections.abc import Callable
from pathlib import Path

from kminilog.format.message import Message
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import MANIFEST_DIR

KeyValue = tuple[bytes | None, bytes | None]
Content = dict[int, list[KeyValue]]


def content_of(log_dir: Path, topic: str) -> Content:
    """Return key and value of all messages, by partition, in the order of their offsets."""
    found: Content = {}
    for topic_partition in LogDir(log_dir).topic(topic).all_partitions():
        reader = LogDir(log_dir).reader(topic_partition)
        messages: list[Message] = []
        while batch := reader.read(reader.log_start_offset + len(messages), 1 << 20):
            messages += batch
        found[topic_partition.partition] = [(m.key, m.value) for m in messages]
    return found


def files_of(log_dir: Path, topic: str) -> dict[str, bytes]:
    """Return the files in all partition directories of a topic, by name."""
    return {
        f"{directory.name}/{path.name}": path.read_bytes()
        for directory in log_dir.glob(f"{topic}-*")
        for path in directory.iterdir()
    }


def write_anew(log_dir: Path, copy: Path, topic: str, fault: Callable[[Content], None]) -> Path:
    """Write the messages of a topic into a new log dir, after `fault` has changed them.

    The manifests go along; the storage of the new log dir is without a flaw.
    """
    content = content_of(log_dir, topic)
    fault(content)
    with LogDirWriter.open(copy, create=True) as writer:
        writer.create_topic(LogDir(log_dir).topic(topic))
        for partition, messages in content.items():
            writer.log(TopicPartition(topic, partition)).append(messages)
    shutil.copytree(log_dir / MANIFEST_DIR, copy / MANIFEST_DIR)
    return copy
