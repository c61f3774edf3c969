"""A record beside its message: exactly what differs is marked, however long or odd they are."""

import json
from base64 import b64decode
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kminilog.text import columns, printable
from kminilog.verification.both_sides import (
    EXCERPT_BYTES,
    NEITHER_SIDE,
    BothSides,
    Excerpt,
    KeyValue,
    both_sides,
    differing,
    differing_columns,
)
from kminilog.verification.text_report import side_lines

texts = st.text(alphabet='aéè©中丁😀\x1b\n"\\\u202e', max_size=12).map(str.encode)
data = st.one_of(texts, st.binary(max_size=12))
optional = st.none() | data


def as_json(sides: BothSides) -> dict[str, Any]:
    """What a script gets to see."""
    document: dict[str, Any] = json.loads(json.dumps(sides.to_json()))
    return document


def read_from(side: dict[str, Any], name: str) -> Excerpt:
    """The excerpt that a script can make of a field of JSON."""
    data = b64decode(side[f"{name}_base64"]) if f"{name}_base64" in side else side[name]
    marks = side[f"{name}_differs"]
    return Excerpt(
        data.encode() if isinstance(data, str) else data,
        side[f"{name}_size"],
        side[f"{name}_start"],
        marks and tuple(marks),
    )


@given(data, data, data, data)
def test_marks_leave_out_the_common_beginning_and_end_only(front, one, other, behind):
    first, second = front + one + behind, front + other + behind
    marks, others = differing(first, second)
    if marks is None or others is None:
        assert first == second
        return
    assert first[: marks[0]] == second[: others[0]]
    assert first[marks[1] :] == second[others[1] :]
    assert marks[1] - marks[0] <= len(one) + 6  # to the edges of characters, on both sides
    assert first[slice(*marks)] != second[slice(*others)]


@given(texts, texts)
@example("xé".encode(), "xè".encode())  # the first byte of both characters is the same
@example("éx".encode(), "©x".encode())  # the second one
def test_marks_stand_between_characters(one, other):
    marks, others = differing(one, other)
    for whole, at in ((one, marks), (other, others)):
        if at is not None:
            for part in (whole[: at[0]], whole[at[0] : at[1]], whole[at[1] :]):
                part.decode()


@given(optional, optional, st.integers(0, 3000), st.booleans())
def test_excerpts_survive_json_and_know_the_true_size(one, other, more, is_in_front):
    padding = "é".encode() * more
    whole, changed = (
        None if part is None else (padding + part if is_in_front else part + padding)
        for part in (one, other)
    )
    document = as_json(both_sides(KeyValue(b"k", whole), KeyValue(b"k", changed)))
    for side, value in (("source_record", whole), ("message", changed)):
        found = read_from(document[side], "value")
        assert found.to_json("value").items() <= document[side].items()
        if value is None:
            assert (found.data, found.size_bytes) == (None, -1)
            continue
        assert found.size_bytes == len(value)
        assert len(found.data) <= EXCERPT_BYTES
        assert value[found.start : found.start + len(found.data)] == found.data
        assert found.is_cut_in_front == (found.start > 0)
        assert found.is_cut_after == (found.start + len(found.data) < len(value))
        if found.differs and found.differs[0] < len(value):
            assert found.start <= found.differs[0] < found.start + len(found.data)


def test_excerpts_of_both_sides_begin_with_the_same_byte():
    values = [b"x" * 5000 + b"one" + b"y" * 3000, b"x" * 5000 + b"two"]
    document = as_json(both_sides(*(KeyValue(None, value) for value in values)))
    assert document["source_record"]["value_start"] == document["message"]["value_start"] > 4000
    assert document["source_record"]["value_differs"][0] == 5000


def test_no_side_is_null_in_json():
    assert NEITHER_SIDE.to_json() == {"source_record": None, "message": None, "not_shown": None}
    assert list(side_lines(NEITHER_SIDE, "")) == []


