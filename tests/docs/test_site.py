"""The built documentation, as `make docs` builds it: its links, and its pages in a real browser."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from signal import SIGINT, SIGTERM
from urllib.parse import unquote, urlsplit

import click
import pytest

import kminilog
from kminilog.cli.main import ANSWER_IS_NO, CLOSED_PIPE, NOT_DONE, main
from kminilog.cli.step.command import SCENES
from kminilog.course.benches.registry import BENCHES
from tests.support.browser import LOW_CONTRAST, Page, wait_until
from tests.test_floor_plan import KINDS, READINGS, ROOMS

DOCS = Path(__file__).parents[2] / "docs"
INDEX = (DOCS / "index.md").read_text()
PAGES = sorted(path.stem for path in DOCS.glob("*.md"))
PLAYGROUND = "playground/"  # `make playground` writes it into the site
SIZES = {"phone": (390, 844), "laptop": (1280, 800), "projector": (1920, 1080)}
FRAMED = re.compile(r"^```\{step-through\} ([\w-]+)(?: (\d+))?$", re.MULTILINE)
# What stands on more than one line, of the parts of names, but for breaks after hyphens.
BROKEN_PARTS = """() => {
  const names = [...document.querySelectorAll("table .pre")];
  const parts = names.flatMap((name) => [...name.childNodes]);
  return parts.filter((part) => part.nodeType === Node.TEXT_NODE).filter((part) => {
    const range = document.createRange();
    range.selectNode(part);
    return range.getClientRects().length > part.data.split("-").length;
  }).map((part) => part.data);
}"""
# The first name in each row of the tables that can be folded, as far as it is to be seen.
SHOWN_ROWS = """() => [...document.querySelectorAll("details:has(table) tbody tr")]
  .filter((row) => row.checkVisibility())
  .flatMap((row) => row.querySelector("code:first-child")?.innerText ?? [])"""
# So that the header, which stays above the text, does not cover it.
TO_THE_MIDDLE = "one => one.scrollIntoView({ block: 'center', behavior: 'instant' })"

pytestmark = pytest.mark.xdist_group("site")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the site is, in a folder below another one, as on many servers."""
    folder = tmp_path_factory.mktemp("site")
    made = folder / "below" / "html"
    command = [sys.executable, "-m", "sphinx", "-E", "-W", "-n", "-q", "-d", folder / "doctrees"]
    done = subprocess.run([*command, DOCS, made], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return made


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
            if parts.scheme in ("http", "https", "data", "javascript") or parts.path == PLAYGROUND:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            is_there = target.is_file() and target.is_relative_to(site)
            if is_there and parts.fragment and target in pages:
                is_there = unquote(parts.fragment) in pages[target].places
            if not is_there:
                found.append((path.name, link))
    return found


@pytest.mark.processes
def test_each_step_through_leads_to_its_place_in_the_playground(site):
    wrong = []
    for path in site.glob("*.html"):
        framed = re.findall(
            r'<figure class="step-through">.*?</figure>', path.read_text(), re.DOTALL
        )
        for frame in framed:
            links = {urlsplit(link) for link in Links(frame).links}
            led = [one.fragment for one in links if one.path == PLAYGROUND]
            bench_or_scene = [
                one in BENCHES or one.removeprefix("step?scene=") in SCENES for one in led
            ]
            if bench_or_scene != [True] and "step-throughs/buffer-pool.html" not in frame:
                wrong.append((path.name, led))
    assert wrong == []


@pytest.mark.processes
def test_links_inside_the_site_lead_to_what_is_there(site):
    assert broken_links(site) == []


def test_link_to_nothing_is_seen(tmp_path):
    links = ["here.html#a", "here.html#b", "away.html", "/here.html", "../out.html"]
    text = '<p id="a"></p>' + "".join(f'<a href="{link}"></a>' for link in links)
    (tmp_path / "here.html").write_text(text)
    assert sorted(link for _, link in broken_links(tmp_path)) == sorted(links[1:])


def test_first_page_lists_each_page_under_the_caption_that_has_it_beside_the_text():
    groups = re.findall(r"^### (.+)\n\n((?:- .*\n)+)", INDEX, re.MULTILINE)
    listed = [(title, re.findall(r"- \[.+?\]\((.+)\.md\)", text)) for title, text in groups]
    trees = re.findall(r"^:caption: (.+)\n\n((?:[\w-]+\n)+)", INDEX, re.MULTILINE)
    assert listed == [(title, text.split()) for title, text in trees]
    assert sorted(name for _, names in listed for name in names) == sorted({*PAGES} - {"index"})


@pytest.mark.parametrize(
    ("card", "links", "seen"),
    [
        ("Student", ["Start lab 1"], "kminilog lab start 1"),
        ("Lecturer", ["Plan a term"], "kminilog course init term"),
        ("Lecturer", ["Project a step-through", "record"], "What a message looks like"),
        (
            "Lecturer",
            ["Project a step-through", "record", "all step-throughs"],
            "All step-throughs",
        ),
        ("Data engineer", ["Verify an ingest"], "verify orders --against orders.txt"),
    ],
)
def test_first_page_leads_each_reader_to_what_is_wanted(site, browser, card, links, seen):
    with Page(browser, site / "index.html", viewport={"width": 1280, "height": 800}) as page:
        page.page.locator(".sd-card", has_text=card).get_by_role("link", name=links[0]).click()
        for link in links[1:]:
            page.page.get_by_role("link", name=link, exact=True).click()
        found = page.page.locator("pre, h1, h2", has_text=seen).first
        assert found.bounding_box()["y"] < 800 - 100  # without scrolling


@pytest.mark.parametrize("has_scripts", [True, False])
def test_first_page_begins_with_the_playground_and_a_step_through(site, browser, has_scripts):
    with Page(browser, site / "index.html", java_script_enabled=has_scripts) as page:
        shown = page.page.locator("article :is(a.button, iframe, a.reference)")
        assert [shown.nth(0).inner_text(), shown.nth(0).get_attribute("href")] == [
            "Open the playground",
            "playground/index.html",
        ]
        frame = page.page.locator("iframe")
        frame.scroll_into_view_if_needed()
        inside = page.page.frame_locator("iframe").locator("svg").first
        inside.wait_for()
        assert inside.bounding_box()["y"] < 800
        shown.nth(0).click()
        page.page.get_by_text("make playground").wait_for()  # until it is made


def test_button_copies_the_commands_without_what_they_print(site, browser):
    note = "document.addEventListener('copy', () => { window.copied = `${getSelection()}` })"
    with Page(browser, site / "tutorial.html") as page:
        page.page.evaluate(note)
        page.page.locator(".copybtn").first.click()
        copied = page.page.evaluate("window.copied || document.activeElement.value")
        assert copied.splitlines() == [
            r"printf 'alice:book\nbob:pen\nalice:lamp\n' > orders.txt",
            "kminilog topic create orders --partitions 2",
            "kminilog produce orders orders.txt --key-separator :",
            "kminilog ls",
        ]


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


def test_long_names_in_tables_break_between_their_parts(site, browser):
    with Page(browser, site / "differences.html", viewport={"width": 1280, "height": 800}) as page:
        assert page.page.evaluate(BROKEN_PARTS) == []


@pytest.mark.parametrize("name", ["tutorial", "partitioners", "command-line"])
def test_code_does_not_scroll_sideways_on_a_phone(site, browser, name):
    with Page(browser, site / f"{name}.html", viewport={"width": 390, "height": 844}) as page:
        code = ":not(.highlight-text) > .highlight > pre"
        wide = "all => all.filter((one) => one.scrollWidth > one.clientWidth).length"
        assert page.page.locator(code).evaluate_all(wide) == 0


@pytest.mark.parametrize("name", ["format", "partitioners"])
def test_code_does_not_scroll_sideways_on_a_laptop(site, browser, name):
    with Page(browser, site / f"{name}.html", viewport={"width": 1280, "height": 800}) as page:
        wide = """[...document.querySelectorAll("pre")]
            .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)"""
        assert page.page.evaluate(wide) == []
        assert page.overflow() <= 0


def test_page_on_paper_has_a_picture_for_each_step_through_and_no_link_over_its_text(site, browser):
    with Page(browser, site / "partitioners.html") as page:
        page.page.emulate_media(media="print")
        framed = page.page.locator(".step-through")
        assert framed.count() > 0
        assert framed.locator("img:visible").count() == framed.count()
        assert page.page.locator("iframe:visible, .skip-to-content:visible").count() == 0
        page.page.emulate_media(media="screen")
        assert framed.locator("img:visible").count() == 0


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


def test_step_through_inside_of_a_page_has_the_theme_of_the_page(site, browser):
    is_so = "/[0-9]+/.exec(getComputedStyle(document.body).backgroundColor) > 127 === {}"
    with Page(browser, site / "assignment.html", color_scheme="light") as page:
        page.page.locator("iframe").scroll_into_view_if_needed()
        page.page.frame_locator("iframe").locator("#place").wait_for()
        for is_light in ("true", "false", "true"):  # the system's, dark, light
            for frame in page.page.frames:
                wait_until(frame, is_so.format(is_light))
            page.page.locator(".theme-toggle:visible").first.click()


def text_of(html: str) -> str:
    """Return the text of a page, all white space left out."""
    return re.sub(r"\s", "", unescape(re.sub(r"<[^<>]*>", "", html)))


def commands_below(ctx: click.Context) -> Iterator[click.Context]:
    yield ctx
    if isinstance(ctx.command, click.Group):
        for name in ctx.command.list_commands(ctx):
            below = ctx.command.get_command(ctx, name)
            assert below
            yield from commands_below(click.Context(below, info_name=name, parent=ctx))


def missing_entries(page: str) -> list[str]:
    """Return each command and option that has no entry with the words of its help."""
    places = Links(page).places
    missing = []
    for ctx in commands_below(click.Context(main, info_name="kminilog")):
        path = ctx.command_path.replace(" ", "-")
        entry = text_of(page.partition(f'<section id="{path}">')[2].partition("<section")[0])
        told = {path: [ctx.command.get_usage(ctx).removeprefix("Usage: "), ctx.command.help or ""]}
        for one in ctx.command.params:
            if isinstance(one, click.Option):
                told[f"{path}{one.opts[0]}"] = [*(one.get_help_record(ctx) or ())]
        for place, texts in told.items():
            are_there = (text_of(escape(text)).replace("`", "") in entry for text in texts)
            if place not in places or not all(are_there):
                missing.append(place)
    return missing


def test_command_line_has_an_entry_for_each_command_and_option_as_its_help_has_it(site):
    page = (site / "command-line.html").read_text()
    assert missing_entries(page) == []
    no_key = page.replace('id="kminilog-produce--key-separator"', "")
    other_words = no_key.replace("Delete the topic NAME with all its messages.", "Delete it.")
    missing = ["kminilog-topic-delete", "kminilog-produce--key-separator"]
    assert missing_entries(other_words) == missing


def test_command_line_names_each_exit_code(site):
    page = (site / "command-line.html").read_text()
    codes = page.partition('<section id="exit-codes">')[2].partition("</section>")[0]
    named = {int(code) for code in re.findall(r"\b\d+\b", re.sub(r"<[^<>]*>", "", codes))}
    assert named == {0, ANSWER_IS_NO, NOT_DONE, CLOSED_PIPE, 128 + SIGINT, 128 + SIGTERM}


def test_python_page_has_an_entry_for_each_public_name_and_for_no_other(site):
    places = Links((site / "python.html").read_text()).places
    named = {place.split(".")[1] for place in places if place.startswith("kminilog.")}
    assert named == set(kminilog.__all__)


def built_alone(folder: Path, page: str) -> str:
    """Return what Sphinx complains of in a page, with the configuration of the site."""
    (folder / "index.md").write_text(page)
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", "-b", "dummy", "-c", DOCS]
    done = subprocess.run(
        [*command, folder, folder / "made"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(folder)},
    )
    assert done.returncode == bool(done.stderr)
    return done.stderr


def plan(drawn: str) -> str:
    """Return a floor plan with the table of its modules."""
    names = ("errors", "format.names", "storage.segment.segment")
    rows = "".join(f"| `{name}` | file | one |\n" for name in names)
    table = f"| module | kind | idea |\n|---|---|---|\n{rows}"
    return f"```{{floor-plan}}\n{drawn}\n```\n\n{table}"


@pytest.mark.processes
def test_docstring_with_a_mistake_in_its_markup_fails_the_build_and_what_is_right_does_not(
    tmp_path,
):
    texts = {"right": "Return `it`, and O(n).", "star": "Return *it.", "literal": "Return ``it`."}
    program = "".join(f'def {name}():\n    """{text}"""\n' for name, text in texts.items())
    (tmp_path / "marked.py").write_text(program)
    members = "".join(f".. autofunction:: marked.{name}\n" for name in texts)
    right = plan("kminilog\nformat\nstorage")
    told = built_alone(tmp_path, f"# One\n\n```{{eval-rst}}\n{members}```\n\n{right}")
    first, second = re.findall(r".*WARNING.*", told)
    assert "docstring of marked.star:1: WARNING: Inline emphasis start-string" in first
    assert "docstring of marked.literal:1: WARNING: Inline literal start-string" in second


def test_floor_plan_draws_each_module_of_the_table_and_its_stars(site):
    page = (site / "architecture.html").read_text()
    drawing = page.partition('<figure class="floor-plan">')[2].partition("</svg>")[0]
    drawn = [int(stars) for stars in re.findall(r'<rect class="s(\d)"', drawing)]
    assert sorted(drawn) == sorted(
        len(READINGS.get(room.name, "")) for room in ROOMS if not room.is_to_come
    )
    (told,) = re.findall(r'aria-label="([^"]*)"', drawing)
    linked = re.findall(r'<a href="#rooms-(\w+)">', drawing)
    assert [part.partition(": ")[0] for part in told.split(". ")] == linked


def test_room_of_the_floor_plan_opens_the_rows_of_its_folder(site, browser):
    folders = dict.fromkeys(room.name.split(".")[0] for room in ROOMS if "." in room.name)
    with Page(browser, site / "architecture.html", viewport={"width": 390, "height": 844}) as page:
        for folder in folders:
            room = page.page.locator(f'.floor-plan a[href="#rooms-{folder}"]')
            room.evaluate(TO_THE_MIDDLE)
            room.click()
            wait_until(page.page, f"({SHOWN_ROWS})().some((name) => name.startsWith('{folder}.'))")
            names = [name for name in page.page.evaluate(SHOWN_ROWS) if name in KINDS]
            assert [name for name in names if name.startswith(f"{folder}.")]
            assert page.overflow() == 0


@pytest.mark.processes
@pytest.mark.parametrize(
    ("drawn", "complaint"),
    [
        ("kminilog\nformat", "draw each of kminilog, format, storage, and no other"),
        ("kminilog\nstorage\nformat", "format imports kminilog: draw it right below that"),
        (
            "kminilog\nformat\nstorage\nformat -> storage",
            "format -> storage: there is no such arrow",
        ),
    ],
)
def test_floor_plan_that_its_drawing_does_not_fit_fails_the_build(tmp_path, drawn, complaint):
    assert complaint in built_alone(tmp_path, f"# One\n\n{plan(drawn)}")
