"""The values of a sentence are short, and read as the student would write them."""

from kminilog.course.comparing import short
from kminilog.storage.recovery import Decision


def test_a_member_of_an_enum_is_shown_by_its_name():
    assert short(Decision.CUT) == "Decision.CUT"
