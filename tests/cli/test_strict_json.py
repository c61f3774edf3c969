"""All JSON that leaves the process can be read by any parser, whatever the names of files are."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pyarrow.parquet as pq
import pytest

from kminilog.cli.main import main
from kminilog.cli.step.command import SCENES
from kminilog.course.teaching.marks import COLUMNS as MARKS
from kminilog.verification.account.findings_file import FindingsFile
from kminilog.verification.findings import ROW_TYPES
from tests.support.cli.command_line import CommandLine, Run

BYTE = "\udcff"  # how Python has a byte of a name that is no UTF-8

COMMANDS = {
    "assign": ["assign", "--topic", "t=2", "--member", "a", "--json"],
    "cluster add-broker": ["cluster", "add-broker", "c", "--json"],
    "cluster crash": ["cluster", "crash", "c", 0, "--json"],
    "cluster create": ["cluster", "create", "new", "--brokers", 1, "--json"],
    "cluster demo": ["cluster", "demo", "--json"],
    "cluster describe": ["cluster", "describe", "c", "--json"],
    "cluster start": ["cluster", "start", "c", 1, "--json"],
    "compact": ["compact", "t", "--json"],
    "consume": ["consume", "t", "--offset", "earliest", "--max-messages", 1, "--json"],
    "course stats": ["course", "stats", "marks.csv", "--json"],
    "course similar": ["course", "similar", ".", "--json"],
    "dump": ["dump", "log/t-0/00000000000000000000.log", "--json"],
    "find": ["find", "t-0", 0, "--explain", "--json"],
    "group delete": ["group", "delete", "g", "--yes", "--json"],
    "group demo": ["group", "demo", "--json"],
    "group describe": ["group", "describe", "g", "--json"],
    "group list": ["group", "list", "--json"],
    "group reset": ["group", "reset", "g", "--to", "earliest", "--json"],
    "ingest": ["ingest", "source.txt", "--topic", "t", "--json"],
    "lab list": ["lab", "list", "--json"],
    "lab progress": ["lab", "progress", "--json"],
    "ls": ["ls", "--json"],
    "partition": ["partition", "--partitions", 3, "--key", "k" + BYTE, "--json"],
    "produce": ["produce", "t", "source.txt", "--json"],
    "recover": ["recover", "t-0", "--json"],
    "retain": ["retain", "--json"],
    "step list": ["step", "list", "--json"],
    "topic alter": ["topic", "alter", "t", "--config", "segment.bytes=900", "--json"],
    "topic create": ["topic", "create", "new", "--partitions", 1, "--json"],
    "topic delete": ["topic", "delete", "t", "--yes", "--json"],
    "topic describe": ["topic", "describe", "t", "--json"],
    "topic list": ["topic", "list", "--json"],
    "verify": ["verify", "t", "--against", "source.txt", "--json"],
    **{f"step {name}": ["step", name, "--json"] for name in SCENES},
    "step record": ["step", "record", "log/t-0/00000000000000000000.log", "--json"],
    "step find-offset": ["step", "find-offset", "t-0", 0, "--json"],
    "step edges": ["step", "edges", "t-0", "--json"],
}
LEFT_OUT = {"course check", "lab check", "demo", "serve"}  # they start processes, or do not end


def strictly(data: bytes) -> list[Any]:
    """Parse a document, or one for each line: UTF-8, no lone surrogates, no NaN."""
    try:
        return [msgspec.json.decode(data)]
    except ValueError:
        return [msgspec.json.decode(line) for line in data.splitlines()]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A log dir, a cluster and a source, in a directory: a byte of each name is no UTF-8."""
    directory = tmp_path / f"work{BYTE}"
    directory.mkdir()
    monkeypatch.chdir(directory)
    kminilog = CommandLine(Path(f"log{BYTE}"))
    Path(f"source{BYTE}.txt").write_text("a\nb\nc\n")
    Path(f"marks{BYTE}.csv").write_text(",".join(MARKS) + "\n")
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    kminilog.ok("produce", "t", stdin=b"a\nb\n")
    kminilog.ok("consume", "t", "--group=g", "--offset=earliest", "--max-messages=1")
    kminilog.ok("cluster", "create", f"c{BYTE}", "--brokers", 2)
    kminilog.ok("cluster", "crash", f"c{BYTE}", 1)
    return kminilog


