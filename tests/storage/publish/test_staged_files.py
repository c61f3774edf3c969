"""A pending job that somebody has changed: refused in one line, and nothing is touched."""

import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kminilog.columns.staged_logs import seal
from kminilog.errors import CorruptLogError, LogDirError, PublicationError
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import Manifest, pending_manifest, pending_path
from kminilog.storage.publish.publication import open_staged_log, publish, staging_path
from kminilog.storage.topics import Topic
from kminilog.verification import records
from kminilog.verification.records import read_small_files
from kminilog.verification.report import verify_storage
from tests.support.trees import tree_of

SETTINGS = TopicSettings(segment_bytes=100)
STORED = 6
T_0 = TopicPartition("t", 0)


class Scene(NamedTuple):
    """A log dir with the topic t and a pending job of which no file is in place yet; the manifest
    as JSON; and a directory beside the log dir that belongs to nobody here."""

    log_dir: Path
    manifest: dict[str, Any]
    outside: Path

    @property
    def staged(self) -> dict[str, Any]:
        """The only partition of the job."""
        found: dict[str, Any] = self.manifest["partitions"][0]
        return found

    @property
    def directory(self) -> Path:
        """Where its files are staged."""
        return self.log_dir / ".staging" / "job-1" / "attempt" / "t-0"


@pytest.fixture
def scene(tmp_path: Path, dialect: Dialect, without_fsync: None) -> Scene:
    log_dir, outside = tmp_path / "log", tmp_path / "outside"
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("t", 2, dialect, SETTINGS))
        for partition in range(2):
            writer.log(TopicPartition("t", partition)).append(numbered(0, STORED))
    staging = staging_path(log_dir, "job-1")
    (staging / "attempt").mkdir(parents=True, exist_ok=True)
    log = open_staged_log(
        staging / "attempt",
        Topic("t", 1, dialect, SETTINGS),
        0,
        target=log_dir / "t-0",
        first_offset=STORED,
    )
    log.append(numbered(STORED, 3 * STORED))
    manifest = Manifest("job-1", "t", [seal(log, staging, STORED)], {})
    crash_behind_commit(log_dir, manifest)
    for name in ("t-0", "target-0"):
        shutil.copytree(log_dir / "t-0", outside / name)
    shutil.copytree(outside / "target-0", tmp_path / "target-0")
    return Scene(log_dir, json.loads(pending_path(log_dir).read_bytes()), outside)


def numbered(start: int, stop: int) -> list[tuple[None, bytes]]:
    return [(None, b"value %d" % number) for number in range(start, stop)]


