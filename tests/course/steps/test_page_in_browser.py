"""The pages in a real browser, from files: keys, questions, bytes, links, sizes, contrast."""

import re

import pytest

from kminilog.cli.step.command import scene_command
from kminilog.course.steps import record
from kminilog.explain.document import Document
from kminilog.explain.page import INDEX_PAGE, Listed, render_index, render_page
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.pages import PAGE_BYTES
from kminilog.text import printable
from tests.support.browser import LOW_CONTRAST, Page, wait_until
from tests.support.course.steps.scenes import NAMES, made

pytestmark = pytest.mark.xdist_group("browser")
SIZES = [(1280, 800), (1920, 1080), (390, 844)]
CONTRAST_WIDTHS = (1280, 390)  # the widest page has the colours of the first


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """All pages and their list, in a directory."""
    directory = tmp_path_factory.mktemp("pages")
    for name in NAMES:
        page = render_page(made(name), index=INDEX_PAGE)
        (directory / f"{name}.html").write_text(page)
    listed = [Listed(name, made(name).title, "", made(name)) for name in NAMES]
    (directory / INDEX_PAGE).write_text(render_index(listed))
    return directory


@pytest.mark.first
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_page_is_stepped_to_the_end_by_keys_and_asks_for_nothing(browser, pages, name):
    document = made(name)
    path = pages / f"{name}.html"
    with Page(browser, path) as page:
        for number, step in enumerate(document.steps, start=1):
            assert page.text("#place") == f"{number} / {len(document.steps)}"
            assert number == 1 or page.page.url.endswith(f"#step/{number}")
            if step.ask:
                before = document.steps[number - 2]
                for _ in range(2):
                    assert page.text(".say") == " ".join(before.say.split())
                    assert page.page.locator(".say:visible").count() == 1
                    assert page.page.locator(".picture:visible").count() == 1
                    answer(page, step.ask, is_right=False)
                answer(page, step.ask, is_right=True)
            assert page.text(".say") == " ".join(step.say.split())
            assert page.page.locator(".say:visible").count() == 1
            assert page.page.locator(".picture:visible").count() == 1
            assert page.overflow() <= 0
            page.press("ArrowRight")
        assert page.text("#place") == f"{len(document.steps)} / {len(document.steps)}"
        page.press("Home")
        assert page.text("#place").startswith("1 /")
        page.press("End", "ArrowLeft")
        assert page.text("#place").startswith(f"{len(document.steps) - 1} /")
        assert page.complaints == []
        assert page.requests == [path.as_uri()]


def answer(page: Page, ask, *, is_right: bool) -> None:
    """Choose an answer by keyboard; its reason is shown."""
    choice = next(choice for choice in ask.choices if choice.is_right == is_right)
    number = ask.choices.index(choice)
    page.page.locator(".step.current .choices button").nth(number).focus()
    page.press("Enter")
    assert " ".join(choice.why.split()) in page.text(".verdict")
    assert ("Right" if is_right else "Not") in page.text(".verdict")


