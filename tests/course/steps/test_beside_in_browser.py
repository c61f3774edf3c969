"""Two step-throughs on one page, and pictures as files, in a real browser."""

import pytest

from kminilog.cli.step.command import scene_command
from kminilog.explain.drawing import svg
from kminilog.explain.page import render_beside
from kminilog.text import printable
from tests.course.steps.test_page_in_browser import hostile
from tests.support.browser import LOW_CONTRAST, Page, wait_until
from tests.support.course.steps.scenes import NAMES, made

pytestmark = pytest.mark.xdist_group("browser")
LEFT, RIGHT = 10, 7  # steps


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The page of `record` beside `null-or-empty`, which has fewer steps."""
    path = tmp_path_factory.mktemp("beside") / "both.html"
    path.write_text(render_beside(made("record"), made("null-or-empty")))
    return path


def places(page):
    """Return at which step each side is, as it says itself."""
    return [frame.locator("#place").inner_text() for frame in page.page.frames[1:]]


def wait_for(page, left, right):
    for frame, number in zip(page.page.frames[1:], (left, right), strict=True):
        frame.wait_for_selector(f"section.current[id='step/{number}']", state="attached")
    assert places(page) == [f"{left} / {LEFT}", f"{right} / {RIGHT}"]


def test_both_sides_go_from_step_to_step_by_a_key_on_either(browser, both):
    with Page(browser, both, viewport={"width": 1280, "height": 800}) as page:
        wait_for(page, 1, 1)
        page.press("ArrowRight")
        wait_for(page, 2, 2)
        page.press("End")
        wait_for(page, LEFT, RIGHT)
        page.page.frames[2].locator("h1").click()
        page.press("PageUp")
        wait_for(page, RIGHT - 1, RIGHT - 1)
        page.press("Home", "Space")
        wait_for(page, 2, 2)
        assert page.page.url.endswith("#step/2")
        assert page.overflow() <= 0
        assert page.complaints == []
        assert {url.split("#")[0] for url in page.requests} <= {both.as_uri(), "about:srcdoc"}


def test_both_sides_show_the_answer_that_a_clicker_asks_for(browser, tmp_path):
    path = tmp_path / "both.html"
    path.write_text(render_beside(made("edges"), made("edges")))
    with Page(browser, path, "#step/2") as page:
        sides = page.page.frames[1:]
        for frame in sides:
            frame.wait_for_selector("section.current[id='step/2']")
        page.press("PageDown")
        for frame in sides:
            frame.wait_for_selector(".verdict.is-right:visible")
            assert frame.locator("#dots .dot").first.inner_text() == "–"
            assert frame.locator("#place").inner_text() == "2 / 7"


def test_clicker_waits_for_a_question_of_the_other_side(browser, tmp_path):
    documents = made("edges"), made("null-or-empty")
    asked = [[n for n, step in enumerate(one.steps, start=1) if step.ask] for one in documents]
    number = next(n for n in asked[0] if n not in asked[1] and n <= len(documents[1].steps))
    for sides in (documents, documents[::-1]):
        (path := tmp_path / "both.html").write_text(render_beside(*sides))
        with Page(browser, path, f"#step/{number}", color_scheme="light") as page:
            frames = page.page.frames[1:]
            for frame in frames:
                frame.wait_for_selector(f"section.current[id='step/{number}']", state="attached")
            asking, other = frames if sides == documents else frames[::-1]
            other.locator("h1").click()
            page.press("PageDown")
            asking.wait_for_selector(".verdict.is-right:visible")
            for frame in frames:
                assert frame.locator("#place").inner_text().startswith(f"{number} /")
            while other.locator("#place").inner_text().startswith(f"{number} /"):
                page.press("PageDown")  # until the other side has heard of the answer
            for frame in frames:
                frame.wait_for_selector(
                    f"section.current[id='step/{number + 1}']", state="attached"
                )


def test_both_sides_change_their_theme_and_fill_the_screen_together(browser, both):
    with Page(browser, both, color_scheme="light") as page:
        wait_for(page, 1, 1)
        for theme in ("dark", "light"):
            page.press("t")
            for frame in page.page.frames:
                wait_until(frame, f"document.documentElement.style.colorScheme === '{theme}'")
        for state in ("!==", "==="):
            page.press("f")
            wait_until(page.page, f"document.fullscreenElement {state} null")
        assert page.complaints == []


def test_both_sides_open_at_a_linked_step_and_keep_their_own_questions(browser, both):
    with Page(browser, both, "#step/4") as page:
        wait_for(page, 4, 4)
        for frame, name in zip(page.page.frames[1:], ("record", "null-or-empty"), strict=True):
            is_asked = made(name).steps[3].ask is not None
            assert frame.locator(".step.current .quiz:visible").count() == is_asked


def test_both_sides_open_at_the_step_that_they_were_written_for(browser, tmp_path):
    (path := tmp_path / "both.html").write_text(
        render_beside(made("record"), made("null-or-empty"), from_step=5)
    )
    with Page(browser, path) as page:
        wait_for(page, 5, 5)


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080), (390, 844)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_sides_are_legible_at_each_size(browser, both, size, scheme):
    viewport = dict(zip(("width", "height"), size, strict=True))
    with Page(browser, both, "#step/3", viewport=viewport, color_scheme=scheme) as page:
        wait_for(page, 3, 3)
        boxes = [one.bounding_box() for one in page.page.locator("iframe").all()]
        assert (boxes[0]["y"] < boxes[1]["y"]) == (size[0] < 960), "a narrow window stacks them"
        assert page.overflow() <= 0
        for frame in page.page.frames[1:]:
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert frame.evaluate(wide) <= 0
            assert frame.evaluate(LOW_CONTRAST) == []


def test_both_sides_are_readable_without_scripts(browser, both, tmp_path):
    (path := tmp_path / "page.html").write_text(
        both.read_text().replace('sandbox="allow-scripts"', "sandbox")
    )
    with Page(browser, path) as page:
        for frame, steps in zip(page.page.frames[1:], (LEFT, RIGHT), strict=True):
            frame.locator(f"section[id='step/{steps}'] .say").wait_for()
            assert frame.locator(".say:visible").count() == steps


def test_both_sides_show_hostile_text_as_text(browser, tmp_path):
    (path := tmp_path / "page.html").write_text(render_beside(hostile(), hostile()))
    with Page(browser, path) as page:
        for frame in page.page.frames[1:]:
            frame.wait_for_selector(".step.current")
            assert "<script>" in frame.locator("h1").inner_text()
        assert page.page.locator("iframe").count() == 2
        assert page.page.title() == " | ".join([printable(hostile().title)] * 2)
        assert page.complaints == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_picture_as_a_file_is_light_or_dark_as_the_system_and_legible(
    browser, tmp_path, name, scheme
):
    step = made(name).steps[-1]
    (path := tmp_path / "picture.svg").write_text(svg(step.state.picture, step.say))
    with Page(browser, path, color_scheme=scheme) as page:
        fills = page.page.evaluate(
            "[...document.querySelectorAll('.card, .bar:not(.f-free) rect')]"
            ".map((one) => getComputedStyle(one).fill)"
        )
        light = [sum(map(int, fill[4:-1].split(", "))) / 3 for fill in fills]
        if scheme == "light":
            assert light[0] == 255, "the card is white"
            assert min(light) > 150, fills
        else:  # its text is light there
            assert max(light) < 130, fills
        title = page.page.evaluate("document.querySelector('svg > title').textContent")
        assert title == step.say
        assert page.complaints == []


def test_beside_takes_arguments_for_each_side(browser, tmp_path):
    documents = [made("rebalance"), scene_command("rebalance").document(["--strategy", "sticky"])]
    (path := tmp_path / "page.html").write_text(render_beside(*documents))
    with Page(browser, path) as page:
        titles = [frame.locator("h1").inner_text() for frame in page.page.frames[1:]]
        assert titles == [document.title for document in documents]
        assert page.page.title() == " | ".join(titles)
