"""`dump --at`, `--offset`, `--count`: exactly what is at one place; and an empty file says so."""

import gzip
import re
from itertools import pairwise
from pathlib import Path

import pytest

from kminilog.format.dialect import DIALECTS, KAFKA, Dialect
from kminilog.format.index_entry import IndexEntry, encode_entry
from kminilog.format.message import encode
from tests.support.cli.command_line import (
    CommandLine,
    assert_one_line,
    assert_refused,
    on_a_terminal,
)
from tests.support.damage import cut_to, flip_byte, message_positions, zero_range

KEYS = (b"k0", "订单".encode(), b"", None, b"\xff")


@pytest.fixture(params=list(DIALECTS))
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return DIALECTS[request.param]


@pytest.fixture
def log(tmp_path: Path, dialect: Dialect) -> Path:
    """A loose `.log` with offsets 0 to 4."""
    path = tmp_path / ("0" * 20 + ".log")
    values = (b"zero", "中文 mixed é".encode(), b"two", b"three", b"\x00\x1b")
    path.write_bytes(
        b"".join(
            encode(dialect, n, key, value)
            for n, (key, value) in enumerate(zip(KEYS, values, strict=True))
        )
    )
    return path


def offsets(kminilog: CommandLine, path: Path, dialect: Dialect, *options: object) -> list[int]:
    run = kminilog("dump", path, "--dialect", dialect.name, "--json", *map(str, options))
    assert run.err == "", run
    return [record["offset"] for record in run.records]


