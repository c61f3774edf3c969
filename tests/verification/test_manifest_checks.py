"""Manifests against themselves and against what is stored: one damage, one finding."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kminilog.columns.staged_logs import seal
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.checkpoint import CHECKPOINT_FILE
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import LAST_JOBS_FILE, MANIFEST_DIR, Manifest
from kminilog.storage.partition.retention import delete_expired
from kminilog.storage.publish import fingerprints
from kminilog.storage.publish.publication import open_staged_log, publish, staging_path
from kminilog.storage.topics import Topic
from kminilog.verification.fast_segment_checks import check_segment as check_quickly
from kminilog.verification.report import verify_storage
from kminilog.verification.segment_checks import check_segment
from tests.support.damage import cut_to, fix_crc, flip_byte, message_positions, offsets_in
from tests.support.verification.faults import Spot, write_again

SETTINGS = TopicSettings(segment_bytes=420, index_interval_bytes=60)
PARTITIONS = 3
RANGE = 10
CHECKS = check_segment, check_quickly
REASON = "not compared, because messages there are damaged, missing or deleted"
# By partition: what a producer wrote before, what job `first` wrote, what came in between, ...
COUNTS = {0: (0, 35, 4, 12), 1: (1, 22, 0, 25), 2: (5, 24, 3, 0)}
Found = tuple[str, int, str | None, int | None]
Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def path(tmp_path: Path, dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A topic that two jobs and a producer wrote to."""
    monkeypatch.setattr(fingerprints, "RANGE_MESSAGES", RANGE)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    log_dir = tmp_path / "log"
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("orders", PARTITIONS, dialect, SETTINGS))
        for step, job in enumerate(("", "first", "", "second")):
            counts = {partition: row[step] for partition, row in COUNTS.items()}
            if job:
                run_job(writer, dialect, job, counts)
            else:
                for partition, count in counts.items():
                    writer.log(TopicPartition("orders", partition)).append(values(count))
    return log_dir


def values(count: int) -> list[tuple[bytes | None, bytes]]:
    return [(None if n % 3 else b"k%d" % (n % 7), bytes(8 + n * 7 % 23)) for n in range(count)]


def run_job(writer: LogDirWriter, dialect: Dialect, job: str, counts: dict[int, int]) -> None:
    staging, staged = staging_path(writer.path, job), []
    for partition, count in counts.items():
        topic_partition = TopicPartition("orders", partition)
        start = writer.log(topic_partition).log_end_offset
        writer.release(topic_partition)
        target = writer.directory(topic_partition)
        if count:
            staging.mkdir(parents=True, exist_ok=True)
            log = open_staged_log(
                staging,
                Topic("orders", 9, dialect, SETTINGS),
                topic_partition.partition,
                target=target,
                first_offset=start,
            )
            log.append(values(count))
            staged.append(seal(log, staging, start))
    publish(writer.path, Manifest(job, "orders", staged, {"count": sum(counts.values())}))


def check(path: Path) -> list[Found]:
    """What the plain check finds, which must be what the fast one finds."""
    plain = verify_storage(LogDir(path)).to_json()
    assert verify_storage(LogDir(path), check_segment=check_quickly).to_json() == plain
    assert all(finding["count"] == len(finding["samples"]) for finding in plain["findings"])
    return [
        (finding["class"], sample["partition"], sample["segment"], sample["offset"])
        for finding in plain["findings"]
        for sample in finding["samples"]
    ]


def not_compared(path: Path) -> list[tuple[str, str, bool]]:
    """Which ranges of jobs the plain check has not compared, and the fast one neither."""
    plain, fast = (verify_storage(LogDir(path), check_segment=one) for one in CHECKS)
    assert plain.unchecked == fast.unchecked
    jobs = [entry for entry in plain.unchecked if entry.what == "jobs"]
    return [(entry.where, entry.why, entry.asked) for entry in jobs]


def details(path: Path) -> list[str]:
    findings = verify_storage(LogDir(path)).to_json()["findings"]
    return [sample["detail"] for finding in findings for sample in finding["samples"]]


def spot(path: Path, partition: int, offset: int) -> Spot:
    """The message with an offset."""
    directory = path / f"orders-{partition}"
    for number, log in enumerate(sorted(directory.glob("*.log"))):
        offsets = offsets_in(log.read_bytes())
        if offset in offsets:
            return Spot(directory, number, offsets.index(offset))
    raise AssertionError(f"no offset {offset}")