# What is wrong with what is to be seen now: one picture, the sentence, all in the window.
FAULTS = """() => {
  const all = (what) => [...document.querySelectorAll(what)];
  const seen = (what) => all(what).filter((one) => one.checkVisibility());
  const page = document.documentElement, faults = [];
  const isAtOnce = all("section.current.waiting").length > 0 && all(".before").length === 0;
  const count = isAtOnce ? 0 : 1;
  if (seen(".picture").length !== count) faults.push("picture");
  if (seen(".say").length !== count) faults.push("sentence");
  for (const before of all(".before")) {
    const state = before.querySelector(".values, .rows");
    if (state && !state.checkVisibility()) faults.push("state of the step before");
  }
  if (page.scrollWidth > page.clientWidth) faults.push("overflow");
  for (const box of seen(".top, .rest, #bytes, #inspector, nav.bar")) {
    if (box.scrollWidth > box.clientWidth + 1) faults.push(`${box.className}${box.id} overflows`);
  }
  for (const card of seen(".rest, #bytes")) if (!card.innerText.trim()) faults.push("empty card");
  const bar = document.querySelector("nav.bar").getBoundingClientRect();
  if (bar.bottom > innerHeight + 1) faults.push("bar of buttons");
  const sentence = seen(".ask.quiz p, .say")[0]?.getBoundingClientRect();
  if (sentence && sentence.bottom > bar.top) faults.push("sentence is below the window");
  const first = [...seen(".picture"), ...seen(".in-focus .byte").slice(0, 1)];
  for (const one of innerWidth > 960 ? first : []) {
    if (one.getBoundingClientRect().bottom > bar.top + 1) faults.push("focus below the window");
  }
  const place = (lit, panel) => {
    const [one, box] = [lit, panel].map((it) => it.getBoundingClientRect());
    return one.left >= box.left - 4 && (one.right <= box.right + 4 || one.width > box.width)
      && one.top >= box.top - 4 && one.bottom <= box.bottom + 4;
  };
  for (const byte of seen(".in-focus .byte").slice(0, 1)) {
    if (!place(byte, document.getElementById("bytes"))) faults.push("bytes in focus");
  }
  for (const bar of seen(".f-here").slice(0, 1)) {
    if (!place(bar, bar.closest(".scroll"))) faults.push("focus of the picture");
  }
  return faults;
}"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_page_shows_each_step_whole_at_each_size_in_light_and_dark(browser, pages, name):
    steps = made(name).steps
    path = pages / f"{name}.html"
    assert path.stat().st_size <= PAGE_BYTES
    for width, height in SIZES:
        viewport = {"width": width, "height": height}
        with Page(browser, path, viewport=viewport, reduced_motion="reduce") as page:
            for number, step in enumerate(steps, start=1):
                for is_waiting in (True, False) if step.ask else (False,):
                    where = (number, is_waiting, width)
                    assert page.text("#place") == f"{number} / {len(steps)}", where
                    assert page.page.evaluate(FAULTS) == [], where
                    for scheme in ("light", "dark") if width in CONTRAST_WIDTHS else ():
                        page.page.emulate_media(color_scheme=scheme)
                        assert page.page.evaluate(LOW_CONTRAST) == [], (*where, scheme)
                    has_focus = bool(steps[number - 1 - is_waiting].focus)
                    assert bool(page.page.locator(".in-focus").count()) == has_focus, where
                    page.press("PageDown")
            assert page.requests == [path.as_uri()]


PROJECTORS = [(1280, 800), (1920, 1080)]
# Goes through all steps, before and after each answer. Tells which are taller than the window,
# which leave more than half of it empty (of 20 x 32 fields), and where letters of a picture are
# smaller than 9 px.
ON_PROJECTOR = """() => {
  const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", { key }));
  const seen = (what) =>
    [...document.querySelectorAll(what)].filter((one) => one.checkVisibility());
  const WORDS = "h1, h2, h3, .say, p";
  const THINGS = ".picture .lane, .field, .values > *, table, button";
  const [rows, columns] = [20, 32], found = { taller: [], emptier: [], small: [] };
  const isCut = (box) => box.scrollHeight > box.clientHeight + 2;
  const boxes = (one) => {
    if (!one.matches(WORDS)) return [one.getBoundingClientRect()];
    const lines = document.createRange();
    lines.selectNodeContents(one);
    return lines.getClientRects();
  };
  const look = (where) => {
    const low = document.querySelector("nav.bar").getBoundingClientRect().top;
    const [height, width] = [low / rows, innerWidth / columns];
    const full = new Set();
    for (const one of seen(`${WORDS}, ${THINGS}`)) {
      const panel = one.closest("#bytes, .rest, .scroll")?.getBoundingClientRect();
      for (const box of boxes(one)) {
        const top = Math.max(box.top, panel?.top ?? 0);
        const bottom = Math.min(box.bottom, panel?.bottom ?? low, low);
        for (let y = Math.floor(top / height); y < bottom / height; y += 1) {
          for (let x = Math.floor(box.left / width); x < box.right / width; x += 1) {
            full.add(y * columns + x);
          }
        }
      }
    }
    if ([document.documentElement, ...seen(".top, .top > *")].some(isCut)) found.taller.push(where);
    if (full.size < rows * columns / 2) found.emptier.push(where);
    if (seen(".picture").some((one) => 14 * one.getScreenCTM().a < 9)) found.small.push(where);
  };
  press("Home");
  document.querySelectorAll(".step").forEach((_, index) => {
    if (document.querySelector(".current.waiting")) { look(`question ${index + 1}`); press("a"); }
    look(`step ${index + 1}`);
    press("ArrowRight");
  });
  return found;
}"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_page_fills_a_projector_with_each_step_and_none_is_taller(browser, pages, name):
    for width, height in PROJECTORS:
        viewport = {"width": width, "height": height}
        with Page(browser, pages / f"{name}.html", viewport=viewport) as page:
            found = page.page.evaluate(ON_PROJECTOR)
            assert found == {"taller": [], "emptier": [], "small": []}, viewport


