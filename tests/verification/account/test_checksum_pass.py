"""What the checksum pass sends: its ranges say the same as one, and the driver gets a few bytes."""

import pickle
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kminilog.format.names import TopicPartition
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.columns import columns_of
from kminilog.jobs.source.description import Source, files_of
from kminilog.jobs.source.places import Order
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.verification.account.checksum_pass import ChecksumPass, Compared
from kminilog.verification.account.expected import ExpectedPartition
from kminilog.verification.account.log_parts import Part
from kminilog.verification.account.rejections import Rejections
from kminilog.verification.account.sides import Sides
from kminilog.verification.account.storage_checks import places_of

PARTITIONS, RECORDS = 50, 4000


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log dir with a topic of many partitions, and its source beside it; do not change it."""
    path = tmp_path_factory.mktemp("many")
    (path / "t.txt").write_bytes(b"".join(b"k%d=%d\n" % (n % 900, n) for n in range(RECORDS)))
    ingest_with(LocalIngest(), path / "log", source_of(path), topic="t", partitions=PARTITIONS)
    return path


def source_of(path: Path) -> Source:
    return Source((str(path / "t.txt"),), key_regex="^(k[0-9]+)=")


def sides_of(path: Path) -> Sides:
    source = source_of(path)
    files = files_of(source)
    order = Order.of(source, len(files))
    expected = ExpectedPartition(PARTITIONS, partitioner="default-2.4")
    rejections = Rejections.of(source, files, [], [], order)
    return Sides(LogDir(path / "log"), PARTITIONS, None, expected, rejections, order)


def batches_of(path: Path, tasks: int) -> list[list[pa.RecordBatch]]:
    """The records of the source, divided among some tasks."""
    source = source_of(path)
    columns: Any = columns_of(source, files_of(source))
    (records,) = (batch for group in columns.groups(1) for batch in columns.read(group))
    cuts = np.linspace(0, len(records), tasks + 1).astype(int).tolist()
    return [[records.slice(a, b - a)] for a, b in pairwise(cuts)]


def parts_of(path: Path) -> list[Part]:
    log = LogDir(path / "log")
    partitions = [TopicPartition("t", number) for number in range(PARTITIONS)]
    places = [places_of(log, partition) for partition in partitions]
    return [
        Part(found[0].topic_partition, *([one[at] for one in found] for at in (1, 2)))
        for found in places
    ]


def compared(
    step: ChecksumPass, path: Path, tasks: int, parts: Sequence[Part]
) -> tuple[list[Compared], int]:
    """What the ranges say, and how many bytes all tasks sent to them."""
    ranges: dict[int, list[Any]] = defaultdict(list)
    items = [item for group in batches_of(path, tasks) for item in step.read_records(group)]
    items += [item for part in parts for item in step.read_messages(part)]
    for number, item in reversed(items):  # a shuffle keeps no order
        ranges[number].append(item)
    found = [one for number, here in ranges.items() for one in step.compare(number, here)]
    return found, len(pickle.dumps(items))


@pytest.mark.parametrize("ranges", [1, 2, 7, PARTITIONS + 1])
def test_ranges_together_see_that_all_is_well_and_the_one_part_that_is_not(log_dir, ranges):
    step = ChecksumPass(sides_of(log_dir), 8, ranges)
    found, _ = compared(step, log_dir, 3, parts_of(log_dir))
    counted, differing = step.joined(found)
    assert counted == (RECORDS, RECORDS, 0)
    assert differing is not None
    assert not differing.any()
    found, _ = compared(step, log_dir, 3, parts_of(log_dir)[1:])
    _, differing = step.joined(found)
    assert differing is not None
    assert differing.any()


def test_parts_whose_offsets_go_back_are_seen_in_their_range(log_dir):
    step = ChecksumPass(sides_of(log_dir), 1, 5)
    parts = parts_of(log_dir)
    one, bases, sizes = parts[7]
    twice = Part(one, bases * 2, sizes * 2)
    found, _ = compared(step, log_dir, 1, [*parts[:7], twice, *parts[8:]])
    assert step.joined(found).differing is None


def test_bytes_that_reach_the_driver_do_not_grow_with_tasks(log_dir):
    """Tasks send a cell for each partition that they have records of; all of it goes to ranges."""
    step = ChecksumPass(sides_of(log_dir), 4, 6)
    reached, sent = [], []
    for tasks in (2, 40):
        found, sent_bytes = compared(step, log_dir, tasks, parts_of(log_dir))
        reached.append(len(pickle.dumps(found)))
        sent.append(sent_bytes)
    assert sent[1] > 3 * sent[0]
    assert reached[1] <= reached[0] < 3000
    # A range tells which cells differ, a byte for each, and 300 bytes more. So do 5,000 partitions.
    many = ChecksumPass.of(
        replace(sides_of(log_dir), partitions=5000), tasks=334, total_bytes=80 << 30
    )
    assert many.ranges * (many.cells + 300) < 1 << 20


def test_cells_that_are_empty_are_not_sent(log_dir):
    step = ChecksumPass(sides_of(log_dir), 1 << 10, 1)
    (batches,) = batches_of(log_dir, 1)
    items = list(step.read_records([batches[0].slice(0, 10)]))
    assert len(pickle.dumps(items)) < 10 * 48 + 1500
