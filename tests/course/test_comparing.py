"""Sentences about values: the same each time, and never too long."""

import numpy as np
import pytest

from kminilog.course.catalogue import Catalogue, languages
from kminilog.course.comparing import (
    SENTENCE_CHARACTERS,
    Comparer,
    DifferenceError,
    WrongKindError,
    around_difference,
    as_text,
)
from kminilog.course.counting import CountedBytes
from kminilog.format.message import Message


class Strange:
    def __eq__(self, other):
        raise RuntimeError("no comparison")


def test_address_of_an_object_is_no_part_of_a_sentence():
    assert as_text(object()) == "<object object>"


def test_value_whose_comparison_fails_is_another_value():
    with pytest.raises(WrongKindError):
        Comparer().equal("f()", Strange, 4)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (True, 1),
        ([1], (1,)),
        (1.5, 1),
        (1.0, 1),
        (None, b""),
        ((1, True), (1, 1)),
        ({1: 1.0}, {1: 1}),
    ],
)
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


@pytest.mark.parametrize("same", [16, 16.0])
def test_value_to_which_two_misconceptions_lead_names_neither(same):
    mistakes = {"squares": 16, "adds-itself": same, "same": 8}
    with pytest.raises(DifferenceError) as found:
        Comparer().equal("f()", lambda: 16, 8, mistakes)
    assert found.value.code == (None if isinstance(same, int) else "squares")
    with pytest.raises(DifferenceError) as found:
        Comparer().refuses("f()", lambda: 16, ValueError, mistakes)
    assert found.value.code == (None if isinstance(same, int) else "squares")


def test_another_error_than_the_refusal_is_told_with_the_call():
    def divide():
        return 1 / 0

    with pytest.raises(DifferenceError, match=r"f\(0\), got: ZeroDivisionError, expected: Value"):
        Comparer().refuses("f(0)", divide, ValueError)


def message(value: object) -> Message:
    return Message(5, 20, 7, 0, 0, None, value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("got", "expected", "kinds"),
    [
        (memoryview(b"ab"), b"ab", ("memoryview", "bytes")),
        (message(memoryview(b"ab")), message(b"ab"), ("memoryview in Message", "bytes")),
        ([(1, 2.0)], [(1, 2)], ("float in tuple in list", "int")),
        (np.frombuffer(b"a", "u1"), b"a", ("ndarray", "bytes")),
        (np.int64(4), 4, ("int64", "int")),
        ([np.uint32(4)], [4], ("uint32 in list", "int")),
    ],
)
def test_value_that_is_alike_but_not_of_the_kind_names_the_kind_that_is_wanted(
    got, expected, kinds
):
    with pytest.raises(WrongKindError) as found:
        Comparer().equal("f()", lambda: got, expected)
    assert (found.value.values["got"], found.value.values["expected"]) == kinds


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (bytearray(b"ab"), b"ab"),
        (message(bytearray(b"ab")), message(b"ab")),
        (np.int64(4) > 3, True),
    ],
)
def test_value_of_a_kind_that_does_the_same_is_right(got, expected):
    Comparer().equal("f()", lambda: got, expected)


LONG = bytes(range(60))


FAR_APART = [
    (LONG[:33] + b"?" + LONG[34:], LONG, ("[28:] 1c1d1e1f203f22", "[28:] 1c1d1e1f202122")),
    (LONG[:40], LONG, ("[35:] 2324252627", "[35:] 232425262728")),
    (message(b"x" * 90 + b"1"), message(b"x" * 90 + b"2"), ("xxx1')", "xxx2')")),
    (list(range(20)), list(range(19)), (", 17, 18, 19]", ", 17, 18]")),
    ("a" * 90 + "b", "a" * 90 + "c", ("ab'", "ac'")),
    (b"", LONG, ("b''", "000102")),
]


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("call", ["f()", "f(" + "x" * 120 + ")"])
def test_long_values_are_shown_around_their_first_difference(call, language):
    offenders = []
    for got, expected, shown in FAR_APART:
        with pytest.raises(DifferenceError) as found:
            Comparer().equal(call, lambda got=got: got, expected)
        sentence = Catalogue(language).sentence(found.value.name, found.value.values)
        if len(sentence) > SENTENCE_CHARACTERS or not all(part in sentence for part in shown):
            offenders.append((shown, len(sentence), sentence))
    assert offenders == []


