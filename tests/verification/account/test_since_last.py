"""`--since-last`: what came after the last `ok` is checked; the report says what is trusted."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kminilog.clock import ManualClock
from kminilog.format.dialect import KAFKA
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.names import TopicPartition
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.settings import TopicSettings
from kminilog.storage.checkpoint import record_log_starts
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.publish import fingerprints
from kminilog.storage.topics import Topic
from kminilog.verification.account.engine import Engine, LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.account.spark import SparkEngine
from kminilog.verification.fast_segment_checks import check_segment
from kminilog.verification.last_ok import VERIFIED_DIR
from kminilog.verification.report import Report
from tests.support.damage import (
    cut_to,
    encode_entries,
    files_of,
    fix_crc,
    flip_byte,
    index_entries,
    message_positions,
)
from tests.support.spark import ON_SPARK
from tests.support.steps import steps_of

PARTITIONS, RECORDS = 2, 400
SMALL = TopicSettings(segment_bytes=2000, index_interval_bytes=200)
RANGE = 10
OK_MS, LATER_MS = 1_000_000_000, 2_000_000_000


class Scene:
    """A topic with jobs in it, and who verifies it."""

    def __init__(self, directory: Path, dialect: Any, engine: Engine) -> None:
        self.directory, self.log_dir = directory, directory / "log"
        self._shape: dict[str, Any] = {"partitions": PARTITIONS, "dialect": dialect}
        self._engine = engine
        self.ingest("first")

    def source(self, job: str) -> Source:
        return Source((str(self.directory / f"{job}.txt"),), key_regex="^(k[0-9]+)=")

    def ingest(self, job: str) -> None:
        lines = b"".join(b"k%d=%s %d\n" % (n % 50, job.encode(), n) for n in range(RECORDS))
        (self.directory / f"{job}.txt").write_bytes(lines)
        options = {**self._shape, "settings": SMALL, "job_id": job}
        ingest_with(LocalIngest(), self.log_dir, self.source(job), topic="t", **options)

    def verify(self, *, since: bool = True, now_ms: int = LATER_MS, **options: Any) -> Report:
        clock, log_dir = ManualClock(now_ms), LogDir(self.log_dir)
        return verify_with(self._engine, clock, log_dir, ["t"], since_last=since, **options)

    def logs(self, partition: int = 0) -> list[Path]:
        return sorted((self.log_dir / f"t-{partition}").glob("*.log"))


@pytest.fixture(autouse=True)
def _small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "RANGE_MESSAGES", RANGE)


@pytest.fixture(params=["local", pytest.param("spark", marks=ON_SPARK)])
def scene(request: pytest.FixtureRequest, tmp_path: Path, dialect: Any) -> Scene:
    is_spark = request.param == "spark"
    engine = SparkEngine(request.getfixturevalue("spark")) if is_spark else LocalEngine()
    return Scene(tmp_path, dialect, engine)


@pytest.fixture
def local(tmp_path: Path, dialect: Any) -> Scene:
    return Scene(tmp_path, dialect, LocalEngine())


def alter(log: Path, *, is_seen: bool = True) -> None:
    """Change a value in the middle of a log, with a right crc; as a bad disk does, or anybody."""
    times = log.stat()
    position, following = message_positions(log.read_bytes())[5:7]
    flip_byte(log, following - 1, mask=1)
    fix_crc(log, position)
    if not is_seen:
        os.utime(log, ns=(times.st_atime_ns, times.st_mtime_ns))


def trusted(report: Report) -> list[int | None]:
    return [partition["trusted_until"] for partition in report.partitions]


def whys(report: Report) -> dict[str, int]:
    found: dict[str, int] = report.scope["since_last"]["not_trusted"]
    return found


def said(report: Report) -> str:
    return " ".join(one.why for one in report.unchecked if one.what == "messages")


def test_what_was_ok_is_trusted_and_damage_above_it_is_found(scene):
    assert scene.verify(now_ms=OK_MS).verdict == "ok"
    ends = [partition["log_end_offset"] for partition in scene.verify().partitions]
    old = len(scene.logs())
    scene.ingest("second")
    report = scene.verify()
    assert (report.verdict, trusted(report), whys(report)) == ("ok", ends, {})
    assert f"{RECORDS} messages in 2 partitions are taken on trust" in said(report)
    assert "Mon, 12 Jan 1970" in said(report)  # of the first ok: since then all was read
    assert sum(partition["message_count"] for partition in report.partitions) == 2 * RECORDS
    scene.ingest("third")
    alter(scene.logs()[-1])
    report = scene.verify()
    assert {kind.value for kind in report.tally.counts()} == {"altered"}
    (found,) = report.tally.findings()
    assert found.last_offset is not None
    assert (found.offset or 0) >= ends[0]
    assert len(scene.logs()) > old
    # It stays a finding: the record is that of the last ok.
    assert scene.verify().verdict == "findings"


def test_damage_below_the_last_ok_is_not_seen_and_the_report_says_so(scene):
    scene.verify()
    alter(scene.logs()[0], is_seen=False)
    report = scene.verify()
    assert report.verdict == "ok"
    assert "damage since then shows only without" in said(report)
    assert scene.verify(since=False).verdict == "findings"


def test_only_segments_that_came_after_are_read(tmp_path, dialect):
    read: list[str] = []

    def checked(topic_partition: TopicPartition, segment: Any, *rest: Any, **options: Any) -> Any:
        read.append(f"{topic_partition}/{segment.name}")
        return check_segment(topic_partition, segment, *rest, **options)

    scene = Scene(tmp_path, dialect, LocalEngine(checked))
    scene.verify()
    before = {*read}
    scene.ingest("second")
    read.clear()
    scene.verify()
    assert read
    assert not before & {*read}
    read.clear()
    scene.verify()
    assert read == []


# ---- what is cheap is noticed, and then all of the partition is checked


def shorten(scene: Scene) -> None:
    cut_to(scene.logs()[-1], message_positions(scene.logs()[-1].read_bytes())[2])


def rewrite(scene: Scene) -> None:
    alter(scene.logs()[0])


def rewrite_third(scene: Scene) -> None:
    alter(scene.logs()[2])


def rewrite_end_unseen(scene: Scene) -> None:
    log = scene.logs()[-1]
    times = log.stat()
    flip_byte(log, times.st_size - 1, mask=1)
    os.utime(log, ns=(times.st_atime_ns, times.st_mtime_ns))


def remove(scene: Scene) -> None:
    log = scene.logs()[1]
    log.unlink()
    log.with_suffix(".index").unlink()


def rewrite_index(scene: Scene) -> None:
    index = scene.logs()[1].with_suffix(".index")
    index.write_bytes(bytes(index.stat().st_size))


def rewrite_last_index(scene: Scene) -> None:
    flip_byte(scene.logs()[-1].with_suffix(".index"), 3, mask=1)


@pytest.mark.parametrize(
    ("change", "segments"),
    [
        (shorten, 0),
        (rewrite, 0),
        (rewrite_third, 2),
        (rewrite_end_unseen, 0),
        (remove, 1),
        (rewrite_index, 1),
        (rewrite_last_index, 0),
    ],
)
def test_log_is_checked_from_the_segment_on_that_is_not_as_the_record_says(
    scene: Scene, change: Callable[[Scene], None], segments: int
):
    firsts = [row["first_offset"] for row in scene.verify().partitions[0]["segments"]]
    change(scene)
    report = scene.verify()
    assert report.verdict == "findings"
    assert trusted(report)[0] == (firsts[segments] if segments else None)
    assert trusted(report)[1] is not None
    assert sum(whys(report).values()) == 1
    assert [*report.tally.counts()] == [*scene.verify(since=False).tally.counts()]


def test_index_that_is_touched_alone_is_checked_again(local):
    first = local.verify().partitions[0]["segments"][1]["first_offset"]
    os.utime(local.logs()[1].with_suffix(".index"), ns=(1, 1))
    report = local.verify()
    assert (report.verdict, trusted(report)[0]) == ("ok", first)
    assert trusted(local.verify())[0] == report.partitions[0]["log_end_offset"]


def produce(scene: Scene, *values: bytes) -> None:
    with LogDirWriter.open(scene.log_dir) as writer:
        writer.log(TopicPartition("t", 0)).append((None, value) for value in values)


def test_segment_that_has_grown_is_trusted_up_to_where_it_ended(scene):
    end = scene.verify().partitions[0]["log_end_offset"]
    names = [log.name for log in scene.logs()]
    produce(scene, b"new")
    assert [log.name for log in scene.logs()] == names
    report = scene.verify()
    assert (report.verdict, trusted(report)[0], whys(report)) == ("ok", end, {})
    assert report.partitions[0] == {
        **scene.verify(since=False).partitions[0],
        "trusted_until": end,
    }
    assert trusted(scene.verify())[0] == end + 1


def test_damage_in_what_a_segment_has_grown_by_is_found(scene):
    end = scene.verify().partitions[0]["log_end_offset"]
    produce(scene, b"new", b"newer")
    log = scene.logs()[-1]
    flip_byte(log, log.stat().st_size - 1, mask=1)
    (found,) = scene.verify().tally.findings()
    assert (found.kind.value, found.offset) == ("bad-crc", end + 1)


@pytest.mark.parametrize("suffix", [".log", ".index"])
def test_segment_that_has_grown_after_another_end_is_not_trusted(local, suffix):
    local.verify()
    flip_byte(local.logs()[-1].with_suffix(suffix), 3, mask=1)
    produce(local, b"new")
    assert trusted(local.verify())[0] is None


def grown_index(scene: Scene) -> tuple[Path, int, int]:
    """Let a trusted segment grow by an index entry; return the index, its slot, the trusted end."""
    while True:
        end = scene.verify().partitions[0]["log_end_offset"]
        log, size = scene.logs()[-1], scene.logs()[-1].stat().st_size
        while scene.logs()[-1] == log:
            produce(scene, bytes(20))
            for slot, (_, position) in enumerate(entries_of(log.with_suffix(".index"))):
                if position >= size:
                    return log.with_suffix(".index"), slot, end


def entries_of(index: Path) -> list[tuple[int, int]]:
    return index_entries(index.read_bytes())


@pytest.mark.parametrize("is_offset", [True, False])
def test_new_entry_of_an_index_for_what_is_trusted_is_a_finding(local, is_offset):
    """So nothing of the segment is trusted."""
    index, slot, end = grown_index(local)
    entries = entries_of(index)
    offset, position = entries[slot]
    wrong = (end - int(index.stem) - 1, position) if is_offset else (offset, 1)
    index.write_bytes(encode_entries([*entries[:slot], wrong, *entries[slot + 1 :]]))
    report = local.verify()
    assert report.verdict == "findings"
    assert report.tally.counts() == local.verify(since=False).tally.counts()


def test_zeros_that_an_index_has_grown_by_cost_no_step_each(local):
    index, _, _ = grown_index(local)
    entries, steps = index.read_bytes(), []
    for size in (64, 10 << 20):
        index.write_bytes(entries + bytes(size))
        steps.append(steps_of(local.verify))
    assert steps[1] < steps[0] + 1000


def test_entry_that_was_written_late_is_no_finding(tmp_path):
    scene = Scene(tmp_path, KAFKA, LocalEngine())  # Kafka's indexes may lack entries
    index, _, _ = grown_index(scene)
    whole = index.read_bytes()
    cut_to(index, len(whole) - ENTRY_SIZE_BYTES)
    assert scene.verify().verdict == "ok"
    index.write_bytes(whole)
    produce(scene, b"new")
    assert scene.verify().verdict == "ok"


def changes_while_it_is_verified(
    tmp_path: Path, dialect: Any, change: Callable[[Scene], None], moment: int
) -> tuple[Scene, Report]:
    """Verify, and change something before so many segments are checked."""
    left = [moment]

    def checked(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            change(scene)
        return check_segment(*arguments, **options)

    scene = Scene(tmp_path, dialect, LocalEngine(checked))
    return scene, scene.verify()


def test_what_changes_while_it_is_verified_is_not_put_on_record(tmp_path, dialect):
    def touch(scene: Scene) -> None:
        os.utime(scene.logs()[2], ns=(1, 1))

    scene, report = changes_while_it_is_verified(tmp_path, dialect, touch, moment=5)
    assert report.verdict == "ok"
    segments = report.partitions[0]["segments"]
    assert trusted(scene.verify())[0] == segments[2]["first_offset"]


def test_log_that_becomes_shorter_while_it_is_verified_is_not_trusted(local):
    local.verify()
    last = message_positions(local.logs()[-1].read_bytes())[-1]
    produce(local, b"new", b"newer")
    log, size = local.logs()[-1], local.logs()[-1].stat().st_size

    def checked(topic_partition: TopicPartition, segment: Any, *rest: Any, **options: Any) -> Any:
        if segment.log_path == log and log.stat().st_size == size:
            cut_to(log, last)  # a message below what is trusted
        return check_segment(topic_partition, segment, *rest, **options)

    report = verify_with(
        LocalEngine(checked), ManualClock(LATER_MS), LogDir(local.log_dir), ["t"], since_last=True
    )
    assert report.verdict != "ok"
    assert local.verify().verdict == "findings"


def test_range_that_goes_on_after_what_is_trusted_is_compared_as_a_whole(scene):
    """Its first messages are trusted, and their fingerprints are on record."""
    scene.verify()
    row = scene.verify().partitions[0]["segments"][2]
    assert row["first_offset"] % RANGE  # a range began in the segment before
    log = scene.logs()[2]
    flip_byte(log, message_positions(log.read_bytes())[1] - 1, mask=1)
    fix_crc(log, 0)
    report = scene.verify()
    (found,) = report.tally.findings()
    assert (found.kind.value, trusted(report)[0]) == ("altered", row["first_offset"])
    assert found.offset == row["first_offset"] // RANGE * RANGE


def test_retention_takes_no_trust_away(local):
    local.verify()
    first, second = local.logs()[:2]
    start = local.verify().partitions[0]["segments"][1]["first_offset"]
    record_log_starts(local.log_dir, {TopicPartition("t", 0): start})  # as retention does
    first.unlink()
    first.with_suffix(".index").unlink()
    report = local.verify()
    assert report.verdict == "ok"
    assert None not in trusted(report)
    second.unlink()  # nobody but retention
    assert {kind.value for kind in local.verify().tally.counts()} >= {"lost-start"}


def test_other_topic_of_the_same_name_is_not_trusted(local):
    local.verify()
    path = local.log_dir / "t.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps({**facts, "topic_id": "zWE-MNjxat-Rt1hKImWx9Q"}))
    report = local.verify()
    assert trusted(report) == [None, None]
    assert whys(report) == {"the last `ok` is of an earlier topic of this name": 2}


def test_another_setting_that_acts_on_checks_takes_the_trust_away(local):
    local.verify()
    with LogDirWriter.open(local.log_dir) as writer:
        writer.alter_topic("t", settings=replace(SMALL, index_interval_bytes=100))
    report = local.verify()
    assert trusted(report) == [None, None]
    assert whys(report) == {"the last `ok` had other settings": 2}
    assert report.tally.counts() == local.verify(since=False).tally.counts()


def test_setting_that_acts_on_no_check_takes_no_trust_away(local):
    local.verify()
    with LogDirWriter.open(local.log_dir) as writer:
        writer.alter_topic("t", settings=replace(SMALL, segment_bytes=3000))
    assert None not in trusted(local.verify())


def test_keys_that_the_first_job_places_are_checked_then(local, dialect):
    """At the last `ok` nobody knew where they belong."""
    with LogDirWriter.open(local.log_dir) as writer:
        writer.delete_topic("t")
        writer.create_topic(Topic("t", PARTITIONS, dialect, SMALL))
        writer.log(TopicPartition("t", 0)).append((b"k%d" % n, b"") for n in range(9))
    assert local.verify().verdict == "ok"
    local.ingest("second")
    report = local.verify()
    assert report.tally.counts() == local.verify(since=False).tally.counts() != {}


@pytest.mark.parametrize(
    ("first", "then", "is_trusted"),
    [
        ({}, {"full": True}, False),
        ({"full": True}, {}, True),
        ({}, {"strict_index": True}, False),
        ({}, {"partitioner": "default-2.4"}, False),
        ({"partitioner": "default-2.4"}, {"partitioner": "default-2.4"}, True),
    ],
)
def test_ok_counts_for_options_that_ask_no_more(local, first, then, is_trusted):
    local.verify(**first)
    report = local.verify(**then)
    assert report.verdict == "ok"
    assert (trusted(report) == [None, None]) != is_trusted


def test_full_compares_digests_of_jobs_that_came_after(local):
    local.verify(full=True)
    local.ingest("second")
    report = local.verify(full=True)
    assert report.verdict == "ok"
    assert "digests" in report.checked


def test_account_of_the_last_job_stands_beside_the_trusted_rest(scene):
    scene.verify()
    scene.ingest("second")
    report = scene.verify(against=scene.source("second"), job="second")
    assert report.verdict == "ok"
    assert report.conservation["source"] == RECORDS
    assert None not in trusted(report)


# ---- the record


def test_no_record_means_that_all_is_checked(local):
    report = local.verify()
    assert (report.verdict, trusted(report)) == ("ok", [None, None])
    assert whys(report) == {"no earlier `ok` is recorded": 2}


@pytest.mark.parametrize("text", ["", "{}", '{"topic_id": 7}', "[1]"])
def test_broken_record_is_said_and_trusted_in_nothing(local, text):
    local.verify()
    path = local.log_dir / VERIFIED_DIR / "t.json"
    path.write_text(text)
    report = local.verify()
    assert (report.verdict, trusted(report)) == ("ok", [None, None])
    assert sum(whys(report).values()) == PARTITIONS
    assert trusted(local.verify()) != [None, None]  # written anew


@pytest.mark.parametrize(
    ("name", "value"),
    [("read_ms", 10**18), ("offset", 7), ("segments", []), ("segments", [[0] * 14])],
)
def test_record_with_an_absurd_number_is_no_record_and_the_report_says_so(local, name, value):
    local.verify()
    path = local.log_dir / VERIFIED_DIR / "t.json"
    document = json.loads(path.read_text())
    document["partitions"]["0"][name] = value
    path.write_text(json.dumps(document))
    report = local.verify()
    assert (report.verdict, trusted(report)) == ("ok", [None, None])
    why = "t.json holds no record of the last ok (somebody has changed it)"
    for told in (report.to_text(), report.to_html()):
        assert f"ot on trust: 2 partitions: log dir {path.parent}: {why}" in told
    assert None not in trusted(local.verify())  # written anew


def test_record_that_cannot_be_written_is_said(local):
    (local.log_dir / VERIFIED_DIR).write_text("a file")
    report = local.verify()
    assert report.verdict == "ok"
    assert "this `ok` could not be recorded" in said(report)


def test_partition_with_an_allowed_finding_is_not_recorded(local):
    cut_to(local.logs()[-1].with_suffix(".index"), 0)
    assert local.verify(allow=["index-sparse"], strict_index=True).verdict == "ok"
    report = local.verify(allow=["index-sparse"], strict_index=True)
    assert trusted(report)[0] is None
    assert trusted(report)[1] is not None


def test_record_is_the_one_file_that_is_written_and_only_if_asked(local):
    before = files_of(local.log_dir)
    local.verify(since=False)
    assert files_of(local.log_dir) == before
    local.verify()
    assert files_of(local.log_dir).keys() - before.keys() == {f"{VERIFIED_DIR}/t.json"}
    assert LogDir(local.log_dir).topics() == [LogDir(local.log_dir).topic("t")]
