"""Verification by Spark: silence on a clean log, and each fault named once, at its place."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kminilog.errors import LogDirError, SourceError, UnknownTopicOrPartitionError
from kminilog.format.dialect import KAFKA
from kminilog.format.names import TopicPartition
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source import pieces, tasks
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.jobs.spark.runtime import tasks as runtime_tasks
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import MANIFEST_DIR
from kminilog.storage.topics import Topic
from kminilog.verification.account.spark import verify
from kminilog.verification.report import Report, verify_storage
from tests.support.damage import flip_byte, message_positions
from tests.support.log_content import Content, content_of, write_anew

# Keys k0 to k4 in turn; every tenth line has no key; the last five repeat the first five.
LINES = [b"k%d=%d" % (n % 5, n) if n % 10 else b"no key %d" % n for n in range(60)]
LINES += LINES[:5]
KEYED = {"key_regex": r"^(k\d)="}
COUNTS = {"source": 65, "stored": 65, "missing": 0, "extra": 0, "duplicate": 0, "rejected": 0}
COUNTS |= {"altered": 0}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    path = tmp_path_factory.mktemp("source") / "t.txt"
    path.write_bytes(b"\n".join(LINES))
    return Source((str(path),), **KEYED)


@pytest.fixture(scope="module")
def ingested(spark: SparkSession, source: Source, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log dir with the source in a topic of three partitions; do not change it."""
    path = tmp_path_factory.mktemp("ingested") / "log"
    shape = {"partitions": 3, "settings": TopicSettings(segment_bytes=300)}
    ingest(spark, path, source, topic="t", partitioner="default-0.9", job_id="first", **shape)
    return path


Check = Callable[..., Report]


@pytest.fixture
def check(spark: SparkSession, source: Source) -> Check:
    """Verify a log dir against the source."""

    def run(log_dir: Path, topics: tuple[str, ...] = ("t",), **options: Any) -> Report:
        return verify(spark, LogDir(log_dir), topics, **{"against": source, **options})

    return run


def test_verify_takes_a_log_dir_relative_to_where_the_caller_is(
    spark, source, ingested, monkeypatch
):
    monkeypatch.chdir(ingested.parent)  # the session was started elsewhere, and tasks are there
    assert verify(spark, LogDir(Path("log")), ["t"], against=source).verdict == "ok"


def test_verify_tells_how_many_tasks_of_each_step_are_done(check, ingested, monkeypatch):
    monkeypatch.setattr(runtime_tasks, "_SECONDS_BETWEEN_LOOKS", 0.005)
    told: list[Any] = []
    check(ingested, full=True, progress=told.append)
    steps = {one.step: one for one in told}
    assert steps.keys() == {"checking segments", "reading digests", "comparing rows"}
    stored = sum(path.stat().st_size for path in ingested.glob("t-*/*.log"))
    assert (steps["checking segments"].done, steps["checking segments"].bytes) == (1, stored)
    assert steps["comparing rows"].bytes > stored
    told.clear()
    check(ingested, progress=told.append)
    assert {one.step for one in told} == {"checking segments", "comparing sums"}


def findings(report: Report) -> dict[str, list[tuple[int, int | None, int | None]]]:
    """Return, by class, partition, offset and line in the source of each finding that does not come
    from another one."""
    places: dict[str, list[tuple[int, int | None, int | None]]] = {}
    for found in report.to_json()["findings"]:
        for sample in found["samples"]:
            if not sample["cause"]:
                line = sample["source"] and int(sample["source"].rpartition(" ")[2])
                place = sample["partition"], sample["offset"], line
                places.setdefault(found["class"], []).append(place)
    return places


def links(report: Report) -> set[tuple[str, str, bool]]:
    """Return which class of findings comes from which other one, and if that is certain."""
    return {
        (found["class"], sample["cause"]["class"], sample["cause"]["certain"])
        for found in report.to_json()["findings"]
        for sample in found["samples"]
        if sample["cause"]
    }


def place_of(log_dir: Path, line: bytes) -> tuple[int, int]:
    """Return partition and offset of the first message with this value."""
    for partition, messages in content_of(log_dir, "t").items():
        for offset, (_, value) in enumerate(messages):
            if value == line:
                return partition, offset
    raise AssertionError(line)


