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

NAMES = ["a", "b", "é"]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)
objects = st.dictionaries(st.sampled_from([*NAMES, "c"]), values).map(json.dumps).map(str.encode)
ODD = [b"", b"  ", b"{", b'{"a":"\\ud800"}', b'{"a":1}{"a":2}', b'{"a":"x","a":"y"}', b"[1]", b"7"]
ODD += [b'{"a":1.50}', b'{"a":"\xff"}', b'\xef\xbb\xbf{"a":"x"}', b'{"a":NaN}', b'{"a":"\x01"}']
ODD += [b'{"a":"x"}\r', b"\x0c", b'{"a":"\\u0000"}', b'{"a":12345678901234567890123}', b"null"]
lines = st.lists(objects | st.sampled_from(ODD), max_size=8)


@given(lines, st.lists(st.sampled_from(NAMES), unique=True), st.booleans())
def test_members_are_those_that_are_read_one_by_one(some, names, is_first):
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


def test_line_with_texts_only_is_not_read_exactly(monkeypatch):
    monkeypatch.setattr(json_columns, "json_fields", None)
    some = pa.array([b'{"a":"x","c":1.50}', b'{"b":null}', b'{"a":true,"b":"\\n"}'], pa.binary())
    kept, columns, rejected = members_of(some, ["a", "b"], is_first=True)
    assert kept.all()
    assert [column.to_pylist() for column in columns] == [["x", None, "true"], [None, None, "\n"]]
    assert rejected.null_count == 3


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
