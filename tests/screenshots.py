"""`python -m tests.screenshots`: take docs/pictures/page-*.png anew, in a real browser."""

import os
import tempfile
from pathlib import Path

from click.testing import CliRunner

from kminilog.cli.main import main
from tests.browser import Page, started_browser
from tests.damage import flip_byte

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
SIZE = {"width": 1280, "height": 800}
# The picture, its command, the colours, a fragment, and keys to press.
SHOTS = (
    ("record", "step record --html {page}", "dark", "#step/3", "3"),
    ("range", "step range --html {page}", "light", "#step/15", "3"),
    ("report", "verify orders --report {page}", "light", "", ""),
)
# Where the pictures were taken is nobody's business.
FORGET = "text => { document.body.innerHTML = document.body.innerHTML.replaceAll(text, '~/shop') }"


def run(command: str) -> None:
    """Run a command of kminilog; findings are no failure."""
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code < 2, result.output


def make_damaged_log() -> None:
    """Make a log dir with a topic `orders`, in which one bit of a value has changed."""
    lines = (f"{name}:order {number}\n" for number in range(40) for name in ("ann", "bob"))
    Path("orders.txt").write_text("".join(lines))
    run("topic create orders --partitions 2 --config segment.bytes=1000")
    run("produce orders orders.txt --key-separator :")
    flip_byte(Path("kminilog-data", "orders-0", "00000000000000000000.log"), 30, mask=1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, started_browser() as browser:
        os.chdir(folder)
        make_damaged_log()
        for name, command, theme, fragment, keys in SHOTS:
            path = Path(folder, f"{name}.html")
            run(command.format(page=path.name))
            options = {"viewport": SIZE, "color_scheme": theme, "reduced_motion": "reduce"}
            with Page(browser, path, fragment, **options) as page:
                page.press(*keys)
                if not fragment:
                    page.page.evaluate(FORGET, folder)
                page.page.screenshot(path=FOLDER / f"page-{name}.png")
