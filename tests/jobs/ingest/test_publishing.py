"""An ingest holds the lock only to publish: what others do to the log dir meanwhile."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kminilog.errors import CorruptLogError, LogDirLockedError, PublicationError
from kminilog.format.names import TopicPartition
from kminilog.jobs.ingest import job_writer
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.job_writer import job_directory
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.settings import TopicSettings
from kminilog.storage.lock import LogDirLock
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.publish.publication import JOB_STAGING_DIR
from kminilog.storage.publish.visibility import STAGING_DIR
from kminilog.storage.topics import Topic
from kminilog.verification.report import verify_storage
from tests.support.damage import flip_byte
from tests.support.log_content import content_of, files_of

SMALL = TopicSettings(segment_bytes=600, index_interval_bytes=100)
ROWS = [b"row %d %s" % (n, b"x" * (n % 50)) for n in range(60)]
Meanwhile = Callable[[], object]


class Beside(LocalIngest):
    """Lets something else happen each time that the tasks are done, without the lock."""

    def __init__(self, *meanwhile: Meanwhile) -> None:
        super().__init__()
        self._meanwhile = list(meanwhile)
        self.joined_again: list[int] = []

    def stage(self, *arguments):
        staged = super().stage(*arguments)
        self._happens()
        return staged

    def join_again(self, job, todo):
        self.joined_again.append(len(todo))
        joined = super().join_again(job, todo)
        self._happens()
        return joined

    def _happens(self) -> None:
        if self._meanwhile:
            self._meanwhile.pop(0)()


@pytest.fixture
def log_dir(tmp_path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def load(log_dir, tmp_path):
    (tmp_path / "rows.txt").write_bytes(b"".join(row + b"\n" for row in ROWS))

    def run(engine: LocalIngest, **options):
        source = Source((str(tmp_path / "rows.txt"),))
        options = {"topic": "t", "job_id": "j", "lock_timeout_ms": 0} | options
        return ingest_with(engine, log_dir, source, **options)

    return run


def append(log_dir: Path, *values: bytes, partition: int = 0) -> None:
    """Write as another process does: it takes the lock, or fails."""
    with LogDirWriter.open(log_dir) as writer:
        writer.log(TopicPartition("t", partition)).append((None, value) for value in values)


def create(log_dir: Path, dialect, partitions: int = 1) -> None:
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("t", partitions, dialect, SMALL))


def values_in(log_dir: Path, partition: int = 0) -> list[bytes]:
    return [value for _, value in content_of(log_dir, "t")[partition]]


def assert_nothing_is_left(log_dir: Path) -> None:
    for name in (JOB_STAGING_DIR, STAGING_DIR, ".quarantine"):
        assert not list((log_dir / name).glob("*"))
    assert verify_storage(LogDir(log_dir)).verdict == "ok"


@pytest.mark.parametrize("before", [0, 1, 2, 30])
@pytest.mark.parametrize("others", [1, 2, 30])
def test_messages_that_others_append_meanwhile_stand_before_those_of_the_job(
    log_dir, load, dialect, before, others
):
    """The lock is free while it works; where names of segments collide, files are those of joins
    that knew the offsets from the start."""
    create(log_dir, dialect)
    old = [b"old %d" % n for n in range(before)]
    new = [b"new %d" % n for n in range(others)]
    append(log_dir, *old)
    engine = Beside(lambda: append(log_dir, *new))
    result = load(engine)
    assert engine.joined_again == [1]
    assert values_in(log_dir) == old + new + ROWS
    (staged,) = result.manifest.partitions
    assert (staged.first_offset, staged.count) == (before + others, len(ROWS))
    assert_nothing_is_left(log_dir)
    files = files_of(log_dir, "t")
    with LogDirWriter.open(log_dir) as writer:
        writer.delete_topic("t")
    create(log_dir, dialect)
    append(log_dir, *old)
    append(log_dir, *new)
    load(LocalIngest())
    assert files_of(log_dir, "t") == files


def test_only_partitions_that_others_have_written_to_are_joined_again(log_dir, load, dialect):
    create(log_dir, dialect, partitions=4)
    engine = Beside(lambda: append(log_dir, b"new", partition=2))
    load(engine, partitioner="round-robin")
    assert engine.joined_again == [1]
    assert values_in(log_dir, 2)[0] == b"new"
    assert sorted(v for p in range(4) for v in values_in(log_dir, p)) == sorted([*ROWS, b"new"])
    assert_nothing_is_left(log_dir)


def test_a_log_whose_end_was_cut_by_hand_is_recovered_and_the_job_follows(log_dir, load, dialect):
    """The writer before closed the log dir, so a job trusts the recovery point until it ends."""
    create(log_dir, dialect)
    append(log_dir, *ROWS[:30])
    last = max((log_dir / "t-0").glob("*.log"))
    os.truncate(last, last.stat().st_size - 3)
    engine = Beside()
    (staged,) = load(engine).manifest.partitions
    assert (staged.first_offset, engine.joined_again) == (29, [1])
    assert values_in(log_dir) == ROWS[:29] + ROWS
    (finding,) = verify_storage(LogDir(log_dir)).tally.findings()
    assert finding.kind == "lost-end"


def test_a_job_for_a_log_that_was_damaged_since_it_was_closed_is_refused(log_dir, load, dialect):
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("t", 1, dialect))
    append(log_dir, *ROWS[:30])
    flip_byte(max((log_dir / "t-0").glob("*.log")), 13, mask=1)
    files = files_of(log_dir, "t")
    for _ in range(2):  # the second one knows it at the beginning
        with pytest.raises(CorruptLogError, match=r"whole messages? after it"):
            load(LocalIngest())
        assert files_of(log_dir, "t") == files
        assert not list((log_dir / JOB_STAGING_DIR).glob("*"))


def test_others_that_append_each_time_cannot_keep_a_job_from_its_end(log_dir, load, dialect):
    create(log_dir, dialect)
    locked = []

    def look() -> None:
        with pytest.raises(LogDirLockedError):
            append(log_dir, b"too late")
        locked.append(True)

    appends = [lambda n=n: append(log_dir, b"new %d" % n) for n in range(3)]
    engine = Beside(*appends, look)
    load(engine)
    assert engine.joined_again == [1, 1, 1]
    assert locked == [True]
    assert values_in(log_dir) == [b"new 0", b"new 1", b"new 2", *ROWS]
    assert_nothing_is_left(log_dir)


def test_what_a_job_has_staged_is_deleted_without_the_lock(log_dir, load, dialect, monkeypatch):
    clear, deleted = job_writer.clear_directory, list[Path]()

    def clear_unlocked(directory: Path) -> None:
        LogDirLock(log_dir).release()  # it would raise an error
        deleted.append(directory.parent)
        clear(directory)

    monkeypatch.setattr(job_writer, "clear_directory", clear_unlocked)
    load(LocalIngest(), dialect=dialect)
    assert deleted == [log_dir / JOB_STAGING_DIR]
    assert_nothing_is_left(log_dir)


def test_directory_of_a_job_is_locked_while_it_works_and_deleted_if_its_process_dies(
    log_dir, load, dialect
):
    def look() -> None:
        (directory,) = (log_dir / JOB_STAGING_DIR).glob("*")
        with pytest.raises(LogDirLockedError):
            LogDirLock(directory)
        shutil.copytree(directory, log_dir / JOB_STAGING_DIR / "died")  # nobody holds its lock
        append(log_dir, b"new")
        assert [*(log_dir / JOB_STAGING_DIR).glob("*")] == [directory]

    create(log_dir, dialect)
    load(Beside(look))
    assert values_in(log_dir) == [b"new", *ROWS]


def test_a_job_that_another_process_commits_meanwhile_is_not_written_twice(log_dir, load, dialect):
    create(log_dir, dialect)
    result = load(Beside(lambda: load(LocalIngest())))
    assert result.already_committed
    assert values_in(log_dir) == ROWS
    assert_nothing_is_left(log_dir)


def test_two_jobs_at_work_at_once_for_one_new_topic_are_both_in_it(log_dir, load, dialect):
    options = {"dialect": dialect, "partitions": 2, "settings": SMALL}
    outer = load(Beside(lambda: load(LocalIngest(), job_id="inner", **options)), **options)
    assert not outer.already_committed
    assert sorted(values_in(log_dir) + values_in(log_dir, 1)) == sorted(ROWS * 2)
    assert_nothing_is_left(log_dir)


def test_a_topic_that_another_process_creates_meanwhile_in_another_shape_is_refused(
    log_dir, load, dialect
):
    engine = Beside(lambda: create(log_dir, dialect, partitions=3))
    with pytest.raises(PublicationError, match="topic t has partitions = 3, not 2; leave --part"):
        load(engine, dialect=dialect, partitions=2)
    assert content_of(log_dir, "t") == {0: [], 1: [], 2: []}
    assert_nothing_is_left(log_dir)


@pytest.mark.parametrize(
    ("partitions", "what"), [(1, ", with 1 partition,"), (2, ""), (3, "")], ids=["1", "2", "3"]
)
def test_a_topic_that_is_made_anew_or_deleted_meanwhile_is_refused(
    log_dir, load, dialect, partitions, what
):
    """Even if it has all that the first one had: it has another id."""
    create(log_dir, dialect, partitions=2)

    def delete() -> None:
        with LogDirWriter.open(log_dir) as writer:
            writer.delete_topic("t")

    def make_anew() -> None:
        delete()
        create(log_dir, dialect, partitions)

    with pytest.raises(PublicationError, match=f"t was made anew{what} while it was written; run"):
        load(Beside(make_anew))
    assert content_of(log_dir, "t") == {partition: [] for partition in range(partitions)}
    with pytest.raises(PublicationError, match="t was deleted while it was written"):
        load(Beside(delete))
    assert_nothing_is_left(log_dir)


def test_rejected_records_survive_a_writer_that_opens_the_log_dir_meanwhile(log_dir, load, dialect):
    create(log_dir, dialect)
    with LogDirWriter.open(log_dir) as writer:
        writer.alter_topic("t", settings=TopicSettings(max_message_bytes=60))
    result = load(Beside(lambda: append(log_dir, b"new")), max_rejected=len(ROWS))
    rejected = result.manifest.facts["rejected"]
    assert 0 < rejected < len(ROWS)
    lines = (log_dir / ".quarantine" / "j.jsonl").read_text().splitlines()
    assert len(lines) == rejected
    assert not list((log_dir / JOB_STAGING_DIR).iterdir())


def test_what_a_dead_job_has_left_is_deleted_by_the_next_writer_and_no_other(log_dir, dialect):
    create(log_dir, dialect)
    dead = log_dir / JOB_STAGING_DIR / "dead"
    (dead / "attempt").mkdir(parents=True)
    (dead / ".lock").write_text("process 1\n")  # nobody holds it
    (dead.with_name(".half-deleted") / "attempt").mkdir(parents=True)  # by one that died meanwhile
    with job_directory(log_dir, "alive") as alive:
        append(log_dir, b"new")
        assert list((log_dir / JOB_STAGING_DIR).iterdir()) == [alive]
    assert_nothing_is_left(log_dir)


def test_what_the_next_writer_deletes_at_the_same_time_is_no_error(log_dir, monkeypatch):
    scan, deleted = os.scandir, list[Path]()

    def delete_and_scan(path: Path | str | int) -> object:
        if str(path).endswith("attempt") and not deleted:
            deleted.append(Path(str(path)))
            shutil.rmtree(deleted[0])
        return scan(path)

    with job_directory(log_dir, "job") as directory:
        (directory / "attempt").mkdir()
        monkeypatch.setattr(os, "scandir", delete_and_scan)
    assert deleted
    assert not list((log_dir / JOB_STAGING_DIR).iterdir())


def test_many_jobs_and_appends_in_any_order_lose_nothing(log_dir, load, dialect):
    chance = random.Random(7)
    create(log_dir, dialect, partitions=3)
    expected: list[bytes] = []

    def something() -> None:
        value = b"new %d" % len(expected)
        expected.append(value)
        append(log_dir, value, partition=chance.randrange(3))

    for number in range(12):
        engine = Beside(*[something] * chance.randrange(4))
        load(engine, job_id=f"j{number}", partitioner=chance.choice(["round-robin", "built-in"]))
        expected += ROWS
    found = [value for partition in range(3) for value in values_in(log_dir, partition)]
    assert sorted(found) == sorted(expected)
    assert_nothing_is_left(log_dir)
