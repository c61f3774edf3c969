"""docs/sources.md leads from each section of the documents to pages, commands and exercises."""

import re
from pathlib import Path

import click

from kminilog.cli.main import main
from kminilog.cli.step.command import SCENES
from kminilog.course.material import all_labs

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "sources.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.split("## Their sections")[1].splitlines()
    if re.match(r"\| (S\d|none)", line)
]
EXERCISES = {exercise.id for lab in all_labs() for exercise in lab.exercises}


def slug(heading: str) -> str:
    """The anchor that the pages' builder makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page: str) -> set[str]:
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", page, re.MULTILINE)}


def test_sources_page_has_rows_for_every_document():
    assert {row[0][:2] for row in ROWS} == {"S0", "S1", "S2", "S3", "S4", "no"}
    assert all(len(row) == 6 for row in ROWS)


def test_sources_page_leads_to_what_is_there():
    for section, about, pages, commands, steps, exercises in ROWS:
        links = re.findall(r"\[[^]]+\]\(([a-z-]+\.md)(?:#([^)]+))?\)", pages)
        assert links, (section, about)
        for name, anchor in links:
            page = (DOCS / name).read_text()
            assert not anchor or anchor in anchors(page), (section, name, anchor)
        for command in re.findall(r"`([^`]+)`", commands):
            exists(command)
        assert set(re.findall(r"`([^`]+)`", steps)) <= set(SCENES), (section, about)
        assert set(re.findall(r"\d+\.\d+", exercises)) <= EXERCISES, (section, about)


def section_of(name: str, anchor: str) -> str:
    """The text of a page from a heading to the next one that is not below it."""
    page = (DOCS / name).read_text()
    if not anchor:
        return page
    level, rest = next(
        (found[1], page[found.start() :])
        for found in re.finditer(r"^(#+) (.+)$", page, re.MULTILINE)
        if slug(found[2]) == anchor
    )
    return re.split(rf"\n#{{1,{len(level)}}} ", rest)[0]


def beginning_of(name: str, anchor: str) -> str:
    """The text that a link leads to: a section, or a page up to its first one."""
    text = section_of(name, anchor)
    return text if anchor else text.split("\n## ")[0]


def test_sources_page_links_lead_to_the_names_that_a_row_is_about():
    missing = []
    for section, about, pages, *_ in ROWS:
        links = re.findall(r"\]\(([a-z-]+\.md)(?:#([^)]+))?\)", pages)
        text = "\n".join(section_of(*link) for link in links)
        names = re.findall(r"`([^`]+)`", about)
        missing += [(section, one) for one in names if one not in text]
    assert missing == []


def test_sources_page_has_a_row_for_each_lab():
    table = PAGE.split("## Their sections")[1]
    cells = [line.split("|")[-2] for line in table.splitlines() if line.startswith("|")]
    named = re.findall(r"(\d+)\.\d+", " ".join(cells))
    assert {int(number) for number in named} == {lab.number for lab in all_labs()}


def test_sources_page_says_where_each_picture_of_the_documents_is():
    section = PAGE.split("\n## Where their pictures are\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (S\d).*$", section, re.MULTILINE)
    assert rows == ["S0", "S0", "S1", "S1", "S1", "S3", "S4", "S4"]
    links = re.findall(r"\]\(([a-z-]+\.md)(?:#([^)]+))?\)", section)
    for name, anchor in links:
        page = (DOCS / name).read_text()
        assert not anchor or anchor in anchors(page), (name, anchor)
    commands = re.findall(r"`kminilog ([^`]+)`", section)
    for command in commands:
        exists(command)
    assert len(links) == len(rows) == len(commands)
    assert [link for link in links if "](pictures/" not in beginning_of(*link)] == []


def exists(text: str) -> None:
    """Assert that a command exists, and that it has the options that are named."""
    command: click.Command = main
    context = click.Context(main)
    for word in text.split():
        if word.startswith("--"):
            options = {opt for param in command.get_params(context) for opt in param.opts}
            assert word in options, text
        elif isinstance(command, click.Group):
            found = command.get_command(context, word)
            assert found, text
            command = found
        else:  # the value of an option
            assert "--" in text, text
