"""The examples of docs/spark.md, one after the other: each must print what the page says."""

import json
import re
import shlex
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.cli.command_line import CommandLine

PAGE = Path(__file__).parents[3] / "docs" / "spark.md"
EXAMPLE = re.compile(
    r"```(python|console)\n(.*?)```(?:\n\nIt prints\n\n```text\n(.*?)```)?", re.DOTALL
)
KCAT = re.compile(r'```json\n(\{"topic":.*\})\n```')
ORDERS = "ann: 3 pens\nbob: 1 book\nann: 2 books\n"


def test_spark_page_examples_print_what_the_page_says(
    spark: SparkSession, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    examples = EXAMPLE.findall(PAGE.read_text())
    assert len([kind for kind, *_ in examples if kind == "python"]) >= 6
    names: dict[str, object] = {}
    for kind, program, printed in examples:
        if kind == "python":
            exec(compile(program, "docs/spark.md", "exec"), names)  # the examples are ours
            assert capsys.readouterr().out.strip() == printed.strip()


def test_spark_page_commands_do_what_the_page_says(spark: SparkSession, tmp_path, monkeypatch):
    """In the session of these tests, whatever master they name."""
    monkeypatch.chdir(tmp_path)
    Path("orders.txt").write_text(ORDERS)
    (line,) = KCAT.findall(PAGE.read_text())
    Path("orders.kcat").write_text(f"{line}\n")
    missing = {"class": "missing", "source_file": "orders.txt", "source_position": 0}
    Path("findings.jsonl").write_text(json.dumps(missing))
    assert len(run_commands(PAGE, tmp_path / "log")) >= 9


def test_verification_page_commands_find_nothing_wrong(spark: SparkSession, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("orders.txt").write_text(ORDERS)
    page = PAGE.with_name("verification.md")
    Path("copy").symlink_to("kminilog-data")  # a copy with the same files
    answers = run_commands(page, tmp_path / "kminilog-data")
    assert len(answers) == 7
    assert "taken on trust" in " ".join(answers[6].split())
    (equation,) = re.findall(r"the third one prints\n\n```text\n(.*)\n```", page.read_text())
    assert equation in answers[2].splitlines()
    for made in ("orders.html", "logs.html"):
        assert Path(made).read_text().startswith("<!DOCTYPE html>")
    assert pq.read_table("orders.parquet").num_rows == 0
    assert fromstring(Path("orders.xml").read_bytes()).get("failures") == "0"


def run_commands(page: Path, log_dir: Path) -> list[str]:
    """Run the commands of a page, all of which must end with 0; return what each prints."""
    found = EXAMPLE.findall(page.read_text())
    consoles = [program for kind, program, _ in found if kind == "console"]
    commands = [line.removeprefix("$ ") for program in consoles for line in program.splitlines()]
    printed = []
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "kminilog"
        run = CommandLine(log_dir)(*arguments)
        assert run.code == 0, (command, run)
        printed.append(run.out)
    return printed
