"""A whole term, small: ten students hand in as students do, and one run of each command follows."""

import csv
import json
import zipfile
from pathlib import Path
from unicodedata import normalize

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.course.material import lab_of
from kminilog.course.work_folder import WorkFolder
from tests.support.course.student import CHECKSUM, HEADER
from tests.support.trees import tree_of

pytestmark = pytest.mark.processes

LAB = lab_of(1)
DUE = "2026-10-05T18:00"
CAME = {
    "Bob": "Tuesday, 6 October 2026, 9:00 AM",
    "Dan": "Monday, 5 October 2026, 6:05 PM",
    "Fay": "-",
}
HOSTILE = "import os\nos.system('true')\n" + HEADER.replace("return", "os._exit(0)\n    return")
OWN_SCAN = """
def helper(data, steps):
    found, position = [], 0
    while position + 12 <= len(data) and len(found) < steps:
        size = int.from_bytes(data[position + 8 : position + 12], "big")
        if size < 14 or position + 12 + size > len(data):
            break
        found.append((position, size))
        position += 12 + size
    return found, position
"""


def hand_in(submissions: Path, folder: str, student: str, code: str) -> Path:
    work = WorkFolder.start(LAB, submissions / folder, student)
    work.answers_path.write_text(code)
    return work.path


def submissions_of_ten(directory: Path) -> None:
    right = HEADER + CHECKSUM
    hand_in(directory, "Ada L_101_assignsubmission_file_", "Ada L", right + OWN_SCAN)
    hand_in(directory, "Bob", "Bob", right)  # late
    hand_in(directory, normalize("NFD", "Zoë"), "Zoë", right)
    hand_in(directory, "Dan", "Dan", right)  # late, but in the time of grace
    packed = hand_in(directory.parent / "home", "", "Cy", right)
    with zipfile.ZipFile(directory / "Cy.zip", "w") as archive:
        for path in packed.iterdir():
            if path.is_file():
                archive.write(path, f"{LAB.work_name}/{path.name}")
    hand_in(directory, "Eve", "Eve", right + "def broken(:\n")
    hand_in(directory, "Gus", "Gus", HOSTILE)
    (directory / "Hal").mkdir()
    with zipfile.ZipFile(directory / "Hal/home.zip", "w") as archive:
        archive.writestr("../../evil.py", "")
    copy = OWN_SCAN.replace("found", "pairs").replace('"big"', "'big'")
    hand_in(directory, "Team Red_9_assignsubmission_file_", "Ivy", right + "\n" * 9 + copy)


def test_term_with_ten_submissions_ends_in_marks_for_all(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    submissions = tmp_path / "submissions"
    submissions_of_ten(submissions)
    before = tree_of(submissions)
    students = ["Ada L", "Bob", "Cy", "Dan", "Eve", "Fay", "Gus", "Hal", "Ivy", "Jon", "Zoë"]
    with Path("roster.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["student", "lab", "deadline", "submitted", "group", "email"])
        for name in students:
            group = "Team Red" * (name in ("Ivy", "Jon"))
            came = CAME.get(name, "2026-10-05T17:00")
            writer.writerow([name, 1, DUE, came, group, f"{name}@example.org"])
    words = "--csv marks.csv --roster roster.csv --late-percent 20 --grace 10 --wide wide.csv"
    for command in (
        f"course grade submissions {words} --html pages",
        f"course grade submissions {words} --html pages --resume",
        "course stats marks.csv --html stats.html",
        "course similar submissions --json",
    ):
        run = CliRunner().invoke(main, command.split())
        assert run.exit_code == 0, run.output
    assert tree_of(submissions) == before
    assert not list(tmp_path.rglob("evil.py"))

    (pair,) = json.loads(run.stdout)["pairs"]
    assert (pair["first"]["student"], pair["second"]["student"]) == ("Ada L", "Team Red")

    with Path("wide.csv").open(newline="", encoding="utf-8") as file:
        wide = {row["Student"]: row for row in csv.DictReader(file)}
    assert list(wide) == students
    all_points, late_points, none = "20", "16", "0"
    assert {name: row["Lab 1"] for name, row in wide.items()} == {
        **dict.fromkeys(students, all_points),
        **dict.fromkeys(("Eve", "Fay", "Gus", "Hal"), none),
        "Bob": late_points,
    }
    assert all(row["SIS Login ID"] == f"{name}@example.org" for name, row in wide.items())

    with Path("marks.csv").open(newline="", encoding="utf-8") as file:
        first = {row["student"]: row for row in csv.DictReader(file) if row["exercise"] == "1"}
    assert first["Gus"]["tried"] == "your code starts a program: true"
    assert "invalid syntax" in first["Eve"]["reason"]
    assert first["Hal"]["reason"] == "home.zip: ../../evil.py leads out of its folder"
    assert first["Fay"]["status"] == "todo"
    scores = {
        name: json.loads(Path("pages/students", name, "results.json").read_text())["score"]
        for name in students
    }
    assert scores == {name: float(row["Lab 1"]) for name, row in wide.items()}