def test_at_shows_the_one_message_that_holds_the_byte(kminilog, log, dialect):
    positions = message_positions(log.read_bytes())
    for offset, (start, end) in enumerate(pairwise(positions)):
        for byte in (start, (start + end) // 2, end - 1):
            assert offsets(kminilog, log, dialect, "--at", byte) == [offset]


def test_offset_shows_the_one_message_that_has_it(kminilog, log, dialect):
    for offset in range(5):
        assert offsets(kminilog, log, dialect, "--offset", offset) == [offset]


def test_count_shows_so_many_from_there_or_from_the_beginning(kminilog, log, dialect):
    third = message_positions(log.read_bytes())[2]
    assert offsets(kminilog, log, dialect, "--at", third + 3, "--count", 2) == [2, 3]
    assert offsets(kminilog, log, dialect, "--offset", 3, "--count", 9) == [3, 4]
    assert offsets(kminilog, log, dialect, "--count", 2) == [0, 1]
    assert offsets(kminilog, log, dialect, "--count", 99) == [0, 1, 2, 3, 4]


def test_damage_is_shown_alone_by_its_bytes_and_in_the_place_of_its_offset(kminilog, log, dialect):
    start, end = message_positions(log.read_bytes())[2:4]
    zero_range(log, start, end)
    for place in (["--at", start], ["--at", end - 1], ["--offset", 2]):
        run = kminilog("dump", log, "--dialect", dialect.name, *place)
        assert run.code == 1, run
        (line,) = run.out.splitlines()
        assert f", byte {start}: DAMAGED, bad-length: " in line
    assert offsets(kminilog, log, dialect, "--offset", 2, "--count", 2) == [0, 3]
    assert offsets(kminilog, log, dialect, "--offset", 3) == [3]


def test_torn_tail_may_hold_as_many_offsets_as_messages_fit(kminilog, log, dialect):
    start = message_positions(log.read_bytes())[4]
    cut_to(log, start + 5)
    run = kminilog("dump", log, "--dialect", dialect.name, "--offset", 4)
    assert (run.code, "DAMAGED, torn-tail: " in run.out) == (1, True)
    assert_one_line(kminilog("dump", log, "--dialect", dialect.name, "--offset", 5), 1, "offset 5")


def test_offset_that_is_not_there_is_a_no_and_says_where_to_look(orders):
    log = min((orders.log_dir / "orders-0").glob("*.log"))
    run = orders("dump", log, "--offset", 15)
    assert_one_line(run, 1, f"{log}: no message with offset 15; `kminilog find orders-0 15` ")
    assert orders.ok("find", "orders-0", 15)
    last = max((orders.log_dir / "orders-0").glob("*.log"))
    assert_one_line(orders("dump", last, "--offset", 3), 1, f"{last}: no message with offset 3; ")


def test_unfinished_message_with_segments_after_it_is_no_torn_tail(orders):
    first, *_, last = sorted((orders.log_dir / "orders-0").glob("*.log"))
    for log, fault in ((last, "torn-tail"), (first, "bad-length")):
        cut_to(log, log.stat().st_size - 1)
        for place in ([], ["--at", log.stat().st_size - 1]):
            run = orders("dump", log, *place)
            assert run.code == 1
            assert f": DAMAGED, {fault}: unfinished message: " in run.out
            assert ("; other segments come after it; " in run.out) == (log is first)


def test_log_of_a_topic_with_broken_settings_is_still_shown(orders):
    log = min((orders.log_dir / "orders-0").glob("*.log"))
    (orders.log_dir / "orders.json").write_text("{")
    assert orders.ok("dump", log, "--dialect", "documented", "--at", 0).out.count("\n") == 1


def test_byte_after_the_end_is_one_line(kminilog, log):
    size = log.stat().st_size
    assert_one_line(
        kminilog("dump", log, "--at", size), 2, f"no byte {size}: its last byte is {size - 1}"
    )
    log.write_bytes(b"")
    assert_one_line(kminilog("dump", log, "--at", 0), 2, "no byte 0: it is empty")


WRONG = [
    ("--at x", "'x' is no whole number"),
    ("--at -1", "-1 is not in the range"),
    ("--offset -1", "-1 is not in the range"),
    ("--offset '中'", "'中' is no whole number"),
    ("--count 0", "0 is not in the range"),
    ("--at 0 --offset 0", "give one of them"),
    ("--at 0 --format kafka", "drop --at"),
    ("--count 1 --format kafka", "drop --at"),
]


def test_bad_place_is_one_line(kminilog, log):
    assert_refused(kminilog, log.parent, WRONG, "dump", str(log))


def test_deep_at_shows_all_messages_inside_and_offset_one_of_them(kminilog, tmp_path):
    inner = b"".join(encode(KAFKA, n, None, b"%d" % n) for n in range(5, 8))
    wrapper = encode(KAFKA, 7, None, gzip.compress(inner, mtime=0), attributes=1)
    path = tmp_path / "x.log"
    path.write_bytes(encode(KAFKA, 4, None, b"4") + wrapper + encode(KAFKA, 8, None, b"8"))
    at = len(encode(KAFKA, 4, None, b"4"))
    assert offsets(kminilog, path, KAFKA, "--at", at) == [7]
    assert offsets(kminilog, path, KAFKA, "--at", at, "--deep") == [5, 6, 7]
    assert offsets(kminilog, path, KAFKA, "--at", at, "--deep", "--count", 4) == [5, 6, 7, 8]
    assert offsets(kminilog, path, KAFKA, "--offset", 6, "--deep") == [6]
    assert offsets(kminilog, path, KAFKA, "--offset", 6) == [7]  # it is inside


# ---- indexes


def test_index_entry_is_shown_with_what_the_log_has_there(orders):
    path = orders.log_dir / "orders-0" / "00000000000000000005.index"
    for byte in (8, 15):
        assert orders.ok("dump", path, "--at", byte, "--json").records == [
            {
                "offset": 10,
                "position": 128,
                "relative_offset": 5,
                "index_position": 8,
                "log_offset": 10,
                "dialect": "documented",
                "dialect_source": "topic",
            }
        ]
    for offset, entry in ((8, 8), (9, 8), (10, 10), (11, 10)):
        (record,) = orders.ok("dump", path, "--offset", offset, "--json").records
        assert record["offset"] == entry
    flip_byte(path, 7, mask=32)  # the position of the first entry: 64 becomes 96
    run = orders("dump", path, "--at", 0)
    assert run.code == 1
    assert "the message with offset 9 begins at that byte" in run.out
    flip_byte(path, 7, mask=1)
    run = orders("dump", path, "--at", 0)
    assert run.code == 1
    assert "no whole message begins at that byte" in run.out
    path.with_suffix(".log").unlink()
    assert orders.ok("dump", path, "--at", 0).out.count("\n") == 1


@pytest.mark.parametrize(("offset", "code"), [(5, 0), (7, 0), (8, 1)])
def test_index_entry_of_a_broker_may_have_any_offset_inside_a_compressed_message(
    kminilog, tmp_path, offset, code
):
    path, before = tmp_path / f"{0:020}.index", encode(KAFKA, 4, None, b"4")
    packed = encode(KAFKA, 7, None, b"packed", attributes=1)
    path.with_suffix(".log").write_bytes(before + packed)
    path.write_bytes(encode_entry(IndexEntry(offset, len(before))))
    run = kminilog("dump", path, "--dialect", "kafka", "--at", 0)
    shown = "the message with this offset" if offset == 7 else "a compressed message up to offset 7"
    assert (run.code, f"in the .log: {shown} begins at that byte" in run.out) == (code, True)


def test_offset_below_all_entries_is_a_no(orders):
    path = orders.log_dir / "orders-0" / "00000000000000000005.index"
    assert_one_line(orders("dump", path, "--offset", 7), 1, "no entry for offset 7 or below")


def test_damage_of_an_index_holds_all_bytes_after_it(orders):
    path = orders.log_dir / "orders-0" / "00000000000000000005.index"
    path.write_bytes(path.read_bytes() + bytes(16))
    for byte in (16, 31):
        run = orders("dump", path, "--at", byte)
        assert (run.code, run.out.startswith("DAMAGED, index-order: ")) == (1, True)
    assert len(orders("dump", path, "--count", 9).out.splitlines()) == 3


# ---- empty files


@pytest.mark.parametrize(("suffix", "what"), [(".log", "message"), (".index", "entry")])
def test_empty_file_says_so_and_is_no_json(kminilog, tmp_path, suffix, what):
    path = tmp_path / ("0" * 20 + suffix)
    path.write_bytes(b"")
    options = ["--dialect", "documented"]
    said = kminilog.ok("dump", path, *options).out
    assert said == f"{path} is empty: no {what} yet\n"
    assert kminilog.ok("dump", path, "--json", *options).out == ""


# ---- text and colours


def test_characters_stand_beside_their_bytes_and_columns_stay_aligned(kminilog, log, dialect):
    run = kminilog.ok("dump", log, "--dialect", dialect.name, "--offset", 1, "--hex")
    assert "文" in run.out
    assert "é" in run.out
    joined = "".join(re.findall(r"\|(.*)\|", run.out))
    assert "订 单 " in joined


@pytest.mark.processes
def test_fields_have_colours_on_a_terminal_only(kminilog, log, dialect):
    words = ["dump", str(log), "--dialect", dialect.name, "--hex", "--print-data"]
    plain = kminilog.ok(*words).out
    assert "\x1b" not in plain
    wide = {"COLUMNS": "100"}  # so that no line is folded
    coloured = on_a_terminal(*words, **wide)
    assert "\x1b[38;5;32moffset 0\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert on_a_terminal(*words, NO_COLOR="1", **wide) == plain
    assert on_a_terminal(*words, TERM="dumb", **wide) == plain
    flip_byte(log, log.stat().st_size - 1, mask=1)
    assert "\x1b[1;31mDAMAGED, bad-crc" in on_a_terminal(*words, **wide)
