"""The log dir that several modules of the storage room are tested on."""

from pathlib import Path

import pytest

from kminilog.format.dialect import KAFKA
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """A log dir with a topic of two partitions, five messages in the first, closed cleanly."""
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 2, KAFKA, TopicSettings(segment_bytes=100)))
        writer.log(TopicPartition("orders", 0)).append((b"k", b"value %d" % n) for n in range(5))
    return tmp_path
