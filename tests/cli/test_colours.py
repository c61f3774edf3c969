"""Colours on a terminal, where they mean something; none elsewhere; the text is the same."""

import re

import pytest

from tests.cli.command_line import CommandLine, on_a_terminal
from tests.damage import flip_byte

SGR = re.compile(r"\x1b\[[0-9;]*m")
PARTITION = ["partition", "--partitions", "3", "--key", "k", "--seed", "1"]
GOOD, BAD, DOUBTFUL, MARKED = "\x1b[32m", "\x1b[1;31m", "\x1b[33m", "\x1b[1m"


def shown(kminilog: CommandLine, *arguments: str, **variables: str) -> str:
    seen = on_a_terminal("--log-dir", str(kminilog.log_dir), *arguments, **variables)
    plain = kminilog(*arguments).out
    assert "\x1b" not in plain
    assert SGR.sub("", seen) == plain
    return seen


@pytest.mark.parametrize(
    ("arguments", "coloured"),
    [
        (["verify"], f"verdict: {GOOD}ok\x1b[0m"),
        (["find", "orders-0", "7"], "\x1b[36moffset 7\x1b[0m"),
        (["find", "orders-0", "7"], '\x1b[96m"value7"\x1b[0m'),
        (["find", "orders-0", "7", "--explain"], f"{MARKED}  → "),
        (["find", "orders-0", "7", "--explain"], "\x1b[33m      44  crc"),
        (["group", "demo"], MARKED),
        ([*PARTITION, "--explain"], f"{MARKED}  → & 0x7fffffff"),
    ],
)
def test_terminal_has_colours_and_no_color_takes_them_away(orders, arguments, coloured):
    assert coloured in shown(orders, *arguments)
    assert "\x1b" not in shown(orders, *arguments, NO_COLOR="1")
    assert coloured in shown(orders, *arguments, NO_COLOR="")  # empty is not set


def test_bytes_of_a_dump_have_the_colours_of_their_fields(orders):
    log = min((orders.log_dir / "orders-0").glob("*.log"))
    seen = shown(orders, "dump", str(log), "--hex", "--count", "1")
    assert "  \x1b[2m00000000  \x1b[0m\x1b[36m00 00 00 00 00 00 00 00\x1b[0m \x1b[32m" in seen
    assert "\x1b[92mkey0\x1b[0m" in seen
    assert "\x1b[33m00 00 00 40\x1b[0m" in shown(
        orders, "dump", str(log.with_name("00000000000000000005.index")), "--hex"
    )


def test_verdict_of_what_cannot_be_checked_has_a_colour(orders):
    (orders.log_dir / "others.json").write_text("{")  # a topic whose settings cannot be read
    assert f"verdict: {DOUBTFUL}partial\x1b[0m" in shown(orders, "verify")


def test_findings_and_what_recovery_does_have_colours(orders):
    log = sorted((orders.log_dir / "orders-0").glob("*.log"))[1]
    flip_byte(log, 32 + 25, mask=1)
    (log.parent / "notes.txt").write_bytes(b"")
    told = re.sub(r"in [0-9.]+ s", "", shown(orders, "verify"))
    assert f"verdict: {BAD}findings\x1b[0m" in told
    assert f"\n{BAD}bad-crc " in told
    assert f"\n{DOUBTFUL}orphan-file " in told
    recovered = shown(orders, "recover", "orders-0", "--dry-run")
    assert f"\n{BAD}orders-0/" in recovered
    assert f"\n{DOUBTFUL}orders-0: orphan-file" in recovered


def test_name_of_a_file_brings_no_colours_of_its_own(orders):
    (orders.log_dir / "orders-0" / "\x1b[31mred.txt").write_bytes(b"")
    seen = shown(orders, "recover", "orders-0", "--dry-run")
    assert "\\x1b[31mred.txt" in seen


def test_json_has_no_colours_on_a_terminal(orders):
    for arguments in (["find", "orders-0", "7", "--json"], ["verify", "--json"], ["ls", "--json"]):
        assert "\x1b" not in on_a_terminal("--log-dir", str(orders.log_dir), *arguments)


def test_text_of_a_message_brings_no_colours_of_its_own(orders):
    orders.ok("produce", "orders", stdin=b"\x1b[31mred\x1b[0m\n")
    seen = shown(orders, "find", "orders-0", "20")
    assert "\\u001b[31mred" in seen
