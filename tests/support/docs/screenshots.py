"""docs/pictures/page-report.png, from a browser: `python -m tests.support.docs.screenshots`."""

import os
import tempfile
from pathlib import Path

from click.testing import CliRunner

from kminilog.cli.main import main
from tests.support.browser import Page, started_browser
from tests.support.damage import flip_byte

PICTURE = Path(__file__).parents[3] / "docs" / "pictures" / "page-report.png"
# Where the picture was taken is nobody's business.
FORGET = "text => { document.body.innerHTML = document.body.innerHTML.replaceAll(text, '~/shop') }"


def run(command: str) -> None:
    """Run a command of kminilog; findings are no failure."""
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code < 2, result.output


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, started_browser() as browser:
        os.chdir(folder)
        lines = (f"{name}:order {number}\n" for number in range(30) for name in ("alice", "bob"))
        Path("orders.txt").write_text("".join(lines))
        run("topic create orders --partitions 2 --config segment.bytes=1000")
        run("produce orders orders.txt --key-separator :")
        flip_byte(Path("kminilog-data", "orders-0", "00000000000000000000.log"), 30, mask=1)
        run("verify orders --report report.html")
        size = {"width": 1280, "height": 1120}
        with Page(browser, Path(folder, "report.html"), viewport=size) as page:
            page.page.evaluate(FORGET, folder)
            page.page.screenshot(path=PICTURE)
