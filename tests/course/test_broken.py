"""Each fault that a broken log may have is one that `verify` names, with its segment and offset."""

from random import Random

import pytest

from kminilog.course.broken import FAULTS, FOLDER, PARTITION, write_broken
from kminilog.course.judging.diagnosis import diagnosis_by_verify

CLASSES = {
    "flipped-value": "bad-crc",
    "changed-offset": "offset-disorder",
    "changed-size": "bad-length",
    "changed-magic": "bad-magic",
    "grown-size": "bad-length",
    "false-entry": "index-position",
    "torn-tail": "torn-tail",
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
    assert set(FAULTS) >= set(CLASSES)
