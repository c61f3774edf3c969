"""A real Chromium without a screen, driven by Playwright; tests say so where there is none."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


# For each visible text: the contrast (WCAG 2) of its colour and the first background below it.
LOW_CONTRAST = """() => {
  const parse = (text) => (text.match(/[0-9.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((one) => {
      const c = one / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = parse(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  // Of text in a picture: its fill, and that of the rectangle that it stands in.
  const drawn = (element) => {
    const back = behind(element);
    const box = element.parentElement.querySelector(":scope > rect");
    const style = box && element.textContent && getComputedStyle(box);
    if (!style || style.fill === "none" || element.previousElementSibling !== box) return back;
    const share = Number(style.opacity) * Number(style.fillOpacity);
    return parse(style.fill).slice(0, 3).map((one, n) => one * share + back[n] * (1 - share));
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    const isText = own && element.checkVisibility();
    if (!isText || element.closest("script,style,title,:disabled")) continue;
    const style = getComputedStyle(element);
    const isDrawn = element.matches("svg text");
    const [a, b] = [light(parse(isDrawn ? style.fill : style.color)),
      light(isDrawn ? drawn(element) : behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push([element.outerHTML.slice(0, 80), ratio]);
  }
  return found;
}"""


def chromium_path() -> str:
    """Return where Chromium is; skip the test, and say what was not tested, if it is nowhere."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("NOT TESTED in a browser: there is no Chromium on this machine")
    return found


@contextmanager
def started_browser() -> Iterator[Any]:
    """Yield a browser; its pages are closed with it."""
    path = chromium_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_OPTIONS), timeout=0)
        try:
            yield browser
        finally:
            browser.close()


def wait_until(frame: Any, is_so: str) -> None:
    """Wait until an expression is true in a page or a frame.

    Playwright's own waiting calls `eval` inside the page, which the policy of our pages forbids.
    """
    while not frame.evaluate(is_so):
        frame.wait_for_timeout(20)


def new_context(browser: Any, **options: Any) -> Any:
    """Return a context of its own, in which nothing fails because it takes long: pytest ends what
    hangs."""
    context = browser.new_context(**options)
    context.set_default_timeout(0)
    return context


@cache
def _window(browser: Any, *, has_scripts: bool) -> Any:
    """Return the window of all such pages: a process for each costs more than most tests do."""
    return new_context(browser, java_script_enabled=has_scripts).new_page()


class Page:
    """One page from a file, and all that it complained of or asked for.

    Pages follow each other in one window, and find it as if it were new. With `alone` a page has a
    window of its own: what it does to the window cannot be undone.
    """

    def __init__(
        self,
        browser: Any,
        path: Path,
        fragment: str = "",
        *,
        viewport: dict[str, int] | None = None,
        color_scheme: str = "light",
        reduced_motion: str = "no-preference",
        java_script_enabled: bool = True,
        alone: bool = False,
    ) -> None:
        self._has_scripts = java_script_enabled
        self._is_alone = alone
        if alone:
            self.page = new_context(browser, java_script_enabled=java_script_enabled).new_page()
        else:
            self.page = _window(browser, has_scripts=java_script_enabled)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._listeners = {
            "console": lambda message: self.complaints.append(message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "request": lambda request: self.requests.append(request.url),
        }
        for event, listener in self._listeners.items():
            self.page.on(event, listener)
        self.page.set_viewport_size(viewport or {"width": 1280, "height": 720})
        self.page.emulate_media(
            media="screen", color_scheme=color_scheme, reduced_motion=reduced_motion
        )
        self.page.goto(path.as_uri() + fragment)

    def __enter__(self) -> "Page":
        return self

    def __exit__(self, *error: object) -> None:
        if any(error):
            _window.cache_clear()  # a test that fails leaves nothing to its neighbours
        if any(error) or self._is_alone:
            self.page.context.close()
            return
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        if self._has_scripts:
            self.page.evaluate("localStorage.clear(), sessionStorage.clear()")
        self.page.mouse.move(0, 0)
        self.page.goto("about:blank")  # from a page to a fragment of it would load nothing

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def text(self, selector: str) -> str:
        """Return the text of the first visible element, white space made one space."""
        found = self.page.locator(f"{selector}:visible").first
        return " ".join(found.inner_text().split())

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(self.page.evaluate(wide))
