"""Members of JSON lines as Arrow columns: the same as those that are read line by line."""

import json

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kminilog.source import json_columns
from kminilog.source.formats import json_fields
from kminilog.source.json_columns import members_of

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
