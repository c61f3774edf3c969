"""The pictures of the documentation: drawn anew, byte for byte, and shown with words for them."""

import re
import struct
from xml.etree import ElementTree

import pytest

from kminilog.cli.step import SCENES
from tests.pictures import DRAWN, FOLDER, drawn

DOCS = FOLDER.parent
PAGES = [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"]
SHOWN = [
    ((page.parent / target).resolve(), words)
    for page in PAGES
    for words, target in re.findall(r"!\[(.*?)\]\(([^)]+)\)", page.read_text(), re.DOTALL)
]
PHOTOS = sorted(FOLDER.glob("*.png"))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", DRAWN)
def test_picture_is_what_the_engine_draws_now(name):
    assert drawn(name) == (FOLDER / name).read_bytes(), "draw anew: python -m tests.pictures"


@pytest.mark.parametrize("name", DRAWN)
def test_picture_is_a_white_card_with_its_words(name):
    root = ElementTree.fromstring((FOLDER / name).read_bytes())
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "title desc"
    assert all(len(root.findtext(SVG + part) or "") > 10 for part in ("title", "desc"))
    width, height = (float(root.get(side) or 0) for side in ("width", "height"))
    card = root.find(SVG + "rect")
    assert card is not None
    assert (card.get("width"), card.get("height")) == (f"{width - 2:g}", f"{height - 2:g}")
    assert card.get("fill") == "#ffffff"
    for text in root.iter(SVG + "text"):
        assert text.get("fill") in ("#16191d", "#4c555f")
        assert 0 < float(text.get("y") or 0) < height
        assert int(text.get("font-size") or 0) >= 12


@pytest.mark.parametrize("name", DRAWN)
def test_picture_has_its_boxes_inside_the_card(name):
    root = ElementTree.fromstring((FOLDER / name).read_bytes())
    for box in root.iter(SVG + "rect"):
        x, y, width, height = (float(box.get(part) or 0) for part in ("x", "y", "width", "height"))
        assert x >= 0
        assert y >= 0
        assert x + width <= float(root.get("width") or 0)
        assert y + height <= float(root.get("height") or 0)


def test_pages_show_every_picture_with_a_text_alternative():
    assert {path for path, _ in SHOWN} == set(FOLDER.resolve().iterdir())
    assert all(len(words) > 40 for _, words in SHOWN)


def test_photos_are_small_and_of_a_page_each():
    assert len(PHOTOS) == 3
    for path in PHOTOS:
        data = path.read_bytes()
        assert len(data) < 120_000
        assert struct.unpack(">II", data[16:24]) == (1280, 800)
        assert path.stem.removeprefix("page-") in SCENES
