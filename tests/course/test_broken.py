"""Each fault that a broken log may have is one that `verify` names, with its segment and offset.

And each student gets faults of his own: another one in each exercise, and all of them occur.
"""

import re
from itertools import combinations
from random import Random

import pytest

from kminilog.course import work_folder
from kminilog.course.broken import FAULTS, FOLDER, PARTITION, write_broken
from kminilog.course.broken_assignment import ASSIGNMENT_FAULTS, write_broken_assignment
from kminilog.course.catalogue import Catalogue
from kminilog.course.judging.diagnosis import diagnosis_by_verify, diagnosis_of
from kminilog.course.material import all_labs, lab_of
from kminilog.course.work_folder import WorkFolder
from kminilog.verification.findings import FindingClass

CLASSES = {
    "flipped-value": "bad-crc",
    "changed-offset": "offset-disorder",
    "changed-size": "bad-length",
    "changed-magic": "bad-magic",
    "grown-size": "bad-length",
    "false-entry": "index-position",
    "torn-tail": "torn-tail",
    "flipped-tail": "bad-crc",
    "placed-by-abs": "wrong-partition",
    "placed-unsigned": "wrong-partition",
    "placed-by-crc32": "wrong-partition",
    "repeated": "offset-overlap",
    "left-out": "offset-gap",
    "renamed": "name-base-mismatch",
    "shifted-entry": "index-position",
    "far-entry": "index-past-end",
}


@pytest.mark.parametrize("fault", sorted(CLASSES))
def test_verify_names_the_fault(fault, tmp_path):
    write_broken(tmp_path, (fault,), Random(len(fault)))
    diagnosis, lines = diagnosis_by_verify(tmp_path)
    assert diagnosis.finding == CLASSES[fault]
    assert (tmp_path / FOLDER / str(PARTITION) / f"{diagnosis.segment}.log").is_file()
    assert len(lines) == 1


def test_each_fault_has_a_class_here():
    assert set(FAULTS) == set(CLASSES)


NAMES = [f"student {number}" for number in range(30)]
DIAGNOSES = [each for lab in all_labs() for each in lab.exercises if each.kind == "diagnose"]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """For each exercise: the fault and the right answer of each of 30 students."""
    names = []
    with pytest.MonkeyPatch.context() as patch:
        for write in (write_broken, write_broken_assignment):
            note = lambda *words, write=write: names.append(write(*words))  # noqa: E731
            patch.setattr(work_folder, write.__name__, note)
        found = {exercise.id: [] for exercise in DIAGNOSES}
        for name in NAMES:
            directory = tmp_path_factory.mktemp("student")
            for lab in all_labs():
                folder = WorkFolder.start(lab, directory, name)
                for exercise in lab.exercises:
                    if exercise.kind == "diagnose":
                        right, _ = diagnosis_of(exercise, folder.path)
                        found[exercise.id].append((names.pop(), right))
        assert names == []
    return found


@pytest.mark.xdist_group("drawn")
def test_each_fault_that_an_exercise_lists_occurs(drawn):
    for exercise in DIAGNOSES:
        assert {fault for fault, _ in drawn[exercise.id]} == set(exercise.faults), exercise.id


@pytest.mark.xdist_group("drawn")
def test_readme_names_the_classes_that_occur_and_no_others(drawn):
    for exercise in DIAGNOSES:
        text = Catalogue("en").readme(lab_of(exercise.lab)).read_text()
        of_exercise = rf"\n\*\*{re.escape(exercise.id)} .*?(?=\n\*\*|\n## )"
        (part,) = re.findall(of_exercise, text, re.DOTALL)
        named = set(re.findall("`([a-z0-9-]+)`", part)) & {*FindingClass, *ASSIGNMENT_FAULTS}
        assert named == {right.finding for _, right in drawn[exercise.id]}, exercise.id


@pytest.mark.xdist_group("drawn")
def test_diagnoses_of_one_student_have_nothing_in_common(drawn):
    for one, other in combinations([each.id for each in DIAGNOSES if not each.is_of_assignment], 2):
        pairs = [(a, b) for (_, a), (_, b) in zip(drawn[one], drawn[other], strict=True)]
        assert sum(a[1:] == b[1:] for a, b in pairs) < 6, (one, other)
        assert sum(a.segment == b.segment for a, b in pairs) < 20, (one, other)
