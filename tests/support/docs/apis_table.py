"""The table of APIs in docs/serve.md: `python -m tests.support.docs.apis_table`."""

from pathlib import Path

from kminilog.wire.schemas import APIS

PAGE = Path(__file__).parents[3] / "docs" / "serve.md"
HEAD = "| API | key | versions |\n|---|---|---|\n"


def page() -> str:
    """Return the page with the table that the schemas give."""
    before, after = PAGE.read_text().split(HEAD)
    apis = sorted(APIS.values(), key=lambda each: each.key)
    rows = (f"| {api.name} | {api.key} | {api.oldest} to {api.newest} |\n" for api in apis)
    return before + HEAD + "".join(rows) + after[after.index("\n## ") :]


if __name__ == "__main__":
    PAGE.write_text(page())