def alter(path: Path, partition: int, offset: int) -> None:
    """Change a value and mend the crc."""
    here = spot(path, partition, offset)
    flip_byte(here.log, here.end - 1, mask=1)
    fix_crc(here.log, here.position)


def segment_holding(path: Path, partition: int, offset: int) -> str:
    return spot(path, partition, offset).log.stem


# ---- altered


def test_what_jobs_and_a_producer_wrote_is_no_finding(path):
    assert check(path) == []
    assert not_compared(path) == []


@pytest.mark.parametrize(
    ("partition", "offset", "first"),
    [
        (0, 0, 0),
        (0, 9, 0),
        (0, 10, 10),
        (0, 34, 30),
        (0, 39, 39),  # the second job begins after four messages of a producer
        (0, 48, 39),
        (0, 50, 49),
        (1, 1, 1),
        (1, 22, 21),
        (2, 28, 25),
    ],
)
def test_altered_message_with_a_mended_crc_is_found_in_its_range(path, partition, offset, first):
    alter(path, partition, offset)
    segment = segment_holding(path, partition, first)
    assert check(path) == [("altered", partition, segment, first)]


@pytest.mark.parametrize(("partition", "offset"), [(0, 35), (0, 38), (1, 0), (2, 4), (2, 31)])
def test_altered_message_of_a_producer_is_not_known_to_be_so(path, partition, offset):
    alter(path, partition, offset)
    assert check(path) == []


def test_altered_messages_are_a_finding_for_each_range(path):
    for offset in (3, 5, 12, 30):
        alter(path, 0, offset)
    assert [found[3] for found in check(path)] == [0, 10, 30]
    assert details(path)[0] == "a message in offsets 0 to 9 differs from what job first wrote"


def test_two_messages_with_the_same_alteration_do_not_cancel_each_other(path):
    first, second = spot(path, 0, 0), spot(path, 0, 1)
    for here in (first, second):
        flip_byte(here.log, here.position + 17, mask=8)  # attributes that mean nothing
        fix_crc(here.log, here.position)
    assert [found[0] for found in check(path)] == ["altered"]


def test_range_with_another_finding_in_it_is_not_altered_too(path):
    damaged = spot(path, 0, 14)
    flip_byte(damaged.log, damaged.end - 1, mask=1)
    assert check(path) == [("bad-crc", 0, damaged.log.stem, 14)]


def test_range_in_front_of_another_finding_is_altered_all_the_same(path):
    alter(path, 0, 12)
    damaged = spot(path, 0, 20)  # the first message of the next range
    flip_byte(damaged.log, damaged.end - 1, mask=1)
    found = {(kind, offset) for kind, _, _, offset in check(path)}
    assert found == {("altered", 10), ("bad-crc", 20)}


def test_range_that_damage_makes_impossible_to_compare_is_named(path):
    for offset in (14, 21):  # in neighbouring ranges
        damaged = spot(path, 0, offset)
        flip_byte(damaged.log, damaged.end - 1, mask=1)
    alter(path, 0, 12)  # which only the fingerprint of the first range could tell
    assert [found[0] for found in check(path)] == ["bad-crc", "bad-crc"]
    expected = [("orders-0", f"offsets 10 to 29 of job first: {REASON}", False)]
    assert not_compared(path) == expected
    here = spot(path, 0, 41)
    flip_byte(here.log, here.position + 7, mask=0x80)  # the offset: no message less
    assert len(check(path)) == 3
    expected.append(("orders-0", f"offsets 39 to 48 of job second: {REASON}", False))
    assert not_compared(path) == expected


@pytest.mark.parametrize("offset", [9, 10, 19, 20, 34, 50])
def test_altered_offset_is_one_finding(path, offset):
    here = spot(path, 0, offset)
    flip_byte(here.log, here.position + 7, mask=0x02)
    assert len(check(path)) == 1


@pytest.mark.parametrize("offset", [0, 9, 10, 34, 50])
def test_message_dropped_or_written_again_is_one_finding(path, offset):
    here = spot(path, 0, offset)
    write_again(1)(here)
    assert [found[0] for found in check(path)] == ["offset-overlap"]
    here.log.write_bytes(here.data[: here.position] + here.data[here.end :])
    expected = "manifest-mismatch" if offset == 50 else "offset-gap"
    assert [found[0] for found in check(path)] == [expected]


def test_altered_range_beside_a_damaged_index_is_named(path):
    here = spot(path, 0, 12)
    alter(path, 0, 12)
    here.index.unlink()
    assert {found[0] for found in check(path)} == {"altered", "index-sparse"}


