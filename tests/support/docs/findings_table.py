"""The tables of classes in two pages: `python -m tests.support.docs.findings_table`."""

from pathlib import Path

from kminilog.verification.broker_files.faults import BrokerFault
from kminilog.verification.findings import FindingClass, FindingKind

_DOCS = Path(__file__).parents[3] / "docs"
PAGES: dict[Path, type[FindingKind]] = {
    _DOCS / "verification.md": FindingClass,
    _DOCS / "broker-files.md": BrokerFault,
}
HEAD = """| class | severity | meaning | what to do, or what it leads to | checked as |
|---|---|---|---|---|
"""


def page(path: Path) -> str:
    """Return a page with the table that its classes give."""
    before, after = path.read_text().split(HEAD)
    rows = (
        f"| `{kind}` | {kind.severity} | {kind.meaning} | {kind.advice} | `{kind.aspect}` |\n"
        for kind in PAGES[path]
    )
    return before + HEAD + "".join(rows) + after[after.index("\n\n") + 1 :]


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page(path))
