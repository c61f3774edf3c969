"""The exam of a lab: its core functions together, on data of a seed."""

import pytest

from kminilog.cli.lab.judging import PROGRAM
from kminilog.course.judging.checking import check, write_scenery
from kminilog.course.judging.outcome import PASS
from kminilog.course.material import all_labs
from kminilog.course.teaching.proof import solution
from tests.support.course.student import start_lab

LABS_WITH_EXAM = [lab.number for lab in all_labs() if lab.has_exam]


def test_all_labs_but_those_without_functions_of_the_engine_have_an_exam():
    assert [lab.number for lab in all_labs() if lab.number not in LABS_WITH_EXAM] == [9, 11]


@pytest.mark.processes
@pytest.mark.parametrize("number", LABS_WITH_EXAM)
def test_functions_of_the_library_pass_the_exam(tmp_path, number):
    folder = start_lab(tmp_path, number=number)
    folder.answers_path.write_text(solution(folder.lab, folder.path))
    outcomes = check(folder, folder.lab.core_functions, PROGRAM, seed=11)
    assert [(each.exercise.id, each.said) for each in outcomes if each.status != PASS] == []


@pytest.mark.parametrize("log", ["empty", "sound", "crashed"])
def test_data_of_a_seed_are_others_in_files_of_the_same_names_and_sizes(tmp_path, log):
    sizes = []
    for seed in (0, 1, 2):
        place = tmp_path / str(seed)
        place.mkdir()
        write_scenery(place, log, seed)
        files = sorted(each for each in place.rglob("*.[li]*") if each.is_file())
        sizes.append({str(each.relative_to(place)): each.stat().st_size for each in files})
    assert sizes[0] == sizes[1] == sizes[2]
    lines = [(tmp_path / str(seed) / "lines.txt").read_bytes() for seed in (0, 1, 2)]
    assert len(set(lines)) == 3
