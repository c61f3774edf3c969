import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.format.any_format import possible_beginnings
from kminilog.format.message import encode
from tests.support.damage import later_message
from tests.support.format.messages import messages

other_formats = pytest.mark.parametrize("magic", [1, 2, 3, 127])


@given(messages(), st.binary(max_size=40))
def test_possible_beginnings_of_rubbish_and_a_message_include_the_message(case, rubbish):
    assert len(rubbish) in set(possible_beginnings(rubbish + encode(*case)))


@other_formats
@given(rubbish=st.binary(max_size=40))
def test_possible_beginnings_of_rubbish_and_another_format_include_the_message(magic, rubbish):
    data = rubbish + later_message(magic, 2**40 - 1, b"hi")
    assert len(rubbish) in set(possible_beginnings(data))
