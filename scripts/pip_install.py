"""pip_install.py [--every SECONDS] ARGUMENT...: `pip install ARGUMENT...`, and how far it is.

On a terminal this is one line that moves, elsewhere a line every ten seconds. What pip itself says
is shown only if it fails. The exit code is pip's.
"""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

FETCHED = re.compile(
    r" *(?:Downloading|Using cached) (\S+?)(?:\.tar\.gz|\.zip|-py\S*|-cp\S*)?( \(.*\))"
)


class Pip:
    """What pip has said, and what that tells about how far it is."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.found_count = self.fetched_count = self.placed_count = 0
        self.step = "asking which packages it needs"

    def hear(self, line: str) -> None:
        """Take a line of pip."""
        self.said.append(line)
        if line.startswith("Collecting "):
            self.found_count += 1
            self.step = f"{self.found_count} packages found"
        elif (fetched := FETCHED.match(line)) and ".metadata" not in line:
            self.fetched_count += 1
            number = f"package {self.fetched_count} of {max(self.found_count, self.fetched_count)}"
            self.step = f"{number}, {fetched[1]}{fetched[2]}"
        elif built := re.match(r" *Building \S+ for ([^ :]+)", line):
            self.step = f"building {built[1]}"
        elif line.startswith("Installing collected packages: "):
            self.placed_count = line.count(",") + 1
            self.step = f"putting {self.placed_count} packages in place"


def main(arguments: Sequence[str]) -> int:
    """Run pip, show how far it is, and return its exit code."""
    is_moving = sys.stderr.isatty()
    every_seconds = 0.5 if is_moving else 10.0
    if arguments[:1] == ["--every"]:
        every_seconds, arguments = float(arguments[1]), arguments[2:]
    pip, began_seconds = Pip(), time.monotonic()
    quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pip", "install", *quiet, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        text=True,
        errors="replace",
    )
    hearing = threading.Thread(target=lambda: [pip.hear(line) for line in process.stdout or ()])
    hearing.start()
    while hearing.join(every_seconds) or hearing.is_alive():
        line = f"  {pip.step} … {time.monotonic() - began_seconds:.0f} s"
        tell(f"\r{line[:79]}\x1b[K" if is_moving else f"{line}\n")
    tell("\r\x1b[K" if is_moving else "")
    if process.wait():
        tell("".join(pip.said))
    else:
        seconds = time.monotonic() - began_seconds
        tell(f"Installed: {pip.placed_count} packages in {seconds:.0f} s\n")
    return process.returncode


def tell(text: str) -> None:
    """Write to stderr: stdout belongs to the command that comes after."""
    sys.stderr.write(text)
    sys.stderr.flush()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        tell("\n")
        os._exit(130)  # pip has got the same Ctrl-C
