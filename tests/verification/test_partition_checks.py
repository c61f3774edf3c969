import errno
import os
import shutil
from pathlib import Path

import pytest

from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.message import encode
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.recovery import carry_out, plan_recovery
from kminilog.storage.partition.retention import delete_expired
from kminilog.verification.findings import SAMPLE_COUNT
from kminilog.verification.partition_checks import check_partition, join_segments
from kminilog.verification.segment_checks import check_segment
from kminilog.verification.summaries import PartitionSummary
from tests.support.damage import cut_to, flip_byte, message_positions, zero_range
from tests.support.verification.faults import Expected
from tests.support.verification.logs import ORDERS, SETTINGS, check, found_in, write_log

LARGE = TopicSettings(segment_bytes=2400, index_interval_bytes=60)


def write_segment(
    directory: Path, dialect: Dialect, *offsets: int, first_offset: int | None = None
) -> str:
    """Write a pair with these offsets, named for the first of them or for another; no entries."""
    directory.mkdir(exist_ok=True)
    named_for = offsets[0] if first_offset is None else first_offset
    name = f"{dialect.base_offset_for(named_for):020d}"
    data = b"".join(encode(dialect, offset, b"k", b"v") for offset in offsets)
    (directory / f"{name}.log").write_bytes(data)
    (directory / f"{name}.index").write_bytes(b"")
    return name


def test_clean_partition_is_counted_and_has_no_findings(tmp_path, dialect):
    write_log(tmp_path, dialect, first_offset=100)
    summary = check(tmp_path, dialect)
    made = summary.to_json()
    assert made == {
        "topic": "orders",
        "partition": 0,
        "log_start_offset": 100,
        "log_end_offset": 142,
        "message_count": 42,
        "size_bytes": sum(path.stat().st_size for path in tmp_path.glob("*.log")),
        "segment_count": len(list(tmp_path.glob("*.log"))),
        "trusted_until": None,
        "readable_until": None,
        "valid_after_damage": None,
        "finding_count": 0,
        "segments": made["segments"],
    }
    names = sorted(path.stem for path in tmp_path.glob("*.log"))
    assert [row["segment"] for row in made["segments"]] == names
    for row in made["segments"]:
        log = tmp_path / f"{row['segment']}.log"
        index = log.with_suffix(".index")
        assert row["size_bytes"] == log.stat().st_size
        assert row["index_entry_count"] == index.stat().st_size // 8
        assert row["last_offset"] - row["first_offset"] + 1 == row["message_count"]
        assert row["finding_count"] == 0
    offsets = [(row["first_offset"], row["last_offset"]) for row in made["segments"]]
    assert (offsets[0][0], offsets[-1][1]) == (100, 141)
    assert (summary.findings, summary.unchecked) == ([], [])


def break_message(directory: Path, number: int) -> None:
    """Change the last byte of a message; the numbers go on from segment to segment."""
    for log in sorted(directory.glob("*.log")):
        ends = message_positions(log.read_bytes())[1:]
        if number < len(ends):
            return flip_byte(log, ends[number] - 1, mask=1)
        number -= len(ends)
    return None


@pytest.mark.parametrize("broken", [(0,), (1,), (3, 9), (15, 16), (41,), (40, 41)])
def test_damage_ends_what_is_readable_and_valid_messages_after_it_are_counted(
    tmp_path, dialect, broken
):
    write_log(tmp_path, dialect)
    for number in broken:
        break_message(tmp_path, number)
    summary = check(tmp_path, dialect)
    assert summary.message_count == 42 - len(broken)
    found = (summary.readable_until, summary.valid_after_damage)
    assert found == (broken[0], 42 - broken[0] - len(broken))
    reader = PartitionReader(tmp_path, ORDERS, dialect, SETTINGS)
    damage = plan_recovery(reader).damage or plan_recovery(reader).cut
    assert damage.lost.message_count == summary.valid_after_damage


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ([(0, 1), (2, 3)], (None, None)),
        ([(0, 1, 3), (4, 5)], (2, 2)),
        ([(0, 1, 9)], (2, 0)),
        ([(0, 1), (5, 6)], (2, 2)),
        ([(0, 2, 1, 3)], (1, 2)),
    ],
)
def test_wrong_offset_or_missing_segment_ends_what_is_readable(
    tmp_path, dialect, segments, expected
):
    """The message with the wrong offset is valid, but not after the damage: it is the damage."""
    for offsets in segments:
        write_segment(tmp_path, dialect, *offsets)
    summary = check(tmp_path, dialect)
    assert (summary.readable_until, summary.valid_after_damage) == expected


