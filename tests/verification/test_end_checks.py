"""A log that ends too early is named, and so is one that did; what a follower cuts is no loss."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kminilog.columns.staged_logs import seal
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.checkpoint import CHECKPOINT_FILE
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import MANIFEST_DIR, Manifest
from kminilog.storage.partition.cuts import CUTS_FILE, truncate_log
from kminilog.storage.publish import fingerprints
from kminilog.storage.publish.publication import open_staged_log, publish, staging_path
from kminilog.storage.topics import Topic
from kminilog.verification.fast_segment_checks import check_segment as check_quickly
from kminilog.verification.findings import FindingClass
from kminilog.verification.report import Report, verify_storage
from tests.support.damage import cut_to, fix_crc, flip_byte, message_positions

ORDERS = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=200, index_interval_bytes=60)
COUNT = 20

pytestmark = pytest.mark.usefixtures("without_fsync")


@pytest.fixture
def log_dir(tmp_path: Path, dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> LogDir:
    """A topic of one partition with messages in several segments, closed cleanly."""
    monkeypatch.setattr(fingerprints, "RANGE_MESSAGES", 4)
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
        writer.log(ORDERS).append((b"k", b"value %2d" % n) for n in range(COUNT))
    return LogDir(tmp_path)


def verified(log_dir: LogDir) -> Report:
    """What the plain check says, which must be what the fast one says."""
    report = verify_storage(log_dir)
    fast = verify_storage(log_dir, check_segment=check_quickly)
    assert fast.to_json() == report.to_json()
    return report


def found(log_dir: LogDir) -> list[tuple[str, int | None]]:
    return [(one.kind.value, one.offset) for one in verified(log_dir).tally.findings()]


def detail(log_dir: LogDir) -> str:
    (finding,) = verified(log_dir).tally.findings()
    return finding.detail


def logs(log_dir: LogDir) -> list[Path]:
    return sorted(log_dir.directory(ORDERS).glob("*.log"))


def remove(*paths: Path) -> None:
    for path in paths:
        path.unlink()
        path.with_suffix(".index").unlink()


def append(log_dir: LogDir, count: int) -> None:
    with LogDirWriter.open(log_dir.path) as writer:
        writer.log(ORDERS).append((b"k", b"new") for _ in range(count))


def truncate(log_dir: LogDir, offset: int) -> None:
    with LogDirWriter.open(log_dir.path) as writer:
        truncate_log(writer.log(ORDERS), offset)


def run_job(log_dir: LogDir, job: str, count: int) -> None:
    with LogDirWriter.open(log_dir.path) as writer:
        topic = writer.topic("orders")
        start = writer.log(ORDERS).log_end_offset
        writer.release(ORDERS)
        staging, target = staging_path(writer.path, job), writer.directory(ORDERS)
        staging.mkdir(parents=True, exist_ok=True)
        log = open_staged_log(staging, topic, 0, target=target, first_offset=start)
        log.append((b"j", b"job %s, %2d" % (job.encode(), n)) for n in range(count))
        manifest = Manifest(job, "orders", [seal(log, staging, start)], {"count": count})
        publish(writer.path, manifest)


# ---- the recovery point


def test_partition_whose_files_are_gone_is_a_lost_end(log_dir):
    remove(*logs(log_dir))
    assert found(log_dir) == [("lost-end", 0)]
    assert detail(log_dir) == "offsets 0 to 19 were on the disk, the log ends before them"
    assert verified(log_dir).exit_code == 1


def test_broken_row_of_another_partition_hides_no_lost_end(log_dir):
    remove(*logs(log_dir))
    rows = f"0\n2\nother 0 {2**63}\norders 0 {COUNT}\n"
    (log_dir.path / CHECKPOINT_FILE).write_text(rows)
    assert found(log_dir) == [("lost-end", 0)]
    (not_checked,) = [one for one in verified(log_dir).unchecked if one.what == "log-ends"]
    assert f"'other 0 {2**63}'" in not_checked.why


def test_last_segment_that_is_gone_is_a_lost_end_where_it_began(log_dir, dialect):
    last = logs(log_dir)[-1]
    remove(last)
    (finding,) = verified(log_dir).tally.findings()
    before = logs(log_dir)[-1]
    assert (finding.offset, finding.segment) == (dialect.first_offset(int(last.stem)), before.stem)
    assert finding.position == before.stat().st_size


def test_log_that_is_cut_between_two_messages_is_a_lost_end_and_nothing_else(log_dir):
    last = logs(log_dir)[-1]
    for position in message_positions(last.read_bytes())[-2::-1]:
        cut_to(last, position)
        assert [kind for kind, _ in found(log_dir)] == ["lost-end"], position


def test_torn_tail_has_its_own_class_and_says_how_far_the_log_was_on_the_disk(log_dir):
    last = logs(log_dir)[-1]
    positions = message_positions(last.read_bytes())
    cut_to(last, positions[-1] - 1)
    assert (found(log_dir), "on the disk" in detail(log_dir)) == ([("torn-tail", 19)], False)
    cut_to(last, positions[1] - 1)
    ((kind, offset),) = found(log_dir)
    assert (kind, offset < 19) == ("torn-tail", True)
    assert detail(log_dir).endswith("; the log was on the disk up to 19")


def test_torn_tail_says_how_far_a_job_wrote_beyond_it(log_dir):
    run_job(log_dir, "load", 8)
    (log_dir.path / CHECKPOINT_FILE).unlink()  # else it says how far the log was on the disk
    last = logs(log_dir)[-1]
    cut_to(last, message_positions(last.read_bytes())[1] - 1)
    ((kind, offset),) = found(log_dir)
    assert (kind, offset < 27) == ("torn-tail", True)
    assert detail(log_dir).endswith("; job load wrote offsets up to 27")


def test_messages_behind_the_recovery_point_are_no_finding(log_dir):
    writer = LogDirWriter.open(log_dir.path)
    writer.log(ORDERS).append([(b"k", b"v")])
    writer.close(cleanly=False)
    report = verified(log_dir)
    assert (report.verdict, "log-ends" in report.checked) == ("ok", True)


def test_missing_checkpoint_is_unchecked_and_nobody_has_asked(log_dir):
    (log_dir.path / CHECKPOINT_FILE).unlink()
    remove(logs(log_dir)[-1])
    report = verified(log_dir)
    assert (report.verdict, "log-ends" in report.checked) == ("ok", False)
    (unchecked, _) = report.unchecked
    assert (unchecked.what, unchecked.where, unchecked.asked) == ("log-ends", "orders", False)
    assert unchecked.why == "no recovery point is on record for 1 of 1 partition"


@pytest.mark.parametrize("file", [CHECKPOINT_FILE, CUTS_FILE])
@pytest.mark.parametrize("document", [b"7\n1\norders 0 20\n", b"\xff", None])
def test_file_that_should_tell_of_the_end_and_is_broken_makes_it_partial(log_dir, file, document):
    (log_dir.path / file).unlink(missing_ok=True)
    if document is None:
        (log_dir.path / file).mkdir()
    else:
        (log_dir.path / file).write_bytes(document)
    report = verified(log_dir)
    (asked,) = [one for one in report.unchecked if one.asked]
    assert (report.verdict, asked.what, asked.where) == ("partial", "log-ends", file)
    assert asked.why


# ---- what is on record


def test_lost_end_stays_a_finding_when_its_offsets_are_used_twice(log_dir):
    remove(*logs(log_dir))
    append(log_dir, 3)
    assert found(log_dir) == [("lost-end", 0)]
    gone = "offsets 0 to 19 were on the disk, but missing when a writer opened the log; "
    assert detail(log_dir) == gone + "3 of them have been given out again"
    append(log_dir, COUNT)
    assert detail(log_dir) == gone + "20 of them have been given out again"


def test_forced_recovery_stays_a_lost_end(log_dir):
    first = logs(log_dir)[0]
    flip_byte(first, message_positions(first.read_bytes())[3] - 1, mask=1)
    with LogDirWriter.open(log_dir.path, recover=False) as writer:
        writer.recover(writer.recovery_plan(ORDERS), force=True)
    append(log_dir, 1)
    assert found(log_dir) == [("lost-end", 2)]
    assert "offsets 2 to 19 were cut off by forced recovery" in detail(log_dir)
    assert detail(log_dir).endswith("1 of them has been given out again")


def test_words_agree_with_one_lost_offset(log_dir):
    last = logs(log_dir)[-1]
    cut_to(last, message_positions(last.read_bytes())[-2])
    assert detail(log_dir) == "offset 19 was on the disk, the log ends before it"
    with LogDirWriter.open(log_dir.path) as writer:
        writer.log(ORDERS)
    lost = "offset 19 was on the disk, but missing when a writer opened the log; "
    assert detail(log_dir) == lost + "it has not been given out again"
    append(log_dir, 1)
    assert detail(log_dir) == lost + "it has been given out again"


def test_truncation_is_no_finding(log_dir):
    truncate(log_dir, 7)
    assert found(log_dir) == []
    append(log_dir, 2)
    assert found(log_dir) == []


@pytest.mark.parametrize("end", [20, 21, 24, 26, 30])
def test_job_whose_end_was_truncated_makes_room_for_the_next_one(log_dir, end):
    run_job(log_dir, "first", 10)
    truncate(log_dir, end)
    assert found(log_dir) == []
    run_job(log_dir, "second", 8)
    assert found(log_dir) == []
    truncate(log_dir, 20)
    run_job(log_dir, "third", 12)
    assert found(log_dir) == []


def test_job_that_was_cut_is_still_judged_in_its_whole_ranges(log_dir):
    run_job(log_dir, "first", 10)
    truncate(log_dir, 26)
    (unjudged,) = [one for one in verified(log_dir).unchecked if one.what == "jobs"]
    assert (unjudged.where, unjudged.asked) == ("orders-0", False)
    assert unjudged.why.startswith("offsets 24 to 25 of job first")
    run_job(log_dir, "second", 10)
    for offset, expected in [(21, [("altered", 20)]), (25, []), (31, [("altered", 30)])]:
        undo = alter(log_dir, offset)
        assert found(log_dir) == expected
        undo()


def alter(log_dir: LogDir, offset: int) -> Callable[[], object]:
    """Change a value and mend the crc; return how to undo it."""
    located = log_dir.reader(ORDERS).find(offset)
    path = located.segment.log_path
    data = path.read_bytes()
    position = located.position
    flip_byte(path, position + located.message.length_bytes - 1, mask=1)
    fix_crc(path, position)
    return lambda: path.write_bytes(data)


def test_jobs_that_claim_the_same_offsets_without_a_cut_are_still_a_mismatch(log_dir):
    run_job(log_dir, "first", 10)
    truncate(log_dir, 24)
    run_job(log_dir, "second", 8)
    (log_dir.path / CUTS_FILE).unlink()
    assert "manifest-mismatch" in [kind for kind, _ in found(log_dir)]


def test_cut_that_a_crash_has_interrupted_counts_as_far_as_it_came(log_dir):
    run_job(log_dir, "first", 10)
    truncate(log_dir, 24)
    document = json.loads((log_dir.path / CUTS_FILE).read_bytes())
    document["cuts"][0] |= {"first_offset": 22, "is_done": False}
    (log_dir.path / CUTS_FILE).write_text(json.dumps(document))
    assert found(log_dir) == []
    document["cuts"][0]["reason"] = "recovery"
    (log_dir.path / CUTS_FILE).write_text(json.dumps(document))
    assert found(log_dir) == [("lost-end", 22)]


def test_manifest_of_a_lost_job_is_no_second_finding(log_dir):
    run_job(log_dir, "first", 10)
    append(log_dir, 0)  # now all of it is known to be on the disk
    remove(*logs(log_dir)[-2:])
    assert [kind for kind, _ in found(log_dir)] == ["lost-end"]
    append(log_dir, 5)
    assert [kind for kind, _ in found(log_dir)] == ["lost-end"]
    assert len(list((log_dir.path / MANIFEST_DIR).glob("*.json"))) == 1


# ---- a follower at work


def test_truncation_while_it_is_verified_is_no_finding(log_dir):
    truncated = []

    def check(*segment, **options):
        if not truncated:
            truncate(log_dir, 5)
            truncated.append(True)
        return check_quickly(*segment, **options)

    report = verify_storage(log_dir, check_segment=check)
    assert (truncated, report.tally.counts().get(FindingClass.LOST_END)) == ([True], None)
