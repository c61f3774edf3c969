"""The bench of a log answers as the command line does, whatever is played."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.course.benches.log import BENCH
from kminilog.explain.document import Document
from tests.support.cli.command_line import CommandLine
from tests.support.course.benches.played import act, assert_valid_or_one_line, played

pytestmark = pytest.mark.usefixtures("without_fsync")

MESSAGES = [(f"k{n % 3}", "apple " * (n % 4)) for n in range(10)]
APPENDS = [act("append", *message) for message in MESSAGES]


def log_dir_with(path: Path, dialect: str) -> CommandLine:
    """Return the command line, with a topic that has the messages."""
    command = CommandLine(path / "logs")
    settings = ["--config", "segment.bytes=200", "--config", "index.interval.bytes=60"]
    command.ok("topic", "create", "orders", "--partitions", 1, "--dialect", dialect, *settings)
    lines = "".join(f"{key}:{value}\n" for key, value in MESSAGES)
    run = command("produce", "orders", "--key-separator", ":", stdin=lines.encode())
    assert run.code == 0, run
    return command


def partition_files(command: CommandLine) -> dict[str, bytes]:
    directory = command.log_dir / "orders-0"
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def files_of(document: Document) -> dict[str, bytes]:
    return {file.name: file.data for file in document.files}


@pytest.mark.parametrize("dialect", ["documented", "kafka"])
def test_log_bench_writes_the_bytes_of_the_command_line(tmp_path, dialect):
    files = partition_files(log_dir_with(tmp_path, dialect))
    shown: dict[str, bytes] = {}  # each document has the files of the last segment
    for number in range(1, len(APPENDS) + 1):
        shown |= files_of(played(BENCH, *APPENDS[:number], dialect=dialect))
    assert shown == files


@pytest.mark.parametrize("dialect", ["documented", "kafka"])
@pytest.mark.parametrize("offset", [0, 5, 7, 9, 10])
def test_log_bench_finds_what_the_command_line_finds(tmp_path, dialect, offset):
    command = log_dir_with(tmp_path, dialect)
    document = played(BENCH, *APPENDS, act("find", offset), dialect=dialect)
    values = document.final.values
    run = command("find", "orders-0", offset, "--json")
    if offset == len(MESSAGES):
        assert (run.code != 0, values["segment"]) == (True, None)
        return
    expected = run.document
    assert {name: values[name.replace("_", " ")] for name in ("segment", "position")} == {
        name: expected[name] for name in ("segment", "position")
    }
    assert values["scanned messages"] == expected["scanned_messages"]
    assert document.final.picture is not None
    assert document.final.picture.lanes[0].name == "names"


@pytest.mark.parametrize("dialect", ["documented", "kafka"])
@pytest.mark.parametrize("byte", [0, 1, 40, 77, 120])
def test_log_bench_recovers_as_the_command_line_does(tmp_path, dialect, byte):
    command = log_dir_with(tmp_path, dialect)
    *_, last_log = sorted(command.log_dir.glob("orders-0/*.log"))
    os.truncate(last_log, byte)
    plan = command("recover", "orders-0", "--dry-run", "--json").document
    document = played(BENCH, *APPENDS, act("crash", byte), "recover", dialect=dialect)
    values = document.final.values
    cut = plan["cut"]
    assert values["decision"] == ("cut" if cut else "keep")
    assert values["lost bytes"] == (cut["lost_bytes"] if cut else 0)
    assert values["log end offset"] == plan["log_end_offset"]
    assert values["rebuilt indexes"] == len(plan["rebuilt_indexes"])
    command("recover", "orders-0")
    shown, files = files_of(document), partition_files(command)
    assert {name: shown[name] for name in files if name in shown} == shown
    assert [name for name in shown if name.endswith(".cut")] == [
        name for name in files if name.endswith(".cut")
    ]


def test_log_bench_says_that_nothing_is_missing_if_all_is_on_the_disk():
    says = [played(BENCH, "append '' a", f"crash {byte}").steps[-1].say for byte in (23, 0)]
    assert says[0].endswith("all 23 are on the disk.")
    assert says[1].endswith("nothing shows that something is missing.")


def test_log_bench_goes_on_after_recovery():
    acts = [*APPENDS, "crash 40", "recover", "append k again"]
    document = played(BENCH, *acts)
    end = played(BENCH, *acts[:-1]).final.values["log end offset"]
    found = played(BENCH, *acts, act("find", end)).steps[-1]
    assert isinstance(end, int)
    assert document.final.values["log end offset"] == end + 1
    assert 'its value "again"' in found.say


def test_log_bench_says_when_an_entry_falls_due():
    says = [played(BENCH, *APPENDS[:n]).steps[-1].say for n in range(1, len(APPENDS) + 1)]
    due = [n for n, say in enumerate(says) if "gets an entry" in say]
    lanes = [played(BENCH, *APPENDS[:n]).final.picture for n in due]
    assert due
    assert all(lane and lane.lanes[0].note == "the next message gets an entry" for lane in lanes)
    assert ["begins segment" in say for say in says].count(True) == 1


@pytest.mark.parametrize(
    ("acts", "reason"),
    [
        ("append k " + "x" * 300, "append: the message has 323 bytes, more than a segment (200)"),
        ("find x", "offset: 'x' is no number from 0 to 100"),
        ("crash 1", "crash, byte of 00000000000000000000.log: '1' is no number from 0 to 0"),
        ("crash 0;append k v", "append: nobody can write after the crash; recover the log first"),
        ("crash 0;crash 0", "crash: nobody can write after the crash; recover the log first"),
    ],
)
def test_log_bench_says_why_an_act_is_impossible(acts, reason):
    with pytest.raises(ValueError) as caught:
        played(BENCH, *acts.split(";"))
    assert str(caught.value) == reason


@pytest.mark.parametrize("name", ["segment.bytes", "index.interval.bytes"])
def test_log_bench_refuses_a_setting_that_cannot_be_shown(name):
    with pytest.raises(ValueError, match=rf"{name}: '1001' is no number from \d+ to 1000"):
        BENCH.answer({name: "1001"}, [])


WORDS = st.text(max_size=12)
NUMBERS = st.integers(-1, 250)
ACTS = st.one_of(
    st.builds(lambda key, value: act("append", key, value), WORDS, WORDS),
    st.builds(lambda key, value: act("append", key, value), WORDS, WORDS),
    st.just("roll"),
    st.builds(lambda offset: act("find", offset), st.integers(-1, 30)),
    st.builds(lambda byte: act("crash", byte), NUMBERS),
    st.just("recover"),
)


@settings(max_examples=15)
@given(
    acts=st.lists(ACTS, max_size=12),
    dialect=st.sampled_from(["documented", "kafka"]),
    segment_bytes=st.sampled_from(["64", "200", "1000"]),
    interval=st.sampled_from(["0", "60"]),
)
def test_log_bench_whatever_is_played_is_a_document_or_one_line(
    acts, dialect, segment_bytes, interval
):
    given = {"dialect": dialect, "segment.bytes": segment_bytes, "index.interval.bytes": interval}
    possible: list[str] = []
    for each in acts:
        try:
            BENCH.answer(given, [*possible, each])
        except ValueError:
            assert_valid_or_one_line(BENCH, [*possible, each], given)
        else:
            possible.append(each)
    assert_valid_or_one_line(BENCH, possible, given)
