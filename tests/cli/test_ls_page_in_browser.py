"""The page of `ls --html` in a real browser: it fits, is legible, and asks for nothing."""

import pytest

from kminilog.consumer.group import Group
from kminilog.consumer.group_file import write_group
from kminilog.format.names import TopicPartition
from tests.support.browser import LOW_CONTRAST, Page
from tests.support.cli.command_line import CommandLine
from tests.support.cli.looked_at import Plan, make

pytestmark = pytest.mark.xdist_group("browser")
SIZES = [(390, 844), (1280, 800), (1920, 1080)]

# Pairs of labels in one picture that overlap, and labels that stand out of the window.
CROWDED = """() => {
  const found = [];
  for (const lane of document.querySelectorAll(".labels")) {
    const boxes = [...lane.querySelectorAll("text")]
      .filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect());
    boxes.forEach((a, n) => {
      if (a.left < 0 || a.right > document.documentElement.clientWidth) found.push([a.left]);
      for (const b of boxes.slice(n + 1))
        if (a.left < b.right && b.left < a.right) found.push([a.left, b.left]);
    });
  }
  return found;
}"""


@pytest.fixture(scope="module", params=[0, 10**17])
def page_file(request, tmp_path_factory):
    """Many small segments and a group with a long name, at low offsets and at some of 18 digits."""
    kminilog = CommandLine(tmp_path_factory.mktemp("look") / "log-dir")
    plan = Plan(counts=(400, 0), segment_bytes=150, base_offset=request.param)
    make(kminilog.log_dir, plan)
    committed = {TopicPartition("t", 0): request.param + 300}
    write_group(kminilog.log_dir, Group("g" * 200, committed=committed))
    file = kminilog.log_dir.with_name("page.html")
    kminilog.ok("ls", "--html", file)
    return file


# Bytes of a field, or of half an index entry, that stand on more than one line.
BROKEN_BYTES = """() => [...document.querySelectorAll(".focus td:nth-child(3)")]
  .filter((one) => one.checkVisibility())
  .map((one) => { const r = document.createRange(); r.selectNodeContents(one); return r; })
  .filter((range) => new Set([...range.getClientRects()].map((box) => box.top)).size > 1)
  .map((range) => range.toString())"""
UNFOLD = "document.querySelectorAll('details').forEach(one => one.open = true)"


@pytest.mark.parametrize("is_unfolded", [False, True])
def test_page_fits_and_is_legible_in_light_and_dark(browser, page_file, is_unfolded):
    with Page(browser, page_file) as page:
        if is_unfolded:
            page.page.evaluate(UNFOLD)
        for width, height in SIZES:
            page.page.set_viewport_size({"width": width, "height": height})
            for scheme in ("light", "dark"):
                page.page.emulate_media(color_scheme=scheme)
                assert page.overflow() <= 0, (width, scheme)
                assert page.page.evaluate(LOW_CONTRAST) == [], (width, scheme)
                assert page.page.evaluate(CROWDED) == [], (width, scheme)
                assert page.page.evaluate(BROKEN_BYTES) == [], (width, scheme)
        assert page.page.locator(".labels text").count() > 20
        assert page.complaints == []
        assert page.requests == [page_file.as_uri()]


def test_page_on_paper_has_every_row(browser, page_file):
    with Page(browser, page_file, java_script_enabled=False) as page:
        page.page.emulate_media(media="print")
        scrolled = page.page.locator("#t-0 .list")
        inside, whole = scrolled.evaluate("one => [one.clientHeight, one.scrollHeight]")
        assert inside >= whole - 1
        page.page.emulate_media(media="screen")
        inside, whole = scrolled.evaluate("one => [one.clientHeight, one.scrollHeight]")
        assert inside < whole


def test_bar_leads_to_its_segment_and_mark_to_the_bytes_of_its_finding(browser, page_file):
    with Page(browser, page_file, java_script_enabled=False) as page:
        segment = page.page.locator("#t-0 .segment .messages").first
        assert not segment.is_visible()
        page.page.locator("#t-0 .shapes a:has(.bar)").first.click()
        assert segment.is_visible()
        data = segment.locator(".message").nth(1).locator(".focus")
        assert not data.is_visible()
        page.page.locator("#t-0 .picture a").nth(1).click()
        assert data.is_visible()
        page.page.locator("#t-0 .shapes a:has(.error)").first.click()
        assert page.page.url.endswith("#t-0/finding-1")
        finding = page.page.locator(".findings li:target")
        assert finding.locator(".focus .f-crc").is_visible()
        assert finding.bounding_box()["y"] < page.page.viewport_size["height"] / 2


def test_folded_partition_is_opened_by_a_link_to_it_without_scripts(browser, page_file):
    with Page(browser, page_file, "#nothing-0", java_script_enabled=False) as page:
        assert page.page.locator("#nothing-0 .lanes").is_visible()


def test_shapes_have_tooltips(browser, page_file):
    with Page(browser, page_file) as page:
        shapes = page.page.locator(".shapes").locator(".bar, .lag, .error, .empty")
        assert shapes.locator("title").count() == shapes.count() > 5
