"""The table of classes in docs/verification.md: `python -m tests.support.docs.findings_table`."""

from pathlib import Path

from kminilog.verification.findings import FindingClass

PAGE = Path(__file__).parents[3] / "docs" / "verification.md"
HEAD = """| class | severity | meaning | what to do, or what it leads to | checked as |
|---|---|---|---|---|
"""


def page() -> str:
    """Return the page with the table that the classes give."""
    before, after = PAGE.read_text().split(HEAD)
    rows = (
        f"| `{kind}` | {kind.severity} | {kind.meaning} | {kind.advice} | `{kind.aspect}` |\n"
        for kind in FindingClass
    )
    return before + HEAD + "".join(rows) + after[after.index("\n\n") + 1 :]


if __name__ == "__main__":
    PAGE.write_text(page())
