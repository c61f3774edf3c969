"""docs/architecture.md lists the seams: each function is on the path of the command beside it.

Each is replaced by one that counts in a fresh process, before anything that uses it is imported;
then the command runs, in a directory with the two topics that its row may use. All functions of one
command are replaced in one process.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.message import decode, encode
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from tests.support.verification.job_logs import Step, write_job_log

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).parents[1]
ROW = re.compile(r"^\| (.+) \| `([a-z0-9_.]+(?:\.[A-Z]\w+)?\.\w+)` \| `kminilog (.+)` \|$", re.M)
SECTION = re.compile(r"^## Seams$(.*?)^## ", re.M | re.S)
SETTINGS = TopicSettings(segment_bytes=200, index_interval_bytes=60)
LINES = "".join(f"k{number % 3}:value {number}\n" for number in range(20))


class Seam(NamedTuple):
    decision: str
    function: str
    command: str


def read_seams() -> list[Seam]:
    (section,) = SECTION.findall((PROJECT / "docs" / "architecture.md").read_text())
    seams = [Seam(*row) for row in ROW.findall(section)]
    assert len(seams) == section.count("\n| ") - 1, "a row of the table is not read"
    return seams


SEAMS = read_seams()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Path:
    """A directory with lines.txt and the default log dir: `orders`, documented, as a job wrote it,
    and `views`, in Kafka's dialect; three partitions each, of several segments. The last segment of
    orders-0 has a torn tail and no index; the first message of orders-2 has a key of orders-1.
    """
    path = tmp_path_factory.mktemp("seams")
    log_dir = path / "kminilog-data"
    (path / "lines.txt").write_text(LINES)
    records = [(b"k%d" % (number % 7), b"value %d" % number) for number in range(90)]
    job = Step("sorted", records, "job-1")
    write_job_log(log_dir, DOCUMENTED, [job], partitions=3, settings=SETTINGS)
    with LogDirWriter.open(log_dir) as writer:
        topic = Topic("views", 3, KAFKA, SETTINGS)
        writer.create_topic(topic)
        for topic_partition in topic.all_partitions():
            writer.log(topic_partition).append(records[:30])
    last = max((log_dir / "orders-0").glob("*.log"))
    last.write_bytes(last.read_bytes() + bytes(5))
    last.with_suffix(".index").unlink()
    first, other = (min((log_dir / f"orders-{number}").glob("*.log")) for number in (2, 1))
    data, key = first.read_bytes(), decode(DOCUMENTED, other.read_bytes()).key
    message = decode(DOCUMENTED, data)
    misplaced = encode(DOCUMENTED, message.offset, key, message.value)
    first.write_bytes(misplaced + data[len(misplaced) :])
    (log_dir / ".clean-shutdown").unlink()
    return path


def calls(functions: list[str], command: str, directory: Path) -> dict[str, int]:
    """Return how often a command calls some functions, without those that it never calls."""
    arguments = ["-m", "tests.support.count_calls", ",".join(functions), *shlex.split(command)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=directory, env=environment, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr  # 1: it ran, and the answer is no
    counts: dict[str, int] = json.loads(done.stderr.splitlines()[-1])
    return counts


def marked(command: str) -> Any:
    return pytest.param(command, marks=pytest.mark.spark if "--against" in command else ())


@pytest.mark.parametrize(
    "command", [marked(each) for each in sorted({seam.command for seam in SEAMS})]
)
def test_command_calls_the_functions_that_stand_beside_it(command, prepared, tmp_path):
    directory = shutil.copytree(prepared, tmp_path / "copy")
    functions = [seam.function for seam in SEAMS if seam.command == command]
    assert set(functions) - calls(functions, command, directory).keys() == set()


def test_function_that_a_command_does_not_call_is_seen(prepared):
    functions = ["format.hashing.murmur2", "format.java_hashing.java_string_hash"]
    counts = calls(functions, "partition --key 21 --partitions 3", prepared)
    assert counts.keys() == {"format.hashing.murmur2"}