def test_verify_of_an_ingested_source_is_ok_and_the_equation_holds(check, ingested):
    report = check(ingested)
    assert report.to_json()["findings"] == []
    assert report.verdict == "ok"
    assert report.conservation == {**COUNTS, "holds": True}
    assert sum(partition["message_count"] for partition in report.partitions) == len(LINES)


def test_sums_of_many_partitions_and_tasks_stay_below_the_result_size_of_spark(
    spark, tmp_path, monkeypatch
):
    """The session takes results of a megabyte; the cells of all these tasks are more than that."""
    monkeypatch.setattr(tasks, "LEAST_BYTES", 1)
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 40_000)
    path = tmp_path / "many.txt"
    path.write_bytes(b"".join(b"%d=%d\n" % (number, number) for number in range(30_000)))
    many = Source((str(path),), key_regex="^([0-9]+)=")
    ingest_with(LocalIngest(), tmp_path / "log", many, topic="t", partitions=500)
    report = verify(spark, LogDir(tmp_path / "log"), ["t"], against=many)
    assert (report.verdict, report.scope["steps"]) == ("ok", ["sums"])


# ---- each fault, put in by writing the messages anew, is named by its class at its place


def test_verify_names_a_message_that_was_dropped(check, ingested, tmp_path):
    partition, offset = place_of(ingested, b"k3=33")
    log_dir = write_anew(ingested, tmp_path / "log", "t", lambda c: c[partition].pop(offset))
    report = check(log_dir)
    assert findings(report) == {"missing": [(partition, None, 34)]}
    assert links(report) == {("manifest-mismatch", "missing", False)}
    assert report.verdict == "findings"
    assert report.conservation == {**COUNTS, "stored": 64, "missing": 1, "holds": True}


def test_verify_names_a_message_without_key_that_was_dropped(check, ingested, tmp_path):
    partition, offset = place_of(ingested, b"no key 20")
    log_dir = write_anew(ingested, tmp_path / "log", "t", lambda c: c[partition].pop(offset))
    assert findings(check(log_dir)) == {"missing": [(partition, None, 21)]}
    shutil.rmtree(log_dir / MANIFEST_DIR)  # then nobody knows where it should be
    assert findings(check(log_dir)) == {"missing": [(-1, None, 21)]}


def test_verify_names_one_copy_as_missing_if_one_of_several_was_dropped(check, ingested, tmp_path):
    """Nobody can tell which; and that the others have moved up is no fault of their order."""
    partition, offset = place_of(ingested, b"k1=1")
    log_dir = write_anew(ingested, tmp_path / "log", "t", lambda c: c[partition].pop(offset))
    assert findings(check(log_dir)) == {"missing": [(partition, None, 62)]}


def test_verify_names_copies_beyond_those_of_the_source(check, ingested, tmp_path):
    partition, offset = place_of(ingested, b"k1=1")  # the source has it twice

    def write_twice_more(content: Content) -> None:
        content[partition] += [content[partition][offset]] * 2

    log_dir = write_anew(ingested, tmp_path / "log", "t", write_twice_more)
    end = len(content_of(ingested, "t")[partition])
    report = check(log_dir)
    assert findings(report) == {"duplicate": [(partition, end, 2), (partition, end + 1, 2)]}
    assert report.conservation == {**COUNTS, "stored": 67, "duplicate": 2, "holds": True}


def test_verify_names_a_message_in_another_partition(check, ingested, tmp_path):
    partition, offset = place_of(ingested, b"k2=52")
    other = (partition + 1) % 3

    def move(content: Content) -> None:
        content[other].append(content[partition].pop(offset))

    log_dir = write_anew(ingested, tmp_path / "log", "t", move)
    end = len(content_of(ingested, "t")[other])
    report = check(log_dir)
    assert findings(report) == {"wrong-partition": [(other, end, 53)]}
    assert links(report) == {("manifest-mismatch", "wrong-partition", False)}
    assert report.conservation == {**COUNTS, "holds": True}


