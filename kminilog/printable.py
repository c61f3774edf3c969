r"""Escape the characters of a text that could deceive a terminal or its reader.

    control characters    move the cursor, change colours, send input: C0, DEL, C1
    bidirectional ones    change the order in which text is displayed: U+202E and others
    line separators       look like the end of a line: U+2028, U+2029
    surrogates            cannot be encoded as UTF-8; Python makes them of undecodable file names

Each becomes Python's escape, `\x1b`, or JSON's, `\u001b`. All other characters stay, in any
script. Source: Unicode, categories Cc, Zl, Zp and Cs, and the property Bidi_Control.
"""

import re

_ABOVE_C0 = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_TRICKS = re.compile(f"[\x00-\x1f{_ABOVE_C0}]")
_TRICKS_IN_JSON = re.compile(f"[{_ABOVE_C0}]")  # JSON has the others escaped already


def printable(value: object) -> str:
    r"""Return `str(value)` as one line, special characters escaped.

    >>> print(printable("größe\x1b[2J\n\u202e"))
    größe\x1b[2J\n\u202e
    """
    return _TRICKS.sub(lambda trick: ascii(trick[0])[1:-1], str(value))


def printable_json(document: str) -> str:
    r"""Return an equivalent JSON document, special characters escaped. O(length).

    >>> print(printable_json('{"ключ": "\x9b\u202e"}'))
    {"ключ": "\u009b\u202e"}
    """
    if document.isascii() and "\x7f" not in document:
        return document
    return _TRICKS_IN_JSON.sub(lambda trick: f"\\u{ord(trick[0]):04x}", document)


def printable_bytes(data: bytes) -> bytes:
    r"""Return bytes as text for a terminal; special characters and invalid UTF-8 are escaped.

    >>> print(printable_bytes("größe\x1b[2J".encode() + bytes([255])).decode())
    größe\x1b[2J\xff
    """
    return printable(data.decode("utf-8", "backslashreplace")).encode()
