"""Where keys belong, by what each job has recorded; a topic may get more partitions later."""

import json
from pathlib import Path

import pytest

from kminilog.clock import ManualClock
from kminilog.format.dialect import KAFKA
from kminilog.format.names import TopicPartition
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import committed_path
from kminilog.storage.topics import Topic
from kminilog.verification.account.engine import LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.report import Report
from tests.support.damage import fix_crc, flip_byte

ROWS = 120


class Scene:
    """A topic of a job with two partitions; it gets three more, and then a job or a producer."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "log"
        self.lines = directory / "lines.txt"
        self.lines.write_text("".join(f"k{n}:value {n}\n" for n in range(ROWS)))

    def ingest(self, job_id: str, **options: object) -> None:
        ingest_with(
            LocalIngest(),
            self.path,
            self.source(),
            topic="orders",
            job_id=job_id,
            dialect=KAFKA,
            **options,
        )

    def source(self, path: Path | None = None) -> Source:
        return Source((str(path or self.lines),), "text", key_regex="^([^:]*):")

    def grow(self, partitions: int) -> None:
        with LogDirWriter.open(self.path) as writer:
            writer.alter_topic("orders", partitions=partitions)

    def produce(self, partitions: int) -> None:
        with LogDirWriter.open(self.path) as writer:
            for n in range(ROWS):
                place = TopicPartition("orders", murmur2_partition(b"p%d" % n, partitions))
                writer.log(place).append([(b"p%d" % n, b"v")])

    def verified(self, **options: object) -> Report:
        return verify_with(LocalEngine(), ManualClock(), LogDir(self.path), [], **options)

    def forget(self, job_id: str, fact: str) -> None:
        """Make the manifest one that records less."""
        path = committed_path(self.path, job_id)
        document = json.loads(path.read_text())
        del document["facts"][fact]
        path.write_text(json.dumps(document))


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path)
    scene.ingest("load", partitions=2)
    return scene


def placement(report: Report) -> list[tuple[str, str | None]]:
    return [(one.why, one.option) for one in report.unchecked if one.what == "placement"]


def test_topic_with_more_partitions_than_its_job_had_is_ok(scene):
    scene.grow(5)
    report = scene.verified()
    assert report.verdict == "ok"
    assert "placement" in report.checked
    assert not placement(report)


def test_each_job_is_judged_by_as_many_partitions_as_there_were(scene):
    scene.grow(5)
    scene.ingest("again")
    report = scene.verified()
    assert (report.verdict, placement(report)) == ("ok", [])


def test_key_in_the_wrong_partition_of_an_old_job_is_found_in_a_topic_that_has_grown(scene):
    scene.grow(5)
    log = next(scene.path.glob("orders-0/*.log"))
    flip_byte(log, 23, mask=1)  # the first key, whose hash is another one now
    fix_crc(log, 0)
    counts = scene.verified(allow=["altered"]).tally.counts()
    assert counts["wrong-partition"] == 1


@pytest.mark.parametrize("is_new_file", [False, True])
@pytest.mark.parametrize("is_full", [False, True])
def test_source_of_a_job_is_accounted_for_in_a_topic_that_has_grown(scene, is_new_file, is_full):
    scene.grow(5)
    path = scene.lines
    if is_new_file:  # nobody knows that it is what the job has read
        path = scene.lines.with_name("copy.txt")
        path.write_bytes(scene.lines.read_bytes())
    report = scene.verified(against=scene.source(path), full=is_full)
    assert report.verdict == "ok"
    assert report.conservation["holds"]
    assert report.conservation["stored"] == ROWS


def test_one_job_of_two_is_compared_by_as_many_partitions_as_it_had(scene):
    scene.grow(5)
    scene.ingest("again")
    for job in ("load", "again"):
        assert scene.verified(against=scene.source(), job=job).verdict == "ok"


def test_keys_of_no_job_are_judged_as_all_jobs_put_theirs_if_the_topic_never_grew(scene):
    scene.produce(2)
    assert (scene.verified().verdict, placement(scene.verified())) == ("ok", [])
    scene.produce(1)
    assert scene.verified().tally.counts()["wrong-partition"] > 9


def test_keys_of_no_job_are_not_checked_and_counted_if_jobs_used_two_partitioners(scene):
    scene.ingest("other", partitioner="default-0.8")
    scene.produce(2)
    report = scene.verified()
    assert report.verdict == "ok"
    why = f"the partitioner of {ROWS} messages with keys is unknown"
    assert placement(report) == [(why, "--partitioner NAME")]
    named = scene.verified(partitioner="default-2.4", allow=["wrong-partition"])
    assert (named.verdict, placement(named)) == ("ok", [])


@pytest.mark.parametrize("partitioner", [None, "default-2.4"])
def test_keys_of_no_job_in_a_topic_that_has_grown_are_not_checked(scene, partitioner):
    scene.produce(2)
    scene.grow(5)
    scene.produce(5)
    report = scene.verified(partitioner=partitioner)
    assert report.verdict == "ok"
    why = f"no job recorded how many partitions the topic had for {2 * ROWS} messages with keys"
    assert placement(report) == [(why, None)]


def test_producers_alone_are_not_judged_once_their_topic_has_grown(tmp_path):
    scene = Scene(tmp_path)
    with LogDirWriter.open(scene.path, create=True) as writer:
        writer.create_topic(Topic("orders", 2, KAFKA))
    scene.produce(2)
    named = scene.verified(partitioner="default-2.4")
    assert (named.verdict, "placement" in named.checked) == ("ok", True)
    scene.grow(5)
    report = scene.verified(partitioner="default-2.4")
    assert report.verdict == "ok"
    assert placement(report)[0][0].endswith(f"for {ROWS} messages with keys")


@pytest.mark.parametrize("fact", ["partitions", "partitioner"])
def test_job_that_has_not_recorded_where_its_keys_belong_is_not_checked(scene, fact):
    scene.forget("load", fact)
    report = scene.verified(allow=["manifest-mismatch"])
    assert report.verdict == "ok"
    assert placement(report) == [("the partitioner of its keys is unknown", "--partitioner NAME")]


@pytest.mark.parametrize("partitions", [0, -3, True, 2.5, "2", None])
def test_manifest_with_an_impossible_number_of_partitions_is_not_believed(scene, partitions):
    path = committed_path(scene.path, "load")
    document = json.loads(path.read_text())
    document["facts"]["partitions"] = partitions
    path.write_text(json.dumps(document))
    assert scene.verified().verdict == "partial"


def test_manifest_that_cannot_be_read_is_partial_and_the_others_are_believed(scene):
    committed_path(scene.path, "other").mkdir()
    report = scene.verified()
    (asked,) = [one for one in report.unchecked if one.asked]
    assert (report.verdict, asked.what, asked.where) == ("partial", "jobs", "other.json")
    assert "placement" in report.checked