def test_verify_lets_a_message_without_key_be_in_any_partition(check, ingested, tmp_path):
    partition, offset = place_of(ingested, b"no key 30")

    def move(content: Content) -> None:
        content[(partition + 1) % 3].append(content[partition].pop(offset))

    log_dir = write_anew(ingested, tmp_path / "log", "t", move)
    end = len(content_of(log_dir, "t")[partition])
    assert findings(check(log_dir)) == {"manifest-mismatch": [(partition, end, None)]}
    shutil.rmtree(log_dir / MANIFEST_DIR)
    assert check(log_dir).verdict == "ok"


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [(b"k4=44", b"k4", b"k4=4!"), (b"k4=44", None, b"k4=44"), (b"no key 20", None, b"no key 21")],
    ids=["value", "key", "no-key"],
)
def test_verify_names_an_altered_message_and_its_record(
    check, ingested, tmp_path, line, key, value
):
    partition, offset = place_of(ingested, line)

    def alter(content: Content) -> None:
        content[partition][offset] = (key, value)

    report = check(write_anew(ingested, tmp_path / "log", "t", alter))
    assert findings(report) == {"altered": [(partition, offset, LINES.index(line) + 1)]}
    assert links(report) == {("altered", "altered", True)}, "by the manifest, too"
    assert report.conservation == {**COUNTS, "altered": 1, "holds": True}


def test_verify_links_a_wrong_partition_with_the_key_that_was_altered(check, ingested, tmp_path):
    partition, offset = place_of(ingested, b"k4=44")
    keys = (b"x%d" % n for n in range(99))
    key = next(key for key in keys if murmur2_partition(key, 3) != partition)

    def alter(content: Content) -> None:
        content[partition][offset] = (key, b"k4=44")

    report = check(write_anew(ingested, tmp_path / "log", "t", alter))
    assert findings(report) == {"altered": [(partition, offset, 45)]}
    assert links(report) == {("wrong-partition", "altered", True)}


def test_verify_tells_neighbours_that_were_altered_from_one_dropped_and_one_put_in(
    check, ingested, tmp_path
):
    partition, offset = place_of(ingested, b"k4=34")

    def alter(content: Content) -> None:
        messages = content[partition]
        messages[offset : offset + 2] = [(b"k4", b"x"), (None, b"y")]
        del messages[1]
        messages.append((None, b"z"))

    report = check(write_anew(ingested, tmp_path / "log", "t", alter))
    found = findings(report)
    assert [place[:2] for place in found.pop("altered")] == [
        (partition, offset - 1),
        (partition, offset),
    ]
    end = len(content_of(ingested, "t")[partition]) - 1
    assert [place[:2] for place in found.pop("missing")] == [(partition, None)]
    assert found == {"extra": [(partition, end, None)]}
    counts = {"missing": 1, "extra": 1, "altered": 2, "holds": True}
    assert report.conservation == {**COUNTS, **counts}


def test_verify_with_everything_altered_counts_all(check, ingested, tmp_path):
    def alter(content: Content) -> None:
        for messages in content.values():
            messages[:] = [(key, b"!" + (value or b"")) for key, value in messages]

    report = check(write_anew(ingested, tmp_path / "log", "t", alter))
    (altered,) = report.to_json()["findings"]
    count = 65 + 3  # the messages, and the ranges of the manifest
    assert (altered["class"], altered["count"], len(altered["samples"])) == ("altered", count, 20)
    assert report.conservation == {**COUNTS, "altered": 65, "holds": True}


def test_verify_tells_null_from_empty_and_where_the_key_ends(check, ingested, tmp_path):
    """The bytes of key and value together are the same."""
    changed = {
        (None, b"no key 20"): (b"", b"no key 20"),
        (b"k4", b"k4=44"): (b"k4k4", b"=44"),
    }

    def alter(content: Content) -> None:
        for old, new in changed.items():
            (partition,) = (number for number, pairs in content.items() if old in pairs)
            content[partition].remove(old)
            content[murmur2_partition(new[0], 3)].append(new)

    report = check(write_anew(ingested, tmp_path / "log", "t", alter))
    assert {kind: len(found) for kind, found in findings(report).items()} == {
        "missing": 2,
        "extra": 2,
    }


def test_verify_names_two_messages_of_a_key_that_have_changed_places(check, ingested, tmp_path):
    partition, offset = place_of(ingested, b"k3=13")
    _, later_offset = place_of(ingested, b"k3=18")

    def swap(content: Content) -> None:
        messages = content[partition]
        messages[offset], messages[later_offset] = messages[later_offset], messages[offset]

    report = check(write_anew(ingested, tmp_path / "log", "t", swap))
    assert findings(report) == {"key-order": [(partition, later_offset, 14)]}
    assert report.conservation == {**COUNTS, "holds": True}


