"""The fault matrix on logs that jobs wrote, against their source.

The faults are those of a perfect forger (tests.support.verification.forgery): bytes, offsets,
names and indexes are without a flaw, and ranges of messages are so short that each fault moves many
of them. Many faults are in one log, in different places; what does not come from another finding
must be just these.

    dropped                                  missing, with its line
    written twice, three times               duplicate, for each copy too many
    two of a key swapped                     key-order, at the one that comes too late
    moved to another partition               wrong-partition, with its line
    value, key or both altered               altered, with its line, and nothing else
    key altered to one of another partition  altered; wrong-partition comes from it
    invented                                 extra
    attributes altered                       altered, by the manifest: the source has none
    no key, moved to another partition       by its manifest at most: it may be anywhere

By nature nobody can tell which of several copies of a line is missing: the last is named.
"""

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kminilog.format.dialect import DIALECTS, KAFKA, Dialect
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.tasks import TASKS_PER_CORE
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.publish import fingerprints
from kminilog.verification import findings
from kminilog.verification.account.spark import verify
from kminilog.verification.report import Report
from tests.support.verification.forgery import Forged, Forger
from tests.support.verification.job_logs import TOPIC, KeyValue, Step, write_job_log

SETTINGS = TopicSettings(segment_bytes=900, index_interval_bytes=100)
pytestmark = pytest.mark.sampled(
    1
)  # tests/verification/account/test_tampered_logs.py has each fault
RANGE = 13
PARTITIONS = 4
LINES = [b"k%02d=%d" % (n % 23, n) if n % 9 else b"none %d" % n for n in range(400)]
LINES += LINES[10:16]  # lines 11 to 16 are there twice
Places = list[tuple[str, int, int | None, int | None]]  # class, partition, offset, line


def keyed(line: bytes) -> KeyValue:
    return (line[:3] if line.startswith(b"k") else None), line


def write_source(path: Path, lines: list[bytes]) -> Source:
    path.write_bytes(b"\n".join(lines) + b"\n")
    return Source((str(path),), key_regex=r"^(k\d\d)=")


