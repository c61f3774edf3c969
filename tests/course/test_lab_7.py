"""Lab 7: the figures that a student reads off the files of a crash."""

import pytest

from kminilog.course.material import checks_of, lab_of
from kminilog.course.work_folder import WorkFolder


@pytest.mark.parametrize("name", ["root", "Ada", "Bob", "Chi", "Dan", "Eve", "Fay", "Gus"])
def test_no_figure_of_a_crash_stands_for_another(tmp_path, name):
    folder = WorkFolder.start(lab_of(7), tmp_path, name)
    figures = checks_of(folder.lab)["solve_9"](folder.path)
    assert len(set(figures.values())) == 3, figures
