"""Files and folders that the pages and the source text name are there.

A name is looked for in the project, in `kminilog/`, `docs/` and `labs/term/en/`, beside the file
that names it, and one folder up. A name without a folder may be that of any module: "see
offset_index.py".
"""

import re
import tomllib
from pathlib import Path

import pytest

from tests.docs.test_sources_page import anchors

PROJECT = Path(__file__).parents[2]
TOP = r"kminilog|docs|tests|labs|scripts|\.ci"
PACKAGES = "|".join(
    sorted(path.parent.name for path in (PROJECT / "kminilog").glob("*/__init__.py"))
)
# `tests/format/`, `storage/segment/segment.py`, `docs/*.md`, `CHANGELOG.md`, `segment.py`
NAMED = re.compile(
    rf"(?<![\w/.<>*-])((?:{TOP}|{PACKAGES})(?:/[\w.*-]+)+/?|[\w-]+(?:/[\w-]+)*\.(?:py|md))(?![\w/])"
)
# Examples of files that a reader writes, what commands and `make docs` make, and a file of PySpark.
OF_OTHERS = {
    "plan.md",
    "OUT/README.md",
    "favourite.py",
    "my_partitioner.py",
    "stamp.py",
    "vip.py",
    "answers.py",
    "docs/_build/html",
    "docs/_build/html/playground",
    "docs/_build/html/playground.zip",
    "pyspark/daemon.py",
}
EXAMPLE = "labs/12_entry/"  # a lab that docs/lecturers.md makes
READ = sorted(
    [
        *(PROJECT / "kminilog").rglob("*.py"),
        *(PROJECT / "docs").glob("*.md"),
        *PROJECT.glob("*.md"),
        *(PROJECT / "labs").glob("*.md"),
    ]
)
MODULES = {
    path.name for top in ("kminilog", "labs/01_message") for path in (PROJECT / top).rglob("*.py")
}


def missing_files(text: str, beside: Path) -> list[str]:
    """Return the names in `text` that look like a file of the project and are not one."""
    names = {name.rstrip(".") for name in NAMED.findall(text)} - OF_OTHERS
    folders = [PROJECT / name for name in ("kminilog", "docs", "labs/term/en")]
    homes = [PROJECT, *folders, beside, beside.parent]
    return sorted(
        name
        for name in names
        if name not in MODULES
        and EXAMPLE not in name
        and not any(any(home.glob(name)) for home in homes)
    )


def test_files_that_a_page_or_module_names_are_there():
    missing = {path: missing_files(path.read_text(), path.parent) for path in READ}
    assert {str(path): names for path, names in missing.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("see storage/segment/segment.py, docs/*.md and CHANGELOG.md", []),
        ("see docs/nowhere.md", ["docs/nowhere.md"]),
        ("(cli.md)", ["cli.md"]),
        ("in `kminilog/nowhere/`, above", ["kminilog/nowhere/"]),
        ("tested in tests/storage/test_nothing.py.", ["tests/storage/test_nothing.py"]),
    ],
)
def test_files_that_are_not_there_are_named(text, missing):
    assert missing_files(text, PROJECT) == missing


# `[words](page.md#heading)`, also of pictures
LINK = re.compile(r"\[([^\]]*)\]\(([\w./-]*)(?:#([\w-]+))?\)")


def bad_links(page: Path) -> list[str]:
    """Return the links of a page that have no words, or lead to nothing inside the project."""
    bad = []
    for words, name, heading in LINK.findall(page.read_text()):
        target = page.parent / name if name else page
        is_there = target.exists() and (not heading or heading in anchors(target.read_text()))
        if not words or not is_there:
            bad.append(f"[{words}]({name}#{heading})")
    return bad


def test_links_of_pages_have_words_and_lead_to_files_and_headings(tmp_path):
    pages = [*(PROJECT / "docs").glob("*.md"), *PROJECT.glob("*.md")]
    bad = {str(page): bad_links(page) for page in pages}
    assert {page: links for page, links in bad.items() if links} == {}
    (tmp_path / "page.md").write_text("# One\n[](page.md) [a](b.md) [a](#two) [a](page.md#one)")
    assert len(bad_links(tmp_path / "page.md")) == 3


def test_contributing_page_names_the_time_out_of_tests():
    options = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["pytest"]
    seconds = options["ini_options"]["timeout"]
    assert f"fails after {seconds} seconds" in (PROJECT / "CONTRIBUTING.md").read_text()


def test_sources_page_has_each_section_that_the_code_cites():
    page = (PROJECT / "docs" / "sources.md").read_text()
    text = "".join(path.read_text() for path in READ if path.suffix == ".py")
    cited = {
        (document, section)
        for document, sections in re.findall(r"\b(S\d)((?: (?:and )?\d(?:\.\d)*\b)*)", text)
        for section in re.findall(r"\d(?:\.\d)*", sections) or [""]
    }
    assert {document for document, _ in cited} == {"S0", "S1", "S2", "S3", "S4"}
    for document, section in cited:
        row = rf"^\| {document} {section} \|" if section else rf"^\| {document} \|"
        assert re.search(row, page, re.MULTILINE) or f" {section} the " in page, (document, section)
