"""The files that a student reads: two constants that one may confuse have different values."""

import pytest

from kminilog.course.material import checks_of, exercise_of, lab_of


@pytest.mark.parametrize(
    ("id", "one", "other"),
    [("4.5", "WALK_START", "POSITION"), ("6.7", "BY_DEFAULT_2_4", "BY_DEFAULT_0_8")],
)
def test_constants_that_one_may_confuse_differ_for_each_student(tmp_path, id, one, other):
    exercise = exercise_of(id)
    checks = checks_of(lab_of(exercise.lab))
    (tmp_path / "files").mkdir()
    alike = []
    for seed in range(20):
        checks["write_files"](tmp_path / "files", f"student {seed}", seed)
        right = checks[f"solve_{exercise.number}"](tmp_path)
        alike += [seed] if right[one] == right[other] else []
    assert alike == []
