"""What a notebook shows: it asks an object for `_repr_html_`, without any setup."""

import re
import subprocess
import sys
from html import unescape

import pytest

from kminilog import LogDir, LogDirWriter, Topic, TopicPartition
from kminilog.explain import murmur2
from kminilog.explain.page import render_page
from kminilog.verification.report import verify_storage
from tests.support.browser import Page
from tests.support.notebooks import HOSTILE, shown


def page_in(frame: str) -> str:
    """Return the page in a frame."""
    found = re.search("srcdoc='([^']*)'", frame)
    assert found
    return unescape(found[1])


def test_report_and_step_through_are_their_pages_in_a_frame(tmp_path):
    path = tmp_path / HOSTILE.replace("/", "_")
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(Topic("orders", partitions=2))
        writer.log(TopicPartition("orders", 0)).append([(b"k", b"one"), (b"k", b"two")])
    report = verify_storage(LogDir(path))
    assert page_in(shown(report)) == report.to_html()
    document = murmur2.document(HOSTILE.encode())
    assert page_in(shown(document)) == render_page(document)


@pytest.mark.xdist_group("browser")
def test_step_through_in_a_frame_is_stepped_by_its_buttons(browser, tmp_path):
    document = murmur2.document()
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!DOCTYPE html><title>x</title>{document._repr_html_()}")
    with Page(browser, cell) as page:
        frame = page.page.frame_locator("iframe")
        frame.locator("#next").click()
        frame.locator("#next").click()
        assert frame.locator("#place").inner_text() == f"3 / {len(document.steps)}"
        assert frame.locator(".say:visible").inner_text() == document.steps[2].say
        assert page.complaints == []


@pytest.mark.processes
def test_objects_show_themselves_before_anything_about_notebooks_is_imported():
    program = (
        "import sys; from kminilog import LogDir, LogDirWriter\n"
        "from kminilog.explain.document import Document\n"
        "from kminilog.explain.murmur2 import document\n"
        "from kminilog.storage.segment.segment import Segment\n"
        "print(all(hasattr(one, '_repr_html_') for one in (LogDir, Segment, Document)))\n"
        "print('jinja2' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert run.stdout.split() == ["True", "False"]
