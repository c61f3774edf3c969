"""The examples of docs/spark.md, one after the other: each must print what the page says."""

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.support.cli.command_line import CommandLine

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
EXAMPLE = re.compile(
    r"```(python|console)\n(.*?)```(?:\n\nIt prints\n\n```text\n(.*?)```)?", re.DOTALL
)
KCAT = re.compile(r'```json\n(\{"topic":.*\})\n```')
ORDERS = "ann: 3 pens\nbob: 1 book\nann: 2 books\n"


def test_spark_page_examples_do_what_the_page_says(spark: SparkSession, tmp_path, monkeypatch):
    """In the session of these tests, whatever master they name."""
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text()
    Path("orders.txt").write_text(ORDERS)
    (line,) = KCAT.findall(page)
    Path("orders.kcat").write_text(f"{line}\n")
    run_examples(page)


def run_examples(page: str) -> None:
    """Run the examples of a page, or of a part of it; commands of the shell must end with 0."""
    examples = EXAMPLE.findall(page)
    assert len(examples) == len(re.findall("```(?:python|console)", page))
    names: dict[str, object] = {}
    for kind, program, printed in examples:
        if kind == "console":
            run_commands(program, Path("log"))
            continue
        with redirect_stdout(StringIO()) as out:
            exec(compile(program, "docs/spark.md", "exec"), names)  # the examples are ours
        assert out.getvalue().strip() == printed.strip()


def test_verification_page_commands_find_nothing_wrong(spark: SparkSession, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("orders.txt").write_text(ORDERS)
    page = PAGE.with_name("verification.md")
    Path("copy").symlink_to("kminilog-data")  # a copy with the same files
    found = EXAMPLE.findall(page.read_text())
    commands = "".join(program for kind, program, _ in found if kind == "console")
    answers = run_commands(commands, tmp_path / "kminilog-data")
    assert len(answers) == 7
    (again,) = run_commands(commands.splitlines()[-1], tmp_path / "kminilog-data")
    assert "taken on trust" in " ".join(again.split())
    (equation,) = re.findall(r"the third one prints\n\n```text\n(.*)\n```", page.read_text())
    assert equation in answers[2].splitlines()
    for made in ("orders.html", "logs.html"):
        assert Path(made).read_text().startswith("<!DOCTYPE html>")
    assert pq.read_table("orders.parquet").num_rows == 0
    assert fromstring(Path("orders.xml").read_bytes()).get("failures") == "0"


def run_commands(console: str, log_dir: Path) -> list[str]:
    """Run commands, which must end with 0; return what each prints."""
    printed = []
    for command in console.replace("\\\n", "").splitlines():
        sign, program, *arguments = shlex.split(command)
        assert (sign, program) == ("$", "kminilog")
        run = CommandLine(log_dir)(*arguments)
        assert run.code == 0, (command, run)
        printed.append(run.out)
    return printed
