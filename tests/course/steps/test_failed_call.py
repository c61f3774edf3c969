"""A student's value beside the right one: by its bytes, elements or digits."""

import pytest

from kminilog.course.comparing import sides_of
from kminilog.course.steps.failed_call import FailedCall, document
from kminilog.explain.document import ByteRange, Document
from kminilog.explain.script import language
from kminilog.explain.text import field_rows
from kminilog.format.index_entry import IndexEntry

FAILED = FailedCall("1.1", "header(0) gave 1, expected 2", "kminilog step record", "header(0)")


def document_of(got: object, expected: object) -> Document:
    return document(FAILED, sides_of(got, expected))


def rows_of(found: Document) -> tuple[list[tuple[object, ...]], list[int]]:
    (table,) = found.steps[1].state.tables
    return list(table.rows), list(table.marked)


@pytest.mark.parametrize(
    ("got", "expected", "place", "says"),
    [
        (
            bytes(20) + b"\x01x",
            bytes(20) + b"\x02x",
            20,
            "Byte 20 is the first that differs: yours",
        ),
        (bytes(5), bytes(6), 5, "Yours ends before byte 5, which is 00."),
        (bytes(6), bytes(5), 5, "The right one ends before byte 5; yours goes on with 00."),
        (b"", b"a", 0, "Yours ends before byte 0, which is 61."),
    ],
)
def test_bytes_stand_beside_each_other_from_shortly_before_the_first_difference(
    got, expected, place, says
):
    found = document_of(got, expected)
    assert says in found.steps[1].say
    rows, marked = rows_of(found)
    assert rows[0][0] == str(max(place - 4, 0))
    assert rows[marked[0]][0] == str(place)
    for name, data in (("yours", got), ("right", expected)):
        ends = min(len(data), place + 12)
        is_there = ByteRange(name, max(place - 4, 0), ends) in found.steps[1].focus
        assert is_there == (place < len(data))
    for focus in found.steps[1].focus:
        places = [row[0] for row in field_rows(found, focus)]
        assert places[0] == focus.start


def test_long_value_is_counted_whole_and_its_difference_shown_wherever_it_is():
    assert "1500 bytes" in document_of(bytes(1500), b"\1").steps[1].say
    (row,), marked = rows_of(document_of(bytes(1500), bytes(1499) + b"\1"))
    assert (row, marked) == (("", "[1494:] 000000000000", "[1494:] 000000000001"), [0])


def test_number_is_in_decimal_and_in_hex_with_its_distance():
    rows, _ = rows_of(document_of(-1, 0xE97538BC))
    assert rows == [
        ("decimal", "-1", "3916773564"),
        ("hex", "-0x1", "0xe97538bc"),
        ("yours - right", "-3916773565", ""),
    ]


def test_list_is_element_by_element_and_a_named_tuple_by_its_fields():
    found = document_of([*range(30), 7], [*range(30), 8, 9])
    assert "The first element that differs is 30, counted from 0." in found.steps[1].say
    rows, marked = rows_of(found)
    assert [rows[each] for each in marked] == [("30", "7", "8"), ("31", "-", "9")]
    assert "Yours ends before element 0." in document_of([], [1]).steps[1].say
    rows, marked = rows_of(document_of(IndexEntry(3, 4), IndexEntry(3, 5)))
    assert [rows[each] for each in marked] == [("position", "4", "5")]


@pytest.mark.parametrize(
    ("got", "expected", "says", "marked"),
    [
        ({".a": 0, "m": 1}, {"m": 1}, "Yours has '.a', and the right", [("'.a'", "0", "-")]),
        ({"m": 1}, {"a": 2, "m": 1}, "Yours has no 'a'.", [("'a'", "-", "2")]),
        ({"m": 1, "a": 2}, {"a": 3, "m": 1}, "The values of 'a' differ.", [("'a'", "2", "3")]),
    ],
)
def test_dicts_are_key_by_key(got, expected, says, marked):
    found = document_of(got, expected)
    assert says in found.steps[1].say
    rows, places = rows_of(found)
    assert [rows[each] for each in places] == marked


def test_values_of_two_kinds_are_texts():
    rows, marked = rows_of(document_of("x" * 90 + "1", None))
    assert marked == [0]
    assert rows[0][2] == "None"


def test_answer_without_a_value_has_its_sentence():
    found = document(FAILED, None)
    assert found.steps[1].say == f"There is no value to compare: {FAILED.sentence}"
    assert found.steps[-1].say == "Look: kminilog step record"


def test_it_is_told_in_chinese_too():
    token = language.set("zh")
    try:
        found = document_of(b"a", b"b")
    finally:
        language.reset(token)
    assert found.language == "zh"
    assert "第一个不同的是字节 0：你的是 61，正确的是 62。" in found.steps[1].say


@pytest.mark.parametrize(
    ("call", "says", "name"),
    [
        ("header(0, b'')", "The check of 1.1 calls your function as below.", "call"),
        ("header(0, 4 bytes)", "The check of 1.1 tries your function in this case.", "case"),
    ],
)
def test_what_cannot_be_typed_is_a_case_and_no_call(call, says, name):
    (step, *_) = document(FAILED._replace(call=call), sides_of(1, 2)).steps
    assert step.say == says
    assert step.state.values == {name: call}
