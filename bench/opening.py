"""Opening a log dir to write, recovery after damage, topics with many partitions: CPU time.

Segments hold eight messages of 122 bytes. `clean` opens the log dir and each partition and closes
them, `crashed` recovers from the recovery points on record, `unknown` without them: then all is
read. `recovery` reads a partition twice, as `recover` does: for the plan, and to name the faults.
Files are in the cache; what a disk needs for an fsync is no CPU time.
"""

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import chain, starmap
from pathlib import Path

from bench.timing import ratio, rounds_of_each
from kminilog.columns import segment_scan as bulk
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.checkpoint import CHECKPOINT_FILE
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.partition.recovery import plan_recovery
from kminilog.storage.topics import Topic
from kminilog.verification.fast_segment_checks import check_segment
from kminilog.verification.partition_checks import check_partition

ORDERS_0 = TopicPartition("orders", 0)
ROUNDS = 5
MESSAGES_IN_SEGMENT = 8
SETTINGS = TopicSettings(segment_bytes=MESSAGES_IN_SEGMENT * 122)
RECOVERED_MESSAGES = 500_000


def measure() -> None:
    with tempfile.TemporaryDirectory() as directory:
        measure_opening(Path(directory), "partition", (1_000, 2_000))
        measure_opening(Path(directory), "segment", (8_000, 16_000))
        measure_recovery(Path(directory))
        measure_topics(Path(directory), (5_000, 10_000))


def measure_opening(directory: Path, unit: str, sizes: tuple[int, int]) -> None:
    few, many = (directory / f"{size} {unit}s" for size in sizes)
    for path, size in zip((few, many), sizes, strict=True):
        partitions, segments = (size, 1) if unit == "partition" else (1, size)
        write(path, partitions, segments)
    works: dict[str, Callable[[Path], None]] = {
        "clean": open_all,
        "crashed": lambda path: recover(path, CLEAN_SHUTDOWN_FILE),
    }
    if unit == "partition":  # with many segments, nearly all of it is waiting for the disk
        works["unknown"] = lambda path: recover(path, CLEAN_SHUTDOWN_FILE, CHECKPOINT_FILE)
    print(f"\n{'opening, ms of CPU':24}{sizes[0]:10,}{sizes[1]:10,} {unit}s   one more, us")
    for name, work in works.items():
        print_row(name, sizes, cpu_of(*(lambda w=work, p=path: w(p) for path in (few, many))))


def measure_recovery(directory: Path) -> None:
    path = directory / "recovery"
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(Topic("orders", 1))
        log = writer.log(ORDERS_0)
        for first in range(0, RECOVERED_MESSAGES, 10_000):
            log.append((b"%010d" % n, b"v" * (50 + n % 100)) for n in range(first, first + 10_000))
    reader = LogDir(path).reader(ORDERS_0)

    def plain() -> None:
        plan_recovery(reader)
        check_partition(reader)

    def fast() -> None:
        plan_recovery(reader, scanner=bulk.FAST)
        check_partition(reader, check_segment=check_segment)

    def tear() -> None:
        last = reader.segments()[-1].log_path
        last.write_bytes(last.read_bytes()[:-1])

    def damage() -> None:
        first = reader.segments()[0].log_path
        first.write_bytes(b"?" * 30 + first.read_bytes()[30:])

    print(f"\nrecovery of {RECOVERED_MESSAGES:,} messages, ns of CPU a message")
    faults = {"valid": None, "torn at its end": tear, "damaged at its beginning": damage}
    for name, make_fault in faults.items():
        if make_fault:
            make_fault()
        plain_taken, fast_taken = cpu_of(plain, fast)
        one, other = (min(taken) / RECOVERED_MESSAGES * 1e9 for taken in (plain_taken, fast_taken))
        times = ratio(plain_taken, fast_taken)
        print(f"  {name:26} plain {one:8.0f}   fast {other:6.0f}   {times:5.1f} x as fast")


def measure_topics(directory: Path, sizes: tuple[int, int]) -> None:
    """Create all topics, then delete them, each in a log dir of its own.

    Why nothing is deleted in between: see `set_aside` in partitions.py.
    """
    with ExitStack() as opened:

        def empty() -> LogDirWriter:
            path = Path(tempfile.mkdtemp(dir=directory))
            return opened.enter_context(LogDirWriter.open(path, create=True))

        places = [[(empty(), Topic("t", size)) for _ in range(ROUNDS + 1)] for size in sizes]
        created, deleted = (
            cpu_of(*(partial(next, starmap(work, each)) for each in places))
            for work in (create_topic, delete_topic)
        )
    print(f"\n{'topics, ms of CPU':24}{sizes[0]:10,}{sizes[1]:10,} partitions   one more, us")
    print_row("create", sizes, created)
    print_row("delete", sizes, deleted)


def create_topic(writer: LogDirWriter, topic: Topic) -> None:
    writer.create_topic(topic)


def delete_topic(writer: LogDirWriter, topic: Topic) -> None:
    writer.delete_topic(topic.name)


def cpu_of(*works: Callable[[], object]) -> list[list[float]]:
    return rounds_of_each(works, ROUNDS, clock=time.process_time)


def print_row(name: str, sizes: tuple[int, int], taken: list[list[float]]) -> None:
    few, many = (sorted(times)[len(times) // 2] for times in taken)
    one_more = (many - few) / (sizes[1] - sizes[0])
    print(f"  {name:22}{few * 1e3:10,.0f}{many * 1e3:10,.0f}{one_more * 1e6:24,.0f}")


def write(path: Path, partitions: int, segments: int) -> None:
    with LogDirWriter.open(path, create=True) as writer:
        topic = Topic("orders", partitions, settings=SETTINGS)
        writer.create_topic(topic)
        messages = [(None, b"v" * 100)] * MESSAGES_IN_SEGMENT
        for partition in topic.all_partitions():
            for _ in range(segments):
                writer.log(partition).append(messages)


def open_all(path: Path) -> None:
    with LogDirWriter.open(path) as writer:
        for partition in chain(*(topic.all_partitions() for topic in writer.topics())):
            writer.log(partition)


def recover(path: Path, *gone: str) -> None:
    """Recover as the command line does, after a crash that has left these files away."""
    for name in gone:
        (path / name).unlink()
    LogDirWriter.open(path, scanner=bulk.FAST).close()
