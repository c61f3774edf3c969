"""Files that a command writes where the user says: whole or not at all, never in a log dir."""

import os
import re
import resource
import shutil
import subprocess
import sys
from itertools import compress
from pathlib import Path

import click
import pytest

from kminilog import pages
from kminilog.cli.main import main
from kminilog.cli.shared.output_files import OutputDirectory, OutputFile, write_output
from kminilog.cli.step.command import SCENES
from tests.support.cli.command_line import (
    PROGRAM,
    CommandLine,
    assert_one_line,
    assert_refused,
    environment,
)
from tests.support.unreadable import without_privileges

WRITERS = [["verify", "--report"], ["ls", "--html"], ["step", "murmur2", "--html"]]
each_writer = pytest.mark.parametrize("writer", WRITERS, ids=" ".join)


@pytest.fixture
def orders(tmp_path: Path) -> CommandLine:
    """A log dir with a topic; a directory for output beside it."""
    kminilog = CommandLine(tmp_path / "log")
    kminilog.ok("topic", "create", "orders", "--partitions", 1)
    assert kminilog("produce", "orders", stdin=b"a\nb\n").code == 0
    (tmp_path / "out").mkdir()
    return kminilog


def contents(directory: Path) -> dict[str, bytes]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


@pytest.mark.parametrize("writer", WRITERS[:2], ids=" ".join)
@pytest.mark.parametrize("limit", [1000, 400_000])
def test_page_that_is_too_long_is_written_and_said(orders, writer, tmp_path, monkeypatch, limit):
    monkeypatch.setattr(pages, "PAGE_BYTES", limit)
    page = tmp_path / "out" / "page.html"
    run = orders(*writer, page)
    size = page.stat().st_size
    told = f"kminilog: {page}: a long page, {size:,} bytes; name fewer topics for a shorter one\n"
    assert (run.code, run.err) == (0, told if limit == 1000 else "")
    assert ("This page is longer than" in page.read_text()) == (limit == 1000)


# ---- one file for each option


def options_of_outputs() -> dict[str, list[click.Option]]:
    """The options of each command that name files to be written."""
    found = {}
    waiting: list[tuple[str, click.Command]] = [("", main)]
    while waiting:
        path, command = waiting.pop()
        if isinstance(command, click.Group):
            with click.Context(command) as ctx:
                waiting += [
                    (f"{path} {name}", below)
                    for name in command.list_commands(ctx)
                    if (below := command.get_command(ctx, name))
                ]
        is_output = [isinstance(each.type, OutputFile | OutputDirectory) for each in command.params]
        found[path.strip()] = [*compress(command.params, is_output)]
    return {path: options for path, options in found.items() if len(options) > 1}


def test_commands_with_several_outputs_are_those_that_the_next_tests_try():
    scenes = {f"step {name}": ["--svg", "--html"] for name in SCENES}
    found = {
        path: {each.opts[0] for each in options} for path, options in options_of_outputs().items()
    }
    assert found == {
        "verify": {"--report", "--junit", "--findings"},
        "course grade": {"--csv", "--wide", "--html"},
        "playground": {"--dir", "--zip"},
        **{path: set(options) for path, options in scenes.items()},
    }


SAME = [
    ("verify", "--report out/x.jsonl --junit out/x.jsonl", "--report"),
    ("verify", "--junit out/x.jsonl --report out/../out/x.jsonl", "--junit"),
    ("verify", "--findings out/x.jsonl --junit out/link.jsonl", "--findings"),
    ("verify", "--report linked/x.jsonl --findings out/x.jsonl", "--report"),
    ("step murmur2", "--svg out --html out/murmur2-01.svg", "--svg"),
    ("step murmur2", "--html linked/murmur2-01.svg --svg out", "--html"),
    ("course grade submissions", "--csv out/index.html --html out", "--csv"),
    ("course grade submissions", "--csv out.csv --wide out.csv", "--csv"),
    ("playground", "--dir out --zip out/packages.zip", "--dir"),
]


