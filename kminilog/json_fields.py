r"""Fields of JSON whose value may be no text: bytes of messages, and names of files.

    "key": "text"            valid UTF-8
    "key_base64": "/w=="     other bytes, so that nothing is lost
    "key": null              no key

The name of a file can have any bytes. For each byte that is not UTF-8, Python's text has a lone
surrogate. Python also reads and writes that as JSON; strict parsers refuse it. Source: ours;
RFC 8259, 8.1 and 8.2.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

_BASE64 = "_base64"
_FILE_NAMES = frozenset(("log_dir", "path", "paths", "file", "source_file", "only", "quarantine"))


def bytes_field(name: str, data: bytes | None) -> dict[str, str | None]:
    """Return the field of a key or value, or of another thing that is bytes.

    >>> bytes_field("key", "ä".encode()), bytes_field("key", b""), bytes_field("key", None)
    ({'key': 'ä'}, {'key': ''}, {'key': None})
    >>> bytes_field("key", bytes([255]))
    {'key_base64': '/w=='}
    """
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {name + _BASE64: b64encode(data).decode("ascii")}


def field_bytes(record: Mapping[str, Any], name: str) -> bytes | None:
    """Return what `bytes_field` was given for a field of this record.

    >>> field_bytes({"key_base64": "/w=="}, "key"), field_bytes({"key": None}, "key")
    (b'\xff', None)
    """
    if name + _BASE64 in record:
        return b64decode(record[name + _BASE64])
    text: str | None = record[name]
    return None if text is None else text.encode()


def strict_json(document: Any) -> Any:
    r"""Return a document without lone surrogates; its tuples are lists. O(size).

    In a sentence such a byte is escaped.

    >>> strict_json({"file": "a\udcff", "detail": "a\udcff: no such file", "paths": ["b"]})
    {'file_base64': 'Yf8=', 'detail': 'a\\udcff: no such file', 'paths': ['b']}
    """
    if isinstance(document, dict):
        return dict(_strict_field(*field) for field in document.items())
    if isinstance(document, list | tuple):
        return [strict_json(one) for one in document]
    if isinstance(document, str):
        return document.encode(errors="backslashreplace").decode()
    return document


def _strict_field(name: str, value: Any) -> tuple[str, Any]:
    strict = strict_json(value)
    is_list = isinstance(value, list | tuple)
    if name not in _FILE_NAMES or strict == (list(value) if is_list else value):
        return strict_json(name), strict
    return name + _BASE64, [_encoded(text) for text in value] if is_list else _encoded(value)


def _encoded(text: str) -> str:
    return b64encode(text.encode("utf-8", "surrogateescape")).decode("ascii")


def file_names(record: Mapping[str, Any]) -> dict[str, Any]:
    r"""Return an object of `strict_json` in which names of files are as Python has them.

    Raises ValueError for what is no Base64.

    >>> file_names({"file_base64": "Yf8=", "size": 1}), file_names({"paths": ["b"]})
    ({'size': 1, 'file': 'a\udcff'}, {'paths': ['b']})
    """
    found = dict(record)
    for name in _FILE_NAMES:
        encoded = found.pop(name + _BASE64, None)
        if isinstance(encoded, list):
            found[name] = [*map(_decoded, encoded)]
        elif isinstance(encoded, str):
            found[name] = _decoded(encoded)
    return found


def _decoded(encoded: str) -> str:
    return b64decode(encoded).decode("utf-8", "surrogateescape")