def test_segment_that_begins_with_another_offset_than_its_name_ends_what_is_readable(
    tmp_path, dialect
):
    write_segment(tmp_path, dialect, 0, 1)
    write_segment(tmp_path, dialect, 5, 6, first_offset=2)
    summary = check(tmp_path, dialect)
    assert (summary.readable_until, summary.valid_after_damage) == (2, 1)


def test_torn_tail_is_the_end_of_a_log_and_no_damage_in_it(tmp_path, dialect):
    write_log(tmp_path, dialect)
    last = max(tmp_path.glob("*.log"))
    cut_to(last, last.stat().st_size - 1)
    assert check(tmp_path, dialect).readable_until is None


def test_segments_may_be_checked_in_any_order(tmp_path, dialect):
    write_log(tmp_path, dialect)
    first, second, *_ = sorted(tmp_path.glob("*.log"))
    second.unlink()
    cut_to(first, 50)
    reader = PartitionReader(tmp_path, ORDERS, dialect, SETTINGS)
    summaries = [check_segment(ORDERS, segment) for segment in reader.segments()]
    whole = join_segments(reader, summaries)
    assert len(whole.findings) > 2
    assert join_segments(reader, summaries[::-1]) == whole == check_partition(reader)


# ---- where segments meet


def test_gap_between_segments_is_found_at_the_first_message_behind_it(tmp_path, dialect):
    write_segment(tmp_path, dialect, 0, 1, 2)
    name = write_segment(tmp_path, dialect, 5, 6)
    summary = check(tmp_path, dialect)
    assert found_in(summary) == [Expected("offset-gap", name, 5, 0)]
    assert summary.findings[0].detail == "2 offsets are missing: 3 to 4"


def test_first_messages_of_a_rightly_named_segment_missing_is_a_gap(tmp_path, dialect):
    write_segment(tmp_path, dialect, 0, 1, 2)
    name = write_segment(tmp_path, dialect, 5, 6, first_offset=3)
    assert found_in(check(tmp_path, dialect)) == [Expected("offset-gap", name, 5, 0)]


def test_wrong_name_and_a_gap_are_two_findings(tmp_path, dialect):
    write_segment(tmp_path, dialect, 0, 1, 2)
    name = write_segment(tmp_path, dialect, 9, 10, first_offset=5)
    assert found_in(check(tmp_path, dialect)) == [
        Expected("name-base-mismatch", name, 9, 0),
        Expected("offset-gap", name, 9, 0),
    ]


def test_segment_inside_the_range_of_another_is_an_overlap_and_no_gap_follows(tmp_path, dialect):
    write_segment(tmp_path, dialect, *range(8))
    name = write_segment(tmp_path, dialect, 3, 4)
    write_segment(tmp_path, dialect, 8, 9)
    summary = check(tmp_path, dialect, settings=TopicSettings())
    assert found_in(summary) == [Expected("offset-overlap", name, 3, 0)]
    assert summary.log_end_offset == 10


def test_copy_under_a_lower_name_is_the_overlap_and_not_the_original(tmp_path, dialect):
    write_segment(tmp_path, dialect, *range(8))
    write_segment(tmp_path, dialect, 8, 9)
    name = write_segment(tmp_path, dialect, 8, 9, first_offset=4)
    assert found_in(check(tmp_path, dialect, settings=TopicSettings())) == [
        Expected("offset-overlap", name, 8, 0)
    ]