def test_page_tells_all_of_a_byte_by_mouse_and_by_keyboard(browser, pages):
    document = made("find-offset")
    with Page(browser, pages / "find-offset.html", f"#step/{len(document.steps)}") as page:
        page.press("b")
        told = page.text("#inspector")
        assert "byte 1500 (0x5dc): 00 = 0, signed 0" in told
        assert "field offset: bytes 1500 to 1507, says 368776" in told
        assert "big-endian: 368776 unsigned, 368776 signed" in told
        assert f"little-endian: {int.from_bytes((368776).to_bytes(8), 'little')} unsigned" in told
        assert page.page.locator(".field.lit").count() == 1
        lit = page.page.locator(".bar.lit[data-start]").last
        assert lit.get_attribute("data-start") == "1500"
        assert lit.locator("text").text_content() == "368776"
        page.press("ArrowRight")
        assert "byte 1501" in page.text("#inspector")
        page.press("Escape", "ArrowLeft")
        assert page.text("#place").startswith(f"{len(document.steps) - 1} /")
        byte = page.page.locator(".in-focus .byte").nth(1)
        before = byte.bounding_box()
        byte.hover()
        assert "byte 1408" in page.text("#inspector")
        assert byte.bounding_box() == before
        page.page.mouse.move(1, 1)
        assert "Point at a byte" in page.text("#inspector")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_no_byte_moves_when_the_mouse_points_at_it(browser, pages, name):
    for width, height in PROJECTORS:
        viewport = {"width": width, "height": height}
        with Page(browser, pages / f"{name}.html", viewport=viewport) as page:
            page.press("End")
            bytes_ = page.page.locator("#bytes .byte")
            for number in range(0, bytes_.count(), 7):
                bytes_.nth(number).scroll_into_view_if_needed()
                before = bytes_.nth(number).bounding_box()
                bytes_.nth(number).hover()
                assert bytes_.nth(number).bounding_box() == before, (number, viewport)


def test_page_keeps_a_byte_that_was_clicked(browser, pages):
    with Page(browser, pages / "flip.html") as page:
        page.page.locator(".byte").nth(3).click()
        page.page.locator(".byte").nth(20).hover()
        assert "byte 3 (" in page.text("#inspector")
        page.page.get_by_label("new value of the byte, in hex").click()
        page.page.locator(".byte").nth(20).hover()
        assert "byte 3 (" in page.text("#inspector")
        page.press("Escape")
        page.page.locator(".byte").nth(21).hover()
        assert "byte 21 (" in page.text("#inspector")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_page_shows_no_bytes_of_a_step_that_asks_until_the_answer(browser, pages, name):
    steps = made(name).steps
    with Page(browser, pages / f"{name}.html") as page:
        for number, step in enumerate(steps, start=1):
            if step.ask:
                page.page.evaluate(f"location.hash = '#step/{number}'")
                page.page.wait_for_selector(f"section.current[id='step/{number}']")
                before = steps[number - 2].state.ends if number > 1 else {}
                assert shown_files(page) == list(before)
                answer(page, step.ask, is_right=True)
                assert shown_files(page) == list(step.state.ends)


