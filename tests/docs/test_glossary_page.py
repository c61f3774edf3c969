"""docs/glossary.md has each word once, in alphabetical order."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text()
ENTRIES = re.findall(r"^(\w.*)\n((?:  .+\n)+)", PAGE.split(":::{glossary}\n")[1], re.MULTILINE)


def test_glossary_is_in_alphabetical_order():
    words = [word.lower() for word, _ in ENTRIES]
    assert len(words) > 100
    assert words == sorted(set(words))