def test_verify_lets_messages_of_different_keys_change_places(check, ingested, tmp_path):
    partition = next(p for p, pairs in content_of(ingested, "t").items() if len({*pairs[:9]}) > 1)

    def sort(content: Content) -> None:
        content[partition].sort(key=lambda pair: pair[0] or b"")  # stable: in order per key

    log_dir = write_anew(ingested, tmp_path / "log", "t", sort)
    report = check(log_dir)
    assert findings(report) == {"altered": [(partition, 0, None)]}, "by the manifest"
    last = len(content_of(ingested, "t")[partition]) - 1
    assert f"somewhere in offsets 0..{last}: a message in offsets 0 to {last}" in report.to_text()
    shutil.rmtree(log_dir / MANIFEST_DIR)
    assert check(log_dir).verdict == "ok"


def test_verify_keeps_few_samples_of_many_findings_and_counts_all(check, ingested, tmp_path):
    log_dir = write_anew(ingested, tmp_path / "log", "t", lambda c: [c[p].clear() for p in c])
    report = check(log_dir)
    missing, ends = report.to_json()["findings"][::-1]
    assert (ends["class"], ends["count"]) == ("manifest-mismatch", 3)
    assert (missing["class"], missing["count"], len(missing["samples"])) == ("missing", 65, 20)
    assert report.conservation["stored"] == 0


# ---- the storage, and what is not asked for


def test_verify_of_the_storage_finds_what_one_process_finds(spark, ingested, tmp_path):
    log_dir = write_anew(ingested, tmp_path / "log", "t", lambda content: None)
    flip_byte(next((log_dir / "t-0").glob("*.log")), 30, mask=1)
    next((log_dir / "t-1").glob("*.index")).write_bytes(bytes(8))
    (log_dir / "t-1" / "stray").write_text("x")
    here = verify_storage(LogDir(log_dir)).to_json()
    by_spark = verify(spark, LogDir(log_dir), []).to_json()
    assert len(here["findings"]) == 3
    by_itself = {"scope", "engine", "seconds"}
    assert {name: by_spark[name] for name in here if name not in by_itself} == {
        name: here[name] for name in here if name not in by_itself
    }
    assert (by_spark["engine"], by_spark["seconds"] > 0) == ("spark", True)


def test_verify_links_what_is_missing_with_the_damage_that_it_comes_from(check, ingested, tmp_path):
    """One damaged message, and a segment that is gone with several: two damages, both proven."""
    log_dir = write_anew(ingested, tmp_path / "log", "t", lambda content: None)
    partition, offset = place_of(ingested, b"k3=8")
    log = log_dir / f"t-{partition}" / "00000000000000000000.log"
    flip_byte(log, log.read_bytes().index(b"k3=8"), mask=1)
    other = next(p for p in range(3) if p != partition and len(logs_of(log_dir, p)) > 2)
    gone, behind = logs_of(log_dir, other)[1:3]
    lost = len(message_positions(gone.read_bytes())) - 1  # the last one is the end
    gone.unlink()
    gone.with_suffix(".index").unlink(missing_ok=True)

    report = check(log_dir).to_json()
    found = {one["class"]: one for one in report["findings"]}
    assert found["missing"]["count"] == 1 + lost == len(found["missing"]["samples"])
    damage, gap = found["bad-crc"]["samples"][0], found["offset-gap"]["samples"][0]
    assert (damage["offset"], gap["segment"]) == (offset, behind.stem)
    for sample in found["missing"]["samples"]:
        kind, cause = (
            ("bad-crc", damage) if sample["partition"] == partition else ("offset-gap", gap)
        )
        assert sample["cause"] == {"class": kind, "place": cause["place"], "certain": True}


def logs_of(log_dir: Path, partition: int) -> list[Path]:
    return sorted((log_dir / f"t-{partition}").glob("*.log"))


