"""Lines of `kcat -J`: exactly the bytes that the message has, or a reason why that is not known."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.jobs.source import line_columns, pieces
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.formats import KcatMessage, kcat_message
from kminilog.jobs.source.json_columns import messages_of
from tests.jobs.source.test_json_columns import ODD, VALUES
from tests.support.jobs.source.plain import records_of

_SHORT = {b'"': b'\\"', b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t"}
_SHORT |= {b"\x08": b"\\b", b"\x0c": b"\\f"}
data = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)


def string(data: bytes | None) -> bytes:
    """What kcat prints: yajl escapes control characters, quotes and backslashes, nothing else."""
    if data is None:
        return b"null"
    signs = (data[n : n + 1] for n in range(len(data)))
    escaped = (_SHORT.get(sign, sign if sign >= b" " else b"\\u%04X" % ord(sign)) for sign in signs)
    return b'"%s"' % b"".join(escaped)


def line(partition: int, offset: int, key: bytes | None, payload: bytes | None) -> bytes:
    head = b'{"topic":"t","partition":%d,"offset":%d,"tstype":"create","ts":1,"broker":0,'
    tail = b'"headers":["h","\xc3"],"key":%s,"payload":%s}'
    return head % (partition, offset) + tail % (string(key), string(payload))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2**63 - 1), data, data)))
def test_messages_have_the_bytes_that_they_had(messages):
    found = messages_of(pa.array([line(*one) for one in messages], pa.binary()), is_first=True)
    assert found.kept.all()
    assert found.rejected.null_count == len(messages)
    columns = found.partition, found.offset, found.key, found.payload
    assert list(zip(*(column.to_pylist() for column in columns), strict=True)) == messages


WHOLE = '"partition":1,"offset":7,'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"key":null,"payload":null}', KcatMessage(None, None, None, None)),
        ('{"key":"","payload":""}', KcatMessage(b"", b"", None, None)),
        ('{"payload":"b","x":[1.5],"key":"a","key":"c"}', KcatMessage(b"c", b"b", None, None)),
        (
            f'{{{WHOLE}"key":"\\u00e9","payload":"é\\ud83d\\ude00"}}',
            KcatMessage("é".encode(), "é😀".encode(), 1, 7),
        ),
        (
            '{"partition":-1,"offset":1.5,"key":"k","payload":"v"}',
            KcatMessage(b"k", b"v", None, None),
        ),
        (
            '{"partition":true,"offset":9223372036854775808,"key":"k","payload":"v"}',
            KcatMessage(b"k", b"v", None, None),
        ),
        ('{"key":"\\\\ud83d","payload":"\\u0000"}', KcatMessage(b"\\ud83d", b"\0", None, None)),
    ],
)
def test_line_of_kcat_is_a_message_by_both_parsers(text, message):
    assert kcat_message(text.encode(), is_first=False) == message
    found = messages_of(pa.array([text.encode()]), is_first=False)
    columns = found.key, found.payload, found.partition, found.offset
    assert [column[0].as_py() for column in columns] == list(message)


VALUE_IN = ['"key":%s,"payload":"p"', '"key":"k","payload":%s', '"key":%s,"key":null,"payload":"p"']
VALUE_IN += [f'"key":"k","payload":null,"{name}":%s' for name in ("offset", "x", "key_error")]


def test_odd_lines_are_what_the_exact_parser_says():
    """Alone and together, also beside bytes that are no UTF-8."""
    texts = [f"{{{members % value}}}".encode() for members in VALUE_IN for value in VALUES]
    texts += [text[:-1] + b',"y":"\xff"}' for text in texts]
    some = [text for text in (*ODD, *texts) if text.strip()]
    exact = [exactly(text) for text in some]
    assert {one[0] is None for one in exact} == {True, False}
    for column, expected in (
        (some, exact),
        *(([one], [two]) for one, two in zip(some, exact, strict=True)),
    ):
        found = messages_of(pa.array(column, pa.binary()), is_first=False)
        columns = found.rejected, found.key, found.payload, found.partition, found.offset
        assert list(zip(*(column.to_pylist() for column in columns), strict=True)) == expected


def exactly(text: bytes) -> tuple[object, ...]:
    try:
        return None, *kcat_message(text, is_first=False)
    except ValueError as error:
        return f"it is no line of kcat -J: {error}", None, None, None, None


REJECTED = [
    (b"k1 v1", "Expecting value"),
    (b"[1]", "not an object"),
    (b'{"payload":"v"}', "it has no member 'key'"),
    (b'{"key":"k"}', "it has no member 'payload'"),
    (b'{"key":7,"payload":"v"}', "its key is no string, so nobody knows its bytes"),
    (b'{"key":"k","payload":{"a":1}}', "its payload is no string"),
    (b'{"key":null,"key_error":"x","payload":"v"}', "key_error says that kcat has decoded it"),
    (b'{"key":"k","payload":"v","value_schema_id":3}', "leave out `-s avro`"),
    (b'{"key":"\\ud83d","payload":"v"}', "surrogates not allowed"),
    (b'{"key":"\\udcff","payload":"\xff"}', "not valid UTF-8, and has escapes of halves"),
    (b'{"key":NaN,"payload":"v"}', "NaN is no JSON"),
    (b'{"key":"k","payload":"v"} {}', "Extra data"),
    (b'{"key":"k","payload":' + b"[" * 600 + b"]" * 600 + b"}", "more than 512 levels"),
]


def test_line_that_does_not_say_which_bytes_is_rejected():
    offenders = []
    for text, reason in REJECTED:
        found = messages_of(pa.array([text]), is_first=False)
        said = found.rejected[0].as_py()
        has_nothing = found.key[0].as_py() is found.payload[0].as_py() is None
        is_said = said.startswith("it is no line of kcat -J: ") and reason in said
        if not (found.kept.all() and has_nothing and is_said):
            offenders.append((text, said))
    assert offenders == []


def test_source_of_kcat_lines_is_read_in_pieces_and_by_places(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 300)
    monkeypatch.setattr(line_columns, "BLOCK_BYTES", 64)
    pairs = [
        (b"k%d" % (n % 3) if n % 4 else None, b"\xff\n%d" % n if n % 5 else None) for n in range(60)
    ]
    lines = [line(0, n, *pair) + b"\n" + b"\n" * (n % 2) for n, pair in enumerate(pairs)]
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf" + b"".join(lines))
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"".join(lines) + b'{"key":1}'))
    source = Source((str(tmp_path),), "kcat")
    *found, last = records_of(source)
    assert [(one["key"], one["value"]) for one in found] == pairs * 2
    data = (tmp_path / "a.json").read_bytes()
    for one, pair in zip(found[1:60], pairs[1:], strict=True):
        told = data[one["source_position"] :].split(b"\n")[0].decode(errors="surrogateescape")
        payload = json.loads(told)["payload"]
        assert (payload and payload.encode(errors="surrogateescape")) == pair[1]
    assert last["rejected"]


def test_places_that_lines_tell_are_read_if_that_is_asked(tmp_path: Path):
    lines = [line(1, 7, b"k", b"v"), b'{"key":"k","payload":"v"}', b'{"partition":1}', b"", b"x"]
    (tmp_path / "a").write_bytes(b"\n".join(lines))
    source = Source((str(tmp_path / "a"),), "kcat", same_places=True)
    first, *others = records_of(source)
    assert (first["told_partition"], first["told_offset"], first["rejected"]) == (1, 7, None)
    assert others[0]["rejected"] == "it has no partition and no offset"
    assert [one["key"] for one in others] == [None] * 3
    assert all("it is no line of kcat" in one["rejected"] for one in others[1:])
