"""What a notebook shows of a log dir and of a segment: a table."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from kminilog import LogDir, LogDirWriter, Topic, TopicPartition
from kminilog.storage.log_dir.notebook import MAX_ROWS
from tests.support.notebooks import HOSTILE, shown

ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def log_dir(tmp_path: Path) -> LogDir:
    """Two partitions, one with two messages, in a directory with a hostile name."""
    path = tmp_path / HOSTILE.replace("/", "_")
    path.mkdir()
    with LogDirWriter.open(path) as writer:
        writer.create_topic(Topic("orders", partitions=2))
        writer.log(ORDERS).append([(b"k", b"one"), (b"k", b"two")])
    return LogDir(path)


def cells(table: str) -> list[list[str]]:
    tree = ElementTree.fromstring(f"<div>{table}</div>")
    return [["".join(cell.itertext()) for cell in row] for row in tree.findall("table/tr")]


def test_log_dir_is_a_table_of_its_partitions(log_dir):
    rows = cells(shown(log_dir))
    assert rows[0] == ["partition", "segments", "first offset", "next offset", "bytes"]
    size = str(next(log_dir.directory(ORDERS).glob("*.log")).stat().st_size)
    assert rows[1:] == [["orders-0", "1", "0", "2", size], ["orders-1", "1", "0", "0", "0"]]


def test_log_dir_says_which_topic_and_which_partition_cannot_be_read(log_dir):
    (log_dir.path / "bad.json").write_text("<b>")
    for file in log_dir.directory(ORDERS).iterdir():
        file.unlink()
    log_dir.directory(ORDERS).rmdir()
    table = shown(log_dir)
    assert "bad.json" in table
    assert cells(table)[1][0] == "orders-0"
    assert "no such partition directory" in cells(table)[1][1]
    assert cells(table)[2][0] == "orders-1"


def test_log_dir_with_many_partitions_shows_the_first_ones(log_dir):
    with LogDirWriter.open(log_dir.path) as writer:
        writer.create_topic(Topic("many", partitions=MAX_ROWS + 5))
    table = shown(log_dir)
    assert len(cells(table)) == 1 + MAX_ROWS
    assert "and 7 more" in table


def test_segment_is_a_table(log_dir):
    (segment,) = log_dir.reader(ORDERS).segments()
    size = str(segment.file_bytes)
    assert cells(shown(segment))[1] == [segment.name, "0", "2", size, str(len(segment.index))]
    segment.log_path.unlink()
    assert "No such file" in cells(shown(segment))[1][1]