def shown_files(page: Page) -> list[str]:
    """The names of the files whose bytes are to be seen."""
    titles = page.page.locator("#bytes .file h3").all_inner_texts()
    return [title.rsplit(": ", 1)[0] for title in titles]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_page_heading_tells_the_size_of_a_file_at_that_step(browser, pages, name):
    files = {file.name: file for file in made(name).files}
    with Page(browser, pages / f"{name}.html") as page:
        for number, step in enumerate(made(name).steps, start=1):
            page.page.evaluate(f"location.hash = '#step/{number}'")
            page.page.wait_for_selector(f"section.current[id='step/{number}']")
            if step.ask:
                answer(page, step.ask, is_right=True)
            titles = page.page.locator("#bytes .file h3").all_inner_texts()
            sizes = dict(title.rsplit(": ", 1) for title in titles)
            for file, end in step.state.ends.items():
                whole = len(files[file].data) == files[file].size_bytes
                of_file = "" if whole else f" of the file's {files[file].size_bytes:,}"
                assert sizes[file] == f"{end - files[file].start:,}{of_file} bytes"


def test_page_of_a_damaged_file_opens_at_the_damage(browser, tmp_path):
    data = bytearray(b"".join(encode(KAFKA, n, None, b"value") for n in range(50)))
    data[33 * len(data) // 50 + 20] ^= 1
    (log := tmp_path / "00000000000000000000.log").write_bytes(data)
    path = tmp_path / "record.html"
    path.write_text(render_page(record.document(log, KAFKA)))
    for size in SIZES:
        with Page(
            browser, path, viewport=dict(zip(("width", "height"), size, strict=True))
        ) as page:
            assert page.page.evaluate(IS_FOCUS_IN_SIGHT)


IS_FOCUS_IN_SIGHT = """() => {
  const panel = document.getElementById("bytes").getBoundingClientRect();
  const byte = document.querySelector("#bytes .in-focus .byte").getBoundingClientRect();
  return panel.top <= byte.top && byte.bottom <= panel.bottom;
}"""


def test_page_breaks_no_word_of_a_table_on_a_phone(browser, pages):
    number = len(made("sticky").steps)
    with Page(browser, pages / "sticky.html", f"#step/{number}") as page:
        page.page.set_viewport_size({"width": 390, "height": 844})
        cells = page.page.locator(".step.current td", has_text="ann")
        assert cells.first.bounding_box()["height"] < 40
        assert page.overflow() <= 0


@pytest.mark.parametrize(("name", "number"), [("sticky", 12), ("find-offset", 12)])
def test_page_keeps_names_of_lanes_in_sight_while_a_picture_is_scrolled(
    browser, pages, name, number
):
    phone = {"width": 390, "height": 844}
    with Page(browser, pages / f"{name}.html", f"#step/{number}", viewport=phone) as page:
        for left in (150, 9999, 0):
            page.page.locator(".step.current .top .scroll").evaluate(
                f"async (box) => {{ box.scrollLeft = {left}; {TWO_FRAMES} }}"
            )
            assert page.page.evaluate(NAMES_OUT_OF_SIGHT) == [], left
        assert page.complaints == []


TWO_FRAMES = "for (const _ of [1, 2]) await new Promise(requestAnimationFrame);"
# Names that are not in their box, or lie below something else, or upon a note.
NAMES_OUT_OF_SIGHT = """() => {
  const box = document.querySelector(".step.current .scroll").getBoundingClientRect();
  return [...document.querySelectorAll(".step.current .name")].filter((name) => {
    const place = name.getBoundingClientRect();
    const note = name.parentNode.querySelector(".note")?.getBoundingClientRect();
    const isOn = note && note.top < place.bottom && place.top < note.bottom
      && note.left < place.right;
    const middle = [(place.left + place.right) / 2, (place.top + place.bottom) / 2];
    return place.left < box.left || place.right > box.right || isOn
      || document.elementFromPoint(...middle) !== name;
  }).map((name) => name.textContent);
}"""


def test_page_says_who_notices_a_changed_byte(browser, pages):
    what_if = made("flip").what_if
    with Page(browser, pages / "flip.html") as page:
        last = len(what_if.outcomes) - 1
        for position, value in ((0, 255), (9, 1), (20, 0), (last, 0x41)):
            page.page.locator(".byte").nth(position).focus()
            changed = page.page.get_by_label("new value of the byte, in hex")
            changed.fill(f"{value:02x}")
            told = what_if.meanings[what_if.outcomes[position][value]]
            assert " ".join(told.split()) in page.text(".changed-to")
        changed.fill("zz")
        assert "two hex digits" in page.text(".changed-to")


def test_page_opens_at_a_linked_step_and_goes_to_a_number(browser, pages):
    with Page(browser, pages / "murmur2.html", "#step/4") as page:
        assert page.text("#place") == "4 / 9"
        page.press("g")
        page.page.keyboard.type("7")
        page.press("Enter")
        assert page.text("#place") == "7 / 9"
        page.press("g")
        page.page.keyboard.type("2.4")
        page.press("Enter")
        assert page.text("#place") == "2 / 9"
        page.press("?")
        assert "Home End" in page.text("dialog")


def test_page_goes_to_a_step_by_its_slider(browser, pages):
    with Page(browser, pages / "murmur2.html") as page:
        slider = page.page.get_by_role("slider", name="step")
        box = slider.bounding_box()
        middle = box["y"] + box["height"] / 2
        page.page.mouse.move(box["x"] + 8, middle)
        page.page.mouse.down()
        page.page.mouse.move(box["x"] + box["width"] / 2, middle)
        wait_until(page.page, "document.getElementById('place').textContent === '5 / 9'")
        page.page.mouse.up()
        wait_until(page.page, "location.hash === '#step/5'")
        page.press("ArrowRight")
        wait_until(page.page, "location.hash === '#step/6'")
        assert slider.get_attribute("aria-valuetext") == "step 6 of 9"
        page.press("t")  # the other keys of the page still work
        assert page.page.evaluate("document.documentElement.style.colorScheme") == "dark"


# Touches an element, moves the finger to the left, and lifts it.
SWIPE = """([what, by]) => {
  const target = document.querySelector(what);
  const at = (screenX) => new Touch({ identifier: 1, target, screenX, screenY: 300 });
  const send = (name, touches) =>
    target.dispatchEvent(new TouchEvent(name, { bubbles: true, ...touches }));
  send("touchstart", { touches: [at(300)] });
  send("touchend", { changedTouches: [at(300 + by)] });
}"""


def test_page_is_turned_by_a_swipe_but_not_where_something_scrolls_sideways(browser, pages):
    phone = {"width": 390, "height": 844}
    with Page(browser, pages / "murmur2.html", "#step/3", viewport=phone) as page:
        for what, by, place in (
            (".current .say", -200, "4 / 9"),
            (".current .say", 200, "3 / 9"),
            (".current .say", -20, "3 / 9"),
            (".current .picture", -200, "3 / 9"),
        ):
            page.page.evaluate(SWIPE, [what, by])
            assert page.text("#place") == place, (what, by)


def test_page_has_an_icon_of_its_own(browser, pages):
    for name in ("murmur2.html", INDEX_PAGE):
        with Page(browser, pages / name) as page:
            icon = page.page.locator("link[rel=icon]").get_attribute("href")
            loaded = "(src) => { const one = new Image(); one.src = src; return one.decode(); }"
            page.page.evaluate(loaded, icon)
            assert page.complaints == []


def test_page_opens_at_the_step_that_it_was_written_for_unless_its_address_names_one(
    browser, tmp_path
):
    (path := tmp_path / "page.html").write_text(render_page(made("murmur2"), from_step=4))
    for fragment, number in (("", 4), ("#step/2", 2)):
        with Page(browser, path, fragment) as page:
            assert page.text("#place") == f"{number} / 9"


def test_page_is_presented_with_keys_and_announces_each_step(browser, pages):
    steps = made("failover").steps
    asked = next(number for number, step in enumerate(steps, start=1) if step.ask)
    question = steps[asked - 1].ask.question
    with Page(browser, pages / "failover.html", color_scheme="light") as page:
        said = page.page.locator("#said[role=status]")
        for keys in (("PageDown", "PageUp"), (" ", "ArrowLeft")):
            page.press(keys[0])
            assert said.text_content() == f"Step 2 of {len(steps)}. {steps[1].say}"
            page.press(keys[1])
            assert page.text("#place").startswith("1 /")
        page.press("n")
        assert said.text_content() == f"Step {asked} of {len(steps)}. {question}"
        page.press("t")
        assert page.page.evaluate("document.documentElement.style.colorScheme") == "dark"
        page.press("1", " ")
        place = page.text("#place")
        assert page.page.locator(".choices .is-right").count() == 1
        assert place.startswith(f"{asked} /")  # the first press has told the answer
        page.press("f")
        wait_until(page.page, "document.fullscreenElement !== null")


def test_page_plays_steps_up_to_a_question(browser, pages):
    asked = next(n for n, step in enumerate(made("find-offset").steps, start=1) if step.ask)
    with Page(browser, pages / "find-offset.html", alone=True) as page:
        page.page.clock.install()
        page.press("p")
        page.page.clock.run_for(60_000)
        assert page.text("#place").startswith(f"{asked} /")
        assert page.text("#play") == "▶"


@pytest.mark.parametrize(("name", "number"), [("edges", 2), ("range", 2)])
def test_page_takes_an_answer_from_the_picture_and_sums_up(browser, pages, name, number):
    ask, end = made(name).steps[number - 1].ask, len(made(name).steps)
    right = next(choice for choice in ask.choices if choice.is_right)
    with Page(browser, pages / f"{name}.html", f"#step/{number}") as page:
        assert page.text(".hint") == "or choose in the picture"
        wrong = page.page.locator(f".before [data-answer]:not([data-answer='{right.answer}'])")
        wrong.first.click()
        assert page.text(".verdict").startswith("Not ")
        assert page.page.locator(".choices:visible .is-wrong").count() == 1
        page.page.locator(f".before [data-answer='{right.answer}']").first.click()
        assert page.text(".verdict").startswith(f"Right {right.answer}")
        red = page.page.evaluate(RED)
        assert red == []
        page.press("End", "a")
        told = page.text(".summary")
        assert "not at once: step 2" in told
        assert (f"shown: step {end}" in told) == (made(name).steps[-1].ask is not None)
        assert "open: step 3" in told
        assert "not" in page.page.locator("#dots .dot").first.get_attribute("class")
        assert page.text("#place") == f"{end} / {end}"


# The text in the colour of damage.
RED = """() => {
  const one = document.body.appendChild(document.createElement("i"));
  one.style.color = "var(--wrong)";
  const red = getComputedStyle(one).color;
  one.remove();
  return [...document.querySelectorAll("body *")].filter(
    (it) => it.checkVisibility() && getComputedStyle(it).color === red).map((it) => it.outerHTML);
}"""


def test_page_folds_runs_of_bytes_and_keeps_entries_whole_on_a_phone(browser, pages):
    number = len(made("sparse-index").steps)
    phone = {"width": 390, "height": 844}
    with Page(browser, pages / "sparse-index.html", f"#step/{number}", viewport=phone) as page:
        assert "212 more 0x2e" in page.text("#bytes .f-value")
        entries = page.page.locator("#bytes .entry").all()
        assert entries
        for entry in entries:
            first, second = (field.bounding_box() for field in entry.locator(".field").all())
            assert first["y"] == second["y"]
        byte = page.page.locator("#bytes .f-value .byte").first
        assert byte.get_attribute("data-text") == "o"


def test_list_of_pages_leads_to_each_and_back(browser, pages):
    with Page(browser, pages / INDEX_PAGE) as page:
        for name in NAMES:
            page.page.get_by_role("link", name=name, exact=True).click()
            assert page.text("h1") == made(name).title
            page.page.get_by_role("link", name="all step-throughs").click()
            assert page.text("h1") == "Step-throughs"
        assert page.complaints == []


def test_list_of_pages_breaks_no_option(browser, tmp_path):
    listed = [Listed(one, "Words", scene_command(one).takes, made(one)) for one in NAMES]
    (tmp_path / INDEX_PAGE).write_text(render_index(listed))
    with Page(browser, tmp_path / INDEX_PAGE, viewport={"width": 1280, "height": 800}) as page:
        heights = page.page.locator(".option").evaluate_all(
            "all => all.map((one) => one.offsetHeight)"
        )
        assert len(heights) > len(NAMES)
        assert len(set(heights)) == 1
        assert "[FILE] [--at BYTE] [--dialect [documented|kafka]]" in page.text("main")


def test_name_of_a_file_is_whole_however_large_its_bytes_are(browser, pages):
    for width, height in PROJECTORS:
        viewport = {"width": width, "height": height}
        with Page(browser, pages / "find-offset.html", viewport=viewport) as page:
            page.page.evaluate("location.hash = '#step/8'")
            page.page.wait_for_selector("section.current[id='step/8']")
            heading, byte = page.page.locator("#bytes h3"), page.page.locator("#bytes .byte").first
            size = "each => parseFloat(getComputedStyle(each).fontSize)"
            assert heading.bounding_box()["height"] < 4.2 * heading.evaluate(size)  # two lines
            assert heading.evaluate(size) < byte.evaluate(size)
            tops = "all => new Set(all.map((each) => each.offsetTop)).size"
            assert page.page.locator("#bytes .entry .byte").evaluate_all(tops) == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_page_without_scripts_shows_every_step(browser, pages, name):
    document = made(name)
    with Page(browser, pages / f"{name}.html", java_script_enabled=False) as page:
        said = page.page.locator(".say:visible").all_inner_texts()
        assert [" ".join(one.split()) for one in said] == [
            " ".join(step.say.split()) for step in document.steps
        ]
        asked = page.page.locator(".ask > p:visible").count()
        assert asked == sum(step.ask is not None for step in document.steps)
        assert page.page.locator(".focus:visible").count() == sum(
            len(step.focus) for step in document.steps
        )
        assert not page.page.locator("nav.bar:visible").count()


def test_page_on_paper_has_every_step_and_the_reasons_of_answers(browser, pages):
    document = made("murmur2")
    with Page(browser, pages / "murmur2.html") as page:
        page.page.emulate_media(media="print")
        assert page.page.locator(".say:visible").count() == len(document.steps)
        assert not page.page.locator("nav.bar:visible, .quiz:visible").count()
        asked = " ".join(page.page.locator(".on-paper:visible").last.inner_text().split())
        told = page.text(".answers")
        for choice in document.steps[-1].ask.choices:
            assert choice.answer in asked
            assert " ".join(choice.why.split()) not in asked
            assert " ".join(choice.why.split()) in told
        asking = page.page.locator(".step:has(.ask)")
        assert asking.count() == sum(step.ask is not None for step in document.steps)
        assert not asking.locator(":is(.say, .picture, .rest):visible").count()
        assert page.page.locator(".answers .picture:visible").count() == asking.count()
        last = page.page.locator(".answers .say").last.inner_text()
        assert " ".join(last.split()) == " ".join(document.steps[-1].say.split())


def test_page_on_paper_is_a_short_handout(browser, pages):
    with Page(browser, pages / "find-offset.html") as page:
        printed = page.page.pdf(format="A4")
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 5
        page.page.emulate_media(media="print")
        drawn = page.page.locator(".step:visible", has=page.page.locator(".picture:visible"))
        assert (
            drawn.count() == len(made("find-offset").steps) - 15
        )  # 5 questions, and 10 probes that are like their neighbours


# Remembers each motion: the key of what moves, from where, in how many milliseconds.
MOTIONS = """
window.motions = [];
const animate = Element.prototype.animate;
Element.prototype.animate = function (frames, duration) {
  window.motions.push([this.dataset.key || this.dataset.start, frames[0], duration]);
  return animate.call(this, frames, duration);
};
0"""


@pytest.mark.parametrize("wish", ["no-preference", "reduce"])
def test_page_moves_bars_from_where_they_stood_unless_asked_not_to(browser, pages, wish):
    with Page(browser, pages / "find-offset.html", reduced_motion=wish) as page:
        page.page.evaluate("location.hash = '#step/7'")
        page.page.wait_for_selector("section.current[id='step/7']")
        page.page.evaluate(MOTIONS)
        page.press("ArrowRight")
        motions = {key: (frame, time) for key, frame, time in page.page.evaluate("motions")}
        if wish == "reduce":
            assert motions == {}
            return
        assert {time for _, time in motions.values()} == {200}
        frame, _ = motions["left of entries"]  # half as many: it was twice as wide
        assert frame["transform"].startswith("translate(0px, 0px) scaleX(2")


def test_page_lights_what_shows_the_same_in_picture_bytes_and_table(browser, pages):
    with Page(browser, pages / "find-offset.html", "#step/12") as page:
        bar = page.page.locator("section.current .bar.f-here")
        field = page.page.locator(".field.in-focus").first
        row = page.page.locator("section.current tr.marked")
        three = [bar, field, row]
        for chosen in (bar, field.locator(".byte").first, row):
            chosen.hover()
            assert all("lit" in (one.get_attribute("class") or "") for one in three), chosen
            page.page.mouse.move(0, 0)
        page.press("b")
        assert all("lit" in (one.get_attribute("class") or "") for one in three)


def test_page_policy_forbids_what_hostile_text_could_do(browser, tmp_path):
    document = hostile()
    path = tmp_path / "hostile.html"
    path.write_text(
        render_page(document).replace("</main>", "<script>document.title='x'</script></main>")
    )
    with Page(browser, path) as page:
        assert page.page.title() == printable(document.title)
        assert any("Content Security Policy" in said for said in page.complaints)


def hostile() -> Document:
    """A document whose every text is hostile."""
    from kminilog.explain.document import ByteRange, Field, Table
    from kminilog.explain.recording import Recording, ask

    bad = "</script><script>document.title='y'</script>\x1b[2J\u202e&<b>\"'"
    recording = Recording("hostile", bad)
    recording.file(bad, b"ab", [Field(bad, 0, 2, bad, "value", bad)])
    question = ask(bad, "a" + bad, bad, {"b" + bad: bad, "c": bad})
    recording.step(
        bad,
        ask=question,
        focus=[ByteRange(bad, 0, 2)],
        values={bad: bad},
        tables=[Table(bad, (bad,), ((bad,),))],
    )
    return recording.document()


def test_page_shows_hostile_text_as_text(browser, tmp_path):
    path = tmp_path / "hostile.html"
    path.write_text(render_page(hostile()))
    with Page(browser, path) as page:
        page.page.locator(".choices button").first.click()
        page.page.locator(".byte").first.hover()
        assert "<script>" in page.text("h1")
        assert page.page.locator("b, main script").count() == 0
        assert "\u202e" not in page.page.evaluate("document.body.innerText")
        assert page.complaints == []
