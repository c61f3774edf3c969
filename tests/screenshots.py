"""`python -m tests.screenshots`: take docs/pictures/page-*.png anew, in a real browser."""

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
    ("record", "step record --html {page}", "dark", "#step/3", "a"),
    ("range", "step range --html {page}", "light", "#step/15", "a"),
    ("report", "--log-dir {log} verify orders --report {page}", "light", "", ""),
)


def run(command: str) -> None:
    """Run a command of kminilog; findings are no failure."""
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code < 2, result.output


def damaged_log(folder: Path) -> Path:
    """Return a log dir with a topic `orders`, in which one bit of a value has changed."""
    lines = folder / "orders.txt"
    lines.write_text("".join(f"{name}:order {n}\n" for n in range(40) for name in ("ann", "bob")))
    log = folder / "kminilog-data"
    run(f"--log-dir {log} topic create orders --partitions 2 --config segment.bytes=1000")
    run(f"--log-dir {log} produce orders {lines} --key-separator :")
    flip_byte(log / "orders-0" / "00000000000000000000.log", 100, mask=1)
    return log


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, started_browser() as browser:
        log = damaged_log(Path(folder))
        for name, command, theme, fragment, keys in SHOTS:
            path = Path(folder, f"{name}.html")
            run(command.format(page=path, log=log))
            options = {"viewport": SIZE, "color_scheme": theme, "reduced_motion": "reduce"}
            with Page(browser, path, fragment, **options) as page:
                page.press(*keys)
                page.page.screenshot(path=FOLDER / f"page-{name}.png")
