"""Sentences about values: the same each time, and never too long."""

import pytest

from kminilog.course.comparing import Comparer, DifferenceError, WrongKindError, short


class Strange:
    def __eq__(self, other):
        raise RuntimeError("no comparison")


def test_address_of_an_object_is_no_part_of_a_sentence():
    assert short(object()) == "<object object>"


def test_value_whose_comparison_fails_is_another_value():
    with pytest.raises(WrongKindError):
        Comparer().equal("f()", Strange, 4)


@pytest.mark.parametrize(("got", "expected"), [(True, 1), ([1], (1,)), (1.5, 1), (None, b"")])
def test_value_of_another_kind_is_not_equal(got, expected):
    with pytest.raises((WrongKindError, DifferenceError)):
        Comparer().equal("f()", lambda: got, expected)


def test_misconception_is_named_only_for_its_very_value():
    def code_of(got):
        with pytest.raises(DifferenceError) as found:
            Comparer().equal("f()", lambda: got, 8, {"squares": 16, "same": 8})
        return found.value.code

    assert code_of(16) == "squares"
    assert code_of(17) is None