def test_verify_links_a_wrong_offset_with_the_order_that_it_breaks(check, ingested, tmp_path):
    log_dir = tmp_path / "log"
    shutil.copytree(ingested, log_dir)
    partition, offset = place_of(ingested, b"k3=8")
    (log, *_) = logs_of(log_dir, partition)
    position = message_positions(log.read_bytes())[offset]
    flip_byte(log, position + 1, mask=1)
    samples = {one["class"]: one["samples"] for one in check(log_dir).to_json()["findings"]}
    assert samples.keys() == {"offset-disorder", "key-order"}
    (disorder,), (late,) = samples["offset-disorder"], samples["key-order"]
    assert late["position"] == position
    assert late["cause"] == {
        "class": "offset-disorder",
        "place": disorder["place"],
        "certain": True,
    }


def test_verify_of_one_job_looks_at_its_messages_only(spark, check, source, tmp_path):
    log_dir = tmp_path / "log"
    other = tmp_path / "other.txt"
    other.write_bytes(b"k1=1\nsomething else\n")
    ingest(spark, log_dir, Source((str(other),), **KEYED), topic="t", job_id="other")
    ingest(spark, log_dir, source, topic="t", job_id="mine")
    report = check(log_dir, job="mine")
    assert report.verdict == "ok"
    assert report.conservation == {**COUNTS, "holds": True}
    report = check(log_dir, ())
    assert {name: len(found) for name, found in findings(report).items()} == {
        "extra": 1,
        "duplicate": 1,
    }


def test_verify_without_a_recorded_partitioner_checks_the_one_that_is_given(check, tmp_path):
    with LogDirWriter.open(tmp_path / "log", create=True) as writer:
        writer.create_topic(Topic("t", 2, KAFKA))
        for line in LINES:
            key = line.partition(b"=")[0] if b"=" in line else None
            partition = 1 - murmur2_partition(key, 2) if key == b"k0" else 0
            if key not in (None, b"k0"):
                partition = murmur2_partition(key, 2)
            writer.log(TopicPartition("t", partition)).append([(key, line)])
    assert check(tmp_path / "log").verdict == "ok"
    report = check(tmp_path / "log", partitioner="default-2.4")
    count = sum(line.startswith(b"k0") for line in LINES)
    assert [(f["class"], f["count"]) for f in report.to_json()["findings"]] == [
        ("wrong-partition", count)
    ]


def test_verify_that_cannot_be_done_is_one_clear_error(check, spark, ingested, tmp_path):
    with LogDirWriter.open(tmp_path / "log", create=True) as writer:
        writer.create_topic(Topic("a"))
        writer.create_topic(Topic("b"))
    (tmp_path / "empty").touch()
    nothing = Source((str(tmp_path / "empty"),))
    for run, error, reason in (
        (lambda: check(tmp_path / "log", ()), SourceError, "one topic, not with: a, b"),
        (lambda: check(ingested, job="none"), LogDirError, "no committed job 'none'; there is: f"),
        (lambda: check(ingested, ("x",)), UnknownTopicOrPartitionError, "Topic x doesn't exist"),
        (lambda: check(ingested, against=Source(("gone",))), SourceError, "gone: no such file"),
        (lambda: check(ingested, against=nothing), SourceError, "empty: it holds no records"),
        (lambda: check(ingested, allow=["bad"]), ValueError, "no class of findings 'bad'"),
        (lambda: check(ingested, partitioner="x"), ValueError, "no partitioner 'x'"),
    ):
        with pytest.raises(error, match=reason):
            run()


def test_verify_of_many_findings_sends_no_rows_to_the_driver(spark, tmp_path):
    """No job of these tests may return a megabyte; the rows that are found here are four."""
    lines = [b"k%d %0100d" % (n % 1000, n) for n in range(20_000)]
    (tmp_path / "t.txt").write_bytes(b"\n".join(lines))
    source = Source((str(tmp_path / "t.txt"),), key_regex=r"^(k\d+) ")
    ingest(spark, tmp_path / "log", source, topic="t", partitions=3)
    changed = [line if n % 2 else line + b"!" for n, line in enumerate(lines)]
    (tmp_path / "t.txt").write_bytes(b"\n".join([b"new", *changed]))
    report = verify(spark, LogDir(tmp_path / "log"), ["t"], against=source)
    counts = COUNTS | {"source": 20_001, "stored": 20_000, "missing": 1, "altered": 10_000}
    assert report.conservation == {**counts, "holds": True}
    assert [found["class"] for found in report.to_json()["findings"]] == ["missing", "altered"]
