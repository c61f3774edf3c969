"""The pictures of the documentation: drawn anew, byte for byte, and shown with words for them."""

import re
from xml.etree import ElementTree

import pytest

from tests.pictures import DRAWN, FOLDER, drawn

DOCS = FOLDER.parent
PAGES = [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"]
SHOWN = [
    ((page.parent / target).resolve(), words)
    for page in PAGES
    for words, target in re.findall(r"!\[(.*?)\]\(([^)]+)\)", page.read_text(), re.DOTALL)
]
SVG = "{http://www.w3.org/2000/svg}"


def test_pictures_are_what_the_engine_draws_now():
    old = [name for name in DRAWN if drawn(name) != (FOLDER / name).read_bytes()]
    assert not old, "draw anew: python -m tests.pictures"


@pytest.mark.parametrize("name", DRAWN)
def test_picture_is_a_white_card_with_its_words_and_boxes_inside(name):
    root = ElementTree.fromstring((FOLDER / name).read_bytes())
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "title desc"
    assert all(root.findtext(SVG + part) for part in ("title", "desc"))
    width, height = (float(root.get(side) or 0) for side in ("width", "height"))
    card = root.find(SVG + "rect")
    assert card is not None
    assert (card.get("width"), card.get("height")) == (f"{width - 2:g}", f"{height - 2:g}")
    assert card.get("fill") == "#ffffff"
    for text in root.iter(SVG + "text"):
        assert text.get("fill") in ("#16191d", "#4c555f")
        assert 0 < float(text.get("y") or 0) < height
        assert int(text.get("font-size") or 0) >= 12
    for box in root.iter(SVG + "rect"):
        x, y, w, h = (float(box.get(part) or 0) for part in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height


def test_pages_show_every_picture_with_a_text_alternative():
    assert {path for path, _ in SHOWN} == set(FOLDER.resolve().iterdir())
    assert all(words for _, words in SHOWN)
