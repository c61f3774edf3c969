"""One writer, several reader threads and processes at the same time, none of them with a lock."""

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event
from time import sleep

import pytest

from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.retention import delete_expired, unlink_marked
from kminilog.storage.topics import Topic
from tests.support.crash.following import Followed, follow
from tests.support.crash.numbered_messages import numbered_messages
from tests.support.invariants import check_log
from tests.support.processes import finish, read_line, start, wait_until

ORDERS_0 = TopicPartition("orders", 0)
READ_SIZES = [1, 700]
PAUSE_SECONDS = 0.002  # as long as an fsync takes; in memory the writer would be done at once


@pytest.mark.processes
@pytest.mark.parametrize(
    "messages", [500, pytest.param(20_000, marks=pytest.mark.soak)], ids=["quick", "long"]
)
@pytest.mark.parametrize("retains", [False, True], ids=["keeps-all", "retains"])
def test_read_beside_the_writer_sees_a_prefix_in_order_without_gaps(
    tmp_path, dialect, messages, retains
):
    settings = TopicSettings(
        segment_bytes=1500,
        index_interval_bytes=200,
        retention_ms=-1,
        retention_bytes=15_000 if retains else -1,
        file_delete_delay_ms=0,
    )
    with LogDirWriter.open(tmp_path) as writer, ExitStack() as stack:
        writer.create_topic(Topic("orders", 1, dialect, settings))
        processes = [
            stack.enter_context(start("crash.reading_process", tmp_path, messages, max_bytes))
            for max_bytes in READ_SIZES
        ]
        assert {read_line(process) for process in processes} == {"ready"}
        pool = stack.enter_context(ThreadPoolExecutor())
        waits = Event()
        threads = [
            pool.submit(follow, LogDir(tmp_path).reader(ORDERS_0), messages, max_bytes, waits.set)
            for max_bytes in READ_SIZES
        ]
        append_numbered(writer, messages // 2)
        waits.clear()
        wait_until(lambda: waits.is_set() or any(thread.done() for thread in threads))
        append_numbered(writer, messages)
        followed = [thread.result() for thread in threads]
        followed += [Followed(*map(int, finish(process).split())) for process in processes]
        check_log(writer.log(ORDERS_0))
    assert any(reader.waited for reader in followed[: len(threads)])
    for reader in followed:
        assert (reader.messages == messages) == (reader.overtaken == 0)
        assert retains or reader.overtaken == 0


def test_read_with_a_list_that_misses_a_segment_looks_again(tmp_path, dialect):
    """Listing a directory is not atomic: of two segments that are made meanwhile, a reader may see
    the second only. Here the first is moved away while it looks."""
    settings = TopicSettings(segment_bytes=1000)
    log = PartitionLog.open(tmp_path / "orders-0", ORDERS_0, dialect, settings)
    log.append(numbered_messages(0, 30))
    middle = log.segments()[1]
    reader = PartitionReader(log.directory, ORDERS_0, dialect, settings)
    middle.log_path.rename(tmp_path / "moved")
    assert middle.base_offset not in [segment.base_offset for segment in reader.segments()]
    (tmp_path / "moved").rename(middle.log_path)
    offset = 0
    while batch := reader.read(offset, 10**6):
        expected = numbered_messages(offset, len(batch))
        assert [(message.key, message.value) for message in batch] == expected
        assert batch[0].offset == offset
        offset += len(batch)
    assert offset == 30


def append_numbered(writer: LogDirWriter, count: int) -> None:
    """Append numbered messages in batches, with a roll, a flush or a deletion now and then."""
    source = random.Random(count)
    log = writer.log(ORDERS_0)
    while log.log_end_offset < count:
        batch = min(source.choice([1, 1, 3, 10, 40]), count - log.log_end_offset)
        log.append(numbered_messages(log.log_end_offset, batch))
        sleep(PAUSE_SECONDS)
        if source.random() < 0.05:
            source.choice([log.roll, log.flush])()
        if source.random() < 0.1:
            delete_expired(log, now_ms=10**13)
            unlink_marked(log.directory, log.settings, now_ms=10**13)
