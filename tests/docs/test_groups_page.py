"""docs/groups.md shows commands and what they print: each is run, and must print just that.

The page's other examples are doctests.
"""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.consumer import errors
from kminilog.consumer.group import __doc__ as states_of_a_group

PAGE = (Path(__file__).parents[2] / "docs" / "groups.md").read_text()
SHOWN = re.findall(r"```shell-session\n\$ (.*?)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_groups_page_command_prints_what_the_page_shows(command, output):
    program, *arguments = shlex.split(command)
    assert program == "kminilog"
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, result.output) == (0, output)


def test_groups_page_shows_an_eager_and_a_cooperative_rebalance():
    assert [command for command, _ in SHOWN] == [
        "kminilog step rebalance --from-step 20",
        "kminilog step rebalance --strategy cooperative-sticky --from-step 18",
    ]


def test_groups_page_draws_the_states_as_the_code_does():
    (drawing,) = re.findall(r"## The states of a group\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert drawing in (states_of_a_group or "")


def test_groups_page_says_what_each_error_asks_for():
    for name in (
        "IllegalGenerationError",
        "UnknownMemberError",
        "DuplicateInstanceError",
        "InconsistentStrategyError",
        "GroupInUseError",
    ):
        assert hasattr(errors, name)
        assert f"| `{name}`" in PAGE