@pytest.fixture(params=zip(DIALECTS.values(), ("runs", "sorted"), strict=True), ids=DIALECTS.keys())
def forger(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Forger:
    """The log of one job, to be forged: in one dialect by one plan, in the other by the other."""
    monkeypatch.setattr(fingerprints, "RANGE_MESSAGES", RANGE)
    monkeypatch.setattr(findings, "SAMPLE_COUNT", len(LINES))  # of findings that have causes, too
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    dialect, plan = request.param
    return written(tmp_path, dialect, plan)


def written(tmp_path: Path, dialect: Dialect, plan: str) -> Forger:
    source = write_source(tmp_path / "t.txt", LINES)
    steps = [Step(plan, [keyed(line) for line in LINES], "job", path=source.paths[0])]
    write_job_log(tmp_path / "log", dialect, steps, partitions=PARTITIONS, settings=SETTINGS)
    forger = Forger(tmp_path / "log", TOPIC, interval_bytes=SETTINGS.index_interval_bytes)
    free = {line: [n for n, other in enumerate(LINES, 1) if other == line] for line in LINES}
    for partition in forger.segments:
        for message in forger.messages(partition):
            message.line = free[message.value_in(LINES)].pop(0)
    return forger


def by_line(forger: Forger, line: int) -> Forged:
    for partition in forger.segments:
        for message in forger.messages(partition):
            if message.line == line:
                return message
    raise AssertionError(line)


def check(spark: SparkSession, forger: Forger, job: str | None = None) -> Report:
    source = Source((str(forger.log_dir.parent / "t.txt"),), key_regex=r"^(k\d\d)=")
    return verify(spark, LogDir(forger.log_dir), [TOPIC], against=source, job=job)


def found(report: Report) -> Places:
    kinds = report.to_json()["findings"]
    assert all(found["count"] == len(found["samples"]) for found in kinds)
    return sorted(
        (
            (
                found["class"],
                sample["partition"],
                sample["offset"],
                sample["source"] and int(sample["source"].rpartition(" ")[2]),
            )
            for found in kinds
            for sample in found["samples"]
            if not sample["cause"]
        ),
        key=str,
    )


def account(report: Report) -> dict[str, int]:
    """The numbers of the equation that are not 0, but for those of both sides."""
    conservation = dict(report.conservation)
    assert conservation.pop("holds")
    return {name: count for name, count in conservation.items() if count}


def test_what_one_job_wrote_between_producers_is_ok(spark, tmp_path, forger):
    log_dir, dialect = tmp_path / "other", LogDir(forger.log_dir).topic(TOPIC).dialect
    source = write_source(tmp_path / "t.txt", LINES)
    foreign = Step("producer", [keyed(b"k01=foreign %d" % n) for n in range(20)])
    steps = [foreign, Step("runs", [*map(keyed, LINES)], "job", path=source.paths[0]), foreign]
    write_job_log(log_dir, dialect, steps, partitions=PARTITIONS, settings=SETTINGS)
    report = verify(spark, LogDir(log_dir), [TOPIC], against=source, job="job")
    assert (report.verdict, found(report)) == ("ok", [])
    assert account(report) == {"source": len(LINES), "stored": len(LINES)}


def test_many_faults_in_one_log_are_named_one_by_one(spark, forger):
    """Two of each kind and more, in the first, middle and last segments of the partitions."""
    expected: list[tuple[str, Forged | None, int | None, int | None]] = []

    def at(line: int) -> Forged:
        message = by_line(forger, line)
        assert message.key is not None
        return message

    for line in (2, 120, 395):  # dropped
        expected.append(("missing", None, line, forger.place(at(line))[0]))
        forger.take_out(at(line))
    for line, copies in ((30, 1), (210, 2), (340, 1)):  # written twice, three times
        original = at(line)
        for _ in range(copies):
            forger.put_behind(original, original.copy())
        behind = forger.messages(forger.place(original)[0])
        slot = behind.index(original)
        expected += [("duplicate", copy, line, None) for copy in behind[slot + 1 :][:copies]]
    for line in (47, 260):  # swapped with the next of its key, which stands 23 lines after it
        first, second = at(line), at(line + 23)
        assert first.key == second.key
        forger.exchange(first, second)
        expected.append(("key-order", second, line, None))
    for line in (71, 300):  # moved
        message = at(line)
        other = (forger.place(message)[0] + 1) % PARTITIONS
        forger.take_out(message)
        forger.put_behind(forger.messages(other)[-1], message)
        expected.append(("wrong-partition", message, line, None))
    for line in (90, 150, 371):  # value altered
        at(line).flip(-1, 0x40)
        expected.append(("altered", at(line), line, None))
    for line, same in ((96, True), (230, False)):  # key altered
        message = at(line)
        message.set_key(forger.other_key(message, same_partition=same))
        expected.append(("altered", message, line, None))
    for line in (178, 320):  # invented
        new = at(line).copy()
        new.flip(-1, 0x20)
        new.line = None
        forger.put_behind(at(line), new)
        expected.append(("extra", new, None, None))
    forger.write()
    report = check(spark, forger)
    assert found(report) == placed(forger, expected)
    assert account(report) == {
        "source": len(LINES),
        "stored": len(LINES) + 3,
        "missing": 3,
        "duplicate": 4,
        "altered": 5,
        "extra": 2,
    }


def test_stages_have_few_tasks_though_the_session_has_200_for_a_shuffle(spark, tmp_path):
    """Whose records are missing and whose messages are extra takes the most shuffles."""
    forger = written(tmp_path, KAFKA, "runs")
    altered, first, second = (by_line(forger, line) for line in (90, 47, 47 + 23))
    altered.flip(-1, 0x40)
    forger.exchange(first, second)
    forger.write()
    users = spark.newSession()
    users.conf.unset("spark.sql.shuffle.partitions")
    assert users.conf.get("spark.sql.shuffle.partitions") == "200"
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup())
    report = check(users, forger)
    assert found(report) == placed(
        forger, [("key-order", second, 47, None), ("altered", altered, 90, None)]
    )
    jobs = [tracker.getJobInfo(job) for job in set(tracker.getJobIdsForGroup()) - before]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    tasks = [stage.numTasks for stage in stages if stage]
    most = TASKS_PER_CORE * spark.sparkContext.defaultParallelism
    assert max(tasks) <= 4 * most, tasks  # a union of four shuffled tables


def placed(
    forger: Forger, expected: list[tuple[str, Forged | None, int | None, int | None]]
) -> Places:
    places: Places = []
    for kind, message, line, partition in expected:
        if message is None:
            assert partition is not None
            places.append((kind, partition, None, line))
        else:
            places.append((kind, *forger.place(message), line))
    return sorted(places, key=str)


def test_what_the_source_cannot_tell_is_named_by_the_manifest(spark, forger):
    """Attributes, in a partition from which nothing is gone; and a drop in another one."""
    altered, dropped = by_line(forger, 201), by_line(forger, 300)
    partition, offset = forger.place(altered)
    lost_from, _ = forger.place(dropped)
    assert partition != lost_from
    altered.flip(1, 0x08)
    forger.take_out(dropped)
    forger.write()
    report = check(spark, forger)
    first = offset - offset % RANGE
    assert found(report) == [
        ("altered", partition, first, None),
        ("missing", lost_from, None, 300),
    ]
    assert account(report) == {"source": len(LINES), "stored": len(LINES) - 1, "missing": 1}


def test_of_lines_that_the_source_repeats_the_last_is_missing_or_there_too_often(spark, forger):
    forger.take_out(by_line(forger, 12))
    first, again = by_line(forger, 13), by_line(forger, 403)
    copies = [first.copy(), first.copy()]
    for copy in copies:
        forger.put_behind(first, copy)
    forger.write()
    report = check(spark, forger)
    (partition, _), (_, end) = forger.place(first), forger.place(again)
    _, before = forger.place(copies[0])  # it was put in first, so it is the last of three
    assert found(report) == [
        ("duplicate", partition, before, 13),
        ("duplicate", partition, end, 13),
        ("missing", forger.place(by_line(forger, 402))[0], None, 402),
    ]
    counts = {"source": len(LINES), "stored": len(LINES) + 1, "missing": 1, "duplicate": 2}
    assert account(report) == counts