@pytest.mark.parametrize(("command", "outputs", "other"), SAME)
def test_two_outputs_into_one_file_are_refused(
    orders, tmp_path, monkeypatch, command, outputs, other
):
    monkeypatch.chdir(tmp_path)
    Path("submissions").mkdir()
    Path("linked").symlink_to("out")
    Path("out/link.jsonl").symlink_to("x.jsonl")
    told = f"{other} writes this file, too; name another one"
    assert_one_line(orders(*command.split(), *outputs.split()), 2, told)
    assert contents(Path("out")) == {}


OVER_INPUT = [
    ("course grade submissions", "--csv x.csv --roster x.csv", "--csv writes"),
    ("course grade submissions", "--csv new.csv --roster x.csv --wide link.csv", "--roster reads"),
    ("course grade submissions", "--csv new.csv --html out --roster out/x.json", "--html writes"),
    ("course stats", "x.csv --html x.csv", "--html writes"),
    ("course stats", "--html ./x.csv x.csv", "--html writes"),
]


@pytest.mark.parametrize(("command", "words", "other"), OVER_INPUT)
def test_output_over_an_input_is_refused(tmp_path, monkeypatch, command, words, other):
    monkeypatch.chdir(tmp_path)
    for name in ("submissions", "out"):
        Path(name).mkdir()
    for name in ("x.csv", "out/x.json"):
        Path(name).write_text("student\nada\n")
    Path("link.csv").symlink_to("x.csv")
    before = contents(tmp_path)
    run = CommandLine(tmp_path / "log")(*command.split(), *words.split())
    assert_one_line(run, 2, f"{other} this file, too; name another one")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("option", ["--report", "--junit", "--findings"])
