"""JSON that somebody may have changed: a value, or one error that names the file and the reason."""

from typing import Any

import pytest

from kminilog.errors import InvalidTopicError, LogDirError
from kminilog.storage.json_file import number, read_json, typed


def parse(document: Any) -> int:
    if document == "ours":
        raise InvalidTopicError("x", reason="ours")
    return number(typed(document, dict)["n"], 0, 10)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "Expecting value"),
        (b'{"n": 1, "n": 1}', "'n' stands in it twice"),
        (b'{"a": {"b": 1, "b": 2}, "n": 1}', "'b' stands in it twice"),
        (b'{"n": NaN}', "NaN is no JSON"),
        (b'{"n": -Infinity}', "-Infinity is no JSON"),
        (b'{"n": 1e999}', "inf is no int"),
        (b'{"n": true}', "True is no int"),
        (b'{"n": 11}', "11 is outside of 0 to 10"),
        (b'{"n": -1}', "-1 is outside of 0 to 10"),
        (b'{"m": 1}', "'n' is missing"),
        (b"[1]", "is no dict"),
        (b'"ours"', "illegal topic name"),
        (b"[" * 100_000, "recursion"),
        (b"9" * 5_000, "digits"),
        (b'\xef\xbb\xbf{"n": 1}', "BOM"),
        ('{"n": 1}'.encode("utf-16"), "utf-8"),
        (b'{"n": "\xff"}', "utf-8"),
    ],
)
def test_read_json_of_what_is_no_sound_document_names_file_and_reason(tmp_path, data, reason):
    path = tmp_path / "small.json"
    path.write_bytes(data)
    with pytest.raises(LogDirError, match=r"small\.json holds no number \(.*\); mend it") as caught:
        read_json(path, parse, what="number")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_read_json_returns_what_parse_makes_of_it(tmp_path):
    path = tmp_path / "small.json"
    path.write_text('{"n": 7, "\u00e4": null}')
    assert read_json(path, parse, what="number") == 7
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "nothing", parse, what="number")
