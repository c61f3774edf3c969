"""Inputs of a student expose wrong answers; what is no input is named, and gives no points."""

from dataclasses import replace

import pytest

from kminilog.cli.lab.judging import PROGRAM, keep
from kminilog.cli.lab.texts import summary_lines
from kminilog.course.catalogue import Catalogue
from kminilog.course.comparing import Comparer, DifferenceError
from kminilog.course.judging import checking, exposing
from kminilog.course.judging.outcome import ERROR, FAIL, PASS, TODO
from kminilog.course.material import RIGHT, all_labs, answers_to, exercise_of, lab_of
from kminilog.course.teaching.grading import judged as graded
from kminilog.course.teaching.proof import exposed_in, solution
from kminilog.course.work_folder import WorkFolder
from tests.support.course.student import CHECKSUM, outcomes_of, sentence_of, start_lab

PLAIN = "bytes(11) + b'\\x17' + bytes(4) + b'\\0\\0\\0\\0\\0\\1kvalue'"
TOO_LONG = "input 2: a right answer computes too long for it; smaller numbers expose as much"


@pytest.fixture
def folder(tmp_path):
    return start_lab(tmp_path)


def judged(folder, inputs: str, checksum: str = CHECKSUM):
    """Check 1.2 and 1.9 together; return the outcome of 1.9."""
    folder.answers_path.write_text(f"{checksum}\nEXPOSE_CHECKSUM = {inputs}\n")
    return outcomes_of(folder, "1.2", "1.9")["1.9"]


def test_each_lab_has_an_exercise_to_expose():
    assert [lab.number for lab in all_labs() if not exposed_in(lab)] == []


@pytest.mark.processes
def test_no_input_leaves_all_hidden(folder):
    outcome = judged(folder, "[]")
    assert (outcome.status, outcome.code, outcome.points) == (FAIL, None, 0)
    assert sentence_of(outcome) == "0 of 13 wrong answers are exposed; 13 still hidden"


@pytest.mark.processes
def test_one_input_gives_its_share_of_the_points_and_tells_only_counts(folder):
    outcome = judged(folder, f"[({PLAIN},)]")
    assert outcome.status == FAIL
    assert 0 < outcome.points < outcome.exercise.points
    sentence = sentence_of(outcome)
    assert sentence.endswith(" still hidden")
    assert "PLAIN" not in sentence
    assert "checksum" not in sentence
    assert not outcome.printed


@pytest.mark.processes
def test_share_of_the_points_is_in_the_summary_and_in_marks(folder):
    outcome = judged(folder, f"[({PLAIN},)]")
    told = graded(folder.lab, folder.path, "Ada", PROGRAM)["outcomes"]["1.9"]
    assert (told["status"], told["points"]) == (FAIL, outcome.points)
    keep(folder, outcome)
    lines = list(summary_lines(folder, Catalogue("en"), []))
    assert lines[0] == f"Lab 1: 0 of 10 pass, {outcome.points} of 105 points."


@pytest.mark.processes
@pytest.mark.parametrize("number", [lab.number for lab in all_labs()])
@pytest.mark.parametrize("is_partial", [False, True])
def test_progress_has_the_points_that_course_grade_gives(tmp_path, number, is_partial):
    folder = start_lab(tmp_path, number=number)
    exercises = [each for each in folder.lab.exercises if not each.needs_spark]
    answers = solution(replace(folder.lab, exercises=tuple(exercises)), folder.path)
    for each in folder.lab.exercises:
        if each.kind == "expose" and is_partial:
            answers += f"{each.names[0]} = {each.names[0]}[:1]\n"
        elif each.needs_spark:
            answers += f"{each.names[0]} = ...\n"
    folder.answers_path.write_text(answers)
    told = graded(folder.lab, folder.path, "Ada", PROGRAM)["outcomes"]
    points = sum(each["points"] for each in told.values())
    for outcome in outcomes_of(folder).values():
        keep(folder, outcome)
    assert folder.points == points
    assert WorkFolder.find(folder.lab, tmp_path).points == points
    most = sum(each.points for each in exercises)
    assert points == most or is_partial


@pytest.mark.processes
def test_inputs_of_the_course_expose_all(folder):
    (right,) = answers_to(exercise_of("1.9"), RIGHT)
    folder.answers_path.write_text(CHECKSUM + right.read_text())
    outcome = outcomes_of(folder, "1.2", "1.9")["1.9"]
    assert sentence_of(outcome) == ""
    assert (outcome.status, outcome.points) == (PASS, 10)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("inputs", "status", "sentence"),
    [
        ("...", TODO, ""),
        ("7", ERROR, "is of type int, expected list of tuples"),
        ("[b'34 bytes']", ERROR, "is of type list with bytes, expected list of tuples"),
        ("[(print,)]", ERROR, "expected plain values"),
        ("[([{'a': type('Bytes', (bytes,), {})()}],)]", ERROR, "tuples with Bytes, expected plain"),
        ("[(bytes(34),)] * 21", FAIL, "inputs of EXPOSE_CHECKSUM: 21, expected at most 20"),
        ("[(bytes(34),), (7,)]", FAIL, "input 2 is invalid: the library's function itself raises"),
        ("[(bytes(34), 7)]", FAIL, "input 1 is invalid: the library's function itself raises Type"),
        ("[()]", FAIL, "input 1 is invalid: the library's function itself raises TypeError"),
        (
            "[(bytes(9 * 10**8),)]",
            FAIL,
            "input 1 is invalid: the library's function itself raises Memor",
        ),
    ],
)
def test_what_is_no_input_is_named_and_gives_no_points(folder, inputs, status, sentence):
    outcome = judged(folder, inputs)
    assert (outcome.status, outcome.points) == (status, 0)
    assert sentence in sentence_of(outcome)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        ("(3, -1)", "input 2: the text of exercise 8.1 excludes it, so it exposes nothing"),
        ("(10.0, 3)", "input 2: right answers differ there, the function promises nothing for it"),
        ("(10**9, 3)", TOO_LONG),
        ("(3, 10**8)", TOO_LONG),
    ],
)
def test_input_to_which_right_answers_do_not_agree_gives_no_points(tmp_path, second, sentence):
    folder = start_lab(tmp_path, number=8)
    folder.answers_path.write_text(f"EXPOSE_RUNS = [(10, 3), {second}]\n")
    folder.progress["passed"] = ["8.1"]
    outcome = outcomes_of(folder, "8.9")["8.9"]
    assert (outcome.status, outcome.points) == (FAIL, 0)
    assert sentence_of(outcome) == sentence


