"""Hypothesis profiles, and the fixtures that every part of the tests shares.

`ci`, the default, takes the same moderate number of examples every time. `soak` takes many, new
ones in each run; it is chosen by `-m soak`, which then includes every property test, or by
HYPOTHESIS_PROFILE=soak.
"""

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from shutil import disk_usage, which
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from kminilog.cli.shared import progress
from kminilog.format.dialect import DIALECTS, Dialect
from kminilog.storage.segment import damage_scan
from tests.support import processes, tiers
from tests.support.browser import started_browser
from tests.support.spark import spark
from tests.support.spark_classes import jvm_options

__all__ = ["spark"]

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "soak",
    parent=settings.get_profile("ci"),
    derandomize=False,
    max_examples=1500,
    stateful_step_count=80,
    print_blob=True,
)

# Where a dialect acts, each test runs in both: what the bytes and names of a log are, what is made
# of their damage, and what killed processes leave of them.
DIALECT_ACTS = (
    "tests/format/",
    "tests/storage/",
    "tests/columns/",
    "tests/properties/",
    "tests/golden/",
    "tests/crash/",
    "tests/verification/test_fault_matrix",
    "tests/verification/account/test_tampered_logs",
    "tests/jobs/spark/test_fault_matrix",
    "tests/conformance/",
)


# Thousands of small log dirs cost more time on a disk, for its fsyncs, than in memory. A file
# system in memory loses nothing when a process is killed, and power failures are modelled.
MEMORY = Path("/dev/shm")
MEMORY_BYTES = 4 << 30  # that must be free: a test may have files of hundreds of megabytes


def _work_in_memory() -> None:
    """Put the temporary files of these tests, and of what they start, into memory if it suffices.

    TMPDIR chooses another place.
    """
    if "TMPDIR" not in os.environ and MEMORY.is_dir() and disk_usage(MEMORY).free >= MEMORY_BYTES:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # to be looked up again


def _is_soak(config: pytest.Config) -> bool:
    return config.option.markexpr == "soak"


def pytest_configure(config: pytest.Config) -> None:
    default = "soak" if _is_soak(config) else "ci"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", default))
    if not _is_soak(config):
        _work_in_memory()
    interpreted = config.option.markexpr.startswith("not soak and not conformance")  # few rows
    os.environ.setdefault("SPARK_SUBMIT_OPTS", jvm_options(interpreted=interpreted))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell has it for `make test &`
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what tests start inherits it
    # On a busy machine a command takes long, and says so on stderr, where tests want silence.
    progress.SECONDS_BETWEEN_LINES = threading.TIMEOUT_MAX
    tiers.watch_processes()


def _leave_samples(items: list[pytest.Item], *, is_soak: bool) -> None:
    """Mark as soak what is not in the sample of a test with `sampled(count)`: in a soak run, all.

    The name of the test is the seed, so the sample is the same each time.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("soak"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, found in cases.items():
        (count,) = next(found[0].iter_markers("sampled")).args
        sample = [] if is_soak else Random(name).sample(range(len(found)), min(count, len(found)))
        for number in set(range(len(found))).difference(sample):
            found[number].add_marker(pytest.mark.soak)


def _leave_twins(items: list[pytest.Item]) -> None:
    """Mark as soak one of the two dialects of a test where no dialect acts, above the log.

    The name of the test decides which, so each room has tests in both.
    """
    both = set(DIALECTS.values())
    cases: dict[str, dict[pytest.Item, Dialect]] = {}
    for item in items:
        dialect = getattr(item, "callspec", None) and item.callspec.params.get("dialect")
        if dialect in both and not item.nodeid.startswith(DIALECT_ACTS):
            cases.setdefault(item.nodeid.partition("[")[0], {})[item] = dialect
    for name, found in cases.items():
        twin = Random(name).choice(list(DIALECTS.values()))
        for item, dialect in found.items() if set(found.values()) == both else ():
            if dialect is twin:
                item.add_marker(pytest.mark.soak)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))  # one session, so one process
    tiers.mark(config, items)
    _leave_twins(items)
    _leave_samples(items, is_soak=_is_soak(config))
    if _is_soak(config):
        for item in items:
            if is_hypothesis_test(getattr(item, "obj", None)):
                item.add_marker(pytest.mark.soak)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Before any fixture."""
    tiers.begin()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than processors: a test that waits, for a process or a time-out, uses none."""
    return (os.cpu_count() or 1) + 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have counted, in whatever process: `record_property("counted", text)`."""
    told = [
        f"{report.nodeid}: {text}"
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        for name, text in getattr(report, "user_properties", ())
        if name == "counted"
    ]
    if told:
        terminalreporter.section("counted")
        for line in told:
            terminalreporter.line(line)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Say last, after all summaries, how to run what has failed alone."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and (failed := reporter.getreports("failed") + reporter.getreports("error")):
        for command in tiers.commands(failed):
            reporter.write_line(command)


@pytest.fixture(params=DIALECTS.values(), ids=DIALECTS.keys())
def dialect(request: pytest.FixtureRequest) -> Dialect:
    """Each of the two dialects in turn."""
    found: Dialect = request.param
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A real browser; a test that asks for it is skipped, and says so, where there is none."""
    with started_browser() as started:
        yield started


@pytest.fixture(autouse=True)
def no_process_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that fails must not make its neighbours fail."""
    yield
    processes.end_all()
    tiers.assert_marked(request.node)


@pytest.fixture
def without_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests with thousands of openings: fsync matters to a power failure, which none of them
    is, and takes most of their time on a slow disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def without_writers(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests with thousands of unfinished messages: verification looks at the end of such a log
    for milliseconds, for a writer may be at work. None is, in these tests."""
    monkeypatch.setattr(damage_scan, "_LOOKS", 1)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a small file system in memory with the given options; root may."""
    with ExitStack() as stack:

        def mount_tmpfs(options: str) -> Path:
            path = tmp_path / "small"
            path.mkdir()
            command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
            if not which("mount") or subprocess.run(command, capture_output=True).returncode:
                pytest.skip("NOT TESTED: a real full disk needs the right to mount a file system")
            stack.callback(subprocess.run, ["umount", "-l", str(path)], check=True)
            return path

        yield mount_tmpfs