def crash_behind_commit(log_dir: Path, manifest: Manifest) -> None:
    """Publish, but crash before the first file comes into its partition."""
    real = os.replace

    def replace(source: Any, target: Any) -> None:
        if Path(target).parent.name == "t-0":
            raise KeyboardInterrupt
        real(source, target)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(os, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            publish(log_dir, manifest)


def absolute_directory(scene: Scene) -> None:
    scene.staged["directory"] = str(scene.outside / "t-0")


def directory_above(scene: Scene) -> None:
    scene.staged["directory"] = "../../../outside/t-0"


def directory_that_goes_up_inside(scene: Scene) -> None:
    scene.staged["directory"] = "attempt/../../../t-1"


def topic_above(scene: Scene) -> None:
    scene.manifest["topic"] = "../target"
    scene.staged["directory"] = "attempt/../target-0"
    shutil.copytree(scene.directory, scene.directory.parent.parent / "target-0")


def directory_of_another_partition(scene: Scene) -> None:
    scene.staged["directory"] = "attempt/t-1"
    shutil.copytree(scene.directory, scene.directory.with_name("t-1"))


def directory_that_is_a_link(scene: Scene) -> None:
    shutil.rmtree(scene.directory)
    scene.directory.symlink_to(scene.outside / "t-0")


def attempt_that_is_a_link(scene: Scene) -> None:
    attempt = scene.directory.parent
    attempt.rename(scene.outside / "attempt")
    attempt.symlink_to(scene.outside / "attempt")


def staging_that_is_a_link(scene: Scene) -> None:
    staging = scene.log_dir / ".staging"
    staging.rename(scene.outside / "staging")
    staging.symlink_to(scene.outside / "staging")


def partition_that_is_a_link(scene: Scene) -> None:
    shutil.rmtree(scene.log_dir / "t-0")
    (scene.log_dir / "t-0").symlink_to(scene.outside / "t-0")


def file_that_is_a_link(scene: Scene) -> None:
    log = max(scene.directory.glob("*.log"))
    log.unlink()
    log.symlink_to(scene.outside / "t-0" / f"{0:020d}.log")


def file_that_is_a_fifo(scene: Scene) -> None:
    log = max(scene.directory.glob("*.log"))
    log.unlink()
    os.mkfifo(log)


def file_that_is_no_segment(scene: Scene) -> None:
    (scene.directory / "notes.txt").write_text("mine")


def segment_that_would_replace_messages(scene: Scene) -> None:
    for suffix in (".log", ".index"):
        shutil.copy(max(scene.directory.glob(f"*{suffix}")), scene.directory / f"{0:020d}{suffix}")


def job_over_messages_that_are_there(scene: Scene) -> None:
    scene.staged["first_offset"] = 0
    segment_that_would_replace_messages(scene)


def job_behind_a_gap(scene: Scene) -> None:
    scene.staged["first_offset"] = STORED + 2
    for path in scene.directory.glob("*"):
        if int(path.name[:20]) <= STORED:
            path.unlink()


def job_id_that_goes_up(scene: Scene) -> None:
    scene.manifest["job_id"] = "../../outside"
    scene.staged["directory"] = "t-0"


def partition_that_is_not_there(scene: Scene) -> None:
    scene.staged["partition"] = 7
    scene.staged["directory"] = "attempt/t-7"
    scene.directory.rename(scene.directory.with_name("t-7"))
    (scene.log_dir / "t-7").mkdir()


def topic_that_is_not_there(scene: Scene) -> None:
    scene.manifest["topic"] = "u"
    scene.staged["directory"] = "attempt/u-0"
    shutil.copytree(scene.directory, scene.directory.with_name("u-0"))
    (scene.log_dir / "u-0").mkdir()


def partition_twice(scene: Scene) -> None:
    scene.manifest["partitions"] *= 2


def partition_that_is_true(scene: Scene) -> None:
    scene.staged["partition"] = False


ATTACKS: list[Callable[[Scene], None]] = [
    absolute_directory,
    directory_above,
    directory_that_goes_up_inside,
    topic_above,
    directory_of_another_partition,
    directory_that_is_a_link,
    attempt_that_is_a_link,
    staging_that_is_a_link,
    partition_that_is_a_link,
    file_that_is_a_link,
    file_that_is_a_fifo,
    file_that_is_no_segment,
    segment_that_would_replace_messages,
    job_over_messages_that_are_there,
    job_behind_a_gap,
    job_id_that_goes_up,
    partition_that_is_not_there,
    topic_that_is_not_there,
    partition_twice,
    partition_that_is_true,
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_pending_job_that_was_changed_is_refused_and_nothing_is_touched(scene, tmp_path, attack):
    attack(scene)
    pending_path(scene.log_dir).write_text(json.dumps(scene.manifest))
    written_at_each_opening = (".lock", ".changes")
    before = tree_of(tmp_path, without=written_at_each_opening)
    for _ in range(2):
        with pytest.raises((LogDirError, OSError)) as caught:
            LogDirWriter.open(scene.log_dir)
        assert "\n" not in str(caught.value)
        what = ".staging" if attack is staging_that_is_a_link else ".pending"
        assert what in str(caught.value)
        assert "move it" in str(caught.value)
    assert tree_of(tmp_path, without=written_at_each_opening) == before


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_verify_says_that_no_writer_can_finish_a_pending_job(scene, attack):
    sound = verify_storage(LogDir(scene.log_dir))
    assert not [one for one in sound.unchecked if one.what == "jobs"]
    attack(scene)
    pending_path(scene.log_dir).write_text(json.dumps(scene.manifest))
    made = None
    with suppress(LogDirError):
        made = verify_storage(LogDir(scene.log_dir))
    if made is None:  # nobody can read anything
        with pytest.raises(LogDirError, match=r"\.pending holds no manifest"):
            pending_manifest(scene.log_dir)
        return
    (told,) = [one for one in made.unchecked if one.what == "jobs"]
    assert told.asked  # its messages were committed, and nobody can read them
    assert made.verdict == ("findings" if made.tally.counts() else "partial")
    assert told.where == scene.manifest["topic"]
    beginning = "job job-1 is not finished, and no writer can finish it: "
    assert told.why.startswith(beginning)
    assert told.why != beginning
    assert "Errno" not in told.why


def test_jobs_that_a_writer_finishes_meanwhile_are_not_taken_for_one_that_cannot_be(
    scene, monkeypatch
):
    """As if a writer finished one job during the first look, and the next during the second."""

    def finish_meanwhile(log_dir, job):
        following = {**scene.manifest, "job_id": f"{job.job_id}-next"}
        pending_path(log_dir).write_text(json.dumps(following))
        raise PublicationError(job.job_id, reason="the topic ends elsewhere by now")

    monkeypatch.setattr(records, "check_staged_files", finish_meanwhile)
    assert not read_small_files(scene.log_dir).unchecked
    assert pending_manifest(scene.log_dir).job_id == "job-1-next"


def test_pending_job_behind_a_damaged_end_is_finished_and_the_damage_is_told(scene):
    """The job is committed; to refuse it would keep everybody from mending the damage."""
    log = max((scene.log_dir / "t-0").glob("*.log"))
    log.write_bytes(log.read_bytes()[:-1])
    writer = LogDirWriter.open(scene.log_dir)
    with pytest.raises(CorruptLogError, match="unfinished message"):
        writer.log(T_0)
    writer.close()
    assert not pending_path(scene.log_dir).exists()


def staged_behind_the_end(scene, dialect):
    """One message staged for job-2, which is to follow the last one of t-0."""
    LogDirWriter.open(scene.log_dir).close()
    end = 3 * STORED
    staging = staging_path(scene.log_dir, "job-2")
    staging.mkdir(parents=True, exist_ok=True)
    log = open_staged_log(
        staging, Topic("t", 1, dialect, SETTINGS), 0, target=scene.log_dir / "t-0", first_offset=end
    )
    log.append(numbered(end, end + 1))
    return staging, log, end


def test_publish_of_a_link_in_staging_is_refused_and_nothing_is_committed(scene, dialect):
    staging, log, end = staged_behind_the_end(scene, dialect)
    staged = seal(log, staging, end)
    (path,) = log.directory.glob("*.log")
    path.rename(scene.outside / "moved.log")
    path.symlink_to(scene.outside / "moved.log")
    with pytest.raises(PublicationError, match="is no segment of it; the topic is unchanged"):
        publish(scene.log_dir, Manifest("job-2", "t", [staged], {}))
    assert not pending_path(scene.log_dir).exists()
    assert LogDir(scene.log_dir).reader(T_0).log_end_offset == end


def test_publish_beyond_the_greatest_offset_is_refused_and_nothing_is_committed(scene, dialect):
    """A commit that no reader takes would close the log dir for good."""
    staging, log, end = staged_behind_the_end(scene, dialect)
    staged = replace(seal(log, staging, end), next_offset=2**63)
    with pytest.raises(PublicationError, match="offsets 18 to 9223372036854775808 are no range"):
        publish(scene.log_dir, Manifest("job-2", "t", [staged], {}))
    LogDirWriter.open(scene.log_dir).close()
