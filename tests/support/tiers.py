"""Which tests `make test` runs, and which `make test-rest`: what a test needs decides.

    mark         what the test needs                 who sets it
    spark        Java, and a session of Spark        the fixture `spark`, or the test
    browser      Chromium, or Python under Node      the fixtures `browser` and `host`
    processes    a process beside its own            fixtures such as `installed`, or the test

A test with one of these marks is expensive: it belongs to the rest, which `make test` leaves out.
The mark `first` is for the one whole case of its kind that a user would miss first: `make test`
runs it, too. Nobody has to remember the mark `processes`: a test without it that starts one fails.
"""

import shlex
import sys
from typing import Any

import pytest

EXPENSIVE = ("spark", "browser", "processes")
OF_NO_TIER = ("soak", "conformance")
_SET_BY = {
    "spark": "spark",
    "browser": "browser",
    "host": "browser",
    "installed": "processes",
    "mount": "processes",
    "site": "processes",
}
_EVENTS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty"}
_MOST_COMMANDS = 5
_started: list[str] = []


def mark(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each test the marks of what its fixtures need, and `rest` to those that are expensive.

    Whoever names a test, by `-k` or by its id, means it, wherever it belongs.
    """
    is_named = config.option.keyword or any("::" in each for each in config.args)
    leaves_rest_out = "not rest" in config.option.markexpr
    for item in items:
        for fixture in set(getattr(item, "fixturenames", ())) & set(_SET_BY):
            item.add_marker(_SET_BY[fixture])
        is_first = item.get_closest_marker("first") or (is_named and leaves_rest_out)
        if is_expensive(item) and not is_first:
            item.add_marker("rest")


def is_expensive(item: pytest.Item) -> bool:
    """Tell if a test needs what takes its time."""
    return any(item.get_closest_marker(name) for name in EXPENSIVE)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _EVENTS:
        _started.append(f"{event} {arguments[1] if len(arguments) > 1 else ''}".strip())


def watch_processes() -> None:
    """From now on, note each process that is started; for the rest of this interpreter's life."""
    sys.addaudithook(_note)


def begin() -> None:
    """Forget what the end of another test has started, as the end of a fixture of its module."""
    _started.clear()


def assert_marked(item: pytest.Item) -> None:
    """Fail if the test has started a process and does not say that it needs one."""
    if _started and not (is_expensive(item) or any(map(item.get_closest_marker, OF_NO_TIER))):
        what = _started[0][:200]
        pytest.fail(f"it starts a process: mark it with pytest.mark.processes; {what}")


def commands(reports: list[pytest.TestReport]) -> list[str]:
    """Return the commands that run tests which have failed alone."""
    failed = dict.fromkeys(report.nodeid.partition("@")[0] for report in reports)
    shown = [_command(each) for each in list(failed)[:_MOST_COMMANDS]]
    more = [f"and {len(failed) - len(shown)} more"] if len(failed) > len(shown) else []
    return shown + more


def _command(nodeid: str) -> str:
    argument = f"ARGS={shlex.quote(nodeid)}".replace("$", "$$")
    return f"make test {shlex.quote(argument)}"
