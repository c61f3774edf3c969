"""A part that is gone, or that nobody wrote, without a source: what is on record tells of it."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest

from kminilog.clock import ManualClock
from kminilog.errors import LogDirError
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.pieces import content_digest
from kminilog.settings import TopicSettings
from kminilog.storage.checkpoint import CHECKPOINT_FILE, LOG_START_FILE, read_checkpoint
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import (
    LAST_JOBS_FILE,
    PENDING_FILE,
    committed_manifests,
    committed_path,
    last_jobs,
)
from kminilog.storage.partition.cuts import truncate_log
from kminilog.storage.partition.retention import delete_expired
from kminilog.storage.topics import Topic
from kminilog.verification import records
from kminilog.verification.account import source_check
from kminilog.verification.account.engine import LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.partition_checks import check_partition
from kminilog.verification.records import read_small_files
from kminilog.verification.report import Report
from tests.support.damage import cut_to, flip_byte, message_positions

ROWS, PARTITIONS = 300, 2
ORDERS_0 = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=1500, retention_ms=1000)


class Scene:
    """A topic of two jobs, in several segments."""

    def __init__(self, directory: Path, dialect: Dialect) -> None:
        self.path = directory / "log"
        self.lines = directory / "lines.txt"
        self.lines.write_text("".join(f"k{n}:value {n}\n" for n in range(ROWS)))
        self.dialect = dialect

    def ingest(self, job_id: str) -> None:
        ingest_with(
            LocalIngest(),
            self.path,
            self.source(),
            topic="orders",
            job_id=job_id,
            partitions=PARTITIONS,
            dialect=self.dialect,
            settings=SETTINGS,
        )

    def source(self) -> Source:
        return Source((str(self.lines),), "text", key_regex="^([^:]*):")

    def logs(self, partition: int = 0) -> list[Path]:
        return sorted((self.path / f"orders-{partition}").glob("*.log"))

    def lose(self, log: Path) -> None:
        log.unlink()
        log.with_suffix(".index").unlink()

    def retain(self, count: int) -> None:
        """Retention deletes the first segments."""
        with LogDirWriter.open(self.path) as writer:
            log = writer.log(ORDERS_0)
            for segment in log.segments()[:count]:
                os.utime(segment.log_path, (0, 0))
            for segment in log.segments()[count:]:
                os.utime(segment.log_path, (9, 9))
            assert len(delete_expired(log, now_ms=9_000)) == count

    def verified(self, **options: object) -> Report:
        return verify_with(LocalEngine(), ManualClock(), LogDir(self.path), [], **options)


@pytest.fixture
def scene(tmp_path: Path, dialect: Dialect) -> Scene:
    scene = Scene(tmp_path, dialect)
    scene.ingest("first")
    scene.ingest("second")
    return scene


def found(report: Report) -> list[tuple[str, int, int | None]]:
    findings = report.tally.findings()
    assert all(one.stands_for == 1 for one in findings)
    return [(one.kind.value, one.partition, one.offset) for one in findings]


def not_checked(report: Report, what: str) -> list[str]:
    return [f"{one.where}: {one.why}" for one in report.unchecked if one.what == what]


def test_sound_log_is_ok_and_nothing_of_its_jobs_is_unchecked(scene):
    report = scene.verified()
    assert (report.verdict, not_checked(report, "jobs")) == ("ok", [])
    assert "log-starts" in report.checked


# ---- the beginning


@pytest.mark.parametrize("count", [1, 3])
def test_first_segments_that_are_lost_are_one_finding(scene, count):
    end = LogDir(scene.path).reader(ORDERS_0).segments()[count].first_offset
    for log in scene.logs()[:count]:
        scene.lose(log)
    report = scene.verified()
    assert (report.verdict, found(report)) == ("findings", [("lost-start", 0, 0)])
    (lost,) = report.tally.findings()
    assert lost.detail == f"offsets 0 to {end - 1} are gone; retention has not deleted them"


def test_first_segment_of_a_producer_that_is_lost_is_found(tmp_path, dialect):
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
        writer.log(ORDERS_0).append((b"k", b"value %d" % n) for n in range(100))
    first = min((tmp_path / "orders-0").glob("*.log"))
    first.unlink()
    first.with_suffix(".index").unlink()
    report = verify_with(LocalEngine(), ManualClock(), LogDir(tmp_path), [])
    assert found(report) == [("lost-start", 0, 0)]


def test_what_retention_has_deleted_is_no_loss_and_what_is_lost_behind_it_is(scene):
    scene.retain(2)
    assert scene.verified().verdict == "ok"
    start = read_checkpoint(scene.path, LOG_START_FILE)[ORDERS_0]
    assert start == LogDir(scene.path).reader(ORDERS_0).log_start_offset > 0
    scene.lose(scene.logs()[0])
    assert found(scene.verified()) == [("lost-start", 0, start)]


def test_segments_that_are_all_lost_are_one_finding_from_where_retention_ended(scene):
    scene.retain(2)
    start = read_checkpoint(scene.path, LOG_START_FILE)[ORDERS_0]
    for log in scene.logs():
        scene.lose(log)
    assert found(scene.verified()) == [("lost-end", 0, start)]


def test_retention_that_deletes_while_segments_are_checked_leaves_no_finding(scene):
    log_dir = LogDir(scene.path)
    jobs = read_small_files(scene.path).partitions_of(log_dir.topic("orders"))[0]
    scene.retain(2)
    assert check_partition(log_dir.reader(ORDERS_0), jobs).findings == []


def test_retention_that_dies_before_it_deletes_leaves_no_finding(scene, monkeypatch):
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kminilog.storage.partition.retention._rename", die)
    with pytest.raises(KeyboardInterrupt):
        scene.retain(2)
    monkeypatch.undo()
    assert read_checkpoint(scene.path, LOG_START_FILE)[ORDERS_0] > 0
    assert scene.verified().verdict == "ok"


def test_log_without_a_start_on_record_is_not_checked_in_words(scene):
    (scene.path / LOG_START_FILE).unlink()
    scene.lose(scene.logs()[0])
    report = scene.verified()
    assert report.verdict == "ok"
    assert not_checked(report, "log-starts") == [
        "orders: no log start is on record for 2 of 2 partitions"
    ]
    assert "deleted" in not_checked(report, "jobs")[0]


def test_topic_that_is_made_again_begins_anew(scene):
    scene.retain(2)
    with LogDirWriter.open(scene.path) as writer:
        writer.delete_topic("orders")
        assert read_checkpoint(scene.path, LOG_START_FILE) == {}
        assert last_jobs(scene.path) == {}
    scene.ingest("first")
    assert scene.verified().verdict == "ok"


def test_partition_that_is_added_has_its_start_on_record(scene):
    with LogDirWriter.open(scene.path) as writer:
        writer.alter_topic("orders", partitions=4)
    assert not_checked(scene.verified(), "log-starts") == []


def test_invalid_log_starts_are_partial_and_the_next_writer_keeps_them_aside(scene):
    (scene.path / LOG_START_FILE).write_text("0\n5\n")
    assert scene.verified().verdict == "partial"
    with LogDirWriter.open(scene.path) as writer:
        (line,) = writer.warnings
    assert "holds no log starts" in line
    assert (scene.path / f"{LOG_START_FILE}.broken").read_text() == "0\n5\n"


# ---- a partition


@pytest.mark.parametrize("against", [False, True])
def test_partition_that_is_gone_is_one_finding_with_a_full_account(scene, against):
    lost = LogDir(scene.path).reader(ORDERS_0).log_end_offset
    shutil.rmtree(scene.path / "orders-0")
    report = scene.verified(against=scene.source()) if against else scene.verified()
    assert (report.verdict, report.exit_code) == ("findings", 1)
    assert next(one.kind for one in report.tally.findings() if not one.cause) == "lost-partition"
    assert report.tally.counts()["lost-partition"] == 1
    (gone,) = report.tally.samples(report.tally.findings()[0].kind)
    assert gone.detail.startswith(f"the directory is gone; offsets 0 to {lost - 1} were in it; ")
    if against:
        assert report.conservation["holds"]
        assert report.conservation["stored"] == 2 * ROWS - lost
        missing = report.tally.findings()[-1]
        assert report.conservation["missing"] == lost // 2  # each record was loaded twice
        assert missing.kind in ("missing", "duplicate")


def test_missing_records_of_a_lost_partition_name_it_as_their_cause(tmp_path, dialect):
    scene = Scene(tmp_path, dialect)
    scene.ingest("first")
    shutil.rmtree(scene.path / "orders-0")
    report = scene.verified(against=scene.source())
    missing = [one for one in report.tally.findings() if one.kind == "missing"]
    assert {one.cause and (one.cause.kind, one.cause.is_certain) for one in missing} == {
        ("lost-partition", True)
    }


def test_missing_records_of_a_lost_start_name_it_as_their_cause(tmp_path, dialect):
    scene = Scene(tmp_path, dialect)
    scene.ingest("first")
    scene.lose(scene.logs()[0])
    report = scene.verified(against=scene.source())
    missing = [one for one in report.tally.findings() if one.kind == "missing"]
    assert {one.cause and (one.cause.kind, one.cause.is_certain) for one in missing} == {
        ("lost-start", True)
    }


def test_what_a_partition_had_lost_before_it_was_gone_is_told_too(scene):
    for _ in range(2):  # the second writer finds that the message of the first is gone
        with LogDirWriter.open(scene.path) as writer:
            end = writer.log(ORDERS_0).log_end_offset
            writer.log(ORDERS_0).append([(None, b"mine")])
        log = scene.logs()[-1]
        cut_to(log, message_positions(log.read_bytes())[-2])
    shutil.rmtree(scene.path / "orders-0")
    assert sorted(found(scene.verified())) == [("lost-end", 0, end), ("lost-partition", 0, 0)]


# ---- manifests


def edit(scene: Scene, job: str, change: Callable[[dict], object]) -> None:
    path = committed_path(scene.path, job)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document, indent=2))


@pytest.mark.parametrize("job", ["first", "second"])
def test_manifest_that_is_gone_is_one_finding(scene, job):
    committed_path(scene.path, job).unlink()
    report = scene.verified()
    assert found(report) == [("manifest-mismatch", -1, None)]
    by = {"first": "the manifest of job second", "second": "the file .last-jobs"}[job]
    (gone,) = report.tally.findings()
    assert gone.detail == f"manifest of job {job}: it is gone; {by} names it"


def test_all_manifests_that_are_gone_are_one_finding(scene):
    """Their messages are below the recovery points that the writers of the jobs have set."""
    shutil.rmtree(scene.path / ".manifests")
    report = scene.verified()
    assert found(report) == [("manifest-mismatch", -1, None)]
    assert not_checked(report, "jobs") == []


@pytest.mark.parametrize("job", ["first", "second"])
@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["partitions"][0].update(digest="0" * 64),
        lambda m: m["partitions"][0].update(bytes=7),
        lambda m: m["facts"].update(partitions=3),
        lambda m: m["facts"].update(seed=3),
        lambda m: m["partitions"][0]["fingerprints"][0].__setitem__(2, 7),
        lambda m: m.update(before={"job_id": "x", "sha256": "0" * 64}),
    ],
)
def test_manifest_that_was_changed_is_one_finding_and_not_believed(scene, job, change):
    edit(scene, job, change)
    report = scene.verified()
    assert found(report) == [("manifest-mismatch", -1, None)]
    (changed,) = report.tally.findings()
    assert changed.detail.startswith(f"manifest of job {job}: it has changed: ")
    with pytest.raises(LogDirError, match="it has changed"):
        scene.verified(against=scene.source(), job=job)


def test_manifests_that_no_record_confirms_are_believed_and_named(scene):
    (scene.path / LAST_JOBS_FILE).unlink()
    report = scene.verified()
    assert report.verdict == "ok"
    assert not_checked(report, "jobs") == [
        "orders: no other record confirms the manifest of job first, second: a change or a "
        "lost manifest would not show"
    ]
    scene.ingest("third")
    assert "of job first, second: " in not_checked(scene.verified(), "jobs")[0]


@pytest.mark.parametrize(
    "content", ["[]", '{"last_jobs": {"orders": {"job_id": "second", "sha256": "0"}}}']
)
def test_record_of_last_jobs_that_is_broken_is_partial_and_stops_the_next_job(scene, content):
    (scene.path / LAST_JOBS_FILE).write_text(content)
    report = scene.verified()
    assert (report.verdict, report.exit_code) == ("partial", 2)
    with pytest.raises(LogDirError, match="holds no record of last jobs"):
        scene.ingest("third")
    (scene.path / LAST_JOBS_FILE).unlink()
    scene.ingest("third")


def test_record_of_last_jobs_that_is_broken_does_not_keep_a_topic_that_is_deleted(scene):
    (scene.path / LAST_JOBS_FILE).write_text("[]")
    with LogDirWriter.open(scene.path) as writer:
        writer.delete_topic("orders")
        (line,) = writer.warnings
    assert "holds no record of last jobs" in line
    assert LogDir(scene.path).topics() == []
    assert list((scene.path / ".manifests").glob("*.json")) == []


def test_jobs_of_another_topic_are_another_chain(scene):
    ingest_with(LocalIngest(), scene.path, scene.source(), topic="bills", job_id="b")
    scene.ingest("third")
    report = scene.verified()
    assert (report.verdict, not_checked(report, "jobs")) == ("ok", [])
    with LogDirWriter.open(scene.path) as writer:
        writer.delete_topic("bills")
    assert (scene.verified().verdict, last_jobs(scene.path).keys()) == ("ok", {"orders"})


def test_jobs_of_a_topic_that_is_not_verified_are_not_in_the_report(scene):
    def verified() -> Report:
        return verify_with(LocalEngine(), ManualClock(), LogDir(scene.path), ["bills"])

    ingest_with(LocalIngest(), scene.path, scene.source(), topic="bills", job_id="b")
    committed_path(scene.path, "first").unlink()
    assert (verified().verdict, found(verified())) == ("ok", [])
    (scene.path / LAST_JOBS_FILE).unlink()
    (line,) = not_checked(verified(), "jobs")
    assert "of job b: " in line


def on_first_reading(monkeypatch, happens: Callable[[], object]) -> list[str]:
    """Let something happen before the first manifest is read; return the names that are read."""
    read, names = records.read_manifest, list[str]()

    def reading(path: Path):
        names.append(path.name)
        if len(names) == 1:
            happens()
        return read(path)

    monkeypatch.setattr(records, "read_manifest", reading)
    return names


def test_manifests_are_read_once(scene, monkeypatch):
    names = on_first_reading(monkeypatch, lambda: None)
    assert [job.job_id for job in records.read_jobs(scene.path).manifests] == [
        "first",
        "second",
    ]
    assert sorted(names) == [PENDING_FILE, "first.json", "second.json"]


def test_job_that_is_committed_while_manifests_are_read_is_among_them(scene, monkeypatch):
    on_first_reading(monkeypatch, lambda: scene.ingest("third"))
    jobs = records.read_jobs(scene.path)
    assert [job.job_id for job in jobs.manifests] == ["first", "second", "third"]
    assert (jobs.findings, jobs.unchained, jobs.failures) == ([], {}, [])


def test_topic_that_is_deleted_while_manifests_are_read_leaves_no_finding(scene, monkeypatch):
    def delete() -> None:
        with LogDirWriter.open(scene.path) as writer:
            writer.delete_topic("orders")

    on_first_reading(monkeypatch, delete)
    assert records.read_jobs(scene.path) == records.JobRecords()


# ---- messages that nobody wrote


def forge(scene: Scene, count: int) -> None:
    """Append whole messages, as somebody does who knows the format."""
    other = scene.path.with_name("other")
    shutil.copytree(scene.path, other)
    with LogDirWriter.open(other) as writer:
        writer.log(ORDERS_0).append((None, b"forged %d" % n) for n in range(count))
    shutil.rmtree(scene.path / "orders-0")
    shutil.copytree(other / "orders-0", scene.path / "orders-0")


@pytest.mark.parametrize("count", [1, 200])
def test_messages_that_no_job_and_no_writer_has_on_record_are_counted(scene, count):
    end = LogDir(scene.path).reader(ORDERS_0).log_end_offset
    forge(scene, count)
    report = scene.verified()
    what = f"{count} messages (offsets {end} to {end + count - 1})"
    if count == 1:
        what = f"1 message (offset {end})"
    what += f": no job and no other recorded writer wrote {'it' if count == 1 else 'them'}"
    assert not_checked(report, "jobs") == [f"orders-0: {what}"]


def test_messages_of_a_producer_are_on_record(scene):
    with LogDirWriter.open(scene.path) as writer:
        writer.log(ORDERS_0).append([(None, b"mine")])
    assert not_checked(scene.verified(), "jobs") == []


def test_messages_of_a_topic_without_jobs_are_not_counted(tmp_path, dialect):
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
        writer.log(ORDERS_0).append([(None, b"mine")])
    (tmp_path / CHECKPOINT_FILE).unlink()
    report = verify_with(LocalEngine(), ManualClock(), LogDir(tmp_path), [])
    assert (report.verdict, not_checked(report, "jobs")) == ("ok", [])


def test_messages_of_a_manifest_that_contradicts_itself_are_not_counted(scene):
    (scene.path / LAST_JOBS_FILE).unlink()
    edit(scene, "second", lambda m: m["partitions"][0].update(next_offset=0))
    report = scene.verified()
    assert [(kind, partition) for kind, partition, _ in found(report)] == [("manifest-mismatch", 0)]
    assert "no other recorded writer" not in " ".join(not_checked(report, "jobs"))
    shutil.rmtree(scene.path / "orders-0")
    kinds = {kind for kind, _, _ in found(scene.verified())}
    assert kinds == {"manifest-mismatch", "lost-partition"}


# ---- the source since


@pytest.mark.parametrize("is_changed", [False, True])
def test_source_that_was_touched_is_read_once_for_all_of_its_jobs(scene, monkeypatch, is_changed):
    if is_changed:
        scene.lines.write_text(scene.lines.read_text().replace("value 7", "worth 7"))
    os.utime(scene.lines, (9, 9))
    digests = []

    def counting(*arguments):
        digests.append(content_digest(*arguments))
        return digests[-1]

    monkeypatch.setattr(source_check, "content_digest", counting)
    report = scene.verified(against=scene.source())
    assert len(digests) == 1
    assert not_checked(report, "source") == [
        f"{scene.source()}, as it was: it has changed since job {job} read it: as many bytes, but "
        "not the same ones"
        for job in ("first", "second")
        if is_changed
    ]


# ---- bytes that keep their crc


def test_change_that_keeps_the_crc_is_found_by_the_digest(scene):
    log = scene.logs()[1]
    data = bytearray(log.read_bytes())
    positions = message_positions(bytes(data))
    start, end = positions[1], positions[2]
    original = crc32(bytes(data[start + 16 : end]))
    data[end - 5 : end - 4] = bytes([data[end - 5] ^ 1])
    data[end - 4 : end] = four_bytes_for(bytes(data[start + 16 : end - 4]), original)
    assert crc32(bytes(data[start + 16 : end])) == original
    log.write_bytes(data)
    report = scene.verified()
    assert report.verdict == "ok"
    assert "--full" in [one.option for one in report.unchecked]
    report = scene.verified(full=True)
    assert [kind for kind, _, _ in found(report)] == ["altered"]
    assert "digests" in report.checked


def test_sound_log_has_the_digests_of_its_jobs_also_behind_a_producer_and_retention(scene):
    with LogDirWriter.open(scene.path) as writer:
        writer.log(ORDERS_0).append([(None, b"mine")])
    scene.ingest("third")
    report = scene.verified(full=True)
    assert (report.verdict, not_checked(report, "jobs")) == ("ok", [])
    scene.retain(2)
    report = scene.verified(full=True)
    assert report.verdict == "ok"
    assert "SHA-256 was not compared" in " ".join(not_checked(report, "jobs"))


def test_damage_is_one_finding_with_digests_too(scene):
    log = scene.logs()[1]
    flip_byte(log, log.stat().st_size - 1, mask=1)
    assert [kind for kind, _, _ in found(scene.verified(full=True))] == ["bad-crc"]


@pytest.mark.parametrize("is_full", [False, True])
def test_segment_that_cannot_be_read_hides_no_finding_and_its_job_is_not_compared(scene, is_full):
    damaged, unreadable = scene.logs()[1], scene.logs()[3]
    flip_byte(damaged, damaged.stat().st_size - 1, mask=1)
    unreadable.unlink()
    os.mkfifo(unreadable)
    report = scene.verified(full=is_full)
    assert [kind for kind, _, _ in found(report)] == ["bad-crc"]
    assert str(unreadable) in " ".join(not_checked(report, "messages"))
    digests = [line for line in not_checked(report, "jobs") if "SHA-256 was not compared" in line]
    assert [line.split(":")[0] for line in digests] == ["orders-0"] * is_full


@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize("part", [-20, 100])
def test_log_that_was_cut_and_filled_again_is_ok_with_digests_too(scene, part, is_full):
    """The cut is in the second job, or in the first: then nothing is left of the second one."""
    with LogDirWriter.open(scene.path) as writer:
        log = writer.log(ORDERS_0)
        truncate_log(log, part % log.log_end_offset)
        log.append((None, b"another value %d" % n) for n in range(2 * ROWS))
    report = scene.verified(full=is_full)
    assert (report.verdict, found(report)) == ("ok", [])
    cut = [line for line in not_checked(report, "jobs") if "SHA-256" in line]
    why = "its SHA-256 was not compared, because part of it was cut off"
    assert [line.endswith(why) for line in cut] == [True] * is_full


def test_last_segment_of_a_job_that_is_lost_is_one_finding_with_digests_too(scene):
    first, _ = committed_manifests(scene.path)
    (staged,) = [one for one in first.partitions if one.partition == 0]
    ends = scene.dialect.base_offset_for(staged.next_offset)
    scene.lose([log for log in scene.logs() if int(log.stem) < ends][-1])
    report = scene.verified(full=True)
    assert [kind for kind, _, _ in found(report)] == ["offset-gap"]


def four_bytes_for(data: bytes, wanted: int) -> bytes:
    """Return four bytes that make the crc of data and these the wanted one."""
    table = [_table_entry(n) for n in range(256)]
    state = wanted ^ 0xFFFFFFFF
    indexes = []
    for _ in range(4):
        index = next(n for n in range(256) if table[n] >> 24 == state >> 24)
        indexes.append(index)
        state = (state ^ table[index]) << 8 & 0xFFFFFFFF
    register, found_bytes = crc32(data) ^ 0xFFFFFFFF, bytearray()
    for index in reversed(indexes):
        found_bytes.append((register ^ index) & 0xFF)
        register = register >> 8 ^ table[index]
    return bytes(found_bytes)


def _table_entry(number: int) -> int:
    for _ in range(8):
        number = number >> 1 ^ (0xEDB88320 if number & 1 else 0)
    return number
