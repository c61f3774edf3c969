"""The playground as a folder, and its worker in Node; tests say so where npm or Node is missing."""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main

PROJECT = Path(__file__).parents[3]
IS_REQUIRED = bool(os.environ.get("KMINILOG_REQUIRE_ORACLES"))


def absent(reason: str) -> None:
    """Skip the test, and say what was not tested; fail where nothing may be absent."""
    told = f"NOT TESTED in a browser's Python: {reason}"
    if IS_REQUIRED:
        pytest.fail(told)
    pytest.skip(told)


def runtime() -> Path:
    """Return the archive of the runtime, which npm fetches once."""
    if shutil.which("npm") is None:
        absent("there is no npm to fetch its runtime with")
    ran = subprocess.run(
        [PROJECT / "scripts" / "ensure-pyodide"], capture_output=True, text=True, check=False
    )
    if ran.returncode:
        absent(f"the runtime was not fetched: {ran.stderr.strip()[-200:]}")
    return PROJECT / ran.stdout.strip()


def write_site(directory: Path) -> Path:
    """Write the playground into a directory, and return it; older Nodes must hear of modules."""
    words = ["playground", "--dir", str(directory), "--zip", str(directory.with_suffix(".zip"))]
    words += ["--runtime", str(runtime())]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    directory.with_name("package.json").write_text('{"type": "module"}')
    return directory


class Host:
    """The worker of a site, in Node."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.kept: dict[str, Any] = {}  # what the page would keep: names of files, and a zip file

    def ask(self, call: str, *values: Any) -> Any:
        """Return what a function of machine.py returns."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"call": call, "values": values}, default=_base64))
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        self.kept = answer.get("kept") or self.kept
        assert "error" not in answer, answer["error"]
        return answer.get("result")

    def run(self, *words: str, given: str = "") -> dict[str, Any]:
        """Return what became of `kminilog WORDS`."""
        found: dict[str, Any] = self.ask("run", words, given)
        return found

    def check(self, lab: int, answers: str) -> list[dict[str, Any]]:
        """Return what the page's function of this name does."""
        found: list[dict[str, Any]] = json.loads(self.ask("check", lab, answers))["exercises"]
        return found


def _base64(data: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(data).decode()}


@contextmanager
def started_host(site: Path) -> Iterator[Host]:
    """Yield the worker of a site."""
    node = shutil.which("node")
    if node is None:
        absent("there is no Node")
    command = [str(node), str(Path(__file__).with_name("host.mjs")), str(site / "worker.js")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Host(process)
        assert process.stdin
        process.stdin.close()