def test_bytes_that_are_no_text_are_base64_and_are_shown_as_hex():
    sides = both_sides(None, KeyValue(b"\xff", "ü".encode()))
    document = as_json(sides)
    assert document["message"]["key_base64"] == "/w=="
    assert document["message"]["value"] == "ü"
    assert list(side_lines(sides, "")) == [
        r'key    message  "\xff"',
        'value  message  "ü"',
    ]


def test_lines_mark_what_differs_below():
    sides = both_sides(
        KeyValue("小明".encode(), "订单 13".encode()), KeyValue("小明".encode(), "订单 17".encode())
    )
    assert list(side_lines(sides, "  ")) == [
        '  key    both     "小明"',
        '  value  source   "订单 13"',
        "                         ^",
        '         message  "订单 17"',
        "                         ^",
    ]


def test_lines_of_a_null_beside_nothing_and_of_a_long_value():
    sides = both_sides(KeyValue(None, b""), KeyValue(None, b"x" * 3000))
    lines = list(side_lines(sides, ""))
    assert lines[0] == "key    both     null"
    assert lines[1] == 'value  source   ""'
    assert lines[3].endswith('" … (3000 bytes)')


@given(optional, optional, optional, optional)
def test_lines_hold_nothing_that_deceives_and_the_carets_are_below(a, b, c, d):
    sides = both_sides(KeyValue(a, b), KeyValue(c, d))
    lines = list(side_lines(sides, "    "))
    for line, below in pairwise(lines):
        assert line == printable(line)
        if set(below) == {" ", "^"}:
            opening = line.index('"') + 1
            assert columns(line[:opening]) <= below.index("^") <= columns(line)
            assert len(below) <= max(columns(line), below.index("^") + 1)


@pytest.mark.parametrize("bad", [b"\\xff", b"\xff"])
def test_a_byte_and_its_escape_look_different(bad):
    shown = "".join(Excerpt.of(bad).escaped_parts)
    assert shown == (r"\\xff" if bad == b"\\xff" else r"\xff")


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (b'{"a": 1, "b": 2}', b'{"b": 2}', "a: 1 ≠ no such column"),
        (b'{"a": "no such column"}', b"{}", 'a: "no such column" ≠ no such column'),
        (b'{"a": 1}', b'{"a": "1"}', 'a: 1 ≠ "1"'),
        (b'{"a": null}', b'{"a": "null"}', 'a: null ≠ "null"'),
    ],
)
def test_member_of_json_that_differs_is_named_with_both_sides(one, other, told):
    record, message = KeyValue(b"k", one), KeyValue(b"k", other)
    assert differing_columns(record, message, "value") == (["a"], told)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (b"abc", b"aXc", "byte 1 of the value is 58, in the source 62"),
        ("größe".encode(), "grüße".encode(), "byte 3 of the value is bc, in the source b6"),
        (b"abcde", b"aXcYe", "the first difference: byte 1 of the value is 58, in the source 62"),
        (b"a" * 5000, b"a" * 4000 + b"b" + b"a" * 999, "byte 4000 of the value is 62"),
        (b"a" * 5000, b"a" * 2000 + b"b" * 3000, "the first difference: byte 2000 of the value"),
        (b"abc", b"Xbcd", "the first difference: byte 0 of the value is 58, in the source 61"),
        (b"abc", b"abcd", ""),
        (b"abc", None, ""),
        (b"abc", b"abc", ""),
    ],
)
def test_the_first_byte_that_differs_is_said(one, other, said):
    found = both_sides(KeyValue(b"k", one), KeyValue(b"k", other)).first_difference
    assert str(found or "").startswith(said)
    assert bool(found) is bool(said)


def test_a_byte_of_the_key_is_only_the_first_difference_if_the_value_differs_too():
    found = both_sides(KeyValue(b"k1", b"v1"), KeyValue(b"k2", b"v2")).first_difference
    assert str(found) == "the first difference: byte 1 of the key is 32, in the source 31"
