"""Each row of docs/differences.md names a test that proves it; the test must be there."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PAGE = (PROJECT / "docs" / "differences.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "| test |" not in line]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split(" | ")[0].strip("| "))
def test_differences_row_names_a_test_that_exists(row: str):
    named = re.search(r"`(tests/[a-z0-9_/]+\.py)::(test_[a-z0-9_]+)` \|$", row)
    assert named, "the last cell must name a test"
    assert f"def {named[2]}(" in (PROJECT / named[1]).read_text()


def test_differences_page_has_rows():
    assert len(ROWS) > 25