@pytest.mark.parametrize("altered", [0, 4, 10**12, -7])
def test_altered_offset_of_the_only_message_in_a_segment_is_disorder(tmp_path, dialect, altered):
    write_segment(tmp_path, dialect, 0, 1, 2)
    name = write_segment(tmp_path, dialect, altered, first_offset=3)
    write_segment(tmp_path, dialect, 4, 5)
    summary = check(tmp_path, dialect)
    assert found_in(summary) == [Expected("offset-disorder", name, 3, 0)]
    assert (summary.log_start_offset, summary.log_end_offset) == (0, 6)


@pytest.mark.parametrize(
    ("altered", "kind"), [(0, "offset-overlap"), (9, "offset-gap"), (-7, "offset-disorder")]
)
def test_wrong_offset_of_the_only_message_of_the_last_segment_has_no_witness(
    tmp_path, dialect, altered, kind
):
    write_segment(tmp_path, dialect, 0, 1, 2)
    name = write_segment(tmp_path, dialect, altered, first_offset=3)
    offset = 3 if kind == "offset-disorder" else altered
    assert found_in(check(tmp_path, dialect)) == [Expected(kind, name, offset, 0)]


@pytest.mark.parametrize(
    ("first_offset", "kind"), [(3, None), (7, "offset-gap"), (2, "name-base-mismatch")]
)
def test_empty_segment_is_judged_by_its_name(tmp_path, dialect, first_offset, kind):
    write_segment(tmp_path, dialect, 0, 1, 2)
    name = write_segment(tmp_path, dialect, first_offset=first_offset)
    expected = [Expected(kind, name, first_offset, 0)] if kind else []
    assert found_in(check(tmp_path, dialect)) == expected


def test_unfinished_message_in_front_of_an_empty_segment_is_a_torn_tail(tmp_path, dialect):
    name = write_segment(tmp_path, dialect, 0, 1, 2)
    write_segment(tmp_path, dialect, first_offset=3)
    cut_to(tmp_path / f"{name}.log", (tmp_path / f"{name}.log").stat().st_size - 1)
    (found,) = found_in(check(tmp_path, dialect))
    assert (found.kind, found.offset) == ("torn-tail", 2)


def damage_end(log: Path, count: int) -> int:
    """Put zeros over the last messages; return the byte where they begin."""
    positions = message_positions(log.read_bytes())
    zero_range(log, positions[-1 - count], positions[-1])
    return positions[-1 - count]


def with_lost_messages(summary: PartitionSummary) -> list[tuple[str, str | None, int | None]]:
    said = "messages were in these bytes"
    return [(f.kind.value, f.segment, f.position) for f in summary.findings if said in f.detail]


def test_messages_lost_at_the_end_of_a_segment_are_counted_there_and_not_elsewhere(
    tmp_path, dialect
):
    write_log(tmp_path, dialect, count=99, settings=LARGE)
    log = min(tmp_path.glob("*.log"))
    positions = message_positions(log.read_bytes())
    end = damage_end(log, 5)
    zero_range(log, positions[3], positions[3] + 20)
    flip_byte(log, positions[9] - 1, mask=1)
    summary = check(tmp_path, dialect, settings=LARGE)
    assert [found.kind for found in summary.findings] == ["bad-length", "bad-length", "bad-crc"]
    assert with_lost_messages(summary) == [("bad-length", log.stem, end)]


def test_messages_lost_at_the_end_of_a_segment_are_not_counted_in_its_index(tmp_path, dialect):
    write_log(tmp_path, dialect, count=99, settings=LARGE)
    log = min(tmp_path.glob("*.log"))
    flip_byte(log.with_suffix(".index"), 7, mask=1)
    end = damage_end(log, 5)
    summary = check(tmp_path, dialect, settings=LARGE)
    assert [found.kind for found in summary.findings] == ["bad-length", "index-position"]
    assert with_lost_messages(summary) == [("bad-length", log.stem, end)]


