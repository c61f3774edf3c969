"""Which entries an index must have: one for each message that is due, or, of Kafka, fewer.

Kafka looks once for each appended set if it has written more than the interval since the last
entry; the entry has the first offset of the set.
"""

from pathlib import Path
from typing import Any

import pytest

from kminilog.clock import ManualClock
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.verification.account.engine import LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.fast_segment_checks import check_segment as check_quickly
from kminilog.verification.report import Report
from kminilog.verification.segment_checks import check_segment
from tests.support.damage import encode_entries, index_entries, message_positions

ORDERS = TopicPartition("orders", 0)
INTERVAL_BYTES = 100
COUNT = 40


@pytest.fixture
def index(tmp_path: Path, dialect: Dialect) -> Path:
    """The index of a topic's one segment, as we write it."""
    settings = TopicSettings(index_interval_bytes=INTERVAL_BYTES)
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, settings))
        log = writer.log(ORDERS)
        log.append((b"k", bytes(n % 13)) for n in range(COUNT))
        return log.segments()[0].index.path


def kafkas_entries(
    index: Path, set_sizes: list[int], interval_bytes: int = INTERVAL_BYTES
) -> bytes:
    """What Kafka writes for sets of so many messages; tests/conformance compares it with Kafka."""
    positions = message_positions(index.with_suffix(".log").read_bytes())
    entries, offset, since_last = [], 0, 0
    for size in set_sizes:
        if since_last > interval_bytes:
            entries.append((offset, positions[offset]))
            since_last = 0
        since_last += positions[offset + size] - positions[offset]
        offset += size
    return encode_entries(entries)


def verified(index: Path, **options: Any) -> Report:
    log_dir = LogDir(index.parent.parent)
    report, fast = (
        verify_with(LocalEngine(check), ManualClock(), log_dir, [], **options)
        for check in (check_segment, check_quickly)
    )
    assert fast.to_json() == report.to_json()
    return report


def found(report: Report) -> list[str]:
    return [kind.value for kind in report.tally.counts()]


@pytest.mark.parametrize("set_sizes", [[1] * 40, [3] * 13 + [1], [1, 39], [40], [20, 1, 19]])
def test_index_by_appended_sets_is_no_finding_in_kafkas_dialect(index, dialect, set_sizes):
    due = index.read_bytes()
    index.write_bytes(kafkas_entries(index, set_sizes))
    report, strict = verified(index), verified(index, strict_index=True)
    lacks_entries = index.read_bytes() != due
    assert lacks_entries or set_sizes == [1] * 40
    assert found(strict) == ["index-sparse"] * lacks_entries
    assert found(report) == ([] if dialect == KAFKA else found(strict))
    notes = [one for one in report.unchecked if one.what == "indexes"]
    assert len(notes) == (dialect == KAFKA and lacks_entries)
    for note in notes:
        assert (note.where, note.option, note.asked) == ("orders", "--strict-index", False)
        assert note.why.startswith("1 lack entries, the first at orders")
    assert not [one for one in strict.unchecked if one.what == "indexes"]


def change(slot: int, relative_by: int, position_by: int) -> Any:
    def changed(entries: list[tuple[int, int]]) -> None:
        relative, position = entries[slot]
        entries[slot] = (relative + relative_by, position + position_by)

    return changed


WRONG = {
    "index-position": change(1, 0, 1),
    "index-past-end": change(-1, 0, 1 << 20),
    "index-order": lambda entries: entries.insert(0, entries[-1]),
}


@pytest.mark.parametrize("kind", WRONG)
def test_entry_that_is_wrong_is_a_finding_by_either_rule(index, kind):
    index.write_bytes(kafkas_entries(index, [5] * 8))
    entries = index_entries(index.read_bytes())
    WRONG[kind](entries)
    index.write_bytes(encode_entries(entries))
    assert kind in found(verified(index))
    assert kind in found(verified(index, strict_index=True))


def test_index_that_is_missing_is_a_finding_by_either_rule(index):
    index.unlink()
    assert found(verified(index)) == found(verified(index, strict_index=True)) == ["index-sparse"]


def test_dialects_differ_in_who_may_have_written_an_index():
    assert (DOCUMENTED.is_kafkas, KAFKA.is_kafkas) == (False, True)
