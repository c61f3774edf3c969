"""Members of JSON lines as Arrow columns: the same as those that are read line by line."""

import json
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.jobs.source import formats, json_columns
from kminilog.jobs.source.formats import is_too_deep, json_fields
from kminilog.jobs.source.json_columns import members_of

NAMES = ["a", "b", "é", "a.b", "b.a.b", "a.", ".", "", 'q"', "\ud800"]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)
keys = st.sampled_from([*NAMES, "c"])
inner_objects = st.dictionaries(
    keys, values | st.dictionaries(keys, values, max_size=2), max_size=2
)
objects = st.builds(
    lambda members, is_ascii: json.dumps(members, ensure_ascii=is_ascii).encode("utf-8", "replace"),
    st.dictionaries(keys, values | inner_objects),
    st.booleans(),
)
ODD = [b"", b"  ", b"{", b'{"a":"\\ud800"}', b'{"a":1}{"a":2}', b'{"a":"x","a":"y"}', b"[1]", b"7"]
ODD += [b'{"a":1.50}', b'{"a":"\xff"}', b'\xef\xbb\xbf{"a":"x"}', b'{"a":NaN}', b'{"a":"\x01"}']
ODD += [b'{"a":"x"}\r', b"\x0c", b'{"a":"\\u0000"}', b'{"a":12345678901234567890123}', b"null"]
VALUES = [
    "1.0",
    "1e5",
    "1E+5",
    "-0",
    "-0.0",
    "1" * 5000,
    "1e99999",
    "01",
    "-01",
    "+1",
    "1.",
    ".5",
    "-",
]
VALUES += ["NaN", "Infinity", "-Infinity", "nul", "true", "tru", "null", "'x'", "", "[1,]", "{,}"]
VALUES += [
    '"\\ud800"',
    '"\\ud83d\\ude00"',
    '"\\ud83dx"',
    '"\\u00e9\\n\\/"',
    '"\\x"',
    '"\\u12"',
    '"\x7f"',
]
VALUES += [
    '"\t"',
    '"',
    '{"b" : [ 1.50 ,"x"] }',
    '{"b":1,"b":2}',
    '{"b":{"b":"\\u0000"}}',
    '{"b":null}',
]
SHAPES = ["%s", " %s ", "%s\r", "%s,", "%s}", "%s{}", "%s\x0c", "%s\x00", "\ufeff%s", "%s\xa0"]
BAD_UTF8 = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"]
GOLDEN = [
    *(shape % f'{{"{name}":{value}}}' for value in VALUES for name in "ac" for shape in SHAPES),
    *(f'{{"a":{one},"a":{other},"c":1,"c":2}}' for one in VALUES for other in ('"y"', "2", "{}")),
    *(f'{{"{name}":1,"a":2}}' for name in ("\\u0061", "\\ud800", "\\u00e9", "é", "\t", "\\")),
]
ODD += [line.encode() for line in GOLDEN]
ODD += [b'{"%s":"x%sy","b":1}' % (name, bad) for bad in BAD_UTF8 for name in (b"a", b"c")]
ODD += [b'{"%s":1}' % bad for bad in BAD_UTF8] + [b'{"a":1}%s' % bad for bad in BAD_UTF8]
lines = st.lists(objects | st.sampled_from(ODD), max_size=8)


@given(lines, st.lists(st.sampled_from(NAMES), unique=True), st.booleans())
def test_members_are_those_that_are_read_one_by_one(some, names, is_first):
    assert_as_one_by_one(some, names, is_first=is_first)


@pytest.mark.parametrize("names", [["a"], ["c"], NAMES, []])
def test_members_of_odd_lines_are_those_that_are_read_one_by_one(names):
    """Each alone, and all in one column: one bad line takes nothing from the others."""
    for line in ODD:
        for is_first in (True, False):
            assert_as_one_by_one([line], names, is_first=is_first)
    assert_as_one_by_one(ODD, names, is_first=True)


def assert_as_one_by_one(some, names, *, is_first):
    kept, columns, rejected = members_of(pa.array(some, pa.binary()), names, is_first=is_first)
    assert kept.tolist() == [bool(line.strip()) for line in some]
    exact = [
        json_fields(line, names, is_first=is_first and number == 0)
        for number, line in enumerate(some)
        if line.strip()
    ]
    assert [column.to_pylist() for column in columns] == [
        [fields[slot] for fields, _ in exact] for slot in range(len(names))
    ]
    assert rejected.to_pylist() == [reason for _, reason in exact]


def test_lines_without_a_fault_are_not_read_exactly(monkeypatch):
    monkeypatch.setattr(json_columns, "json_fields", None)
    some = [b'{"a":1.50,"c":1.50}', b'{"b":null}', b'{"a":true,"b":"\\n"}', b'{"a":{"b" : [7]}}']
    some += [b'{"b":"' + b"x" * 5000 + b'"}', b'{"a.b":"y","a":{"b":1}}']
    kept, columns, rejected = members_of(pa.array(some), ["a", "b", "a.b"], is_first=True)
    assert kept.all()
    assert [column.to_pylist() for column in columns] == [
        ["1.50", None, "true", '{"b" : [7]}', None, '{"b":1}'],
        [None, None, "\n", None, "x" * 5000, None],
        [None, None, None, "[7]", None, "y"],
    ]
    assert rejected.null_count == 6


def nested(levels, inner=b""):
    """A line whose member `x` has so many levels, the object among them."""
    begin, end = (b'[{"y":', b"}]") if levels % 2 else (b"[", b"]")
    pairs = (levels - 1) // (2 if levels % 2 else 1)
    return b'{"a":"k","x":' + begin * pairs + (inner or b"1") + end * pairs + b"}"


def at_depth(frames, work):
    """What `work` returns, called below so many functions."""
    return at_depth(frames - 1, work) if frames else work()


@pytest.mark.parametrize("name", ["a", "x"])
def test_line_with_more_than_512_levels_is_rejected_wherever_they_are(name):
    some = [nested(511), nested(512), nested(513), nested(514), nested(1001), nested(2000)]
    for frames in (0, 250):
        for is_exact in (False, True):
            found = at_depth(frames, partial(members_in_turn, some, [name], is_exact=is_exact))
            assert [reason and reason[-10:] for _, reason in found] == [
                *(None, None, "512 levels", "512 levels", "512 levels", "512 levels")
            ]
            assert [fields[0] is None for fields, _ in found] == [False] * 2 + [True] * 4


def members_in_turn(some, names, *, is_exact):
    """Fields and reasons of lines, by either reader."""
    if is_exact:
        return [json_fields(line, names, is_first=False) for line in some]
    _, columns, rejected = members_of(pa.array(some, pa.binary()), names, is_first=False)
    fields = zip(*(column.to_pylist() for column in columns), strict=True)
    return list(zip(fields, rejected.to_pylist(), strict=True))


def levels_of(value):
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(levels_of, inner), default=0) if isinstance(value, dict | list) else 0


nested_values = st.recursive(
    st.text('"\\\\[]{}a', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('"[}', max_size=2), inner),
)


@given(nested_values, st.integers(1, 6))
def test_levels_are_those_of_what_json_reads(value, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formats, "MOST_LEVELS", most)
        assert is_too_deep(json.dumps(value).encode()) == (levels_of(value) > most)
