"""Each finding has a command that shows it: here each is run, and shows it."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.format.dialect import DIALECTS, Dialect
from kminilog.verification.commands import quoted
from tests.cli.test_ingest import without_progress
from tests.support.cli.command_line import CommandLine, Run
from tests.support.damage import cut_to, flip_byte
from tests.support.log_content import Content, write_anew
from tests.support.verification.faults import (
    FILE_FAULTS,
    INDEX_FAULTS,
    MESSAGE_FAULTS,
    Expected,
    Fault,
    IndexFault,
    Slots,
    Spot,
)


def cut_inside_the_first_header(spot: Spot) -> list[Expected]:
    """Cut the last `.log` to less than the header of its first message."""
    last = Spot(spot.directory, -1, 0)
    cut_to(last.log, 20)
    return last.here("torn-tail")


def cut_an_inner_segment(spot: Spot) -> list[Expected] | None:
    return MESSAGE_FAULTS["cut inside"](Spot(spot.directory, spot.segment, -1))


def damage_two_entries(spot: Spot) -> list[Expected]:
    """Let two entries point elsewhere: the second one does not ascend any more, but is not zero."""
    slots = Slots(spot, 0)
    assert len(slots.entries) > 1
    for slot, position_by in enumerate((1 << 20, 1)):
        relative, position = slots.entries[slot]
        slots.entries[slot] = (relative, position + position_by)
    slots.write()
    return [*slots.finding("index-past-end", 0), *slots.finding("index-position", 1)]


def first_slot(fault: IndexFault) -> Fault:
    return lambda spot: fault(Slots(spot, 1))


FAULTS = {
    **{f"message: {name}": MESSAGE_FAULTS[name] for name in (
        "offset byte 7", "size bit 2", "crc byte 12", "magic", "zeros", "dropped",
        "written three times", "rubbish in front",
    )},
    **{f"index: {name}": first_slot(INDEX_FAULTS[name]) for name in (
        "position + 1", "position far after", "position negative", "offset + 100,000",
        "zeroed", "zeros after", "there twice", "removed", "deleted", "cut inside",
    )},
    **{f"file: {name}": FILE_FAULTS[name] for name in (
        "renamed + 1", "copied", "index without a log", "stray file",
    )},
    "file: cut to less than a header": cut_inside_the_first_header,
    "file: cut, with segments after": cut_an_inner_segment,
    "index: two entries wrong": damage_two_entries,
}  # fmt: skip
NOT_EVERYWHERE = {
    **{f"message: {name}": MESSAGE_FAULTS[name] for name in (
        "swapped with the next", "cut between",
    )},
    "file: deleted": FILE_FAULTS["deleted"],
}  # fmt: skip
"""Faults that the last message or the last segment cannot have."""


@pytest.fixture
def topic(kminilog: CommandLine, dialect: Dialect) -> CommandLine:
    """A topic in a directory whose name a shell must be told to take as it is."""
    kminilog.log_dir = kminilog.log_dir / "it's a $(log) dir"
    return filled(kminilog, "t-1", dialect)


@pytest.fixture
def dashed(tmp_path, monkeypatch, dialect: Dialect) -> CommandLine:
    """A topic and a log dir whose names look like options."""
    monkeypatch.chdir(tmp_path)
    return filled(CommandLine(Path("-log-dir")), "-t-1", dialect)


def filled(kminilog: CommandLine, name: str, dialect: Dialect) -> CommandLine:
    config = ["--config", "segment.bytes=300", "--config", "index.interval.bytes=60"]
    options = ["--partitions", 1, "--dialect", dialect.name]
    kminilog.ok("topic", "create", *options, *config, "--", name)
    lines = b"".join(b"key%d:value%d\n" % (number, number) for number in range(30))
    kminilog.ok("produce", "--key-separator", ":", "--", name, stdin=lines)
    return kminilog


def run_command(kminilog: CommandLine, sample: dict[str, Any]) -> Run:
    """Run the command of a sample; it needs no log dir but the one it names."""
    program, *words = shlex.split(sample["command"])
    assert program == "kminilog"
    elsewhere = CommandLine(kminilog.log_dir / "none")
    return elsewhere(*words)


def samples_of(run: Run) -> list[dict[str, Any]]:
    assert run.code == 1, run
    return [
        {**sample, "class": found["class"]}
        for found in run.document["findings"]
        for sample in found["samples"]
    ]


LEADS_ASTRAY = {"index-position", "index-past-end"}


def assert_dumped(sample: dict[str, Any], run: Run) -> None:
    """Assert that the file is dumped at the place of the finding, only there.

    `dump` knows nothing of other segments, and which offset should come where is not its question.
    """
    assert f" --at {sample['position']}" in sample["command"]
    head, *more = run.out.splitlines()
    assert [line for line in more if not line.startswith("  ")] == []
    assert run.code == int("DAMAGED" in head or sample["class"] in LEADS_ASTRAY)
    if sample["class"] in ("bad-crc", "bad-length", "bad-magic", "torn-tail"):
        assert f"DAMAGED, {sample['class']}: " in head
    if ".index" in sample["command"]:
        assert "DAMAGED" in head or any("    in the .log: " in line for line in more)
    else:
        assert f", byte {sample['position']}: " in head
        assert re.search(rf"^  0*{sample['position']}  [0-9a-f]{{2}} ", run.out, re.MULTILINE)


def assert_shown(kminilog: CommandLine, sample: dict[str, Any]) -> None:
    run = without_progress(run_command(kminilog, sample))
    assert run.code in (0, 1), run
    assert run.err == ""
    if " verify " in sample["command"]:
        assert sample["place"] in run.out
    elif " recover " in sample["command"]:
        assert f"{sample['place']}: {sample['class']}: {sample['detail']}" in run.out
    elif " dump " in sample["command"]:
        assert_dumped(sample, run)
    else:
        assert f"{sample['segment']}" in run.out


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", FAULTS | NOT_EVERYWHERE)
def test_command_of_a_damage_shows_it(topic, name):
    expected = (FAULTS | NOT_EVERYWHERE)[name](Spot(topic.log_dir / "t-1-0", 1, 2))
    assert expected
    samples = samples_of(topic("verify", "t-1", "--strict-index", "--json"))
    assert len(samples) == len(expected)
    for sample in samples:
        assert_shown(topic, sample)


@pytest.mark.parametrize("name", [
    "message: crc byte 12", "message: dropped", "index: position + 1", "index: deleted",
    "index: offset + 100,000", "file: stray file",
])  # fmt: skip
def test_command_for_a_topic_that_looks_like_an_option_can_be_typed(dashed, name):
    assert FAULTS[name](Spot(dashed.log_dir / "-t-1-0", 1, 2))
    samples = samples_of(dashed("verify", "--strict-index", "--json", "--", "-t-1"))
    assert samples
    for sample in samples:
        assert_shown(dashed, sample)


@pytest.mark.usefixtures("orders")
def test_command_of_an_error_can_be_typed_for_a_topic_and_a_group_that_look_like_options(kminilog):
    kminilog.ok("topic", "create", "--partitions", 1, "--", "-t")
    kminilog.ok("produce", "--", "-t", stdin=b"a\n")
    kminilog.ok("consume", "--group=-g", "--offset=earliest", "--max-messages=1", "--", "-t")
    kminilog.ok("produce", "--", "-t", stdin=b"a\n")
    more = ["--offset=latest", "--max-messages=1", "--", "-t"]
    told = kminilog("consume", "--group=-g", *more).err
    assert kminilog.ok(*_command_in(told))
    told = kminilog("consume", "--group=-g", "--offset=1", "--", "-t").err
    assert "`kminilog group reset --topic -t --to N --yes -- -g`" in told
    (log,) = (kminilog.log_dir / "-t-0").glob("*.log")
    told = kminilog("dump", log, "--offset", 9).err
    assert "out of range" in kminilog(*_command_in(told)).err
    shutil.rmtree(kminilog.log_dir / "-t-0")
    told = kminilog("produce", "--", "-t", stdin=b"a\n").err
    assert kminilog.ok(*_command_in(told)).out


def _command_in(told: str) -> list[str]:
    (command,) = re.findall("`kminilog (.*?)`", told)
    return shlex.split(command)


def test_command_of_a_message_in_the_wrong_partition_finds_it(kminilog, dialect):
    kminilog.ok("topic", "create", "t", "--partitions", 3, "--dialect", dialect.name)
    options = ["--key-separator", ":", "--partition", 0]
    kminilog.ok("produce", "t", *options, stdin=b"".join(b"k%d:v%d\n" % (n, n) for n in range(9)))
    samples = samples_of(kminilog("verify", "t", "--partitioner", "default-2.4", "--json"))
    assert samples
    for sample in samples:
        run = run_command(kminilog, sample)
        assert run.code == 0
        assert f'value "v{sample["offset"]}"' in run.out


@pytest.mark.processes
@given(st.text(min_size=1).filter(lambda word: "\0" not in word) | st.just("\x1b\udcff'\\n"))
@settings(max_examples=30)
def test_any_word_comes_through_the_shell_as_it_is(word):
    shell = shutil.which("bash")
    assert shell, "there is no bash to try it with"
    line = quoted(word)
    assert line.isprintable()
    run = subprocess.run([shell, "-c", f"printf %s {line}"], capture_output=True, check=True)
    assert run.stdout == word.encode("utf-8", "surrogateescape")


@pytest.mark.usefixtures("spark")
def test_command_of_a_finding_against_a_source_shows_it(kminilog, tmp_path, dialect):
    source = tmp_path / "a 'source'.csv"
    rows = b"".join(b"k%d,v%d\n" % (n % 7, n) for n in range(60))
    source.write_bytes(b"id,text\n" + rows)
    reading = ["--format", "csv", "--key", "id", "--value", "text"]
    target = ["--topic", "t", "--partitions", 2, "--dialect", dialect.name]
    assert kminilog("ingest", source, *target, *reading).code == 0

    def damage(content: Content) -> None:
        one, other = content[0], content[1]
        other.append((other[0][0], b"extra"))
        other.append(other[0])
        one[3] = (one[3][0], b"altered")
        first, later = [slot for slot, pair in enumerate(one) if pair[0] == one[-1][0]][-2:]
        one[first], one[later] = one[later], one[first]
        del other[4]

    copy = CommandLine(write_anew(kminilog.log_dir, tmp_path / "copy", "t", damage))
    run = copy("verify", "t", "--against", source, *reading, "--json")
    assert run.code == 1, run
    kinds = {found["class"] for found in run.document["findings"]}
    assert kinds == {"missing", "extra", "duplicate", "altered", "key-order"}
    for sample in samples_of(run):
        if sample["offset"] is None:
            assert sample["source"].startswith(f"{source}, row ")
            assert_shown(copy, sample)
        else:
            shown = run_command(copy, sample)
            assert (shown.code, shown.err) == (0, "")
            if sample["last_offset"] is None:  # of a range, all messages are shown
                assert f"offset {sample['offset']}" in shown.out
    # Without the source, the manifest tells of a range.
    (altered,) = [s for s in samples_of(copy("verify", "t", "--json")) if s["partition"] == 0]
    shown = run_command(copy, altered)
    assert shown.code == 0, shown
    assert "altered" in [record["value"] for record in shown.records]


def test_html_report_shows_the_bytes_of_each_damage_as_a_step_through_does(topic, tmp_path):
    log = sorted((topic.log_dir / "t-1-0").glob("*.log"))[0]
    index = log.with_suffix(".index")
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    index.write_bytes(index.read_bytes() + b"\x07")
    page = tmp_path / "page.html"
    samples = samples_of(topic("verify", "t-1", "--json", "--report", page))
    assert {sample["segment"] for sample in samples} == {log.stem}
    tree = fromstring(page.read_text().removeprefix("<!DOCTYPE html>\n"))
    shown = ["".join(table.itertext()) for table in tree.findall(".//div[@class='focus scroll']")]
    assert len(shown) == len(samples)
    for file, name in ((log, "key length"), (index, "unparsed")):
        assert any(file.name in one and name in one for one in shown)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_html_report_shows_of_a_damaged_message_its_own_bytes_only(kminilog, tmp_path, dialect):
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--dialect", dialect)
    kminilog.ok("produce", "t", stdin=b"first\nsecond\n")
    (log,) = (kminilog.log_dir / "t-0").glob("*.log")
    first = kminilog.ok("dump", log, "--json").records[0]
    flip_byte(log, first["size"] + 12 - 1, mask=1)
    page = tmp_path / "page.html"
    kminilog("verify", "--report", page)
    assert f"{log.name}, bytes 0 to {first['size'] + 12 - 1}" in page.read_text()
    assert "second" not in page.read_text()
