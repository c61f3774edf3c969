"""The built documentation, as `make docs` builds it: its links, and its pages in a real browser."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from kminilog.cli.step.command import SCENES
from tests.browser import LOW_CONTRAST, Page, started_browser

DOCS = Path(__file__).parents[1] / "docs"
INDEX = (DOCS / "index.md").read_text()
PAGES = sorted(path.stem for path in DOCS.glob("*.md"))
SIZES = {"phone": (390, 844), "laptop": (1280, 800), "projector": (1920, 1080)}
FRAMED = re.compile(r"^```\{step-through\} ([\w-]+)(?: (\d+))?$", re.MULTILINE)

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the site is, in a folder below another one, as on many servers."""
    folder = tmp_path_factory.mktemp("site")
    made = folder / "below" / "html"
    command = [sys.executable, "-m", "sphinx", "-E", "-W", "-n", "-q", "-d", folder / "doctrees"]
    done = subprocess.run([*command, DOCS, made], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as started:
        yield started


class Links(HTMLParser):
    """What a page has: places to link to, and what it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids, and addresses."""
        for name, value in attrs:
            if name == "id" and value:
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


def broken_links(site: Path) -> list[tuple[str, str]]:
    """Return each page with what it links to that is not there, or that leads out of the site."""
    pages = {path: Links(path.read_text()) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "data", "javascript"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            is_there = target.is_file() and target.is_relative_to(site)
            if is_there and parts.fragment and target in pages:
                is_there = unquote(parts.fragment) in pages[target].places
            if not is_there:
                found.append((path.name, link))
    return found


def test_links_inside_the_site_lead_to_what_is_there(site):
    assert broken_links(site) == []


def test_link_to_nothing_is_seen(tmp_path):
    links = ["here.html#a", "here.html#b", "away.html", "/here.html", "../out.html"]
    text = '<p id="a"></p>' + "".join(f'<a href="{link}"></a>' for link in links)
    (tmp_path / "here.html").write_text(text)
    assert sorted(link for _, link in broken_links(tmp_path)) == sorted(links[1:])


def test_first_page_lists_each_page_under_the_caption_that_has_it_beside_the_text():
    groups = re.findall(r"^### (.+)\n\n((?:- .*\n)+)", INDEX, re.MULTILINE)
    listed = [(title, re.findall(r"- \[\]\((.+)\.md\)", text)) for title, text in groups]
    trees = re.findall(r"^:caption: (.+)\n\n((?:[\w-]+\n)+)", INDEX, re.MULTILINE)
    assert listed == [(title, text.split()) for title, text in trees]
    assert sorted(name for _, names in listed for name in names) == sorted({*PAGES} - {"index"})


@pytest.mark.parametrize(
    ("card", "link", "heading"),
    [
        ("Student", "Start lab 1", "Labs"),
        ("Lecturer", "Plan a term", "Teaching with kminilog"),
        ("Data engineer", "Verify an ingest", "Verification"),
    ],
)
def test_first_page_leads_each_reader_on_in_one_click(site, browser, card, link, heading):
    with Page(browser, site / "index.html") as page:
        page.page.locator(".sd-card", has_text=card).get_by_role("link", name=link).click()
        assert page.text("h1").removesuffix("¶") == heading


@pytest.mark.parametrize("name", PAGES)
def test_page_fits_its_window_and_can_be_read_in_both_themes(site, browser, name):
    with Page(browser, site / f"{name}.html") as page:
        for size, (width, height) in SIZES.items():
            page.page.set_viewport_size({"width": width, "height": height})
            assert page.overflow() == 0, size
        for theme in ("light", "dark"):
            page.page.emulate_media(color_scheme=theme)
            assert page.page.evaluate(LOW_CONTRAST) == [], theme
        assert page.complaints == []
        assert [url for url in page.requests if not url.startswith("file:")] == []


def test_step_throughs_inside_of_pages_show_their_step_and_do_not_move_the_page(site, browser):
    framed = {name: FRAMED.findall((DOCS / f"{name}.md").read_text()) for name in PAGES}
    assert {scene for found in framed.values() for scene, _ in found} == set(SCENES)
    for name, found in framed.items():
        if not found:
            continue
        with Page(browser, site / f"{name}.html") as page:
            assert page.page.locator("iframe").count() == len(found)
            all_at_once = "for (const f of document.querySelectorAll('iframe')) f.loading = 'eager'"
            page.page.evaluate(all_at_once)
            for number, (_, step) in enumerate(found):
                place = page.page.frame_locator("iframe").nth(number).locator("#place")
                place.wait_for()
                assert place.inner_text().split()[0] == (step or "1")
            assert page.page.evaluate("window.scrollY") == 0
