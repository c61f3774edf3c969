"""A regular expression that Python cannot compile is one line, wherever the user gave it."""

import pytest

from kminilog.regex import compile_regex
from tests.support.cli.command_line import CommandLine, assert_one_line

WRONG = {
    "(": "missing )",
    "a{99999999999}": "the repetition number is too large",
    "(" * 5000 + ")" * 5000: "its groups are nested too deeply",
    "x{5,1}": "min repeat greater than max repeat",
    "(?<=a*)b": "look-behind requires fixed-width pattern",
}
each_wrong = pytest.mark.parametrize(("regex", "reason"), WRONG.items(), ids=WRONG.values())


@each_wrong
def test_compile_regex_that_python_cannot_compile_says_whose_and_why(regex, reason):
    for given in (regex, regex.encode()):
        with pytest.raises(ValueError) as caught:
            compile_regex(given, "--pattern")
        assert reason in str(caught.value)
        assert str(caught.value).startswith("--pattern '")
        assert len(str(caught.value)) < 150


@pytest.mark.filterwarnings("error")
def test_compile_regex_that_a_later_python_may_change_warns_nobody():
    assert compile_regex("[[a]", "--pattern").fullmatch("[")


@pytest.mark.parametrize(
    ("option", "command"),
    [
        ("--key-regex", ["produce", "t", "LINES"]),
        ("--key-regex", ["ingest", "LINES", "--topic", "t"]),
        ("--key-regex", ["verify", "t", "--against", "LINES"]),
        ("--pattern", ["consume", "--until-end"]),
        ("--pattern", ["consume", "--group", "g", "--until-end"]),
        ("--pattern", ["consume", "--group", "g", "--streams", "2", "--until-end"]),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else value,
)
def test_command_with_a_wrong_regex_is_one_line(tmp_path, option, command):
    kminilog, lines = CommandLine(tmp_path / "log-dir"), tmp_path / "lines.txt"
    lines.write_bytes(b"x\n")
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    words = [str(lines) if word == "LINES" else word for word in command]
    for regex, reason in WRONG.items():
        assert_one_line(kminilog(*words, option, regex), 2, f"{option} '", reason)