def test_messages_lost_in_a_whole_segment_are_not_counted_in_the_gap_in_front_of_it(
    tmp_path, dialect
):
    write_log(tmp_path, dialect, count=300, settings=LARGE)
    logs = sorted(tmp_path.glob("*.log"))
    assert len(logs) > 3
    for lost in (logs[1], logs[1].with_suffix(".index")):
        lost.unlink()
    zero_range(logs[2], 0, logs[2].stat().st_size)
    summary = check(tmp_path, dialect, settings=LARGE)
    places = [(found.kind, found.segment, found.position) for found in summary.findings]
    assert places == [("offset-gap", logs[2].stem, 0), ("bad-length", logs[2].stem, 0)]
    assert with_lost_messages(summary) == places[1:]


def test_messages_lost_in_damage_that_is_no_sample_are_counted_nowhere(tmp_path, dialect):
    write_log(tmp_path, dialect, count=99, settings=LARGE)
    log = min(tmp_path.glob("*.log"))
    positions = message_positions(log.read_bytes())
    for end in [*positions[1:-3:2][:SAMPLE_COUNT], *positions[-2:]]:
        flip_byte(log, end - 1, mask=1)
    summary = check(tmp_path, dialect, settings=LARGE)
    assert sum(found.stands_for for found in summary.findings) == SAMPLE_COUNT + 1
    assert with_lost_messages(summary) == []


def test_each_damaged_message_between_whole_ones_is_a_finding_of_its_own(tmp_path, dialect):
    write_log(tmp_path, dialect, count=99, settings=LARGE)
    log = min(tmp_path.glob("*.log"))
    positions = message_positions(log.read_bytes())
    damaged = range(5, 15, 2)
    for slot in damaged:
        flip_byte(log, positions[slot + 1] - 1, mask=1)
    summary = check(tmp_path, dialect, settings=LARGE)
    assert summary.message_count == 99 - len(damaged)
    assert found_in(summary) == sorted(
        (Expected("bad-crc", log.stem, slot, positions[slot]) for slot in damaged), key=str
    )


def test_messages_lost_in_front_of_a_copy_are_not_counted_in_the_copy(tmp_path, dialect):
    name = write_segment(tmp_path, dialect, *range(10))
    end = damage_end(tmp_path / f"{name}.log", 4)
    copy = write_segment(tmp_path, dialect, 3, 4)
    write_segment(tmp_path, dialect, 10, 11)
    summary = check(tmp_path, dialect, settings=TopicSettings())
    assert found_in(summary) == [
        Expected("bad-length", name, 6, end),
        Expected("offset-overlap", copy, 3, 0),
    ]
    assert with_lost_messages(summary) == [("bad-length", name, end)]


def test_segment_that_cannot_be_read_hides_no_finding_elsewhere(tmp_path, dialect):
    write_segment(tmp_path, dialect, 0, 1)
    (tmp_path / f"{dialect.base_offset_for(2):020d}.log").mkdir()
    (tmp_path / f"{dialect.base_offset_for(2):020d}.index").touch()
    write_segment(tmp_path, dialect, 5, 6)
    name = write_segment(tmp_path, dialect, 8)
    summary = check(tmp_path, dialect)
    assert found_in(summary) == [Expected("offset-gap", name, 8, 0)]
    assert len(summary.unchecked) == 1


# ---- the directory


def test_files_of_recovery_and_retention_are_no_orphans(tmp_path, dialect):
    write_log(tmp_path, dialect)
    log = PartitionLog.open(
        tmp_path, ORDERS, dialect, TopicSettings(segment_bytes=420, retention_bytes=900)
    )
    assert delete_expired(log, 0)
    last = log.segments()[-1].log_path
    log.close()
    cut_to(last, last.stat().st_size - 1)
    assert carry_out(plan_recovery(PartitionReader(tmp_path, ORDERS, dialect, SETTINGS)))
    assert list(tmp_path.glob("*.cut"))
    assert check(tmp_path, dialect).findings == []