def test_output_that_is_a_file_of_the_source_is_refused(orders, tmp_path, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    Path("source").mkdir()
    Path("source/lines.jsonl").write_bytes(b"key0:value0\n")
    Path("link.jsonl").symlink_to("source/lines.jsonl")
    run = orders("verify", "orders", "--against", "source", option, "link.jsonl")
    assert_one_line(run, 2, "link.jsonl is a file of the source; name another one")
    assert Path("source/lines.jsonl").read_bytes() == b"key0:value0\n"


def test_outputs_into_files_of_their_own_or_into_a_device_are_written(orders, tmp_path):
    out = tmp_path / "out"
    orders.ok("verify", "--report", out / "x.html", "--junit", out / "x.xml")
    orders.ok("verify", "--report", "/dev/null", "--junit", "/dev/null")
    orders.ok("step", "murmur2", "--svg", out, "--html", out / "page.html")
    assert {"x.html", "x.xml", "page.html", "murmur2-01.svg"} <= contents(out).keys()


@each_writer
def test_output_whose_name_stands_for_stdout_is_refused(orders, writer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_one_line(orders(*writer, "-"), 2, "- is stdout, which has its own output; name a file")
    assert orders(*writer, "./-").code == 0
    assert Path("-").exists()


# ---- never in a log dir

IN_LOG_DIR = [
    "orders.json",
    "orders-0/00000000000000000000.log",
    "orders-0/00000000000000000000.index",
    "recovery-point-offset-checkpoint",
    ".clean-shutdown",
    "new.json",
    "orders-0/new.html",
    "page.html",
]


@each_writer
def test_output_into_the_log_dir_is_refused_before_the_work(orders, writer, tmp_path):
    told = f": it is in the log dir {orders.log_dir}; name a file elsewhere"
    rows = [(f"{orders.log_dir}/{name}", name + told) for name in IN_LOG_DIR]
    assert_refused(orders, tmp_path, rows, *writer)


@each_writer
def test_output_through_a_symbolic_link_into_a_log_dir_is_refused(orders, writer, tmp_path):
    link, directory = tmp_path / "out" / "page.html", tmp_path / "linked"
    link.symlink_to(orders.log_dir / "orders.json")
    directory.symlink_to(orders.log_dir / "orders-0")
    before = contents(orders.log_dir)
    for name in (link, directory / "00000000000000000000.log", directory / "new.html"):
        assert_one_line(orders(*writer, name), 2, f"it is in the log dir {orders.log_dir}")
    assert contents(orders.log_dir) == before


@each_writer
def test_output_over_a_hard_link_of_a_segment_leaves_the_segment(orders, writer, tmp_path):
    segment = orders.log_dir / "orders-0" / "00000000000000000000.log"
    before, page = segment.read_bytes(), tmp_path / "out" / "page.html"
    os.link(segment, page)
    assert orders(*writer, page).code == 0
    assert segment.read_bytes() == before
    assert b"<html" in page.read_bytes()


@each_writer
def test_output_into_another_log_dir_is_refused(orders, writer, tmp_path):
    other = CommandLine(tmp_path / "other")
    other.ok("topic", "create", "bills", "--partitions", 1)
    run = orders(*writer, other.log_dir / "bills.json")
    assert_one_line(run, 2, f"it is in the log dir {other.log_dir}")


@each_writer
def test_output_into_a_log_dir_that_no_writer_has_opened_is_refused(orders, writer, tmp_path):
    other = tmp_path / "copied"
    other.mkdir()
    shutil.copy(orders.log_dir / "orders.json", other)
    shutil.copytree(orders.log_dir / "orders-0", other / "orders-0")
    for name in ("orders.json", "orders-0/00000000000000000000.log", "new.html"):
        assert_one_line(orders(*writer, other / name), 2, f"it is in the log dir {other}")
    (other / "orders.json").unlink()  # a partition that belongs to no topic
    run = orders(*writer, other / "orders-0" / "00000000000000000000.log")
    assert_one_line(run, 2, f"it is in the log dir {other / 'orders-0'}")
    assert orders(*writer, other / "page.html").code == 0


@each_writer
def test_output_into_a_cluster_is_refused(orders, writer, tmp_path):
    cluster = tmp_path / "cluster"
    orders.ok("cluster", "create", cluster, "--brokers", 1)
    names = ["cluster.json", "broker-0/page.html", "page.html"]
    rows = [(f"{cluster}/{name}", f"it is in the log dir {cluster}") for name in names]
    assert_refused(orders, tmp_path, rows, *writer)


def test_pages_of_all_step_throughs_into_a_log_dir_are_refused(orders):
    before = contents(orders.log_dir)
    for directory in (orders.log_dir, orders.log_dir / "orders-0", orders.log_dir / "pages" / "x"):
        run = orders("step", "--all", "--html", directory)
        assert_one_line(run, 2, f"it is in the log dir {orders.log_dir}")
    assert contents(orders.log_dir) == before
    assert not (orders.log_dir / "pages").exists()


def test_output_is_refused_too_if_its_directory_becomes_a_log_dir_meanwhile(orders, tmp_path):
    from kminilog.errors import LogDirError

    with pytest.raises(LogDirError, match="it is in the log dir"):
        write_output(orders.log_dir / "orders.json", b"page")


def test_directory_that_has_the_name_of_a_writers_file_is_no_log_dir(orders, tmp_path):
    (tmp_path / "out" / ".changes").mkdir()
    orders.ok("step", "murmur2", "--html", tmp_path / "out" / "page.html")


@pytest.mark.processes
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@each_writer
def test_output_into_the_file_that_a_stream_goes_to_is_refused(orders, writer, stream, tmp_path):
    """It would be renamed away under the stream, and what was printed would be lost."""
    place = tmp_path / "out" / "both"
    named = [f"/dev/{stream}", str(place)]
    for name in named:
        with place.open("wb") as file:
            streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, stream: file}
            command = [*PROGRAM, "--log-dir", orders.log_dir, *writer, name]
            run = subprocess.run(command, env=environment(), **streams)
        told = run.stderr if stream == "stdout" else place.read_bytes()
        assert run.returncode == 2
        assert f"{name}: {stream} goes to this file; name another one" in told.decode()


# ---- whole or not at all


@pytest.mark.processes
@each_writer
def test_full_disk_leaves_the_old_page_and_nothing_else(orders, writer, tmp_path):
    page = tmp_path / "out" / "page.html"
    page.write_bytes(b"the old page")
    run = subprocess.run(
        [*PROGRAM, "--log-dir", str(orders.log_dir), *writer, str(page)],
        capture_output=True,
        env={**environment(), "PYTHONDONTWRITEBYTECODE": "1"},  # the limit would cut it off
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert run.returncode == 2
    assert f"{page}: File too large".encode() in run.stderr
    assert contents(page.parent) == {"page.html": b"the old page"}


@each_writer
def test_page_that_is_there_is_replaced_with_its_permissions_and_its_link(orders, writer, tmp_path):
    page, link = tmp_path / "out" / "page.html", tmp_path / "link.html"
    page.write_bytes(b"the old page")
    page.chmod(0o600)
    link.symlink_to(page)
    assert orders(*writer, link).code == 0
    assert page.read_bytes().startswith(b"<!DOCTYPE html>")
    assert (page.stat().st_mode & 0o777, link.is_symlink()) == (0o600, True)
    assert os.listdir(page.parent) == ["page.html"]


def test_new_page_has_the_permissions_that_the_umask_leaves(orders, tmp_path):
    before = os.umask(0o027)
    try:
        write_output(tmp_path / "out" / "page.html", b"page")
    finally:
        os.umask(before)
    assert (tmp_path / "out" / "page.html").stat().st_mode & 0o777 == 0o640


@each_writer
def test_file_of_the_user_beside_the_page_is_left_alone(orders, writer, tmp_path):
    page = tmp_path / "out" / "page.html"
    kept = page.with_name("page.html.tmp")
    kept.write_bytes(b"mine")
    assert orders(*writer, page).code == 0
    assert kept.read_bytes() == b"mine"


def test_output_whose_directory_is_gone_names_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_output(tmp_path / "gone" / "page.html", b"page")
    assert caught.value.filename == str(tmp_path / "gone" / "page.html")
    assert os.listdir(tmp_path) == []


def test_page_with_a_name_as_long_as_a_name_may_be_is_written(tmp_path):
    page = tmp_path / ("x" * 250 + ".html")
    write_output(page, b"page")
    assert page.read_bytes() == b"page"


@each_writer
def test_device_is_written_to_and_stays(orders, writer):
    assert orders(*writer, "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()
    assert orders(*writer, "/dev/full").code == 2


@each_writer
def test_directory_that_cannot_be_written_is_one_line(writer, tmp_path):
    kminilog = CommandLine(tmp_path / "log")
    kminilog.ok("topic", "create", "orders", "--partitions", 1)
    (tmp_path / "out").mkdir(mode=0o555)
    with without_privileges():
        run = kminilog(*writer, tmp_path / "out" / "page.html")
    assert run.code == 2
    assert run.err.splitlines()[-1].endswith("page.html: Permission denied")


WRITING = re.compile(
    r"\.write_(text|bytes)\(|replace_file\(|click\.Path\("
    r"|\bopen\(\s*(?!os\.devnull).*[\"'][rbt]*[wax+][bt+]*[\"']"
)


def test_each_command_that_takes_an_output_file_uses_this_room():
    """Who writes a file that the user names, does it here: no other module of `cli` writes one."""
    package = Path(sys.modules["kminilog"].__file__).parent / "cli"
    # Besides: two that write into a new directory.
    writers = {"output_files.py", "demo.py", "message.py"}
    offenders = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if path.name not in writers and WRITING.search(path.read_text())
    ]
    # The folder of a student, what is only read, and the files of a browser.
    expected = ["lab/command.py", "lab/options.py", "playground/machine.py"]
    assert sorted(offenders) == expected
