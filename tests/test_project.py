"""Files that forges, editors, hooks and citations read: they agree with the rest of the project."""

import configparser
import re
import tomllib
from pathlib import Path

import yaml

PROJECT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text())
VERSION = PYPROJECT["project"]["version"]


def test_citation_has_version_licence_authors_and_keywords_of_the_project():
    citation = yaml.safe_load((PROJECT / "CITATION.cff").read_text())
    project = PYPROJECT["project"]
    assert {"cff-version", "message", "title"} <= set(citation)
    assert citation["version"] == VERSION
    for name in ("license", "authors", "keywords"):
        assert citation[name] == project[name], name


def test_changelog_has_the_version_of_the_project_below_what_is_not_released():
    page = (PROJECT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## \[([^]]+)\]", page, re.MULTILINE)[:2] == ["Unreleased", VERSION]


def test_hooks_call_what_the_set_up_installs_and_fetch_nothing():
    makefile = (PROJECT / "Makefile").read_text()
    (environment,) = re.findall(r"^VENV := (.+)$", makefile, re.MULTILINE)
    repositories = yaml.safe_load((PROJECT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [one["repo"] for one in repositories] == ["local"]
    for hook in repositories[0]["hooks"]:
        program, verb, *_ = hook["entry"].split()
        assert program == f"{environment}/bin/ruff"
        assert f"$(BIN)/ruff {verb} " in makefile
    dependencies = PYPROJECT["project"]["optional-dependencies"]["check"]
    assert any(each.startswith("ruff>=") for each in dependencies)


def test_workflow_runs_what_ci_runs_where_the_devcontainer_is():
    workflow = yaml.safe_load((PROJECT / ".github" / "workflows" / "ci.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert (PROJECT / ".ci" / "run").stat().st_mode & 0o111
    container = yaml.safe_load((PROJECT / ".devcontainer" / "devcontainer.json").read_text())
    assert job["container"] == container["image"]


def test_editors_indent_as_the_formatter_and_make_do():
    rules = configparser.ConfigParser()
    rules.read_string("[top]\n" + (PROJECT / ".editorconfig").read_text())
    assert rules["top"]["root"] == "true"
    assert int(rules["*.py"]["max_line_length"]) == PYPROJECT["tool"]["ruff"]["line-length"]
    assert rules["Makefile"]["indent_style"] == "tab"