def test_pair_of_which_only_the_log_is_renamed_is_no_orphan(tmp_path, dialect):
    write_log(tmp_path, dialect)
    first = min(tmp_path.glob("*.log"))
    first.rename(f"{first}.deleted")
    assert check(tmp_path, dialect).findings == []


def test_index_without_a_log_is_named_once(tmp_path, dialect):
    write_log(tmp_path, dialect)
    (tmp_path / f"{99:020d}.index").write_bytes(b"")
    (finding,) = check(tmp_path, dialect).findings
    assert finding.place == f"{ORDERS}/{99:020d}.index"
    assert finding.detail == "an index without a log; `kminilog recover` removes it"


@pytest.mark.parametrize("name", ["notes.txt", "1.log", "0.index", f"{5:020d}.log.swap"])
def test_stray_file_is_an_orphan_and_named(tmp_path, dialect, name):
    write_log(tmp_path, dialect)
    (tmp_path / name).write_bytes(b"")
    (finding,) = check(tmp_path, dialect).findings
    assert finding.kind == "orphan-file"
    assert name in finding.detail


def test_missing_directory_is_one_finding(tmp_path, dialect):
    summary = check(tmp_path / "gone", dialect)
    assert (summary.unchecked, summary.segment_count) == ([], 0)
    assert [found.kind for found in summary.findings] == ["lost-partition"]


def test_directory_that_cannot_be_listed_for_a_moment_is_unchecked(tmp_path, dialect, monkeypatch):
    write_log(tmp_path, dialect)
    listdir, failures = os.listdir, [OSError(errno.EMFILE, "Too many open files", str(tmp_path))]

    def fail_once(path):
        if failures:
            raise failures.pop()
        return listdir(path)

    monkeypatch.setattr(os, "listdir", fail_once)
    summary = check_partition(PartitionReader(tmp_path, ORDERS, dialect, SETTINGS))
    (unchecked,) = summary.unchecked
    assert "Too many open files" in unchecked


def test_compressed_messages_are_counted_over_all_segments(tmp_path):
    for offset in (0, 1):
        name = write_segment(tmp_path, KAFKA, offset)
        data = encode(KAFKA, offset, None, b"zip", attributes=1)
        (tmp_path / f"{name}.log").write_bytes(data)
    summary = check(tmp_path, KAFKA)
    assert (summary.findings, summary.unchecked) == ([], [])
    assert summary.compressed_count == 2


# ---- a writer at work: `partition_of` is called in the middle of the reading


def test_segments_that_retention_deletes_meanwhile_do_not_count(tmp_path, dialect):
    write_log(tmp_path, dialect)
    logs = sorted(tmp_path.glob("*.log"))

    def delete_one(key: bytes) -> int:
        for path in (logs[2], logs[0], logs[1]):
            path.unlink(missing_ok=True)
            path.with_suffix(".index").unlink(missing_ok=True)
        return 0

    summary = check(tmp_path, dialect, partition_of=delete_one)
    assert (summary.findings, summary.unchecked) == ([], [])
    assert summary.segment_count == len(logs) - 3


def test_segments_that_a_writer_begins_meanwhile_are_no_findings(tmp_path, dialect):
    write_log(tmp_path, dialect)
    log = PartitionLog.open(tmp_path, ORDERS, dialect, SETTINGS)

    def append(key: bytes) -> int:
        log.append([(b"k", bytes(30))] * 4)
        return 0

    summary = check(tmp_path, dialect, partition_of=append)
    assert (summary.findings, summary.unchecked) == ([], [])
    assert len(log.segments()) > summary.segment_count + 3
    assert check(tmp_path, dialect).message_count == log.log_end_offset


def test_copy_of_a_partition_is_as_clean_as_the_partition(tmp_path, dialect):
    write_log(tmp_path / "orders-0", dialect)
    shutil.copytree(tmp_path / "orders-0", tmp_path / "copy")
    assert check(tmp_path / "copy", dialect) == check(tmp_path / "orders-0", dialect)
