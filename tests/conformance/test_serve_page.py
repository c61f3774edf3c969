"""docs/serve.md with the real clients: kcat, and each program of the page as it stands there."""

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

from tests.docs.test_serve_page import PAGE, PORT, WATCHED, run_page
from tests.support.conformance.wheel_oracles import (
    LIBRDKAFKA,
    PYTHON_CLIENTS,
    OracleAbsentError,
    installed,
    java_client_jars,
    keep,
    oracles,
    require,
    run_java,
    run_python,
)

pytestmark = pytest.mark.conformance

KAFKAJS = "kafkajs@2.2.4"
PROGRAMS = re.findall(r"^```(python|javascript|java)\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
OF_PYTHON, OF_OTHERS = "0 0 b'alice' b'apple'\n", "0 0 alice apple\n"


def kcat() -> str:
    """Return where kcat is."""
    found = shutil.which("kcat")
    if found is None:
        raise OracleAbsentError("it is not installed; on Debian `apt-get install kcat`")
    return found


def kafkajs() -> Path:
    """Return a folder whose node_modules has kafkajs."""
    directory = oracles() / KAFKAJS.replace("@", "-")
    npm = shutil.which("npm")
    if npm is None:
        raise OracleAbsentError("there is no npm to fetch it with")
    if not directory.exists():
        with tempfile.TemporaryDirectory(dir=oracles()) as temporary:
            packed = subprocess.run(
                [npm, "pack", KAFKAJS], cwd=temporary, capture_output=True, check=False
            )
            if packed.returncode:
                raise OracleAbsentError(f"npm pack {KAFKAJS} failed")
            (archive,) = Path(temporary).glob("*.tgz")
            found = Path(temporary) / "found"
            with tarfile.open(archive) as members:
                members.extractall(found / "node_modules", filter="data")
            (found / "node_modules" / "package").rename(found / "node_modules" / "kafkajs")
            keep(found, directory)
    return directory


# kcat sends as one batch what comes within 5 ms. A busy machine may split what the page shows so.
PATIENT = """kcat() {
  case $1 in -P) shift; command kcat -P -X linger.ms=1000 "$@";; *) command kcat "$@";; esac
}
"""


def run_node(program: Path, path: Path) -> str:
    done = subprocess.run(
        ["node", program],
        env={**os.environ, "NODE_PATH": str(path / "node_modules")},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_serve_page_with_kcat_and_each_program(tmp_path: Path) -> None:
    require("kcat", kcat)
    confluent = require("confluent-kafka", lambda: installed(LIBRDKAFKA))
    python = require("kafka-python", lambda: installed(*PYTHON_CLIENTS["kafka"], alone=False))
    node = require("kafkajs", kafkajs)
    require("Kafka's Java client", java_client_jars)
    printed = []

    def run_programs(port: str) -> None:
        for number, (kind, source) in enumerate(PROGRAMS):
            path = tmp_path / ("Fruit.java" if kind == "java" else f"program_{number}")
            path.write_text(source.replace(PORT, port))
            if kind == "java":
                printed.append(run_java(path, ""))
            elif kind == "javascript":
                printed.append(run_node(path, node))
            else:
                library = confluent if "confluent" in source else python
                printed.append(run_python(path, path=library))

    said = run_page(tmp_path, PATIENT, run_programs)
    assert printed == [OF_PYTHON, OF_PYTHON, OF_OTHERS, OF_OTHERS]
    assert f"```text\n{OF_PYTHON}```" in PAGE
    assert f"```text\n{OF_OTHERS}```" in PAGE
    words = [re.sub(r" {2,}\d+ {2,}", "  ", line) for line in said.splitlines()]
    shown = [re.sub(r" {2,}\d+ {2,}", "  ", line) for line in WATCHED]
    assert [line for line in shown if line not in words] == [], said
    assert re.search(r"kminilog: \d+ records had timestamps, which were not stored", said)
