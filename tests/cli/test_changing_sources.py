"""Sources that change while they are read, or afterwards: nothing is loaded in part."""

import json
import os
import shutil
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.jobs.ingest import runs
from kminilog.jobs.source import line_columns, parquet_columns
from tests.cli.test_ingest import without_progress
from tests.support.cli.command_line import assert_one_line

LINES = b"".join(b"k%d:%d\n" % (n % 7, n) for n in range(3000))


def shorten(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def lengthen(path: Path) -> None:
    with open(path, "ab") as file:
        file.write(b"one more\n")


def overwrite(path: Path) -> None:
    """As many bytes; a moment later, so that the time of the change differs."""
    time.sleep(0.02)
    with open(path, "r+b") as file:
        file.write(b"X")


def replace(path: Path) -> None:
    other = path.with_name("other")
    shutil.copy2(path, other)
    other.replace(path)


def delete(path: Path) -> None:
    path.unlink()


CHANGES = [shorten, lengthen, overwrite, replace, delete]


def write_source(path: Path, file_format: str) -> Path:
    if file_format == "parquet":
        lines = LINES.splitlines()
        pq.write_table(pa.table({"v": lines}), path, row_group_size=100)
    elif file_format == "csv":
        path.write_bytes(b"v\n" + LINES)
    elif file_format == "json":
        path.write_text("".join(f'{{"v":{n}}}\n' for n in range(3000)))
    else:
        path.write_bytes(LINES)
    return path


@pytest.mark.parametrize("file_format", ["text", "csv", "json", "parquet"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_source_that_changes_while_it_is_read_is_not_loaded(
    kminilog, tmp_path, monkeypatch, file_format, change
):
    """The change comes after the first records have been read."""
    source = write_source(tmp_path / "source", file_format)
    monkeypatch.setattr(line_columns, "BLOCK_BYTES", 1000)
    monkeypatch.setattr("kminilog.jobs.source.csv_columns.BLOCK_BYTES", 1000)
    monkeypatch.setattr(parquet_columns, "_BATCH_ROWS", 100)
    real, taken = runs.RunsWriter.write, []

    def write(writer, batch):
        real(writer, batch)
        taken.append(batch)
        if len(taken) == 1:
            change(source)

    monkeypatch.setattr(runs.RunsWriter, "write", write)
    words = ["ingest", source, "--topic", "t", "--format", file_format, "--engine", "local"]
    assert_one_line(without_progress(kminilog(*words)), 2, "source", str(source))
    assert taken
    assert kminilog.ok("topic", "list").out == "no topics\n"
    assert not list(kminilog.log_dir.glob(".manifests/*"))
    assert not list(kminilog.log_dir.glob(".staging/*"))


@pytest.mark.parametrize("change", CHANGES[:4], ids=lambda change: change.__name__)
def test_source_that_changes_while_it_is_verified_is_no_verdict(
    kminilog, tmp_path, monkeypatch, change
):
    source = write_source(tmp_path / "source", "text")
    kminilog.ok("ingest", source, "--topic", "t")
    from kminilog.verification.account import source_check

    real = source_check.compare

    def compare(*arguments, **options):
        found = real(*arguments, **options)
        change(source)
        return found

    monkeypatch.setattr(source_check, "compare", compare)
    run = kminilog("verify", "t", "--against", source)
    assert_one_line(without_progress(run), 2, "it was changed while it was read; read a copy")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (shorten, "bytes then, "),
        (lengthen, "bytes then, "),
        (overwrite, "as many bytes, but not the same ones"),
        (replace, None),  # the same content
        (lambda path: os.utime(path, ns=(1, 1)), None),
        (lambda path: None, None),
    ],
)
def test_verification_says_that_the_source_has_changed_since(kminilog, tmp_path, change, said):
    source = write_source(tmp_path / "source", "text")
    kminilog.ok("ingest", source, "--topic", "t", "--job-id", "j")
    change(source)
    run = kminilog("verify", "t", "--against", source, "--json")
    report = json.loads(run.out)
    found = [one["why"] for one in report["unchecked"] if one["what"] == "source"]
    if said is None:
        assert (run.code, found) == (0, [])
    else:
        assert run.code == 1
        (why,) = found
        assert why.startswith("it has changed since job j read it: ")
        assert said in why


def test_url_of_a_file_is_the_same_source_as_its_path(kminilog, tmp_path):
    source = write_source(tmp_path / "a b.txt", "text")
    kminilog.ok("ingest", source.as_uri(), "--topic", "t", "--partitions", 2, "--job-id", "j")
    again = kminilog.ok("ingest", source, "--topic", "t", "--job-id", "j", "--json").document
    assert again["already_committed"]
    assert again["source"]["paths"] == [str(source)]
    for name in (source, source.as_uri()):
        report = kminilog.ok("verify", "t", "--against", name, "--json").document
        assert (report["verdict"], report["scope"]["steps"]) == ("ok", ["sums"])


def test_job_that_is_repeated_with_other_content_is_refused(kminilog, tmp_path):
    source = write_source(tmp_path / "source", "text")
    words = ["ingest", source, "--topic", "t", "--job-id", "j"]
    kminilog.ok(*words)
    os.utime(source, ns=(1, 1))
    assert kminilog(*words).err == ""  # the content is the same
    overwrite(source)
    run = kminilog(*words)
    assert_one_line(run, 2, "a job that read", "as many bytes, but not the same")


def test_files_of_the_log_dir_are_no_source_of_it(kminilog, tmp_path):
    source = write_source(tmp_path / "source", "text")
    kminilog.ok("ingest", source, "--topic", "t")
    run = kminilog("ingest", kminilog.log_dir, "--topic", "t")
    assert_one_line(run, 2, "it is a file of the log dir ", " itself")


def test_job_that_is_repeated_with_an_older_file_of_the_same_size_is_refused(kminilog, tmp_path):
    """The newest of the files is as it was."""
    (tmp_path / "s").mkdir()
    for number in (1, 2):
        (tmp_path / "s" / f"{number}.txt").write_bytes(b"line %d\n" % number)
        os.utime(tmp_path / "s" / f"{number}.txt", (number * 1000, number * 1000))
    words = ["ingest", tmp_path / "s", "--topic", "t", "--job-id", "j"]
    kminilog.ok(*words)
    (tmp_path / "s" / "1.txt").write_bytes(b"other \n")
    os.utime(tmp_path / "s" / "1.txt", (500, 500))
    assert_one_line(kminilog(*words), 2, "as many bytes, but not the same")
    run = kminilog("verify", "t", "--against", tmp_path / "s", "--json")
    whys = [one["why"] for one in run.document["unchecked"] if one["what"] == "source"]
    assert [why.endswith("as many bytes, but not the same ones") for why in whys] == [True]


def test_job_that_is_repeated_with_other_folders_as_columns_is_refused(kminilog, tmp_path):
    (tmp_path / "s" / "a=1").mkdir(parents=True)
    (tmp_path / "s" / "a=1" / "f.csv").write_text("x\n1\n")
    words = ["--topic", "t", "--format", "csv", "--job-id", "j"]
    kminilog.ok("ingest", tmp_path / "s", *words)
    run = kminilog("ingest", tmp_path / "s" / "a=1", *words)
    assert_one_line(run, 2, "a job that read other folders as columns has this id")
