"""Records that a job has rejected, and what has become of them in the source since."""

from pathlib import Path

import pytest

from kminilog.format.dialect import DOCUMENTED
from tests.support.cli.command_line import CommandLine

READING = ["--format", "csv", "--key", "k", "--value", "v", "--engine", "local"]
ROWS = ["a,1", "b,", "c,3", 'd,4,"ragged"']


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A CSV file of which two rows can be no messages."""
    (tmp_path / "a").mkdir()
    write(tmp_path / "a" / "x.csv", ROWS)
    return tmp_path / "a" / "x.csv"


@pytest.fixture
def kminilog(tmp_path: Path, source: Path) -> CommandLine:
    """A log dir into which that file was ingested."""
    kminilog = CommandLine(tmp_path / "log")
    options = ["--topic", "t", "--max-rejected", 2, "--dialect", DOCUMENTED.name]
    assert kminilog("ingest", source, *READING, *options).code == 0
    return kminilog


def write(path: Path, rows: list[str]) -> None:
    path.write_text("\n".join(["k,v", *rows]) + "\n")


def account(kminilog: CommandLine, source: Path, *options: str) -> tuple[str, dict[str, int]]:
    report = kminilog("verify", "t", "--against", source, *READING, *options, "--json").document
    counts = report["conservation"]
    return report["verdict"], {name: counts[name] for name in ("stored", "rejected", "missing")}


@pytest.mark.parametrize("options", [[], ["--full"]], ids=["sums", "full"])
class TestBothSteps:
    def test_rejected_records_that_are_still_there_are_accounted_for(
        self, kminilog, source, options
    ):
        expected = "ok", {"stored": 2, "rejected": 2, "missing": 0}
        assert account(kminilog, source, *options) == expected

    @pytest.mark.parametrize(
        ("number", "row"),
        [(1, "b,2"), (1, "z,"), (3, "d,4"), (3, "d,")],
        ids=["null-corrected", "another-key", "ragged-corrected", "ragged-to-null"],
    )
    def test_corrected_record_is_one_of_the_source_again(
        self, kminilog, source, options, number, row
    ):
        write(source, [*ROWS[:number], row, *ROWS[number + 1 :]])
        expected = "findings", {"stored": 2, "rejected": 1, "missing": 1}
        assert account(kminilog, source, *options) == expected

    def test_record_that_cannot_be_decoded_any_more_is_missing(self, kminilog, source, options):
        write(source, [ROWS[0], 'b,2,"ragged now"', *ROWS[2:]])
        expected = "findings", {"stored": 2, "rejected": 1, "missing": 1}
        assert account(kminilog, source, *options) == expected

    def test_source_behind_a_link_has_the_same_rejected_records(
        self, kminilog, source, options, tmp_path
    ):
        (tmp_path / "b").symlink_to(tmp_path / "a")
        (tmp_path / "file.csv").symlink_to(source)
        expected = "ok", {"stored": 2, "rejected": 2, "missing": 0}
        assert account(kminilog, tmp_path / "b" / "x.csv", *options) == expected
        assert account(kminilog, tmp_path / "b", *options) == expected
        assert account(kminilog, tmp_path / "file.csv", *options) == expected


def test_null_value_that_was_rejected_is_told_from_an_empty_one(tmp_path):
    """CSV has no empty value, JSON does."""
    source, kminilog = tmp_path / "x.json", CommandLine(tmp_path / "log")
    reading = ["--format", "json", "--key", "k", "--value", "v", "--engine", "local"]
    source.write_text('{"k": "a", "v": null}\n{"k": "b", "v": ""}\n')
    options = ["--topic", "t", "--max-rejected", 1]
    assert kminilog("ingest", source, *reading, *options).code == 0
    verify = ["verify", "t", "--against", source, *reading, "--json"]
    assert kminilog(*verify).document["conservation"]["rejected"] == 1
    source.write_text('{"k": "a", "v": ""}\n{"k": "b", "v": ""}\n')
    assert kminilog(*verify).document["conservation"]["missing"] == 1
