"""The page of `verify --report` in a real browser: it fits, is legible, and asks for nothing."""

import pytest

from tests.support.browser import LOW_CONTRAST, Page
from tests.support.cli.command_line import CommandLine
from tests.support.log_content import Content, write_anew

pytestmark = pytest.mark.xdist_group("browser")
SIZES = [(390, 844), (1280, 800), (1920, 1080)]
COUNT = 2000


def damage(content: Content) -> None:
    one = content[0]
    one[3] = (one[3][0], one[3][1].replace(b"order", b"ordre"))
    one[5] = (one[5][0], "\u4e2d\u6587".encode() * 200)
    one.append((b"mallory", b"\xff" * 1200))
    del one[9]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """Every kind of sides, damaged bytes, and more segments than a window has room for."""
    directory = tmp_path_factory.mktemp("look")
    source = directory / "lines.txt"
    source.write_text("".join(f"k{n % 9}:order {n}\n" for n in range(COUNT)))
    kminilog = CommandLine(directory / "log-dir")
    reading = ["--key-regex", "^([^:]*):"]
    small = ["--config", "segment.bytes=2000"]
    kminilog("ingest", source, "--topic", "t", "--partitions", 2, *small, *reading)
    copy = CommandLine(write_anew(kminilog.log_dir, directory / "copy", "t", damage))
    log = sorted((copy.log_dir / "t-1").glob("*.log"))[1]
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    file = directory / "page.html"
    run = copy("verify", "t", "--against", source, *reading, "--report", file)
    assert run.code == 1
    return file


def test_page_fits_and_is_legible_in_light_and_dark(browser, page_file):
    with Page(browser, page_file) as page:
        page.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.page.locator(".sides mark").count() > 2
        assert page.page.locator(".focus").count() > 2
        for width, height in SIZES:
            page.page.set_viewport_size({"width": width, "height": height})
            for scheme in ("light", "dark"):
                page.page.emulate_media(color_scheme=scheme)
                assert page.overflow() <= 0, (width, scheme)
                assert page.page.evaluate(LOW_CONTRAST) == [], (width, scheme)
        assert page.complaints == []
        assert page.requests == [page_file.as_uri()]


def test_page_shows_the_values_of_damaged_bytes_in_a_narrow_window_and_a_gap_below(
    browser, page_file
):
    with Page(browser, page_file) as page:
        page.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        page.page.set_viewport_size({"width": 500, "height": 900})
        cut = "all => all.map(one => one.scrollWidth - one.clientWidth)"
        assert max(page.page.eval_on_selector_all(".scroll", cut)) <= 0
        gap = "all => all.map(one => parseFloat(getComputedStyle(one).marginBottom))"
        assert min(page.page.eval_on_selector_all(".scroll", gap)) >= 8


def test_page_on_paper_has_every_row(browser, page_file):
    with Page(browser, page_file, java_script_enabled=False) as page:
        page.page.locator(".segments summary").click()
        scrolled = page.page.locator(".segments .list")
        inside, whole = scrolled.evaluate("one => [one.clientHeight, one.scrollHeight]")
        assert inside < whole
        page.page.emulate_media(media="print")
        inside, whole = scrolled.evaluate("one => [one.clientHeight, one.scrollHeight]")
        assert inside >= whole - 1


def test_page_on_paper_keeps_its_bars_and_marks(browser, page_file):
    with Page(browser, page_file) as page:
        page.page.emulate_media(media="print")
        colours = "all => all.map(one => getComputedStyle(one).printColorAdjust)"
        for drawn in (".bar span", ".size span", ".offsets i"):
            assert set(page.page.eval_on_selector_all(drawn, colours)) == {"exact"}, drawn


def test_page_begins_with_the_verdict_then_the_pictures_then_the_bytes(browser, page_file):
    with Page(browser, page_file) as page:
        places = [
            page.page.locator(selector).first.bounding_box()["y"]
            for selector in ("h1", ".account", ".partitions", ".focus", ".facts")
        ]
        assert places == sorted(places)


def test_bytes_stand_beside_their_finding_on_a_wide_window_and_below_it_on_a_phone(
    browser, page_file
):
    with Page(browser, page_file) as page:
        for width, is_beside in ((1280, True), (390, False)):
            page.page.set_viewport_size({"width": width, "height": 800})
            finding = page.page.locator(".finding:has(.focus)").first
            text, data = (
                finding.locator(one).first.bounding_box() for one in ("pre", ".focus table")
            )
            assert (data["x"] > text["x"] + text["width"]) == is_beside


def test_link_to_a_class_opens_it_without_scripts(browser, page_file):
    with Page(browser, page_file, java_script_enabled=False) as page:
        page.page.set_viewport_size({"width": 390, "height": 844})
        for link in page.page.locator("nav .severity").all():
            name = link.locator("xpath=../a").inner_text()
            page.page.locator(f"nav a[href='#{name}']").click()
            summary = page.page.locator(".meaning:target").locator("xpath=../summary")
            assert summary.inner_text().startswith(name)
            assert 0 <= summary.bounding_box()["y"] < 844
            page.page.locator(".meaning:target").wait_for(state="visible")