def all_with_json() -> Iterator[str]:
    waiting: list[tuple[str, click.Command]] = [("", main)]
    while waiting:
        path, command = waiting.pop()
        if isinstance(command, click.Group):
            with click.Context(command) as ctx:
                below = {
                    name: command.get_command(ctx, name) for name in command.list_commands(ctx)
                }
            waiting += [(f"{path} {name}".strip(), found) for name, found in below.items() if found]
        elif any("--json" in option.opts for option in command.params):
            yield path


def test_every_command_with_json_is_tried():
    assert {*all_with_json()} == {*COMMANDS} | LEFT_OUT


def run_here(kminilog: CommandLine, words: list[str | int]) -> Run:
    names = {"source.txt", "marks.csv", "c", "log/t-0/00000000000000000000.log"}
    marked = [
        os.fspath(word).replace("log/", f"log{BYTE}/").replace("source", f"source{BYTE}")
        .replace("marks", f"marks{BYTE}")
        if word in names
        else word
        for word in words
    ]  # fmt: skip
    return kminilog(*(f"c{BYTE}" if word == "c" else word for word in marked))


@pytest.mark.parametrize("name", COMMANDS)
def test_json_beside_a_file_name_that_is_not_utf8_is_strict(here, name):
    run = run_here(here, COMMANDS[name])
    assert run.out_bytes or run.err
    assert strictly(run.out_bytes)


def test_json_of_an_error_about_such_a_file_is_strict(here):
    for words in (["verify", "t", "--against", f"none{BYTE}", "--json"],
                  ["ingest", f"none{BYTE}", "--topic", "t", "--json"]):  # fmt: skip
        run = here(*words)
        (told,) = strictly(run.out_bytes)
        assert run.code == 2
        assert "none\\udcff" in told["error"]


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_findings_of_such_a_file_are_strict_and_say_to_ingest_what_is_missing(here, ending):
    source = f"source{BYTE}.txt"
    here.ok("ingest", source, "--topic", "new", "--partitions", 2)
    with Path(source).open("a") as file:
        file.write("d\n")
    findings = Path(f"findings{BYTE}.{ending}")
    outputs = ["--findings", findings, "--report", f"report{BYTE}.json"]
    run = here("verify", "new", "--against", source, *outputs, "--json")
    assert run.code == 1
    (document,) = strictly(run.out_bytes)
    assert strictly(Path(f"report{BYTE}.json").read_bytes()) == [document]
    assert document["scope"].keys() >= {"log_dir_base64", "against"}
    if ending == "jsonl":
        (row,) = strictly(findings.read_bytes())
    else:
        with findings.open("rb") as file:
            (row,) = pq.read_table(file).to_pylist()
    assert row.get("source_file") is None
    assert [{**dict.fromkeys(ROW_TYPES), **row}] == [*FindingsFile(findings)]
    again = here("ingest", source, "--topic", "new", "--only", findings, "--job-id", "again")
    assert (again.code, again.err) == (0, "")
    assert here("verify", "new", "--against", source).code == 0
    repeated = here("ingest", source, "--topic", "new", "--only", findings, "--job-id", "again")
    assert repeated.code == 0


@pytest.mark.parametrize("report", ["txt", "html", "xml"])
def test_reports_beside_such_a_name_have_no_lone_surrogate(here, report):
    option = "--junit" if report == "xml" else "--report"
    assert here("verify", "t", "--against", f"source{BYTE}.txt", option, f"report.{report}").code
    assert "source\\udcff.txt, line 3" in Path(f"report.{report}").read_bytes().decode()


def test_files_of_a_log_dir_are_strict(here):
    Path(f"source{BYTE}.json").write_text('{"v": "a"}\n{"v": 1\n')
    options = ["--topic", "j", "--partitions", 1, "--format", "json", "--value", "v"]
    run = here("ingest", f"source{BYTE}.json", *options, "--max-rejected", 1)
    assert run.code == 0, run
    found = [path for path in here.log_dir.rglob("*") if path.suffix in (".json", ".jsonl")]
    assert {path.parent.name for path in found} >= {".manifests", ".quarantine"}
    for path in found:
        assert strictly(path.read_bytes())
    against = ["--against", f"source{BYTE}.json", *options[4:]]
    told = here.ok("verify", "j", *against, "--json").document
    assert told["conservation"]["rejected"] == 1  # found by its file
    again = here("ingest", f"source{BYTE}.json", *options, "--max-rejected", 1, "--job-id", "j")
    assert again.code == 0
