"""docs/labs.md: its table of seams is that of the labs, and its commands run."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.lab.command import command as lab_group
from kminilog.cli.main import main
from kminilog.course.catalogue import Catalogue
from kminilog.course.judging import limits
from kminilog.course.judging.patching import room_of
from kminilog.course.material import KINDS, all_labs
from tests.support.docs.seam_table import PAGE, rows, rows_of_page

TEXT = PAGE.read_text()
BLOCKS = re.findall(r"```shell-session\n(.*?)```", TEXT, re.DOTALL)
SHOWN = re.findall(r"^\$ (.*)$", "".join(BLOCKS), re.MULTILINE)


def test_table_of_seams_is_that_of_all_labs():
    assert rows_of_page() == rows(), "type: python -m tests.support.docs.seam_table"


def test_each_seam_has_one_exercise():
    symbols = [row.split("|")[1] for row in rows_of_page()]
    assert len(symbols) == len(set(symbols))
    assert all(room_of(symbol.strip(" `")) for symbol in symbols)


@pytest.mark.processes
def test_commands_of_the_page_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANG", "C.UTF-8")
    for shown in SHOWN:
        program, *words = shlex.split(shown)
        if program == "cd":
            monkeypatch.chdir(words[0])
            continue
        result = CliRunner().invoke(main, words)
        not_yet = words[:2] == ["lab", "check"]
        assert (result.exit_code, result.stderr) == (int(not_yet), ""), shown
        assert result.stdout
    assert len(SHOWN) > 8


def test_page_names_each_command_kind_and_state():
    for name in lab_group.commands:
        assert f"`lab {name}" in TEXT
    assert all(f"**{kind.capitalize()}**" in TEXT for kind in KINDS)
    assert all(f"| `{state}` |" in TEXT for state in ("todo", "pass", "fail", "error", "timeout"))


def test_page_names_the_limits():
    assert f"{limits.CPU_SECONDS} seconds of computing" in TEXT
    assert f"{limits.MEMORY_BYTES >> 30} GiB of memory" in " ".join(TEXT.split())


def test_readme_says_how_long_lab_and_core_path_take():
    for lab in all_labs():
        core = ", ".join(exercise.id for exercise in lab.exercises if exercise.core)
        first = Catalogue("en").readme(lab).read_text().split("\n\n")[1]
        says = f"{lab.minutes} minutes; the core path ({core}) takes {lab.core_minutes}."
        assert " ".join(first.split()) == says


def test_labs_folder_says_what_it_holds():
    text = (Path(PAGE).parents[1] / "labs" / "README.md").read_text()
    assert all(f"`{lab.folder.name}`" in text for lab in all_labs())
