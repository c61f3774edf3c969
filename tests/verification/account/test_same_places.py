"""On request a message must have the partition and the offset that its record says."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kminilog.clock import ManualClock
from kminilog.format.names import TopicPartition
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.verification.account.engine import Engine, LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.account.spark import SparkEngine
from kminilog.verification.report import Report
from tests.jobs.source.test_kcat import line
from tests.jobs.source.test_topic_columns import write_topic
from tests.support.cli.command_line import CommandLine, assert_one_line
from tests.support.log_content import content_of
from tests.support.spark import ON_SPARK

Lines = dict[tuple[int, int], bytes]
Moved = list[tuple[int, int, str]]


@pytest.fixture
def source(tmp_path: Path, dialect) -> Source:
    """Messages as producers wrote them: partitions by no rule, two copies of some."""
    return replace(write_topic(tmp_path / "log", dialect), same_places=True)


@pytest.fixture(params=["local", pytest.param("spark", marks=ON_SPARK)])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "local":
        return LocalEngine()
    return SparkEngine(request.getfixturevalue("spark"))


def verify(engine: Engine, log_dir: Path, source: Source, topic: str = "orders") -> Report:
    return verify_with(engine, ManualClock(), LogDir(log_dir), [topic], against=source)


def moved(report: Report) -> Moved:
    """The partition, offset and source of each moved message; there is no other finding."""
    found = {kind["class"]: kind["samples"] for kind in report.to_json()["findings"]}
    samples = found.pop("moved", [])
    assert found == {}
    return [(one["partition"], one["offset"], one["source"]) for one in samples]


def write_lines(path: Path, log_dir: Path, change: Callable[[Lines], Any]) -> Source:
    """Write what kcat would print of a topic, after a change."""
    lines = {
        (partition, offset): line(partition, offset, *pair)
        for partition, messages in content_of(log_dir, "orders").items()
        for offset, pair in enumerate(messages)
    }
    change(lines)
    path.write_bytes(b"\n".join(lines.values()))
    return Source((str(path),), "kcat", same_places=True)


def test_copy_of_the_files_is_the_same(tmp_path, source, engine):
    shutil.copytree(tmp_path / "log", tmp_path / "copy")
    report = verify(engine, tmp_path / "copy", source)
    assert (report.verdict, report.scope["steps"]) == ("ok", ["account"])
    assert "places" in report.checked
    report = verify(engine, tmp_path / "copy", replace(source, same_places=False))
    assert "places" not in report.checked
    assert [one.option for one in report.unchecked if one.what == "places"] == ["--same-places"]


def test_topic_that_was_loaded_anew_has_all_records_but_in_other_places(
    tmp_path, source, engine, dialect
):
    options = {"topic": "wide", "partitions": 5, "dialect": dialect}
    ingest_with(LocalIngest(), tmp_path / "log", source, **options)
    report = verify(engine, tmp_path / "log", source, "wide")
    assert report.conservation["missing"] == report.conservation["extra"] == 0
    (found,) = report.to_json()["findings"]
    assert (found["class"], found["count"] > 40) == ("moved", True)
    assert (
        verify(engine, tmp_path / "log", replace(source, same_places=False), "wide").verdict == "ok"
    )


def exchanged(lines: Lines) -> None:
    lines[1, 3], lines[1, 4] = (
        lines[1, 4].replace(b'"offset":4', b'"offset":3'),
        lines[1, 3].replace(b'"offset":3', b'"offset":4'),
    )


def offset_of(lines: Lines) -> None:
    lines[0, 20] = lines[0, 20].replace(b'"offset":20', b'"offset":500')


def partition_of(lines: Lines) -> None:
    lines[0, 20] = lines[0, 20].replace(b'"partition":0', b'"partition":1')


def no_partition(lines: Lines) -> None:
    lines[0, 20] = lines[0, 20].replace(b'"partition":0', b'"partition":7')


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda lines: None, []),
        (exchanged, [(1, 4, 50), (1, 3, 51)]),
        (offset_of, [(0, 20, 21)]),
        (partition_of, [(0, 20, 21)]),
        (no_partition, [(0, 20, 21)]),
    ],
)
def test_line_of_kcat_that_says_another_place_is_named(
    tmp_path, source, engine, change, where: Iterable[tuple[int, int, int]]
):
    path = tmp_path / "orders.kcat"
    kcat = write_lines(path, tmp_path / "log", change)
    expected = [(partition, offset, f"{path}, line {n}") for partition, offset, n in where]
    report = verify(engine, tmp_path / "log", kcat)
    assert moved(report) == expected
    assert report.verdict == ("findings" if where else "ok")
    assert verify(engine, tmp_path / "log", replace(kcat, same_places=False)).verdict == "ok"


def test_message_that_came_between_moves_those_behind_it(tmp_path, source, engine, dialect):
    with LogDirWriter.open(tmp_path / "copy", create=True) as writer:
        writer.create_topic(LogDir(tmp_path / "log").topic("orders"))
        for partition, messages in content_of(tmp_path / "log", "orders").items():
            more = [(b"new", b"new")] if partition else []
            writer.log(TopicPartition("orders", partition)).append([*messages[:44], *more])
            writer.log(TopicPartition("orders", partition)).append(messages[44:])
    report = verify(engine, tmp_path / "copy", source)
    found = {kind["class"]: kind["samples"] for kind in report.to_json()["findings"]}
    assert [one["offset"] for one in found.pop("moved")] == [45, 46]
    assert [one["offset"] for one in found.pop("extra")] == [44]
    assert found == {}


def test_sources_without_places_are_refused(tmp_path):
    kminilog = CommandLine(tmp_path / "log")
    (tmp_path / "t.txt").write_text("x\n")
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    run = kminilog("verify", "t", "--against", tmp_path / "t.txt", "--same-places")
    assert_one_line(run, 2, "records of format text have no partition and no offset to compare")
    assert_one_line(kminilog("verify", "t", "--same-places"), 2, "give --against")