def test_many_findings_of_a_class_hide_what_else_is_in_their_segment(path, dialect):
    with LogDirWriter.open(path) as writer:
        settings = TopicSettings(segment_bytes=10**6, index_interval_bytes=60)
        writer.create_topic(Topic("many", 1, dialect, settings))
        staging = staging_path(path, "third")
        many = TopicPartition("many", 0)
        target = writer.directory(many)
        writer.release(many)
        staging.mkdir(parents=True, exist_ok=True)
        log = open_staged_log(staging, Topic("many", 1, dialect, settings), 0)
        log.append((None, b"value %d" % n) for n in range(60))
        publish(path, Manifest("third", "many", [seal(log, staging, 0)], {"count": 60}))
    (log_path,) = target.glob("*.log")
    positions = message_positions(log_path.read_bytes())
    for slot in range(0, 50, 2):
        flip_byte(log_path, positions[slot + 1] - 1, mask=1)
    flip_byte(log_path, positions[56] - 1, mask=1)
    fix_crc(log_path, positions[55])
    report = verify_storage(LogDir(path), ["many"]).to_json()
    assert [(f["class"], f["count"]) for f in report["findings"]] == [("bad-crc", 25)]


def test_retention_takes_the_front_away_without_a_finding(path):
    with LogDirWriter.open(path) as writer:
        log = writer.log(TopicPartition("orders", 0))
        for segment in log.segments()[:2]:
            os.utime(segment.log_path, ns=(0, 0))
        delete_expired(log, now_ms=time.time_ns() // 1_000_000)
        start = log.log_start_offset
        assert start % RANGE > 0
        assert start < 35
    assert check(path) == []
    end = start // RANGE * RANGE + RANGE
    assert not_compared(path) == [
        ("orders-0", f"offsets 0 to {min(end, 35) - 1} of job first: {REASON}", False)
    ]


# ---- manifests that contradict themselves


def change_manifest(path: Path, job: str, change: Change) -> None:
    """Change a manifest that no other record confirms."""
    (path / LAST_JOBS_FILE).unlink(missing_ok=True)
    file = path / MANIFEST_DIR / f"{job}.json"
    manifest = json.loads(file.read_bytes())
    change(manifest)
    file.write_text(json.dumps(manifest))


def entry(change: Change, partition: int = 0) -> Change:
    def changed(manifest: dict[str, Any]) -> None:
        change(next(e for e in manifest["partitions"] if e["partition"] == partition))

    return changed


CHANGES: dict[str, tuple[Change, tuple[int, int | None]]] = {
    "an entry less": (lambda m: m["partitions"].pop(1), (-1, None)),
    "no entry": (lambda m: m["partitions"].clear(), (-1, None)),
    "another count": (lambda m: m["facts"].update(count=80), (-1, None)),
    "an entry twice": (lambda m: m["partitions"].append(m["partitions"][1]), (1, 1)),
    "an entry of no partition": (entry(lambda e: e.update(partition=7)), (-1, None)),
    "a partition's entry for another": (entry(lambda e: e.update(partition=1)), (1, 1)),
    "a later first offset": (entry(lambda e: e.update(first_offset=1)), (0, 1)),
    "a later next offset": (entry(lambda e: e.update(next_offset=36)), (0, 0)),
    "an earlier next offset": (entry(lambda e: e.update(next_offset=30)), (0, 0)),
    "offsets the wrong way": (entry(lambda e: e.update(next_offset=-4)), (0, 0)),
    "a fingerprint less": (entry(lambda e: e["fingerprints"].pop()), (0, 0)),
    "a fingerprint's count": (entry(lambda e: e["fingerprints"][1].__setitem__(1, 9)), (0, 0)),
    "a fingerprint's offset": (entry(lambda e: e["fingerprints"][1].__setitem__(0, 9)), (0, 0)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_manifest_that_contradicts_itself_is_one_finding(path, name):
    change, (partition, offset) = CHANGES[name]
    change_manifest(path, "first", change)
    assert check(path) == [("manifest-mismatch", partition, None, offset)]
    assert details(path)[0].startswith("manifest of job first: ")


def test_fingerprint_that_was_changed_in_the_manifest_looks_like_an_altered_range(path):
    change_manifest(path, "first", entry(lambda e: e["fingerprints"][1].__setitem__(2, 9)))
    assert check(path) == [("altered", 0, segment_holding(path, 0, 10), 10)]


def test_manifest_without_an_entry_is_still_believed_in_the_others(path):
    change_manifest(path, "first", lambda m: m["partitions"].pop(1))
    alter(path, 0, 3)
    assert [found[0] for found in check(path)] == ["manifest-mismatch", "altered"]


def test_manifest_without_fingerprints_or_count_is_no_finding(path):
    change_manifest(path, "first", entry(lambda e: e.pop("fingerprints")))
    change_manifest(path, "second", lambda m: m["facts"].pop("count"))
    assert check(path) == []
    reason = "offsets 0 to 34 of job first: the manifest has no fingerprints"
    assert ("orders-0", reason, False) in not_compared(path)


def test_jobs_that_claim_the_same_offsets_are_one_finding(path):
    file = path / MANIFEST_DIR / "second.json"
    copy = json.loads(file.read_bytes())
    copy["job_id"] = "third"
    (path / MANIFEST_DIR / "third.json").write_text(json.dumps(copy))
    assert check(path) == [
        ("manifest-mismatch", 0, None, 39),
        ("manifest-mismatch", 1, None, 23),
    ]
    assert "job second has offsets 39 to 50 too" in details(path)[0]


@pytest.mark.parametrize(
    "change",
    [
        entry(lambda e: e.update(fingerprints=[[1, 2]])),
        entry(lambda e: e.update(fingerprints=[7])),
        entry(lambda e: e.update(fingerprints=[["a", 1, 2]])),
        entry(lambda e: e.update(first_offset="0")),
        entry(lambda e: e.update(partition=None)),
    ],
)
def test_manifest_with_something_else_than_numbers_is_unchecked(path, change):
    change_manifest(path, "first", change)
    report = verify_storage(LogDir(path))
    (unchecked,) = [one for one in report.unchecked if one.asked]
    assert (report.verdict, unchecked.what) == ("partial", "jobs")
    assert "first.json" in unchecked.why


def test_manifest_in_a_file_of_another_name_is_one_finding_and_believed(path):
    (path / MANIFEST_DIR / "first.json").rename(path / MANIFEST_DIR / "other.json")
    assert check(path) == [("manifest-mismatch", -1, None, None)]
    assert details(path) == ["manifest of job first: it stands in the file other.json"]
    alter(path, 0, 3)
    assert sorted(found[0] for found in check(path)) == ["altered", "manifest-mismatch"]


# ---- the end of the log


def last_log(path: Path, partition: int) -> Path:
    return max((path / f"orders-{partition}").glob("*.log"))


def test_log_that_ends_before_its_last_job_is_a_mismatch_at_its_end(path):
    last = last_log(path, 0)
    *_, position, _ = message_positions(last.read_bytes())
    offset = offsets_in(last.read_bytes())[-1]
    cut_to(last, position)
    assert check(path) == [("manifest-mismatch", 0, last.stem, offset)]
    assert "wrote offsets up to 50, the log ends before 50" in details(path)[0]


def test_last_segment_that_is_gone_is_a_mismatch(path):
    last = last_log(path, 0)
    first_offset = offsets_in(last.read_bytes())[0]
    last.with_suffix(".index").unlink()
    last.unlink()
    before = last_log(path, 0).stem
    assert check(path) == [("manifest-mismatch", 0, before, first_offset)]


def test_partition_without_any_segment_is_a_mismatch(path):
    (path / CHECKPOINT_FILE).unlink()
    for file in (path / "orders-1").iterdir():
        file.unlink()
    assert ("manifest-mismatch", 1, None, 0) in check(path)


def test_partition_without_any_segment_that_was_on_the_disk_is_a_lost_end(path):
    for file in (path / "orders-1").iterdir():
        file.unlink()
    assert check(path) == [("lost-end", 1, None, 0)]


def test_torn_tail_is_named_by_its_own_class_only(path):
    last = last_log(path, 0)
    cut_to(last, last.stat().st_size - 3)
    assert [found[0] for found in check(path)] == ["torn-tail"]


def test_damage_in_the_last_message_is_named_by_its_own_class_only(path):
    last = last_log(path, 0)
    flip_byte(last, last.stat().st_size - 1, mask=1)
    assert [found[0] for found in check(path)] == ["bad-crc"]


def test_log_that_ends_before_a_job_but_not_the_last_one_of_the_topic(path):
    """Partition 2 has messages of a producer after its only job."""
    last = last_log(path, 2)
    cut_to(last, message_positions(last.read_bytes())[-2])
    assert [found[0] for found in check(path)] == ["lost-end"]
    (path / CHECKPOINT_FILE).unlink()  # then nothing tells of it
    assert {found[0] for found in check(path)} <= {"index-past-end"}
