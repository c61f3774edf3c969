"""docs/glossary.md has each word once, in alphabetical order, in a few sentences."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[1] / "docs" / "glossary.md").read_text()
ENTRIES = re.findall(r"^(\w.*)\n((?:  .+\n)+)", PAGE.split(":::{glossary}\n")[1], re.MULTILINE)


def test_glossary_is_in_alphabetical_order():
    words = [word.lower() for word, _ in ENTRIES]
    assert len(words) > 100
    assert words == sorted(set(words))


SENTENCE = r"[^.]*(?:\.\S[^.]*)*\."


def test_glossary_explains_each_word_in_one_to_four_sentences():
    for word, meaning in ENTRIES:
        text = " ".join(meaning.split())
        assert re.fullmatch(rf"{SENTENCE}(?: {SENTENCE}){{0,3}}", text), word
