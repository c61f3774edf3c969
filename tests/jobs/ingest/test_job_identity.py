"""A committed job id is finished only for the source and options that it was given."""

import os
from pathlib import Path
from typing import Any

import pytest

from kminilog.errors import PublicationError, SourceError
from kminilog.jobs.ingest.job_identity import check_dataframe, check_ingest, file_facts
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.pieces import content_digest
from kminilog.jobs.source.source_files import list_files
from kminilog.jobs.source.tasks import LocalTasks
from kminilog.storage.durable_files import replace_file
from kminilog.storage.manifests import Manifest

OPTIONS = {"topic": "t", "partitioner": "default-2.4", "seed": 0, "partitions": 3}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("1234\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def manifest_of(*paths: str, **reading: Any) -> Manifest:
    files = list_files(paths)
    facts = {
        "source": Source(paths, **reading).to_json(),
        **file_facts(files),
        "files_content": content_digest(files, LocalTasks()),
        **{name: value for name, value in OPTIONS.items() if name != "topic"},
        "config": {},
        "count": 2,
        "rejected": 1,
    }
    return Manifest("j", "t", [], facts)


def check(manifest: Manifest, *paths: str, max_rejected: int = 1, **changes: Any) -> list[str]:
    reading = {name: changes.pop(name) for name in ("format", "key", "value") if name in changes}
    source, asked = Source(paths, **reading), {**OPTIONS, **changes}
    return check_ingest(manifest, source, asked, max_rejected=max_rejected)


def test_check_ingest_takes_other_names_of_the_same_files(folder):
    (folder / "link").symlink_to(folder)
    names = [("a.txt", "b.txt"), ("*.txt",), (str(folder / "a.txt"), "link/b.txt")]
    for paths in names:
        assert check(manifest_of("a.txt", "b.txt"), *paths, partitions=None) == []


def test_check_ingest_refuses_other_files_and_names_both(folder):
    for paths in (("b.txt",), ("a.txt", "b.txt"), ("*.txt",)):
        with pytest.raises(PublicationError) as caught:
            check(manifest_of("a.txt"), *paths)
        read, given = str(caught.value).split(", not ")
        assert f"that read {folder}/a.txt (files: 1" in read
        assert f"{folder}/{paths[-1]} (files: {len(list_files(paths))}, " in given
    two = manifest_of("a.txt", "b.txt")
    with pytest.raises(PublicationError, match="that read"):
        check(two, "b.txt", "a.txt")  # other records come first
    (folder / "b.txt").write_text("1234567\n")
    with pytest.raises(PublicationError, match=r"files: 2, 10 bytes\), not .*files: 2, 13 bytes\)"):
        check(two, "a.txt", "b.txt")


def test_check_ingest_refuses_other_options_and_names_both(folder):
    manifest = manifest_of("a.txt", format="csv", key="x")
    reading = {"format": "csv", "key": "x"}
    for changes, reason in (
        ({"topic": "u"}, "with topic = t, not u"),
        ({"format": "json"}, "with format = csv, not json"),
        ({"key": "y"}, "with key = x, not y"),
        ({"key": None}, "with key = x, not None"),
        ({"value": "v"}, "with value = None, not v"),
        ({"partitioner": "random"}, "with partitioner = default-2.4, not random"),
        ({"seed": 1}, "with seed = 0, not 1"),
        ({"partitions": 4}, "with partitions = 3, not 4"),
        ({"config": {"segment.bytes": 99}}, "with config = {}, not {'segment.bytes': 99}"),
        ({"max_rejected": 0}, "it has rejected 1 record, --max-rejected allows 0"),
    ):
        with pytest.raises(PublicationError, match="job j: ") as caught:
            check(manifest, "a.txt", **{**reading, **changes})
        assert reason in str(caught.value)
    assert check(manifest, "a.txt", **reading, config=None) == []


def test_check_ingest_compares_the_content_of_a_file_that_was_touched(folder):
    manifest = manifest_of("a.txt")
    os.utime("a.txt", (1, 1))
    assert check(manifest, "a.txt") == []
    (folder / "a.txt").write_text("4321\n")
    with pytest.raises(PublicationError, match="as many bytes, but not the same ones"):
        check(manifest, "a.txt")


def overwrite(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def test_check_ingest_refuses_another_file_of_equal_size_and_time(folder):
    for rewrite in (overwrite, replace_file):
        manifest, times = manifest_of("a.txt"), os.stat("a.txt")
        rewrite(folder / "a.txt", (folder / "a.txt").read_bytes()[::-1])
        os.utime("a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
        with pytest.raises(PublicationError, match="as many bytes, but not the same ones"):
            check(manifest, "a.txt")


def test_check_ingest_tells_that_a_file_is_gone(folder):
    manifest = manifest_of("a.txt")
    (folder / "a.txt").unlink()
    (warning,) = check(manifest, "a.txt")
    assert warning.startswith("source a.txt: no such file or directory; only its name was")
    with pytest.raises(SourceError, match=r"none\.txt"):
        check(manifest, "none.txt")
    with pytest.raises(PublicationError, match="that read"):
        check(manifest, "b.txt")


def test_check_ingest_and_check_dataframe_refuse_jobs_of_the_other_kind(folder):
    of_frame = Manifest("j", "t", [], {"writer": "spark", "count": 7, "rejected": 0})
    with pytest.raises(PublicationError, match="a job that wrote a DataFrame"):
        check(of_frame, "a.txt")
    with pytest.raises(PublicationError, match=r"that read .*a\.txt \(files: 1.*no DataFrame"):
        check_dataframe(manifest_of("a.txt"), {"topic": "t"})
    with pytest.raises(PublicationError, match="with count = 7, not 8"):
        check_dataframe(of_frame, {"topic": "t", "count": 8})
    check_dataframe(of_frame, {"topic": "t", "count": 7, "rows_sum": "1"})  # an older version's


def test_check_dataframe_refuses_as_many_rows_that_are_others():
    of_frame = Manifest("j", "t", [], {"writer": "spark", "count": 7, "rows_sum": "1"})
    check_dataframe(of_frame, {"topic": "t", "count": 7, "rows_sum": "1"})
    with pytest.raises(PublicationError, match="that wrote as many rows, but other ones"):
        check_dataframe(of_frame, {"topic": "t", "count": 7, "rows_sum": "2"})
