"""All measurements, or those that are named: `python -m bench [--page] [SECTION]...`.

Ratios in one run, medians of several rounds: absolute times are only good for this machine and this
run. With `--page` what they print goes into docs/benchmarks.md too, each in place of what stands
there for its section.
"""

import io
import platform
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.metadata import version
from pathlib import Path

from bench import (
    bulk,
    checking_labs,
    comparing,
    ingesting,
    ingesting_formats,
    looking_up,
    opening,
    partitioning,
    partitions,
    producing,
    reading,
    scaling,
    sending,
    serving,
    storing,
    verifying,
    verifying_sources,
    verifying_today,
)

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
SECTIONS: dict[str, Callable[[], None]] = {
    "machine": lambda: print(machine()),
    "storing": storing.measure,
    "looking_up": looking_up.measure,
    "opening": opening.measure,
    "bulk": bulk.measure,
    "partitioning": partitioning.measure,
    "sending": sending.measure,
    "producing": producing.measure,
    "serving": serving.measure,
    "ingesting": ingesting.measure,
    "ingesting_formats": ingesting_formats.measure,
    "scaling": scaling.measure,
    "partitions": partitions.measure,
    "reading": reading.measure,
    "verifying": verifying.measure,
    "verifying_sources": verifying_sources.measure,
    "verifying_today": verifying_today.measure,
    "comparing": comparing.measure,
    "checking_labs": checking_labs.measure,
}


def machine() -> str:
    """Say where this runs."""
    facts = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = re.findall(r"model name\s*: (.*)", facts)
    found = f"{len(names)} x {names[0]}" if names else platform.processor()
    packages = ("numpy", "pyarrow", "isal", "pyspark")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"{found}, {platform.system()}\nPython {platform.python_version()}, {versions}"


class Tee(io.StringIO):
    """Keeps what is printed, and prints it."""

    def write(self, text: str) -> int:
        print(text, end="", file=sys.__stdout__, flush=True)
        return super().write(text)


def put_on_page(section: str, text: str) -> None:
    block = f"% {section}\n\n```text\n{text.strip()}\n```\n"
    pattern = rf"% {section}\n\n```text\n.*?```\n"
    page, places = re.subn(pattern, lambda _: block, PAGE.read_text(), flags=re.DOTALL)
    assert places == 1, f"no place for {section} on {PAGE}"
    PAGE.write_text(page)


def main(words: list[str]) -> None:
    chosen = [word for word in words if word != "--page"] or list(SECTIONS)
    for section in chosen:
        with redirect_stdout(Tee()) as printed:
            SECTIONS[section]()
        if "--page" in words:
            put_on_page(section, printed.getvalue())


if __name__ == "__main__":
    main(sys.argv[1:])