def test_input_that_the_text_excludes_is_named(monkeypatch):
    checks = {"precondition_2": lambda message: message != bytes(17)}
    monkeypatch.setattr(exposing, "checks_of", lambda lab: checks)
    with pytest.raises(DifferenceError) as found:
        exposing.expose(Comparer(), exercise_of("1.9"), [(bytes(34),), (bytes(17),)])
    assert found.value.name == "input-excluded"
    assert found.value.values == {"number": "2", "target": "1.2"}


@pytest.mark.parametrize(
    ("exercise", "given"), [("9.7", (["asks"],)), ("2.12", (None, -1, None, True, None))]
)
def test_input_of_which_a_precondition_cannot_even_be_asked_is_excluded(exercise, given):
    with pytest.raises(DifferenceError) as found:
        exposing.expose(Comparer(), exercise_of(exercise), [given])
    assert found.value.name == "input-excluded"


@pytest.mark.processes
def test_exercise_whose_target_has_not_passed_says_so(folder):
    wrong = CHECKSUM.replace("16", "12")
    outcome = judged(folder, f"[({PLAIN},)]", wrong)
    assert (outcome.status, outcome.points) == (ERROR, 0)
    said = "1.9 is about your 1.2, which has not passed: kminilog lab check 1.2"
    assert sentence_of(outcome) == said
    assert judged(folder, "...", wrong).status == TODO


@pytest.mark.processes
def test_target_that_was_never_checked_is_checked_on_the_spot(folder):
    folder.answers_path.write_text(f"{CHECKSUM}\nEXPOSE_CHECKSUM = []\n")
    found = outcomes_of(folder, "1.9")
    assert list(found) == ["1.9"]
    assert sentence_of(found["1.9"]) == "0 of 13 wrong answers are exposed; 13 still hidden"


@pytest.mark.processes
def test_target_that_has_passed_before_counts(folder):
    folder.answers_path.write_text("EXPOSE_CHECKSUM = []\n")
    assert outcomes_of(folder, "1.9")["1.9"].status == ERROR
    folder.pass_exercise(exercise_of("1.2"))
    assert outcomes_of(folder, "1.9")["1.9"].status == FAIL


@pytest.mark.processes
def test_inputs_that_end_the_process_are_an_error(folder):
    assert judged(folder, "[(__import__('os')._exit(0),)]").status == ERROR


@pytest.mark.processes
def test_folder_without_wrong_answers_says_who_has_them(folder, monkeypatch):
    checking = "kminilog.course.judging.checking.counted_wrong_answers"
    monkeypatch.setattr(checking, lambda exercise: [])
    outcome = judged(folder, "[]")
    assert outcome.status == ERROR
    assert sentence_of(outcome).startswith("the wrong answers to 1.2 are not in this course folder")


@pytest.mark.processes
def test_wrong_answer_that_walks_for_ever_is_exposed(tmp_path):
    folder = start_lab(tmp_path, number=4)
    walk = "from kminilog.format.dialect import KAFKA\n"
    folder.answers_path.write_text(f"{walk}EXPOSE_SEGMENT = [(KAFKA, range(10**12), 10**11)]\n")
    folder.progress["passed"] = ["4.1"]
    outcome = outcomes_of(folder, "4.9")["4.9"]
    assert outcome.said.values["all"] == "9"
    assert int(outcome.said.values["exposed"]) >= 2  # from either end


def test_exposed_names_what_counts_and_what_is_left_out():
    (exposed,) = exposed_in(lab_of(4))
    assert (exposed.exercise, exposed.of) == ("4.9", "4.1")
    assert "slot_linear" in exposed.counted
    assert "slot_unwatched" in exposed.left_out


@pytest.mark.processes
def test_what_is_left_out_is_unknown_if_the_judge_does_not_end(tmp_path):
    folder = start_lab(tmp_path, number=4)
    (right,) = answers_to(exercise_of("4.9"), RIGHT)[:1]
    asked = exercise_of("4.9"), folder.path, str(right)
    assert checking.left_out_but_exposed(*asked) == []
    ends = tmp_path / "ends.py"
    ends.write_text("import os\nos._exit(0)\n")
    assert checking.left_out_but_exposed(*asked[:2], str(ends)) is None
