"""What a notebook shows: it asks an object for `_repr_html_`, without any setup."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from kminilog import LogDir, LogDirWriter, Topic, TopicPartition
from kminilog.course.steps import murmur2
from kminilog.course.steps.page import render_page
from kminilog.storage.notebook import MAX_ROWS
from kminilog.verification.report import verify_storage
from tests.support.browser import started_browser

HOSTILE = "<script>document.title='y'</script>&\x1b\u202e\""
ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def log_dir(tmp_path: Path) -> LogDir:
    """Two partitions, one with two messages, in a directory with a hostile name."""
    path = tmp_path / HOSTILE.replace("/", "_")
    path.mkdir()
    with LogDirWriter.open(path) as writer:
        writer.create_topic(Topic("orders", partitions=2))
        writer.log(ORDERS).append([(b"k", b"one"), (b"k", b"two")])
    return LogDir(path)


def shown(thing: Any) -> str:
    """Return what a notebook gets, which has no hostile text."""
    found: str = thing._repr_html_()
    assert "<script" not in found
    assert not re.search("[\x1b\u202e]", found)
    return found


def cells(table: str) -> list[list[str]]:
    tree = ElementTree.fromstring(f"<div>{table}</div>")
    return [["".join(cell.itertext()) for cell in row] for row in tree.findall("table/tr")]


def test_log_dir_is_a_table_of_its_partitions(log_dir):
    rows = cells(shown(log_dir))
    assert rows[0] == ["partition", "segments", "first offset", "next offset", "bytes"]
    size = str(next(log_dir.directory(ORDERS).glob("*.log")).stat().st_size)
    assert rows[1:] == [["orders-0", "1", "0", "2", size], ["orders-1", "1", "0", "0", "0"]]


def test_log_dir_says_which_topic_and_which_partition_cannot_be_read(log_dir):
    (log_dir.path / "bad.json").write_text("<b>")
    for file in log_dir.directory(ORDERS).iterdir():
        file.unlink()
    log_dir.directory(ORDERS).rmdir()
    table = shown(log_dir)
    assert "bad.json" in table
    assert cells(table)[1][0] == "orders-0"
    assert "no such partition directory" in cells(table)[1][1]
    assert cells(table)[2][0] == "orders-1"


def test_log_dir_with_many_partitions_shows_the_first_ones(log_dir):
    with LogDirWriter.open(log_dir.path) as writer:
        writer.create_topic(Topic("many", partitions=MAX_ROWS + 5))
    table = shown(log_dir)
    assert len(cells(table)) == 1 + MAX_ROWS
    assert "and 7 more" in table


def test_segment_is_a_table(log_dir):
    (segment,) = log_dir.reader(ORDERS).segments()
    size = str(segment.file_bytes)
    assert cells(shown(segment))[1] == [segment.name, "0", "2", size, str(len(segment.index))]
    segment.log_path.unlink()
    assert "No such file" in cells(shown(segment))[1][1]


def page_in(frame: str) -> str:
    """Return the page in a frame."""
    found = re.search("srcdoc='([^']*)'", frame)
    assert found
    return unescape(found[1])


def test_report_and_step_through_are_their_pages_in_a_frame(log_dir):
    report = verify_storage(log_dir)
    assert page_in(shown(report)) == report.to_html()
    document = murmur2.document(HOSTILE.encode())
    assert page_in(shown(document)) == render_page(document)


@pytest.mark.xdist_group("browser")
def test_step_through_in_a_frame_is_stepped_by_its_buttons(tmp_path):
    document = murmur2.document()
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!DOCTYPE html><title>x</title>{document._repr_html_()}")
    with started_browser() as browser:
        page = browser.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(cell.as_uri())
        frame = page.frame_locator("iframe")
        frame.locator("#next").click()
        frame.locator("#next").click()
        assert frame.locator("#place").inner_text() == f"3 / {len(document.steps)}"
        assert frame.locator(".say:visible").inner_text() == document.steps[2].say
        assert said == []


def test_objects_show_themselves_before_anything_about_notebooks_is_imported():
    program = (
        "import sys; from kminilog import LogDir, LogDirWriter\n"
        "from kminilog.course.steps.murmur2 import document\n"
        "from kminilog.storage.segment import Segment\n"
        "print(all(hasattr(one, '_repr_html_') for one in (LogDir, Segment, document())))\n"
        "print('jinja2' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert run.stdout.split() == ["True", "False"]
