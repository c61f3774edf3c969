"""README.md, the tutorial and the page on installing: each command prints what the page shows."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from tests.docs.test_readme import shown_commands
from tests.support.cli.command_line import environment

PROJECT = Path(__file__).parents[2]
PAGES = {name: (PROJECT / name).read_text() for name in ("README.md", "docs/tutorial.md")}
INSTALL = (PROJECT / "docs" / "install.md").read_text()
SHOWN = PAGES | {"docs/install.md": INSTALL[INSTALL.index("## Check it") :]}
FEWEST_COMMANDS = {"README.md": 8, "docs/tutorial.md": 15, "docs/install.md": 2}
OF_DEVELOPERS = {"test", "check", "docs", "dev"}
KMINILOG = f'kminilog() {{ "{sys.executable}" -m kminilog "$@"; }}\n'


def sessions(page: str) -> list[tuple[str, str]]:
    """Return the commands of a page that are shown with their output, and the outputs."""
    blocks = re.findall(r"```shell-session\n(.*?)```", page, re.DOTALL)
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.MULTILINE)


def same_each_time(output: str) -> str:
    """Return an output without what differs from run to run: times, and ids that are made up."""
    return re.sub(r"\d+\.\d s\b", "T s", re.sub(r"job \w{8}(-\w{4}){3}-\w{12}:", "job J:", output))


def run(command: str) -> tuple[int, str]:
    program, *arguments = shlex.split(command)
    if program == "kminilog" and "|" not in arguments:
        result = CliRunner().invoke(main, arguments)
        return result.exit_code, result.output
    done = subprocess.run(
        ["bash", "-c", KMINILOG + command],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.processes
@pytest.mark.parametrize("name", SHOWN)
def test_page_without_spark_prints_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def started(master: str | None) -> None:
        pytest.fail("Spark was started")

    monkeypatch.setattr("kminilog.jobs.spark.runtime.session.spark_session", started)
    monkeypatch.setattr("kminilog.jobs.spark.runtime.session.existing_session", lambda: None)
    monkeypatch.delenv("KMINILOG_LOG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    shown = sessions(SHOWN[name])
    assert len(shown) >= FEWEST_COMMANDS[name]
    for command, output in shown:
        code, printed = run(command)
        assert same_each_time(printed) == same_each_time(output), command
        assert code == (1 if "verdict: findings" in output else 0), command


def test_two_spark_commands_follow_the_ten_minutes():
    for page in PAGES.values():
        after = page[page.index("```shell-session\n") :]
        by_spark = [each for each in shown_commands(after) if "--engine spark" in each]
        assert by_spark == shown_commands(after)[:2]
        assert [each.split()[1] for each in by_spark] == ["ingest", "verify"]


def test_readme_begins_with_the_ten_minutes_and_the_tutorial_has_them_all():
    ours = [command for command, _ in sessions(PAGES["README.md"])]
    wanted = (ours[0], "--engine spark", "$ kminilog step")
    places = [PAGES["README.md"].index(text) for text in wanted]
    assert places == sorted(places)
    verbs = [{each.split()[1] for each, _ in sessions(page)} for page in PAGES.values()]
    assert verbs[0] <= verbs[1]


def test_install_page_has_each_extra_of_users_and_the_version():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    named = {name for each in re.findall(r"\.\[(.*?)\]", INSTALL) for name in each.split(",")}
    assert named == project["optional-dependencies"].keys() - OF_DEVELOPERS
    wheel = "kminilog-{}-py3-none-any.whl".format(project["version"])
    assert re.findall(r"kminilog-[\w.-]*\.whl", INSTALL) == [wheel]
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in INSTALL
