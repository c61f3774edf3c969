"""Which characters are escaped, and that JSON means the same afterwards."""

import json
import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from kminilog.cli.shared.output import json_bytes
from kminilog.text import printable, printable_bytes

BIDIRECTIONAL = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
NO_XML = "\ufffe\uffff"  # the two of Unicode's noncharacters that XML excludes
MARKS = "\u061c\u200e\u200f"  # Bidi_Control, though their class is that of letters
ANY_TEXT = st.text(st.characters(exclude_categories=()))  # half characters too


def is_trick(character: str) -> bool:
    return (
        unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs")
        or unicodedata.bidirectional(character) in BIDIRECTIONAL
        or character in MARKS
        or character in NO_XML
    )


def test_printable_escapes_exactly_the_tricks_of_all_characters():
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        expected = ascii(character)[1:-1] if is_trick(character) else character
        assert printable(character) == expected, f"U+{code:04X}"


@given(ANY_TEXT)
def test_json_without_tricks_means_the_same(text):
    for document in ({text: [text]}, text):
        written = json_bytes(document).decode()
        assert json.loads(written) == document
        assert not any(map(is_trick, written))


@given(st.binary())
def test_printable_bytes_of_any_bytes_are_text_without_tricks(data):
    assert not any(map(is_trick, printable_bytes(data).decode()))
