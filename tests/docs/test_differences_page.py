"""Each row of docs/differences.md names a test that proves it; the test must be there."""

import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "differences.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "| test |" not in line]

EASILY_PASSED_OVER = [
    "log line for each choice of a partition",
    "copies of a partition",
    "more brokers",
    "placing by the time of a record",
    "`round-robin` and load",
    "arguments of `partition`",
    "counter of `round-robin`",
    "what names a segment",
    "old naming",
    "which message has offset 368772",
    "who answers for the metadata",
    "`multiple`: names in the example",
    "unit of waits for memory",
    "partition named by the record",
    "who shares the partitions",
]


def names_a_test(row: str) -> bool:
    named = re.search(r"`(tests/[a-z0-9_/]+\.py)::(test_[a-z0-9_]+)` \|$", row)
    path = PROJECT / named[1] if named else None
    return bool(named and path and path.exists() and f"def {named[2]}(" in path.read_text())


def test_last_cell_of_each_row_names_a_test_that_exists():
    assert [row for row in ROWS if not names_a_test(row)] == []
    assert not names_a_test(ROWS[0].replace("::test_", "::test_no_"))


def test_differences_page_has_rows():
    assert len(ROWS) > 25


def test_differences_page_has_a_row_for_what_is_easily_passed_over():
    for what in EASILY_PASSED_OVER:
        assert [row for row in ROWS if row.startswith(f"| {what} |")], what