def test_texts_of_a_check_are_shown_around_their_first_difference_too():
    with pytest.raises(DifferenceError) as found:
        Comparer().holds(False, "f()", "=" * 50 + "1", "=" * 50 + "2")
    sentence = Catalogue("en").sentence(found.value.name, found.value.values)
    assert sentence == "f() gave …==========1, expected …==========2"


def test_nothing_is_marked_as_left_out_in_front_of_a_name_that_is_whole():
    got, expected = (f"IndexEntry({n}, 'a long value of an entry')" for n in "34")
    assert around_difference(got, expected)[0].startswith("IndexEntry(3, ")


def test_kind_of_counted_bytes_is_bytes():
    with pytest.raises(WrongKindError) as found:
        Comparer().equal("f()", lambda: CountedBytes(b"abc")[1:], 4)
    assert found.value.values["got"] == "bytes"


def give(value):
    if isinstance(value, Exception):
        raise value
    return value


SQUARES = [("squares", [4, 9, 16])]


@pytest.mark.parametrize(
    ("got", "code", "call"),
    [
        ([4, 9, 16], "squares", "double(3)"),
        ([4, 9, 8], None, "double(3)"),  # one case agrees by chance
        ([4, 9, ValueError("no")], None, "double(3)"),
        ([4, 6, 8.0], None, "double(4)"),
    ],
    ids=["all", "by-chance", "raises-later", "kind"],
)
def test_all_equal_gives_a_code_only_if_it_explains_every_case(got, code, call):
    calls = [f"double({number})" for number in (2, 3, 4)]
    gives = [lambda value=value: give(value) for value in got]
    cases = list(zip(calls, gives, (4, 6, 8), strict=True))
    with pytest.raises((DifferenceError, WrongKindError)) as found:
        Comparer().all_equal(cases, SQUARES)
    assert getattr(found.value, "code", None) == code
    assert call in str(found.value)


def test_all_equal_raises_what_a_case_raised_if_those_before_it_hold():
    cases = [("double(2)", lambda: 4, 4), ("double(3)", lambda: give(ValueError("no")), 6)]
    with pytest.raises(ValueError, match="no"):
        Comparer().all_equal(cases, [("squares", [4, 9])])


def test_all_equal_goes_on_if_every_case_holds():
    compare = Comparer()
    compare.all_equal([("double(2)", lambda: 4, 4), ("double(3)", lambda: 6, 6)], [])
    assert compare.count == 2


@pytest.mark.parametrize(
    ("call", "got", "expected", "sentence"),
    [
        ("f(2, b'')", 3, 4, "f(2, b'') gave 3, expected 4"),
        ("f(4 bytes)", 3, 4, "f(4 bytes): got 3, expected 4"),
        ("f, two topics", [1], [2], "f, two topics: got [1], expected [2]"),
        ("f(content)", 3, 4, "f(content): got 3, expected 4"),
    ],
)
def test_only_what_a_student_can_type_is_told_as_a_call(call, got, expected, sentence):
    with pytest.raises(DifferenceError) as found:
        Comparer().equal(call, lambda: got, expected)
    assert Catalogue("en").sentence(found.value.name, found.value.values) == sentence


def test_error_in_the_place_of_another_one_is_raised_and_not_given():
    with pytest.raises(DifferenceError) as found:
        Comparer().refuses("f(-1)", lambda: 1 // 0, ValueError)
    sentence = Catalogue("en").sentence(found.value.name, found.value.values)
    assert sentence == "f(-1) raised ZeroDivisionError, expected ValueError"
