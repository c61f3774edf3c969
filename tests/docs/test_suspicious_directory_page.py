"""docs/suspicious-directory.md: each command is run on its directory, and prints what it shows."""

from pathlib import Path

import pytest

from tests.docs.test_tutorial import run, sessions
from tests.support.broker_files.suspicious import suspicious_directory
from tests.support.trees import tree_of

PAGE = (Path(__file__).parents[2] / "docs" / "suspicious-directory.md").read_text()


@pytest.mark.processes
def test_page_prints_what_it_shows_and_leaves_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("KMINILOG_LOG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    suspicious_directory(tmp_path / "kafka-logs")
    before = tree_of(tmp_path / "kafka-logs")
    shown = sessions(PAGE)
    assert len(shown) == 8
    for command, output in shown:
        code, printed = run(command)
        assert printed == output, command
        is_no = "verdict: findings" in output or " is in a gap" in output
        assert code == (2 if ": damaged: " in output else 1 if is_no else 0), command
    assert tree_of(tmp_path / "kafka-logs") == before
