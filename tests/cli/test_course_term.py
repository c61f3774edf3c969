"""`kminilog course init` and `release`: files for the lecturer, and files for students."""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.course.catalogue import Catalogue
from kminilog.course.material import RIGHT, WRONG, Lab, all_labs, lab_of, sample_answers
from kminilog.course.teaching.proof import solution_lines
from kminilog.course.teaching.release import LeakError, release
from kminilog.course.teaching.roster import A_TIME, RosterError, roster_from_csv
from tests.support.cli.command_line import Run, assert_one_line

LAB = all_labs()[0]


def course(*words: str | Path) -> Run:
    result = CliRunner().invoke(main, ["course", *map(str, words)])
    return Run(result.exit_code, result.stdout, result.stderr)


def test_init_writes_a_plan_a_roster_and_an_exam_for_each_lab(tmp_path):
    run = course("init", tmp_path / "term", "--language", "en")
    assert (run.code, run.err) == (0, "")
    files = {path.relative_to(tmp_path / "term").as_posix() for path in tree_files(tmp_path)}
    assert files == {"plan.md", "roster.csv", *(f"exam/{lab.work_name}.md" for lab in all_labs())}
    plan = (tmp_path / "term/plan.md").read_text()
    assert plan.startswith("# Term plan: 14 weeks\n")
    assert A_TIME in plan
    assert A_TIME in course("grade", "--help").out
    for lab in all_labs():
        assert f"| {lab.number} | {lab.minutes} |" in plan
    with pytest.raises(RosterError, match="names no student"):  # a heading, and no rows yet
        roster_from_csv("roster.csv", (tmp_path / "term/roster.csv").read_bytes())


def test_init_in_chinese_says_it_in_chinese(tmp_path):
    assert course("init", tmp_path / "t", "--language", "zh", "--weeks", "10").code == 0
    assert (tmp_path / "t/plan.md").read_text().startswith("# 学期计划：10 周\n")
    assert "**答案。**" in (tmp_path / "t/exam/01_message.md").read_text()


def test_init_leaves_what_is_there(tmp_path):
    (tmp_path / "plan.md").write_text("mine")
    assert_one_line(course("init", tmp_path), 2, "plan.md is there already, and stays as it is")
    assert [path.name for path in tmp_path.iterdir()] == ["plan.md"]
    assert_one_line(course("init", tmp_path / "plan.md"), 2, "is a file; name a directory")
    assert_one_line(course("init", tmp_path / "x", "--weeks", "0"), 2, "--weeks")


def tree_files(tmp_path: Path) -> list[Path]:
    return [path for path in tmp_path.rglob("*") if path.is_file()]


def bytes_in(directory: Path) -> dict[Path, bytes]:
    return {path.relative_to(directory): path.read_bytes() for path in tree_files(directory)}


def test_release_has_the_same_bytes_on_a_second_run(tmp_path):
    out, again = tmp_path / "out", tmp_path / "again"
    run = course("release", out)
    assert (run.code, run.err) == (0, "")
    assert "An installed kminilog shows its source, answers included" in run.out
    first = bytes_in(out)
    assert course("release", out).code == 0
    assert course("release", again).code == 0
    assert bytes_in(out) == first == bytes_in(again)
    names = {path.name for path in out.rglob("*")}
    assert not names & {"wrong", "right", "term", "exam_01.md"}
    assert (out / "labs/01_message/starter.py").is_file()


def test_release_shows_no_line_of_a_solution_and_no_sample_answer(tmp_path):
    assert course("release", tmp_path / "out").code == 0
    assert answers_shown_in(tmp_path, all_labs()) == []


def answers_shown_in(directory: Path, labs: Iterable[Lab]) -> list[tuple[str, object]]:
    """Return which answers to labs the files below a directory show."""
    texts = {path: path.read_text() for path in tree_files(directory)}
    lines = {line.strip() for text in texts.values() for line in text.splitlines()}
    shown: list[tuple[str, object]] = []
    for lab in labs:
        given = {line.strip() for line in (lab.folder / "starter.py").read_text().splitlines()}
        shown += [
            (exercise.id, line)
            for exercise in lab.exercises
            for line in solution_lines(exercise)
            if line in lines and line not in given
        ]
        for kind in (WRONG, RIGHT):
            for sample in sample_answers(lab, kind):
                code = sample.path.read_text().split("\n", 2)[2].strip()
                shown += [(sample.where, path) for path, text in texts.items() if code in text]
    return shown


def test_release_with_a_line_of_a_function_that_the_library_lacks_is_refused(tmp_path):
    lab = lab_of(10)
    lab = replace(lab, folder=Path(shutil.copytree(lab.folder, tmp_path / lab.work_name)))
    readme = lab.folder / "en" / "README.md"
    line = "if source.sum(first, end) != log.sum(first, end):"
    readme.write_text(f"{readme.read_text()}\n{line}\n")
    with pytest.raises(LeakError, match=r"en/README.md has a line of the solution of 10.6: if "):
        release([lab], "en")


@pytest.mark.parametrize("kind", ["solution", WRONG, RIGHT])
def test_release_with_an_answer_in_it_is_refused(tmp_path, kind):
    lab = replace(LAB, folder=Path(shutil.copytree(LAB.folder, tmp_path / LAB.work_name)))
    assert release([lab], "en") == release([LAB], "en")
    answer = solution_lines(lab.exercises[0])[0]
    if kind != "solution":
        answer = sample_answers(lab, kind)[0].path.read_text().split("\n", 2)[2]
    readme = lab.folder / "en" / "README.md"
    readme.write_text(f"{readme.read_text()}\n{answer}\n")
    with pytest.raises(
        LeakError, match=r"^labs/01_message/en/README.md has .*nothing was released"
    ):
        release([lab], "en")


def test_release_of_some_labs_has_no_other_and_leaves_other_files_alone(tmp_path):
    assert course("release", tmp_path / "out", "--labs", "1, 3").code == 0
    labs = sorted(path.name for path in (tmp_path / "out/labs").iterdir())
    assert labs == ["01_message", "03_sparse_index", "messages"]
    assert_one_line(course("release", tmp_path / "out", "--labs", "1"), 2, "03_sparse_index")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    refused = course("release", tmp_path / "mine")
    assert_one_line(refused, 2, "mine/notes.txt is no file of this release")
    assert_one_line(
        course("release", tmp_path / "new", "--labs", "1,99"), 2, "no lab or exercise 99"
    )
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_release_begins_with_what_students_need_in_the_language(tmp_path, language):
    assert course("release", tmp_path / "out", "--language", language).code == 0
    text = (tmp_path / "out/README.md").read_text()
    assert "pip install kminilog" in text
    assert {"en": "About the solutions", "zh": "关于答案"}[language] in text
    assert Catalogue(language).title(all_labs()[0])
