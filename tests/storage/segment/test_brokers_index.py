"""An index that a broker of Kafka wrote is kept by recovery, and any false one is rebuilt."""

from itertools import product
from pathlib import Path

import pytest

from kminilog.columns.segment_scan import FAST
from kminilog.format.dialect import DIALECTS, KAFKA, Dialect
from kminilog.format.index_entry import IndexEntry, encode_entry
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.recovery import RecoveryPlan, describe, plan_recovery
from kminilog.storage.segment.brokers_index import is_valid_index
from kminilog.storage.segment.scan import PLAIN
from kminilog.storage.topics import Topic

ORDERS = TopicPartition("orders", 0)
REBUILT = "its entries are not those of the valid messages; rebuilt"
SETTINGS = TopicSettings(segment_bytes=256, index_interval_bytes=20)


def brokers_segment(directory: Path, dialect: Dialect, *, is_compressed: bool) -> list[IndexEntry]:
    """Write a segment of 20 appended sets of 5 messages; return the index that a broker gives it.

    An entry for a set that begins more than 20 bytes after the last one indexed, with the set's
    first offset. A compressed set is one message, with its last offset.
    """
    content, entries, last_indexed = b"", [], 0
    for first in range(0, 100, 5):
        if len(content) - last_indexed > SETTINGS.index_interval_bytes:
            last_indexed = len(content)
            entries.append(IndexEntry(first, last_indexed))
        if is_compressed:
            content += encode(dialect, first + 4, None, b"packed", attributes=1)
        else:
            content += b"".join(encode(dialect, first + n, None, b"value") for n in range(5))
    (directory / f"{0:020}.log").write_bytes(content)
    return entries


def plan_for(
    directory: Path, dialect: Dialect, entries: list[IndexEntry], fast: bool
) -> RecoveryPlan:
    """Write an index and return the plan of a recovery."""
    (directory / f"{0:020}.index").write_bytes(b"".join(map(encode_entry, entries)))
    reader = PartitionReader(directory, ORDERS, dialect, SETTINGS)
    return plan_recovery(reader, scanner=FAST if fast else PLAIN, is_valid_index=is_valid_index)


@pytest.mark.parametrize("is_compressed", [True, False], ids=["compressed", "plain"])
def test_is_valid_index_of_a_broker_is_left_alone_in_kafkas_dialect(tmp_path, is_compressed):
    for dialect, fast in product(DIALECTS.values(), (False, True)):
        entries = brokers_segment(tmp_path, dialect, is_compressed=is_compressed)
        assert len(entries) == 19
        said = describe(plan_for(tmp_path, dialect, entries, fast))
        assert said == ([] if dialect is KAFKA else [f"{tmp_path}/{0:020}.index: {REBUILT}"])


@pytest.mark.parametrize("offset", [2**30 + 95, 2**31, 2**62])
def test_recover_compressed_message_with_an_offset_that_no_index_holds_is_damage(tmp_path, offset):
    for fast in (False, True):
        brokers_segment(tmp_path, KAFKA, is_compressed=True)
        log = tmp_path / f"{0:020}.log"
        content = log.read_bytes()
        log.write_bytes(
            content[: -len(content) // 20]
            + offset.to_bytes(8, "big")
            + content[-len(content) // 20 + 8 :]
        )
        damage = plan_for(tmp_path, KAFKA, [], fast).damage
        assert damage is not None
        assert damage.reason == f"a whole message with offset {offset}, expected 95"


def test_is_valid_index_of_a_broker_that_the_log_contradicts_is_rebuilt(tmp_path):
    for is_compressed, fast in product((True, False), (False, True)):
        true = brokers_segment(tmp_path, KAFKA, is_compressed=is_compressed)
        (offset, position), beyond = true[7], 20 * (true[1].position - true[0].position)
        for what, entries in {
            "the offset of the message before": [*true[:7], IndexEntry(offset - 1, position)],
            "an offset after the message": [*true[:7], IndexEntry(offset + 5, position)],
            "between two messages": [*true[:7], IndexEntry(offset, position + 1)],
            "after the end": [*true, IndexEntry(100, beyond)],
            "not ascending": [*true[:7], true[7], true[7]],
            "in front of the first message": [IndexEntry(0, 0), *true],
            "empty": [],
        }.items():
            said = describe(plan_for(tmp_path, KAFKA, entries, fast))
            assert said == [f"{tmp_path}/{0:020}.index: {REBUILT}"], (what, is_compressed, fast)


def test_is_valid_index_that_points_to_a_copy_inside_of_a_value_is_rebuilt(tmp_path):
    copy = encode(KAFKA, 7, None, b"value")
    values = [b"value"] * 5 + [b"." * 40 + copy, b"value", b"value", b"value"]
    content = b"".join(encode(KAFKA, n, None, value) for n, value in enumerate(values))
    (tmp_path / f"{0:020}.log").write_bytes(content)
    for fast, (at, is_right) in product(
        (False, True), [(content.index(copy), False), (content.rindex(copy), True)]
    ):
        plan = plan_for(tmp_path, KAFKA, [IndexEntry(7, at)], fast)
        assert plan.is_valid == is_right


def test_is_valid_index_takes_any_offset_inside_a_compressed_message(tmp_path):
    true = brokers_segment(tmp_path, KAFKA, is_compressed=True)
    for fast, inside in product((False, True), range(1, 5)):
        offset, position = true[7]
        entries = [*true[:7], IndexEntry(offset + inside, position), *true[8:]]
        assert plan_for(tmp_path, KAFKA, entries, fast).is_valid


def test_log_dir_writer_leaves_the_index_of_a_broker_alone(tmp_path):
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 1, KAFKA, SETTINGS))
    directory = tmp_path / "orders-0"
    entries = brokers_segment(directory, KAFKA, is_compressed=False)
    index = directory / f"{0:020}.index"
    index.write_bytes(b"".join(map(encode_entry, entries)))
    before = index.read_bytes()
    (tmp_path / ".clean-shutdown").unlink()
    with LogDirWriter.open(tmp_path) as writer:
        assert writer.recovery_plan(ORDERS).is_valid
        assert (index.read_bytes(), writer.warnings) == (before, [])
