"""The drawing of pictures: whatever a picture holds, it lies inside, can be seen and is told."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kminilog.explain.document import Arrow, Bar, Picture, PictureLane
from kminilog.explain.drawing import WIDTH, drawn, svg
from tests.support.course.steps.scenes import NAMES, made

STYLES = ("", "offset", "entry here", "lost", "free", "seen")
WORDS = st.text(max_size=30)


@st.composite
def bars_of(draw, start, end):
    places = sorted(draw(st.lists(st.integers(start, end), max_size=40)))
    pairs = zip(places[::2], places[1::2], strict=False)
    return tuple(Bar(*pair, draw(WORDS), draw(st.sampled_from(STYLES))) for pair in pairs)


@st.composite
def lanes(draw):
    start = draw(st.integers(0, 1 << 40))
    end = draw(st.integers(start + 1, start + (1 << 40)))
    return PictureLane(draw(WORDS), start, end, draw(bars_of(start, end)), draw(WORDS))


@st.composite
def pictures(draw):
    found = draw(st.lists(lanes(), min_size=1, max_size=5))
    numbers = st.integers(0, len(found) - 1)
    arrows = [
        Arrow(one, found[one].start, other, found[other].end)
        for one, other in draw(st.lists(st.tuples(numbers, numbers), max_size=3))
    ]
    return Picture(draw(WORDS), tuple(found), tuple(arrows))


@example(Picture("of nothing", ()))
@example(Picture("", (PictureLane("", 0, 9999, (Bar(9998, 9999, "narrow, at the edge"),)),)))
@given(pictures())
def test_drawing_of_any_picture_lies_inside_and_shows_each_bar(picture):
    drawing = drawn(picture)
    labels = []
    for lane in drawing.lanes:
        assert len(lane.bars) == len(lane.lane.bars)
        for bar, label in lane.bars:
            assert lane.x <= bar.x <= bar.x + bar.width <= lane.x + lane.width + 0.001
            assert lane.x + lane.width < WIDTH
            assert 0 <= bar.y < bar.y + bar.height <= drawing.height
            assert (bar.width > 0) == (bar.bar.start < bar.bar.end)
            if label:
                half = len(label.text) * (3.75 if label.is_small else 4.35)
                assert 0 <= label.x - half < label.x + half <= WIDTH
                assert label.x - half <= bar.x + bar.width + 0.001
                assert bar.x <= label.x + half + 0.001
                assert label.y <= drawing.height
                if label.is_small:
                    labels.append((label.y, label.x - half, label.x + half))
                else:
                    assert bar.x <= label.x - half < label.x + half <= bar.x + bar.width
    assert not [
        (one, other)
        for one in labels
        for other in labels
        if one is not other and one[0] == other[0] and one[1] < other[2] and other[1] < one[2]
    ], "labels below a lane do not overlap"


def test_name_below_its_lane_stands_apart_from_the_name_of_the_next_lane():
    """Else two names stand below each other as if they were of one lane."""
    lane = PictureLane("", 0, 1, (), file="file")
    names = ("0.index", "0.log", "1.index")
    found = drawn(Picture("", tuple(lane._replace(name=n) for n in names), (Arrow(0, 0, 1, 0),)))
    _, log, index = found.lanes
    assert log.name_y > log.y + 30  # below it, where no arrow crosses it
    assert log.name_y - (log.y + 30) < 0.5 * (index.name_y - log.name_y)


@given(pictures())
def test_text_alternative_names_each_bar_or_says_how_many_more(picture):
    text = drawn(picture).text
    for lane in picture.lanes:
        named = [bar for bar in lane.bars if bar.label]
        assert all(bar.label in text for bar in named[:12])
        assert len(named) <= 12 or f"and {len(named) - 12} more" in text


def test_text_alternative_of_many_bars_says_how_many_more():
    bars = tuple(Bar(at, at + 1, f"b{at}") for at in range(20))
    text = drawn(Picture("Many", (PictureLane("lane", 0, 20, bars),))).text
    assert "b11 from 11 to 12; and 8 more." in text
    assert "b12" not in text


@settings(max_examples=20)
@given(pictures(), WORDS)
@example(Picture("", (PictureLane("lane", 0, 1, ()),)), "\x00\ud800\ufffe\uffff")
def test_file_of_a_picture_is_svg_without_variables(picture, title):
    content = svg(picture, title)
    root = ElementTree.fromstring(content)
    style = root.find("{*}style").text
    assert not re.search(r"var\(|light-dark|--|:root", style)
    assert root.find("{*}title") is not None
    assert len(root.findall(".//{*}g[@class]")) >= len(picture.lanes)


DENSE = {"today", "wire"}
"""A batch has some 60 fields, a request some 20: not all labels fit. The list of bytes has them."""


@pytest.mark.parametrize("name", NAMES)
def test_pictures_of_a_step_through_show_the_labels_of_what_is_looked_at(name):
    for step in made(name).steps:
        for lane in drawn(step.state.picture).lanes:
            looked_at = [
                (bar, label)
                for bar, label in lane.bars
                if "here" in bar.bar.style.split() and bar.bar.label
            ]
            labels = [label for _, label in looked_at]
            is_shown = any(labels) or not labels if name in DENSE else all(labels)
            assert is_shown, (step.say, looked_at)
