"""Every lab accepts the library's answers, and rejects each wrong answer with its own code."""

import pytest

from kminilog.course.material import all_labs
from kminilog.course.proof import flaws_of


@pytest.mark.parametrize("lab", all_labs(), ids=lambda lab: lab.folder.name)
def test_lab_accepts_the_library_and_rejects_its_wrong_answers(lab):
    assert [str(flaw) for flaw in flaws_of(lab)] == []
